"""Name and shame: the mechanism that shows why additive privacy is not enough.

δ-additive privacy asks that the probability of every event changes by at most δ when one person's data do. Name and
shame publishes each person's record with probability δ, and nothing otherwise. It keeps that promise, and publishes
some record almost surely once δ is well above 1/n, which is what anything useful needs.

    >>> from discreet.lab.meaning.name_and_shame import NameAndShame
    >>> shame = NameAndShame(delta="0.01")
    >>> shame.additive, shame.epsilon
    (Fraction(1, 100), None)
    >>> round(shame.somebody(1000), 5)                   # a thousand people
    0.99996
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, ball, nearest, positive_integer, probability
from discreet.core.text import show
from discreet.lab.proportions import share
from discreet.lab.report import Finding, Picture, Report, ReportTable, Series
from discreet.lab.sampling import uniform

__all__ = ["NameAndShame", "additive", "report"]


def additive(one: Sequence[Fraction], two: Sequence[Fraction]) -> Fraction:
    """Return the least δ such that the probabilities of all events differ by at most δ: half the ℓ1 distance."""
    return sum((abs(a - b) for a, b in zip(one, two, strict=True)), Fraction(0)) / 2


@dataclass(frozen=True, kw_only=True)
class NameAndShame:
    """Publish each record, with its owner's number, with probability δ."""

    delta: Fraction

    def __init__(self, *, delta: Number) -> None:
        object.__setattr__(self, "delta", probability(delta, "delta"))

    def release(self, records: Sequence[Any], coins: Coins = SYSTEM) -> list[tuple[int, Any]]:
        """Return the records that are published."""
        chosen = np.flatnonzero(uniform(len(records), coins) < float(self.delta))
        return [(i, records[i]) for i in chosen.tolist()]

    @property
    def additive(self) -> Fraction:
        """The δ of the mechanism's additive privacy, from its own probabilities.

        Because  two databases that differ in one record lead to the same outcomes, but for that record's: published as
                 it was, published as it is, or not published. The others are independent, and are the same.
        """
        with_it, changed = (self.delta, Fraction(0), 1 - self.delta), (Fraction(0), self.delta, 1 - self.delta)
        return additive(with_it, changed)

    @property
    def epsilon(self) -> None:
        """None, as no ε holds: a published record could not have come from the other database."""
        return None

    def somebody(self, people: int) -> float:
        """Return the probability that at least one person's record is published: 1 - (1 - δ)^n."""
        n = positive_integer(people, "n")
        return nearest(lambda: -(n * ball(-self.delta).log1p()).expm1())


def report(*, delta: Number = "0.01", people: int = 1000, runs: int = 1000, coins: Coins = SYSTEM) -> Report:
    """Explain name and shame at this δ, and try it."""
    shame = NameAndShame(delta=delta)
    n = positive_integer(people, "n")
    shamed = sum(bool(shame.release(range(n), coins)) for _ in range(positive_integer(runs, "runs")))
    low, high = share(shamed, runs)
    sizes = sorted({10, 100, 1000, 10_000, 100_000, n})
    rows = tuple((f"{size:,}", f"{size * float(shame.delta):g}", f"{shame.somebody(size):.6f}") for size in sizes)
    sweep = np.unique(np.geomspace(1, 100_000, 80).astype(int))
    deltas = sorted({shame.delta, Fraction(1, 10_000), Fraction(1, 1_000_000)}, reverse=True)
    lines = tuple(
        Series(
            name=f"δ = {show(each)}",
            x=tuple(map(float, sweep)),
            y=tuple(NameAndShame(delta=each).somebody(int(size)) for size in sweep),
        )
        for each in deltas
    )
    picture = Picture(
        title="The probability that somebody is named and shamed",
        x="people", y="1 - (1 - δ)^n", series=lines, log="x",
    )  # fmt: skip
    return Report(
        title="Why additive privacy is not private",
        findings=(
            Finding(
                title=f"Name and shame at δ = {show(shame.delta)}",
                text="Each record is published with probability δ. No event changes its probability by more than "
                f"{show(shame.additive)} when one record changes, so it is δ-additively private; it has no ε at all, "
                f"and composes and post-processes as well as the real thing. Of {n:,} people, somebody is published "
                f"with probability {shame.somebody(n):.6g}. Anything useful needs δ above 1/n, and there it is "
                "nearly sure. This is why discreet keeps δ far below 1/n and never promises δ alone.",
                verdict="additively private, and somebody is shamed",
                good=False,
                tables=(
                    ReportTable(heads=("people", "δ·n", "somebody is shamed"), rows=rows, right="people,δ·n"),
                    ReportTable(
                        heads=("runs", "with somebody shamed", "share (95 %)", "foretold"),
                        rows=((f"{runs:,}", f"{shamed:,}", f"{shamed / runs:.4f} ({low:.4f} to {high:.4f})",
                               f"{shame.somebody(n):.4f}"),),
                        right="runs,with somebody shamed",
                        title=f"Tried with {n:,} people",
                    ),
                ),
                pictures=(picture,),
                facts={"delta": shame.delta, "somebody": shame.somebody(n), "tried": shamed / runs},
            ),
        ),
    )  # fmt: skip
