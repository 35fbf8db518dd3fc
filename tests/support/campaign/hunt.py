"""A hunt: worlds and questions one after the other, until something is found or a number of them was asked."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import duckdb

from support.campaign.oracle import ANSWERED, REFUSED, Court, Found, shorter
from support.campaign.questions import Question, question
from support.campaign.worlds import World

PEOPLE, ROWS = 4, 2  # pairs of each world that differ in a person, and in a row


@dataclass
class Tally:
    """How many questions were asked of how many pairs, and what came of them."""

    came: Counter[str] = field(default_factory=Counter)
    pairs: int = 0

    @property
    def share(self) -> float:
        """The share of questions that were answered."""
        return self.came[ANSWERED] / max(1, self.asked)

    @property
    def asked(self) -> int:
        """How many questions were judged."""
        return self.came[ANSWERED] + self.came[REFUSED]

    def __str__(self) -> str:
        said = ", ".join(f"{many} {what}" for what, many in sorted(self.came.items()))
        return f"{self.pairs} pairs; questions: {said}; {self.share:.0%} answered"


@contextmanager
def court(
    seed: int, *, form: str | None = None, place: str | None = None
) -> Iterator[tuple[random.Random, World, Court]]:
    """World `seed`, opened, and the dice that go on to write its questions."""
    dice = random.Random(seed)
    world = World.random(dice, form=form, place=place)
    pairs = [world.pair(dice, row=n >= PEOPLE) for n in range(PEOPLE + ROWS)]
    with tempfile.TemporaryDirectory() as folder, Court(pairs, Path(folder)) as opened:
        yield dice, world, opened


def judged(opened: Court, asked: Question, n: int) -> str:
    """One question, judged; joins are looked at person by person, and now and then everything is."""
    return opened.judge(asked, n, heard=n % 6 == 0, lineage=asked.focus in ("joins", "counts") or n % 6 == 1)


def hunt(
    seed: int, questions: int, tally: Tally, *, focus: str = "", form: str | None = None, place: str | None = None
) -> None:
    """Ask questions about one world. What is found is told with the shortest question that shows it."""
    with court(seed, form=form, place=place) as (dice, world, opened):
        for n in range(questions):
            asked = question(dice, world, focus)
            try:
                tally.came[judged(opened, asked, n)] += 1
            except Found as found:
                short = shorter(asked.sql, lambda sql: _fails(opened, replace(asked, sql=sql), n, found))  # noqa: B023
                raise Found(
                    f"{found}\nworld {seed}, question {n} ({world.form}, {world.place}, {world.neighbours}):"
                    f"\n{short}\nwas\n{asked.sql}"
                ) from found
        tally.pairs += opened.ran
        tally.came.update(opened.checked)


def _fails(opened: Court, asked: Question, n: int, found: Found) -> bool:
    """Whether a question fails in the same way."""
    try:
        judged(opened, replace(asked, plain=False), n)
    except Found as again:
        return str(again).split()[0] == str(found).split()[0]
    except (duckdb.Error, ValueError, KeyError):
        return False
    return False


def found(numbers: range, questions: int, **said: str) -> Found | None:
    """What a hunt through some worlds finds first; the proof that it can see."""
    for number in numbers:
        try:
            hunt(number, questions, Tally(), **said)
        except Found as one:
            return one
    return None


Hunter = Callable[[], Found | None]
