"""Randomizers: mechanisms that a respondent runs on one value of their own.

    randomize   values in, reports out                       on the respondent's device
    estimate    reports in, an unbiased estimate out         wherever the reports are collected
    table       the probability of each report               to check the claim

The loss compares two values of one respondent, so its neighbours are of the replace kind; it holds against any
observer, the collector included, whatever else that observer knows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, positive, positive_integer
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.reach import Neighbours
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.local.channel import Table
from discreet.local.encoding import Layout
from discreet.local.estimate import Estimate, Shares, quantile
from discreet.local.inputs import values_of
from discreet.local.odds import odds_and_epsilon

__all__ = ["Categories", "Collected", "Randomizer", "Tally", "as_row", "hostile_count"]

Counts = NDArray[np.int64]
CHUNK_DRAWS = 1 << 16  # draws at a time, so that what they work on stays in the cache
MAX_VALUES = 1 << 32  # beyond every k
EXAMPLE_N = 10_000  # respondents in the sentence of error.describe


class Randomizer(Mechanism):
    """A respondent's mechanism: `epsilon` is what it claims, `odds` the exact worst ratio of its table."""

    epsilon: Fraction
    odds: Fraction

    @abstractmethod
    def randomize(self, values: Any, coins: Coins = SYSTEM) -> Any:
        """Return a report for each value; for a single value, a single report."""

    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Return the shape of one report as an array; () for a number."""

    @abstractmethod
    def table(self) -> Table:
        """Return P(report | value), exactly."""

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which reports, of the right shape and type, could come from this randomizer; by default all."""
        return np.ones(len(reports), np.bool_)

    def release(self, exact: Any, coins: Coins = SYSTEM) -> Any:
        return self.randomize(exact, coins)

    @property
    def loss(self) -> Loss:
        """The loss of one report for its respondent; a second report costs as much again."""
        return Loss(pure=self.epsilon)

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE


class Collected(Randomizer):
    """A randomizer whose reports all have one shape, and add up to counts that suffice for an estimate."""

    kind: ClassVar[type[np.generic]] = np.int32  # of the numbers in a report

    @abstractmethod
    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which reports, of the right shape and type, could have come from this randomizer."""

    @abstractmethod
    def sketch(self, reports: NDArray[Any]) -> Counts:
        """Return the sum of valid reports: counts that suffice for the estimate."""

    @abstractmethod
    def read(self, sketch: Counts, n: int, *, sampling: bool, set_aside: int) -> Estimate:
        """Return the estimate from the sketch of the reports of n respondents."""

    @property
    @abstractmethod
    def counters(self) -> int:
        """The number of counters of a sketch."""

    @property
    def ones(self) -> int | None:
        """The number of counters to which each report adds one; None if that differs between reports."""
        return None

    def possible(self, sketch: Counts, n: int) -> bool:
        """Return True if n reports can add up to this sketch."""
        inside = len(sketch) == self.counters and bool(np.all((sketch >= 0) & (sketch <= n)))
        return inside and (self.ones is None or sum(sketch.tolist()) == self.ones * n)

    @property
    @abstractmethod
    def report_influence(self) -> Fraction:
        """n times the most by which one report, instead of any other, moves any number in the estimate."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The layout of a report in bytes."""

    def tally(self, reports: Any) -> Tally:
        """Add up reports; tallies add up, too. Impossible reports are set aside and counted."""
        array = self.shaped(np.asarray(reports))
        valid = self.valid(array)
        bad = len(valid) - int(np.count_nonzero(valid))
        sketch = self.sketch(array[valid] if bad else array)
        return Tally(randomizer=self, n=len(valid) - bad, sketch=sketch, set_aside=bad)

    def shaped(self, reports: NDArray[Any]) -> NDArray[Any]:
        """Return the reports unchanged; refuse a wrong type or shape."""
        shape = self.shape()
        if reports.ndim != len(shape) + 1 or reports.shape[1:] != shape or reports.dtype.kind not in "bui":
            like = f"rows of {shape[0]}" if shape else "numbers"
            raise NotUnderstood(
                f"reports of this randomizer are {like}.",
                code="wrong-argument",
                instead="pass what randomize(values) returned",
            )
        return reports

    def estimate(self, reports: Any, *, sampling: bool = False) -> Any:
        """Return the estimate for the respondents; with sampling=True, for the population they were drawn from."""
        return self.tally(reports).estimate(sampling=sampling)

    def influence(self, hostile: int, n: int) -> float:
        """Return the most that `hostile` respondents among n can move any number in the estimate.

        Promise  |estimate with their reports - estimate with any other reports of theirs| is at most this.
        Because  the estimate is a mean over reports, and one report moves it by at most pull/n. Little less can be
                 achieved: the smaller ε is, the more a report counts, and a lie cannot be told from noise.
        """
        return float(Fraction(hostile_count(hostile), positive_integer(n, "n")) * self.report_influence)


class Categories(Collected):
    """A randomizer of one of k values, numbered from zero."""

    k: int

    @abstractmethod
    def _randomize(self, values: NDArray[Any], coins: Coins) -> NDArray[Any]: ...

    @abstractmethod
    def variance(self, n: int, frequency: Number = 0, *, sampling: bool = False) -> float:
        """Return the variance of the estimate of a value that this share of n respondents hold."""

    @abstractmethod
    def spread(self, *, sampling: bool = False) -> float:
        """Return n times the largest variance that any share can have."""

    @property
    def width(self) -> int:
        """The approximate number of draws of a report."""
        return 1

    def _price(self) -> None:
        """Read k, and ε or odds."""
        epsilon, odds = odds_and_epsilon(epsilon=self.epsilon, odds=self.odds)
        for name, value in {"k": values_of(self.k), "epsilon": epsilon, "odds": odds}.items():
            object.__setattr__(self, name, value)

    # ── randomising ──────────────────────────────────────────────────────────────────────────────────────────

    def randomize(self, values: Any, coins: Coins = SYSTEM) -> Any:
        """Return a report for each value in 0, …, k - 1; for a single value, a single report.

        Promise  each report is drawn exactly as `table` says, and takes coins that do not depend on its value.

        Values outside 0, …, k - 1 count as the nearest one: to refuse them would reveal something.
        """
        array, single = as_row(values)
        out = np.empty((len(array), *self.shape()), self.kind)
        part = max(1, CHUNK_DRAWS // self.width)
        for start in range(0, len(array), part):
            out[start : start + part] = self._randomize(self._inside(array[start : start + part]), coins)
        return out[0] if single else out

    def _inside(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return each value, clamped to those that there are."""
        return np.clip(values.astype(np.int64), 0, self.k - 1)

    # ── estimating ───────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def read(self, sketch: Counts, n: int, *, sampling: bool, set_aside: int) -> Shares:
        """Return the share of each value, from the sketch of the reports of n respondents."""

    def estimate(self, reports: Any, *, sampling: bool = False) -> Shares:
        """Return the share of each value among the respondents; with sampling=True, in the population they were
        drawn from.
        """
        found: Shares = super().estimate(reports, sampling=sampling)
        return found

    @property
    def shares(self) -> int:
        """The number of shares in an estimate."""
        return self.k

    def respondents(
        self, within: Number, *, confidence: Number = 0.95, sampling: bool = False, simultaneous: bool = False
    ) -> int:
        """Return how many respondents make any one share right to ±within with this confidence, whatever the shares
        are.

        With simultaneous=True, all shares at once (Bonferroni). By the normal law, which such large numbers justify.
        """
        half, width = float(positive(within, "within")), quantile(confidence, self.shares if simultaneous else 1)
        return max(1, math.ceil(self.spread(sampling=sampling) * (width / half) ** 2))

    @property
    def error(self) -> ShareError:
        return ShareError(self)


@dataclass(frozen=True)
class ShareError:
    """The error of estimated shares, for a number of respondents."""

    randomizer: Categories

    def radius(self, n: int, confidence: Number = 0.95) -> float:
        """Return the margin that every share keeps with this confidence, each for itself."""
        return quantile(confidence) * math.sqrt(self.variance(n))

    def variance(self, n: int) -> float:
        """Return the largest variance of any share."""
        return self.randomizer.spread() / positive_integer(n, "n")

    def describe(self) -> str:
        margin = show(self.radius(EXAMPLE_N), 2)
        return f"From {EXAMPLE_N:,} respondents, an estimated share is within ±{margin} of theirs 95 % of the time."


@dataclass(frozen=True, kw_only=True, eq=False)
class Tally:
    """The sum of reports: enough to estimate from, as small for ten million as for ten."""

    randomizer: Collected
    n: int
    sketch: Counts
    set_aside: int = 0

    def __radd__(self, other: object) -> Tally:
        return self if other == 0 else NotImplemented  # where sum() begins

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if other.randomizer != self.randomizer:
            raise NotUnderstood(
                "tallies add up when all their reports come from the same randomizer.",
                code="wrong-argument",
                instead="collect reports of different randomizers apart, and average the estimates",
            )
        return Tally(
            randomizer=self.randomizer,
            n=self.n + other.n,
            sketch=self.sketch + other.sketch,
            set_aside=self.set_aside + other.set_aside,
        )

    def estimate(self, *, sampling: bool = False) -> Any:
        """Return the estimate: an `Estimate`, of shares if the randomizer has values to choose from."""
        if not self.n:
            raise NotUnderstood(
                "there are no reports to estimate from.", code="wrong-argument", instead="collect at least one"
            )
        return self.randomizer.read(self.sketch, self.n, sampling=sampling, set_aside=self.set_aside)


def hostile_count(hostile: int) -> int:
    """Read a number of hostile respondents: a whole number, also zero."""
    return 0 if not isinstance(hostile, bool) and hostile == 0 else positive_integer(hostile, "hostile")


def as_row(values: Any) -> tuple[NDArray[Any], bool]:
    """Return values as a row of whole numbers, and True for a single one.

    Types and shapes decide, never the size of a value: Python's own numbers are first cut to ±2^32, beyond every k.
    """
    plain = isinstance(values, (int, list, tuple))
    given = np.array(values, object) if plain else np.asarray(values)
    whole_numbers = given.dtype.kind in "bui"
    if given.dtype.kind == "O":
        whole_numbers = all(isinstance(value, (int, np.integer, np.bool_)) for value in given.flat)
    if not whole_numbers:
        raise NotUnderstood(
            "values are whole numbers (or True and False), each the number of one of the k values.",
            code="wrong-argument",
            instead="pass for example [0, 2, 1] or a numpy array of integers",
        )
    if given.ndim > 1:
        raise NotUnderstood("each respondent has one value.", code="wrong-argument", instead="pass a row of values")
    row = np.atleast_1d(given)
    if row.dtype.kind == "O":
        row = np.array([min(max(int(value), -MAX_VALUES), MAX_VALUES) for value in row], np.int64)
    return np.minimum(row, MAX_VALUES) if row.dtype == np.uint64 else row, given.ndim == 0
