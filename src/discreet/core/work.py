"""A limit on the work of planning one question, or a list of them: steps that are counted, never a clock.

Reading, typing and planning take longer for some texts than for others of the same length. Code whose work can grow
counts its steps here first, by a formula of the question alone. So the same text is planned in the same way, or refused
with the same sentence, whatever is cached from earlier questions and however fast the machine is. One step is about a
microsecond.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from discreet.errors import NotAllowed, Place

__all__ = ["MAX_WORK", "MAX_WORK_TOGETHER", "Work", "limited_work", "spend"]

MAX_WORK = 2_000_000  # steps of one question
MAX_WORK_TOGETHER = 10_000_000  # … and of several that are asked at once
LETTER, NODE, REGION, SET = 10, 20, 64, 60  # steps for a letter, a node, a pair of regions, a pair of groupings
NUMBER, QUESTION = 2_000, 2_000  # … for the price of a number within a margin, for a question of a list
SUM = 500  # … for a sum that an engine adds up
ALONE = "this question is too large to plan.", "ask it in parts"
TOGETHER = "these questions are too large to plan together.", "ask fewer at once: several shorter lists, one by one"


@dataclass
class Work:
    """The steps taken so far, and their limit."""

    most: int
    done: int = 0
    refusal: tuple[str, str] = ALONE


_here: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def limited_work(most: int = MAX_WORK, *, together: bool = False) -> Iterator[Work]:
    """Count the steps taken inside the block, for one question or for several together, up to `most`."""
    work = Work(most, refusal=TOGETHER if together else ALONE)
    before = _here.set(work)
    try:
        yield work
    finally:
        _here.reset(before)


def spend(steps: int, place: Place | None = None) -> None:
    """Count steps before they are taken; refuse if they are too many. Outside of `limited_work` nothing is counted."""
    work = _here.get()
    if work is None:
        return
    work.done += steps
    if work.done > work.most:
        said, instead = work.refusal
        raise NotAllowed(said, code="too-large", instead=instead, place=place if work.refusal == ALONE else None)
