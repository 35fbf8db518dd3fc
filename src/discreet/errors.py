"""What discreet says no to, in one tree.

    Exception
    ├── Refusal              decided before any data is read; costs nothing; says what would work
    │   ├── NotUnderstood    the request cannot be read: a number that is not one, a shape that does not match
    │   ├── NotAllowed       it can be read, but its answer could reveal one person
    │   ├── BudgetExceeded   it would be fine, but the budget has no room for it
    │   ├── NotYours         it belongs to somebody else
    │   └── Stopped          an engine failed: no new question is answered until the owner of the data resumes them
    └── Broken               something that must hold does not
        ├── Failure          an engine failed on a question that is paid for
        ├── Interrupted      a question that is paid for was given up, and nothing failed
        └── LedgerCorrupt    the record of what was spent has been damaged

A refusal depends on types, shapes and public parameters only. No message here ever quotes a secret value.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "FAILED",
    "Broken",
    "BudgetExceeded",
    "Failure",
    "Interrupted",
    "LedgerCorrupt",
    "NotAllowed",
    "NotUnderstood",
    "NotYours",
    "Place",
    "Refusal",
    "Stopped",
]

FAILED = (
    "this answer could not be computed; what it cost stays spent, and asking again is free once the owner of the data"
    " has resumed them."
)
WIDEST = 100  # characters of a line that is shown


@dataclass(frozen=True)
class Place:
    """Some characters of a text: from `start` up to, not including, `end`."""

    text: str
    start: int
    end: int

    def pointed(self, remark: str) -> str:
        """The line it is in, with an arrow under it and a remark beside the arrow."""
        first = self.text.rfind("\n", 0, self.start) + 1
        last = self.text.find("\n", self.start)
        line = self.text[first : len(self.text) if last < 0 else last]
        left, right = self.start - first, max(self.start - first + 1, min(self.end - first, len(line)))
        cut = max(0, min(left - 20, len(line) - WIDEST))
        shown = ("…" if cut else "") + line[cut : cut + WIDEST] + ("…" if len(line) > cut + WIDEST else "")
        shown = "".join(letter if letter.isprintable() else " " for letter in shown)
        arrow = "^" * max(1, min(right, cut + WIDEST) - left)
        return f"{shown}\n  {' ' * (left - cut + (1 if cut else 0))}{arrow}   {remark}"


class Refusal(Exception):
    """A request that discreet will not carry out, and what to ask instead."""

    def __init__(self, reason: str, *, instead: str, place: Place | None = None) -> None:
        self.reason = reason
        self.instead = instead
        self.place = place
        super().__init__(f"refused: {reason}\n  {place.pointed(instead) if place and place.text else instead}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _again, (type(self), self.reason, self.instead, self.place)


def _again(kind: type[Refusal], reason: str, instead: str, place: Place | None) -> Refusal:
    """The same refusal in another process."""
    return kind(reason, instead=instead, place=place)


class NotUnderstood(Refusal):
    """The request cannot be read."""


class NotAllowed(Refusal):
    """The answer could reveal one person."""


class BudgetExceeded(Refusal):
    """The budget has no room for it."""


class NotYours(Refusal):
    """It belongs to somebody else."""


class Stopped(Refusal):
    """An engine failed, and its owner has not resumed the data set since."""


class Broken(Exception):
    """Something that must hold does not hold."""


class Failure(Broken):
    """An engine failed on a question that is paid for.

    Its sentence is the same whatever happened. `said` may quote people: it is written down for the owner of the data
    by the ledger, which raises a plain `Broken` in its place.
    """

    def __init__(self, said: str = "") -> None:
        super().__init__(FAILED)
        self.said = said


class Interrupted(Broken):
    """A question that is paid for was given up for a reason that no row of data can bring about."""


class LedgerCorrupt(Broken):
    """The record of what was spent has been damaged."""
