"""Replicability: how often an algorithm gives the same result on two samples of one population.

An algorithm is ρ-replicable when two runs with the same internal coins, on samples drawn independently from the same
population, agree with probability at least 1 - ρ (Impagliazzo, Lei, Pitassi and Sorrell 2022).

    >>> from discreet.lab import replicability
    >>> found = replicability.estimate(lambda sample, coins: 7, lambda n, coins: [0] * n, n=10, trials=1000)
    >>> found.rho, round(found.high, 4)                  # never differed; at most this, with 95 % confidence
    (0.0, 0.0037)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number, positive_integer, probability
from discreet.core.text import show
from discreet.lab.proportions import share
from discreet.lab.report import Finding, Picture, Report, ReportTable, Series
from discreet.lab.sampling import uniform

__all__ = ["Replicability", "Tape", "estimate", "report"]

Algorithm = Callable[[Any, Coins], Any]
Sampler = Callable[[int, Coins], Any]


class Tape(Coins):
    """Coins that are kept, so that a second run gets the same ones: `again` starts from the beginning."""

    def __init__(self, coins: Coins = SYSTEM, kept: bytearray | None = None) -> None:
        self._coins, self._kept, self._used = coins, bytearray() if kept is None else kept, 0

    def flip(self, count: int) -> NDArray[np.uint8]:
        end = self._used + count
        if end > len(self._kept):
            self._kept += self._coins.flip(end - len(self._kept)).tobytes()
        piece = np.frombuffer(bytes(self._kept[self._used : end]), np.uint8).copy()
        self._used = end
        return piece

    def again(self) -> Tape:
        """Return the same coins from the beginning."""
        return Tape(self._coins, self._kept)


@dataclass(frozen=True, kw_only=True)
class Replicability:
    """The number of pairs of runs that differed: the estimated ρ with its interval."""

    differed: int
    trials: int
    confidence: Number

    @property
    def rho(self) -> float:
        """The share of pairs of runs that differed."""
        return self.differed / self.trials

    @property
    def low(self) -> float:
        """The lower end of the interval of ρ."""
        return share(self.differed, self.trials, self.confidence)[0]

    @property
    def high(self) -> float:
        """The upper end: the algorithm is ρ-replicable with this ρ, at this confidence."""
        return share(self.differed, self.trials, self.confidence)[1]


def estimate(
    algorithm: Algorithm,
    sampler: Sampler,
    *,
    n: int,
    trials: int = 1000,
    confidence: Number = "0.95",
    same: Callable[[Any, Any], bool] | None = None,
    coins: Coins = SYSTEM,
) -> Replicability:
    """Run an algorithm on pairs of samples of size n with the same coins, and count how often it differs.

    Given    `sampler(n, coins)` draws a sample, `algorithm(sample, coins)` draws all its randomness from its coins.
    Promise  an exact (Clopper-Pearson) interval for ρ at this confidence.
    """
    size, count, sure = (
        positive_integer(n, "n"),
        positive_integer(trials, "trials"),
        probability(confidence, "confidence"),
    )
    agree = _same if same is None else same
    differed = 0
    for _ in range(count):
        tape = Tape(coins)
        first = algorithm(sampler(size, coins), tape)
        second = algorithm(sampler(size, coins), tape.again())
        differed += not agree(first, second)
    return Replicability(differed=differed, trials=count, confidence=sure)


def _same(one: Any, two: Any) -> bool:
    return bool(np.array_equal(one, two))


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────


def _plain(sample: NDArray[Any], coins: Coins) -> float:
    return float(sample.mean())


def _fixed(width: float) -> Algorithm:
    return lambda sample, coins: width * float(np.floor(sample.mean() / width + 0.5))


def _shifted(width: float) -> Algorithm:
    """Round to a grid at a random place, the same in both runs: replicable whatever the mean is.

    Because  two means that are d apart fall into different cells with probability d/width at most.
    """

    def run(sample: NDArray[Any], coins: Coins) -> float:
        shift = width * float(uniform(1, coins)[0])
        return shift + width * float(np.floor((sample.mean() - shift) / width + 0.5))

    return run


def _survey(n: int, coins: Coins) -> NDArray[Any]:
    """Draw n answers yes or no, half and half."""
    return (coins.flip(n) & 1).astype(float)


def report(
    *,
    n: int = 1000,
    trials: int = 500,
    width: Number = "0.2",
    sizes: Sequence[int] = (100, 300, 1000, 3000, 10_000),
    coins: Coins = SYSTEM,
) -> Report:
    """Compare three ways to report a mean: how often two studies of one population would report the same."""
    cell = float(number(width, "width"))
    ways: dict[str, Algorithm] = {
        "the mean itself": _plain,
        f"rounded to {show(cell)}, edge at the truth": lambda sample, c: _fixed(cell)(sample - 0.5 + cell / 2, c),
        f"rounded to {show(cell)} at a random place": _shifted(cell),
    }
    spots = sorted({*sizes, n})
    found = {
        name: {k: estimate(way, _survey, n=k, trials=trials, coins=coins) for k in spots} for name, way in ways.items()
    }
    rows = tuple((name, f"{at[n].rho:.3f}", f"{at[n].low:.3f} to {at[n].high:.3f}") for name, at in found.items())
    series = tuple(
        Series(
            name=name,
            x=tuple(map(float, at)),
            y=tuple(each.rho for each in at.values()),
            low=tuple(each.low for each in at.values()),
            high=tuple(each.high for each in at.values()),
        )
        for name, at in found.items()
    )
    picture = Picture(
        title="How often two studies of the same population disagree", x="people in each study", y="ρ (95 % band)",
        series=series, log="x",
    )  # fmt: skip
    best = found[list(ways)[-1]][n]
    return Report(
        title="Replicability: the same conclusion from another sample",
        findings=(
            Finding(
                title=f"A mean of {n:,} answers, told in three ways",
                text="Two samples of the same population, the same internal coins. A mean is hardly ever the same "
                "twice; rounding to a fixed grid helps unless the truth is near an edge; a grid at a random place, "
                "shared by both runs, is replicable wherever the truth is, more so the more people take part.",
                verdict=f"ρ ≤ {best.high:.3f} at a random place",
                tables=(ReportTable(heads=("told", "ρ", "95 %"), rows=rows, right="ρ"),),
                pictures=(picture,),
                facts={
                    name: {"n": n, "rho": at[n].rho, "low": at[n].low, "high": at[n].high} for name, at in found.items()
                },
            ),
        ),
    )
