"""Ledgers that are copied, put back and swapped, and marks that are torn, removed and replaced, in any order: whatever
is done with the files, all that was ever released is within the budget.

Two things are left out, as `docs/ledger.md` says that nothing is promised of them: a mark that is removed and a copy
that is put back while no process has the ledger open, and another folder of marks.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from itertools import count
from pathlib import Path

import discreet as dp
from discreet.ledger.high_water_mark import SLOT, _links
from support.campaign.oracle import Found
from support.ledgers import TENTH

STEPS, TENTHS = 40, 3
BUDGET = dp.Budget(epsilon=Fraction(TENTHS, 10))


class Machine:
    """A ledger, its copies, its mark, and what was released by it."""

    def __init__(self, folder: Path) -> None:
        self.place, self.marks = folder / "clinic.ledger", folder / "marks"
        self.copies: list[Path] = []
        self.released, self.refused, self.names = 0, 0, count()
        self.living: dp.Ledger | None = None

    def opened(self) -> dp.Ledger:
        return dp.Ledger(self.place, dataset="clinic", budget=BUDGET, marks=self.marks)

    @property
    def mark(self) -> Path | None:
        return next(iter(self.marks.glob("*.mark")), None)

    def close(self) -> None:
        if self.living is not None:
            self.living.close()
        self.living = None

    # ── what is done ─────────────────────────────────────────────────────────────────────────────────────────

    def spend(self, dice: random.Random) -> None:
        """By the process that lives, or by a new one, which may live on."""
        living, self.living = self.living, None
        ledger = living or self.opened()
        try:
            ledger.spend(TENTH, key=f"question {next(self.names)}")
            self.released += 1
        finally:
            if living is not None or dice.random() < 0.3:
                self.living = ledger
            else:
                ledger.close()

    def copy(self, dice: random.Random) -> None:
        self.close()
        self.copies.append(self.place.with_name(f"copy {len(self.copies)}"))
        shutil.copy(self.place, self.copies[-1])

    def put_back(self, dice: random.Random) -> None:
        """An older copy; what was there becomes one."""
        self.close()
        if self.copies:
            old = dice.choice(self.copies)
            self.copy(dice)
            shutil.copy(old, self.place)

    def tear(self, dice: random.Random) -> None:
        """The slot of a mark that is written next, as a power failure would."""
        if self.mark is not None:
            said = bytearray(self.mark.read_bytes())
            at = [each.seq if each else -1 for each in _links(bytes(said))]
            begin, many = SLOT * at.index(min(at)), dice.randrange(1, SLOT)
            said[begin : begin + many] = os.urandom(many)
            self.mark.write_bytes(said)

    def replace(self, dice: random.Random) -> None:
        """The mark under a process that lives and goes on: removed, copied over, or moved away with its folder."""
        if self.living is None or self.mark is None:
            return
        how = dice.randrange(3)
        if how == 0:
            self.mark.unlink()
        elif how == 1:
            copied = self.mark.with_name("copied")
            shutil.copy(self.mark, copied)
            copied.replace(self.mark)
        else:
            self.marks.rename(self.marks.with_name(f"marks {next(self.names)}"))
        self.spend(dice)

    def accept(self, dice: random.Random) -> None:
        """The owner has only this copy, and goes on."""
        self.close()
        with dp.Ledger(self.place, older=True, marks=self.marks) as ledger:
            if ledger.missing is not None:
                ledger.accept_loss(ledger.missing)


DONE: list[Callable[[Machine, random.Random], None]] = [
    *[Machine.spend] * 4, *[Machine.copy, Machine.put_back] * 2, Machine.tear, Machine.replace, Machine.replace,
    Machine.accept,
]  # fmt: skip


def examine(dice: random.Random, folder: Path) -> int:
    """Do these things in any order; how many of them were refused."""
    machine = Machine(folder)
    machine.spend(dice)
    for step in _steps(dice):
        try:
            step(machine, dice)
        except (dp.Refusal, dp.Broken):
            machine.refused += 1
            with suppress(dp.Broken):
                machine.close()
        if machine.released > TENTHS:
            raise Found(f"{machine.released} tenths of a budget of {TENTHS} were released: {step.__name__}")
    machine.close()
    return machine.refused


def _steps(dice: random.Random) -> Iterator[Callable[[Machine, random.Random], None]]:
    for _ in range(STEPS):
        yield dice.choice(DONE)
