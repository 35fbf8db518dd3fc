"""The mean of bounded numbers in the local model.

A number is reported in one of two ways, each the best where the other is not, and a public coin chooses:

    a bit      the number is rounded at random to one of its bounds, and that bit is randomized (Duchi, Jordan and
               Wainwright 2013): the best for small ε
    a place    a place drawn from a row that is longer than the range, more often from a window that slides with the
               number (Wang et al. 2019, piecewise): better for large ε, and for numbers in the middle

Numbers are rounded at random to a declared grid, right on average, so that every probability is rational and the whole
law is a table.

>>> from discreet.local import BoundedMean
>>> pay = BoundedMean(epsilon=2, bounds=(0, 100))
>>> reports = pay.randomize([20.0, 30.0, 70.0] * 10_000)
>>> estimate = pay.estimate(reports)
>>> abs(estimate.value - 40) < 4, 0.5 < estimate.margin < 0.6
(True, True)
>>> pay.table().keeps(2)
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, interval, number, positive, positive_integer
from discreet.core.once import once
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.local.channel import Table, too_large
from discreet.local.encoding import Numbers
from discreet.local.estimate import Estimate, quantile
from discreet.local.odds import odds_and_epsilon
from discreet.local.randomizer import EXAMPLE_N, Collected, Counts
from discreet.local.sampling import flips, uniform_below

__all__ = ["BoundedMean"]

Floats = NDArray[np.float64]
DEFAULT_STEPS = 128  # of the grid, unless a step is declared
MAX_STEPS = 1 << 20
APART = 64  # units in the last place that a step must have
HALF = Fraction(1, 2)
SHARE_DENOMINATOR = 1 << 16  # the share is a multiple of one over this


@recorded("bounded mean/1")
@dataclass(frozen=True, kw_only=True)
class BoundedMean(Collected):
    """A number between bounds, reported as a bit, or with probability `places` as a place.

    Given    every number, within the bounds, is rounded at random to one of the two multiples of `step` from the lower
             bound that it is between, so that its mean stays (up to 2^-32 of a step).
    Promise  ε-private, as `table` says for numbers on the grid, and for those between because theirs is a mixture of
             two of its rows; the estimate of the mean is unbiased.
    Because  a bit is e^ε times likelier at one bound than at the other, and a place inside the window e^ε times
             likelier than outside. The window slides by one place for each step, so the mean of the place is linear
             in the number, and so is the probability of the bit: both are inverted exactly.

    Left out, `places` and `window` are those with the least variance in the worst case. places=0 is the one-bit
    method, places=1 the piecewise one; what is between is Wang et al.'s hybrid.
    """

    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    bounds: tuple[Fraction, Fraction]
    step: Fraction = None  # type: ignore[assignment]
    places: Fraction = None  # type: ignore[assignment]
    window: int = None  # type: ignore[assignment]
    odds: Fraction = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            epsilon: Number | None = None,
            bounds: tuple[Number, Number],
            step: Number | None = None,
            places: Number | None = None,
            window: int | None = None,
            odds: Number | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        epsilon, odds = odds_and_epsilon(epsilon=self.epsilon, odds=self.odds)
        low, high = interval(self.bounds)
        step = (high - low) / DEFAULT_STEPS if self.step is None else positive(self.step, "step")
        steps = (high - low) / step
        if steps.denominator != 1 or steps > MAX_STEPS:
            raise NotUnderstood(
                "the bounds must be a whole number of steps apart, at most a million.",
                code="wrong-argument",
                instead=f"for example step={show((high - low) / 100)}",
            )
        top = max(abs(low), abs(high))
        if step < APART * Fraction(math.ulp(float(top))):
            raise NotUnderstood(
                "floats cannot tell numbers apart that are as close as the steps between these bounds.",
                code="wrong-argument",
                instead="subtract the lower bound from every number, or take larger steps: for example bounds=(0, 100)",
            )
        share = None if self.places is None else number(self.places, "places")
        if share is not None and not 0 <= share <= 1:
            raise NotUnderstood(
                "places is the share of reports that are places.",
                code="wrong-argument",
                instead='for example places="0.5"',
            )
        window = None if self.window is None else positive_integer(self.window, "window")
        if window is not None and window > 8 * steps:
            raise NotUnderstood(
                "the window is wider than any that helps.", code="wrong-argument", instead="leave window= out"
            )
        share, window = _best(int(steps), odds, share, window)
        window = window if share else 1  # no place is drawn from it
        for name, value in {
            "epsilon": epsilon, "odds": odds, "bounds": (low, high), "step": step, "places": share, "window": window
        }.items():  # fmt: skip
            object.__setattr__(self, name, value)

    # ── the law ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def steps(self) -> int:
        """The number of steps between the bounds."""
        return int((self.bounds[1] - self.bounds[0]) / self.step)

    @property
    def row(self) -> int:
        """The number of places."""
        return self.steps + self.window

    def law(self, index: int) -> list[Fraction]:
        """Return P(report | the number `index` steps from the lower bound): two bits, then the places."""
        bit = (1 + Fraction(index, self.steps) * (self.odds - 1)) / (1 + self.odds)
        rare = self.places / (self.row + (self.odds - 1) * self.window)
        places = [rare * (self.odds if 0 <= place - index < self.window else 1) for place in range(self.row)]
        return [(1 - self.places) * (1 - bit), (1 - self.places) * bit, *places]

    @property
    def _line(self) -> tuple[Fraction, Fraction]:
        """The mean place of the lower bound, and the change of the number for one place more, as a share of the
        range.
        """
        pull = (self.odds - 1) * self.window
        first = pull * Fraction(self.window - 1, 2) + self.row * Fraction(self.row - 1, 2)
        return first / (self.row + pull), (self.row + pull) / (pull * self.steps)

    def score(self, report: int) -> Fraction:
        """Return an unbiased estimate, from one report, of where between its bounds the number is (0 to 1)."""
        if report < 2:
            return (self.odds if report else -1) / (self.odds - 1)
        first, slope = self._line
        return (report - 2 - first) * slope

    @once
    def reals(self) -> tuple[Floats, Floats]:
        """The scores and the moments as floats."""
        first, slope = (float(part) for part in self._line)
        bits = [float(self.score(bit)) for bit in (0, 1)]
        scores = np.concatenate([bits, (np.arange(self.row) - first) * slope])
        return scores, np.array([float(part) for part in self.moments])

    def table(self) -> Table:
        too_large((self.steps + 1) * (self.row + 2))
        values = tuple(self.bounds[0] + index * self.step for index in range(self.steps + 1))
        rows = [self.law(index) for index in range(self.steps + 1)]
        used = [j for j in range(self.row + 2) if rows[0][j]]
        return Table(values, tuple(used), tuple(tuple(row[j] for j in used) for row in rows))

    # ── randomising ──────────────────────────────────────────────────────────────────────────────────────────

    def randomize(self, values: Any, coins: Coins = SYSTEM) -> Any:
        """Return a report for each number; for a single number, a single report.

        Values outside the bounds count as the nearest one, NaN and None as the middle: to refuse them would reveal
        something.
        """
        whole_steps, part, single = self._places(values)
        n = len(part)
        index = whole_steps + (coins.halves(n) < part)
        as_place = flips(self.places, n, coins)
        reports = np.zeros(n, np.int32)
        if self.places < 1:
            rounded = uniform_below(self.steps, n, coins) < index
            told = flips((self.odds - 1) / (self.odds + 1), n, coins)
            reports[:] = np.where(told, rounded, flips(HALF, n, coins))
        if self.places > 0:
            anywhere = flips(self.row / (self.row + (self.odds - 1) * self.window), n, coins)
            found = np.where(anywhere, uniform_below(self.row, n, coins), index + uniform_below(self.window, n, coins))
            reports = np.where(as_place, found + 2, reports).astype(np.int32)
        return reports[0] if single else reports

    def _places(self, values: Any) -> tuple[NDArray[np.int64], NDArray[np.uint64], bool]:
        """Return the whole steps of each number above the lower bound, 2^32 times the rest, and True for a single
        number.

        Types and shapes decide what is refused, never the size of a number: Python's own are cut to the bounds before
        they become floats.
        """
        low, high = (float(end) for end in self.bounds)
        array = _numbers(values, low, high)
        with np.errstate(over="ignore"):
            floats = array.astype(np.float64)
        inside = np.clip(np.where(np.isnan(floats), low + (high - low) / 2, floats), low, high)
        above = np.atleast_1d(inside - low - float(self.bounds[0] - Fraction(low)))
        steps = np.clip(above / float(self.step), 0, self.steps)
        whole_steps = np.floor(steps)
        part = np.rint((steps - whole_steps) * 2.0**32).astype(np.uint64)
        return whole_steps.astype(np.int64), part, array.ndim == 0

    # ── estimating ───────────────────────────────────────────────────────────────────────────────────────────

    def shape(self) -> tuple[int, ...]:
        return ()

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        low, high = (2 if self.places == 1 else 0), (self.row + 2 if self.places else 2)
        return np.asarray((reports >= low) & (reports < high))

    @property
    def layout(self) -> Numbers:
        return Numbers((self.row + 1 if self.places else 1,))

    @property
    def counters(self) -> int:
        return self.row + 2

    @property
    def ones(self) -> int:
        return 1

    def sketch(self, reports: NDArray[Any]) -> Counts:
        return np.bincount(reports.astype(np.int64), minlength=self.row + 2).astype(np.int64, copy=False)

    def read(self, sketch: Counts, n: int, *, sampling: bool, set_aside: int) -> Estimate:
        """Return the unbiased mean, with its variance at what the reports say.

        In a sample that is the variance of the scores. Without, the variance of the numbers themselves is taken off,
        as far as reports can tell: E[t²] is read from the squares of the scores, and lies between (E t)² and E t;
        rounding to the grid adds at most a quarter of a step's square. No sample varies less than the randomizer does.
        """
        scores, (a, b, c) = self.reals
        mean, second = float(sketch @ scores) / n, float(sketch @ scores**2) / n
        inside = min(max(mean, 0.0), 1.0)
        rounding = 0.25 / self.steps**2
        square = min(max((second - a - b * mean) / c - rounding if c > 0.5 else 0.0, inside**2), inside)
        noise = float(a + b * inside + (c - 1) * square + c * rounding)
        least = float(a + b * inside + (c - 1) * (inside if c < 1 else inside**2))
        found = max(least, (second - mean**2) * n / max(1, n - 1)) if sampling else noise
        low, wide = float(self.bounds[0]), float(self.bounds[1] - self.bounds[0])
        return Estimate(value=low + wide * mean, variance=wide**2 * found / n, n=n, set_aside=set_aside)

    @once
    def moments(self) -> tuple[Fraction, Fraction, Fraction]:
        """a, b, c with E[score² | t] = a + b·t + c·t² for a number at t between its bounds.

        Because  the sum of squares over a window is quadratic in its start; three points determine it.
        """
        first, slope = self._line
        more = self.odds - 1

        def squares(start: int, size: int) -> Fraction:  # Σ (place - first)² over a run of places
            return size * ((start + Fraction(size - 1, 2) - first) ** 2 + Fraction(size * size - 1, 12))

        def square(index: int) -> Fraction:
            bit = (1 + Fraction(index, self.steps) * more) / (1 + self.odds)
            bits = (1 - bit) * self.score(0) ** 2 + bit * self.score(1) ** 2
            places = squares(0, self.row) + more * squares(index, self.window)
            return (1 - self.places) * bits + self.places * slope**2 * places / (self.row + more * self.window)

        a, end = square(0), square(self.steps)
        if self.steps == 1:
            return a, end - a, Fraction(0)
        t = Fraction(self.steps // 2, self.steps)
        c = (square(self.steps // 2) - a - (end - a) * t) / (t * t - t)
        return a, end - a - c, c

    def variance(self, n: int, value: Number | None = None, *, sampling: bool = False) -> float:
        """Return the variance of the estimate when all n respondents have this value; without `value`, in the worst
        case.

        With sampling=True, and no value, that of the worst population that they could be drawn from.
        """
        people = positive_integer(n, "n")
        low, high = self.bounds
        if value is not None:
            steps = (min(max(number(value, "value"), low), high) - low) / self.step
            t, part = steps / self.steps, steps % 1
            found = self._noise(t, t * t) + self.moments[2] * part * (1 - part) / self.steps**2
        else:
            found = self._worst(sampling)
        return float(found * (high - low) ** 2 / people)

    def _noise(self, mean: Fraction, square: Fraction) -> Fraction:
        """Return the mean variance of a score, for respondents with this mean and mean square."""
        a, b, c = self.moments
        return a + b * mean + (c - 1) * square

    def _worst(self, sampling: bool) -> Fraction:
        """Return the largest variance of a score: at a bound or, if c < 1, where its derivative is zero.

        Rounding to the grid adds at most c/4 of a step's square. In a sample, E[score²] - (E t)² counts; given the
        mean, E[t²] is largest when all respondents are at a bound.
        """
        a, b, c = self.moments
        first, second = (b + c if c > 0 else b, Fraction(-1)) if sampling else (b, c - 1)
        ends = [a, a + first + second]
        if second < 0 and 0 < (turn := -first / (2 * second)) < 1:
            ends.append(a + first * turn + second * turn * turn)
        return max(ends) + (0 if sampling else c / (4 * self.steps**2))

    def respondents(self, within: Number, *, confidence: Number = 0.95, sampling: bool = False) -> int:
        """Return how many respondents make the mean right to ±within with this confidence, whatever the numbers."""
        half = float(positive(within, "within"))
        return max(1, math.ceil(self.variance(1, sampling=sampling) * (quantile(confidence) / half) ** 2))

    @property
    def report_influence(self) -> Fraction:
        """The range of the scores, in the units of the bounds.

        Because  the estimate is a mean of scores.
        """
        ends = ([] if self.places == 1 else [0, 1]) + ([2, self.row + 1] if self.places else [])
        scores = [self.score(report) for report in ends]
        return (max(scores) - min(scores)) * (self.bounds[1] - self.bounds[0])

    @property
    def error(self) -> MeanError:
        return MeanError(self)


def _numbers(values: Any, low: float, high: float) -> NDArray[Any]:
    """Return numbers as an array, by their types alone; Python's own cut to the bounds, and None as NaN."""
    plain = values is None or isinstance(values, (int, float, list, tuple))
    array = np.array(values, object) if plain else np.asarray(values)
    fine = array.dtype.kind in "buif"
    if array.dtype.kind == "O":
        fine = all(each is None or isinstance(each, (int, float, np.number, np.bool_)) for each in array.flat)
        fine = fine and not any(isinstance(each, np.complexfloating) for each in array.flat)
    if not fine:
        raise NotUnderstood(
            "values are numbers.", code="wrong-argument", instead="pass for example [20.5, 31] or a numpy array"
        )
    if array.ndim > 1:
        raise NotUnderstood("each respondent has one number.", code="wrong-argument", instead="pass a row of numbers")
    if array.dtype.kind == "O":
        cut = [math.nan if each is None else float(min(max(each, low), high)) for each in array.flat]
        return np.array(cut, np.float64).reshape(array.shape)
    return array


def _best(steps: int, odds: Fraction, share: Fraction | None, window: int | None) -> tuple[Fraction, int]:
    """Return the share of places and the width of their window with the least variance in the worst case.

    Floats search among choices that are all sound. With u = odds - 1, the variance of a place's score at t, from -1/2
    to 1/2 around the middle, is A + B·t²; that of a bit is C - t². A share 1/(1 + B) makes the sum flat, and is the
    best unless the bit alone is better (Wang et al. 2019, Section III.C).
    """
    u = float(odds - 1)
    bit = ((u + 2) / u) ** 2 / 4
    w = np.unique(np.rint(np.geomspace(1, 8 * steps, 400))) if window is None else np.array([float(window)])
    row = steps + w
    total = row + u * w
    slope = total / (u * w * steps)
    middle = slope**2 * (u * w * (w * w - 1) + row * (row * row - 1)) / 12 / total
    rounding = 0.25 / steps**2  # the most that rounding to the grid adds
    bend = total / (u * w) - 1  # B: second moment of the window's middle, less the square of the mean
    if share is None:
        flat = 1 / (1 + bend)
        hybrid = flat * middle + (1 - flat) * bit + rounding
        best = int(np.argmin(hybrid))
        part = (
            Fraction(round(float(flat[best]) * SHARE_DENOMINATOR), SHARE_DENOMINATOR)
            if hybrid[best] < bit and steps > 1
            else Fraction(0)
        )
        return part, int(w[best])
    worst = (
        np.maximum(
            float(share) * middle + float(1 - share) * bit,
            float(share) * (middle + bend / 4) + float(1 - share) * (bit - 0.25),
        )
        + float(share) * (1 + bend) * rounding
    )
    return share, int(w[int(np.argmin(worst))])


@dataclass(frozen=True)
class MeanError:
    """The error of an estimated mean, for a number of respondents."""

    randomizer: BoundedMean

    def radius(self, n: int, confidence: Number = 0.95) -> float:
        """Return the margin that the mean keeps with this confidence, whatever the numbers are."""
        return quantile(confidence) * math.sqrt(self.variance(n))

    def variance(self, n: int) -> float:
        """Return the largest variance of the mean."""
        return self.randomizer.variance(n)

    def describe(self) -> str:
        return (
            f"From {EXAMPLE_N:,} respondents, an estimated mean is within ±{show(self.radius(EXAMPLE_N), 2)} of theirs"
            " 95 % of the time."
        )
