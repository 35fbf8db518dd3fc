"""Refusals and failures of discreet, in one tree.

    Exception
    ├── Refusal              decided before any data is read; costs nothing; says what would work
    │   ├── NotUnderstood    the request cannot be read: a number that is not one, a shape that does not match
    │   ├── NotAllowed       it can be read, but its answer could reveal too much about one unit
    │   ├── BudgetExceeded   it would be fine, but the budget has no room for it
    │   ├── NotYours         the analyst has no budget for these data
    │   └── Stopped          an engine failed: no new question is answered until the owner of the data resumes them
    └── Broken               something that must hold does not
        ├── Failure          an engine failed on a question that is paid for
        ├── Interrupted      a question that is paid for was given up, and nothing failed
        └── LedgerCorrupt    the record of what was spent has been damaged

A refusal depends on types, shapes and public parameters only. No message here ever quotes a secret value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = [
    "CODES",
    "FAILED",
    "UNSEEN",
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
    "visible",
]

FAILED = (
    "the query engine failed on this question. Its cost stays spent; asking it again is free once the owner of the data"
    " has resumed them."
)
WIDEST = 100  # characters of a line that is shown


CODES = {  # programs recognise a refusal by its code, which stays the same while its sentence may be improved
    # what was written
    "not-sql": "The text cannot be read as SQL.",
    "not-one-select": "A question is one SELECT statement, and this is something else, or several.",
    "unknown-table": "The catalogue, the file or the question has no table of this name.",
    "unknown-column": "The table has no declared column of this name.",
    "unknown-function": "The function is not among those that are answered.",
    "ambiguous-column": "Several columns have this name.",
    "ambiguous-table": "Several tables have this name.",
    "wrong-type": "A value is of another type than its place in the question takes.",
    "wrong-expression": "A part of the question is not complete, or stands where it cannot.",
    "wrong-group": "Rows cannot be grouped by this.",
    "wrong-union": "The SELECTs of a UNION ALL do not have the same columns.",
    "wrong-name": "A name has letters that cannot be shown, or too many of them.",
    "wrong-parameter": "A parameter is missing, or of a kind that a question cannot take.",
    "not-a-date": "This is no date, time or interval.",
    "not-a-number": "This is no number.",
    "out-of-range": "A number is too large, too small, or on the wrong side of zero.",
    "too-large": "The question, or something in it, is larger than what is answered.",
    "nothing-to-ask": "The question has no number and no key that would have to be measured.",
    "public-table": "The table is public, so it is read directly.",
    "no-terms": "It is not said what the answer may cost, or how exact it must be.",
    "wrong-argument": "An argument is missing, or not what the function takes.",
    "wrong-option": "An option of the command line does not belong here, or is not what it takes.",
    "wrong-setting": "An environment variable is not what it takes.",
    "wrong-table": "A table of probabilities is not one.",
    # what would reveal one person
    "no-bounds": "A column has no declared bounds, so a sum of it could reveal one person.",
    "no-cap": "It is not declared, or too large, how many rows or groups of one unit count.",
    "no-grid": "Noise on real numbers needs a public grid, and none is stated.",
    "no-group-privacy": "The statement of loss says nothing about groups of people.",
    "no-delta": "The answer needs a delta, and the budget or the statement has none.",
    "unit-not-joined": "Tables are joined so that rows of different units would meet.",
    "unit-not-followed": "It cannot be followed whose rows the question reads.",
    "plan-rejected": "The kernel could not verify the privacy of a plan: a defect of discreet, which costs nothing.",
    "not-certified": "A plan was to be paid for without the kernel's certificate.",
    "no-unit": "It is not said whose the rows of a table are.",
    "unit-unclear": "The unit is stored so that it is not certain who is the same.",
    "unit-read": "The column names the units, and is read as if it were a value.",
    "row-is-unit": "Every row is a unit here, so one could count twice.",
    "rows-asked-for": "The question asks for rows of people, not for numbers about many.",
    "rows-of-nobody": "Rows that belong to no unit would be counted.",
    "group-per-unit": "Almost every unit would be a group of its own.",
    "people-compared": "A part of the question would compare or choose among people before anything is aggregated.",
    "too-many-groups": "There would be more groups than are answered.",
    "too-many-rows-meet": "One unit could have too many joined rows.",
    "too-wide": "What would be added up has too many steps to be exact.",
    "values-unknown": "Values that must be known beforehand are not declared.",
    "bounds-unknown": "A bound is found in the data, and this question needs it beforehand.",
    "not-answered": "This kind of question is not answered.",
    "other-neighbours": "It is stated for other neighbours than these.",
    "answer-too-large": "The answer is too large to be kept or sent.",
    # what it costs
    "budget-exceeded": "The budget has no room for it.",
    "budget-copied": "A budget that is copied could be spent twice.",
    "margin-unknown": "No margin is known for a column of the answer.",
    "margin-too-small": "No cost makes the answer as exact as that.",
    "margin-too-dear": "The margin costs more than was allowed.",
    "cost-unknown": "What it costs depends on the data, and here it must be known beforehand.",
    "does-not-follow": "It does not follow from what was answered so far, so it is not free.",
    "not-composed": "These losses cannot be composed in this way.",
    # who asks, and when
    "unknown-analyst": "There is no budget for this analyst.",
    "not-your-session": "The session belongs to another analyst.",
    "stopped": "The data answer no new question until their owner resumes them.",
    "waits-for-owner": "This question failed or was never finished, and waits for the owner of the data.",
    "stays-with-curator": "What is asked for stays with the curator, and does not travel with an answer.",
    # the catalogue and the data
    "no-catalogue": "There is no such catalogue.",
    "wrong-catalogue": "The catalogue cannot be read, or says what none says.",
    "wrong-declaration": "A table, a unit or a column is not declared as it can be.",
    "wrong-bounds": "The bounds of a column are not two values with the lower first, or do not fit it.",
    "wrong-values": "The values of a column are not a list of different ones, all of one kind.",
    "cannot-read": "The data, or a file, cannot be read.",
    "cannot-write": "A file cannot be written, or is there already.",
    "unreadable-column": "The column is of a type that is not read.",
    "unreadable-table": "The table is of a kind in which one row could change what is read of others.",
    "several-tables": "There are several tables, and it is not said which.",
    "csv-unclear": "It is not certain where the records of a CSV file begin.",
    "data-changed": "The data changed while they were opened or read.",
    "no-index": "An index cannot be built, kept or found here.",
    # the ledger
    "no-ledger": "There is no such ledger.",
    "ledger-read-only": "The ledger was opened for reading.",
    "unknown-dataset": "The ledger does not know this data set.",
    "other-unit": "The ledger protects another unit, or under other neighbours.",
    "other-budget": "Another budget is on record.",
    "entries-lost": "Entries of the ledger are missing, or others than was shown, or none.",
    "failures-unseen": "There are failures that the owner has not been shown.",
    "readable-by-others": "Others can read the ledger's file.",
    "receipt-used": "The receipt was used, or its question answered, before.",
    "receipt-copied": "A receipt stays where it is, in the process that got it.",
    "wrong-receipt": "The receipt is for something else.",
    "key-used": "The key was used for another mechanism.",
    "not-on-record": "This cannot be written down, so it cannot be on record.",
    # what is sent and shown
    "not-a-document": "This is no document of an answer, or not all of it.",
    "not-a-record": "This is no part of a plan or a mechanism.",
    "no-number": "There is no number to draw or to give a margin for.",
    "several-numbers": "There is more than one number, and one was asked for.",
    "not-installed": "A package that is optional is not installed.",
    "nothing-done": "Whoever was asked said no, so nothing was done.",
    "server-refused": "Another server refused.",
}


# What a terminal acts on and does not show: controls (C0, C1), lone surrogates, ends of lines and paragraphs, and what
# turns the direction of writing or takes no room. What joins letters (ZWNJ, ZWJ) is part of writing, and stays.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, *, lines: bool = False) -> str:
    """Return a text with every letter that a terminal would act on, and not show, written as Python writes it: \\x1b.

    With `lines`, ends of lines stay. Values, names and messages of others are shown so: what they hold can neither move
    the cursor nor turn the text around nor look like a line of ours.
    """

    def escaped(found: re.Match[str]) -> str:
        letter = found.group()
        if lines and letter == "\n":
            return letter
        code = ord(letter)
        wide = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
        return ESCAPES.get(letter, wide)

    return UNSEEN.sub(escaped, text)


@dataclass(frozen=True)
class Place:
    """A span of characters of a text: from `start` up to, not including, `end`."""

    text: str
    start: int
    end: int

    def pointed(self, remark: str) -> str:
        """Return the line of the span, with an arrow under the span and `remark` beside the arrow."""
        first = self.text.rfind("\n", 0, self.start) + 1
        last = self.text.find("\n", self.start)
        line = self.text[first : len(self.text) if last < 0 else last]
        left, right = self.start - first, max(self.start - first + 1, min(self.end - first, len(line)))
        cut = max(0, min(left - 20, len(line) - WIDEST))
        shown = ("…" if cut else "") + line[cut : cut + WIDEST] + ("…" if len(line) > cut + WIDEST else "")
        shown = "".join(letter if letter.isprintable() and not UNSEEN.match(letter) else " " for letter in shown)
        arrow = "^" * max(1, min(right, cut + WIDEST) - left)
        return f"{shown}\n  {' ' * (left - cut + (1 if cut else 0))}{arrow}   {remark}"


class Refusal(Exception):
    """A request that discreet will not carry out, and what to ask instead; programs recognise it by `code`."""

    def __init__(self, reason: str, *, code: str, instead: str, place: Place | None = None) -> None:
        self.reason = reason
        self.code = code
        self.instead = instead
        self.place = place
        way = visible(instead)
        super().__init__(f"refused: {visible(reason)}\n  {place.pointed(way) if place and place.text else way}")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _again, (type(self), self.reason, self.code, self.instead, self.place)


def _again(kind: type[Refusal], reason: str, code: str, instead: str, place: Place | None) -> Refusal:
    """Build the refusal again in another process, from its pickled parts."""
    return kind(reason, code=code, instead=instead, place=place)


class NotUnderstood(Refusal):
    """The request cannot be read."""


class NotAllowed(Refusal):
    """The answer could reveal too much about one privacy unit."""


class BudgetExceeded(Refusal):
    """The budget has no room for the question."""


class NotYours(Refusal):
    """The analyst has no budget for these data."""


class Stopped(Refusal):
    """An engine failed, and the owner has not resumed the data set since."""


class Broken(Exception):
    """Something that must hold does not hold."""


class Failure(Broken):
    """An engine failed on a question that is paid for.

    The message is the same whatever happened. `said` may quote personal data: the ledger writes it down for the owner
    of the data, and raises a plain `Broken` in place of this exception.
    """

    def __init__(self, said: str = "") -> None:
        super().__init__(FAILED)
        self.said = said


class Interrupted(Broken):
    """A question that is paid for was given up for a reason that no row of data can bring about."""


class LedgerCorrupt(Broken):
    """The record of what was spent has been damaged."""
