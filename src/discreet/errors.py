"""What discreet says no to, in one tree.

    Exception
    ├── Refusal              decided before any data is read; costs nothing; says what would work
    │   ├── NotUnderstood    the request cannot be read: a number that is not one, a shape that does not match
    │   ├── NotAllowed       it can be read, but its answer could reveal one person
    │   ├── BudgetExceeded   it would be fine, but the budget has no room for it
    │   └── NotYours         it belongs to somebody else
    └── Broken               something that must hold does not
        └── LedgerCorrupt    the record of what was spent has been damaged

A refusal depends on types, shapes and public parameters only. No message here ever quotes a secret value.
"""

from __future__ import annotations

__all__ = ["Broken", "BudgetExceeded", "LedgerCorrupt", "NotAllowed", "NotUnderstood", "NotYours", "Refusal"]


class Refusal(Exception):
    """A request that discreet will not carry out, and what to ask instead."""

    def __init__(self, reason: str, *, instead: str) -> None:
        self.reason = reason
        self.instead = instead
        super().__init__(f"refused: {reason}\n  {instead}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _again, (type(self), self.reason, self.instead)


def _again(kind: type[Refusal], reason: str, instead: str) -> Refusal:
    """The same refusal in another process."""
    return kind(reason, instead=instead)


class NotUnderstood(Refusal):
    """The request cannot be read."""


class NotAllowed(Refusal):
    """The answer could reveal one person."""


class BudgetExceeded(Refusal):
    """The budget has no room for it."""


class NotYours(Refusal):
    """It belongs to somebody else."""


class Broken(Exception):
    """Something that must hold does not hold."""


class LedgerCorrupt(Broken):
    """The record of what was spent has been damaged."""
