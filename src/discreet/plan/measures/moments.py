"""Moments of one or two expressions: what VAR, STDDEV, SKEWNESS, KURTOSIS, COVAR, CORR and REGR_SLOPE read.

Write t for a value scaled to [0, 1]. The Bernstein polynomials of degree two, (1 - t)², 2t(1 - t) and t², are not
negative and add up to one, whatever t is. So a row that adds them to three sums adds exactly one in ℓ1, as it does to a
count, and the number of rows, Σt and Σt² all follow from the three: the variance, the average, the sum and the count at
the full ε. Of two values s and t the products of their polynomials add up to one, too: four of degree one for the
covariance, nine of degree two for the correlation, six for a slope. What is zero or one is its own square, and needs no
more than degree one. A row that lacks a value adds its one to `missing`, where COUNT(*) is asked as well.

In whole steps: with x steps above `low` and W from there to `high`, a row adds C(d,i)·xⁱ·(W - x)^(d-i), in all W^d.
These are large numbers, and noise as large is slow to draw exactly. So where a row adds more than a billion, sums are
rounded down to a coarser unit, the `grain`, of which a row still adds about a billion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from discreet.core.contribution import Setting
from discreet.core.laws.law import Law
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import Form, RowSums, Steps
from discreet.kernel.expressions import Tree
from discreet.plan.estimates.estimator import Estimator
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.estimates.moments import Correlation, Covariance, Shape, Slope, Variance
from discreet.plan.estimates.ratio import Average
from discreet.plan.measures.measure import MAX_STEPS, Noised
from discreet.plan.measures.statistic import Statistic

__all__ = ["Moments"]

ROW_VALUE_BITS = 30  # bits of what one row adds, in grains
MAX_ROW_VALUE = 1 << 62  # what one row adds at most: so many rows as there are, times a cap, still fit 128 bits
SHAPES = {"skewness": 3, "kurtosis": 4}  # and the power of values that each reads
Weights = tuple[Fraction, ...]


@recorded("moments/1")
@dataclass(frozen=True, kw_only=True)
class Moments(Noised):
    """Sums of products of Bernstein polynomials of one or two expressions, in whole steps between `low` and `high`."""

    of: tuple[Tree, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    step: tuple[Fraction, ...]
    degree: tuple[int, ...]
    missing: bool = False

    def __post_init__(self) -> None:
        sizes = {len(self.of), len(self.low), len(self.high), len(self.step), len(self.degree)}
        if (
            sizes not in ({1}, {2})
            or not set(self.degree) <= ({1, 2, 3, 4} if len(self.of) == 1 else {1, 2})
            or not all(-MAX_STEPS <= a < b <= MAX_STEPS for a, b in zip(self.low, self.high, strict=True))
            or self.whole > MAX_ROW_VALUE
        ):
            raise NotUnderstood(
                "the recorded plan holds an invalid measure.", code="not-a-record", instead="ask in SQL"
            )

    @property
    def widths(self) -> tuple[int, ...]:
        """Return the width of each range, in steps."""
        return tuple(b - a for a, b in zip(self.low, self.high, strict=True))

    @property
    def whole(self) -> int:
        """Return what one row adds, in all parts together."""
        return math.prod(width**degree for width, degree in zip(self.widths, self.degree, strict=True))

    @property
    def grain(self) -> int:
        """Return the unit that sums are rounded down to."""
        return max(1, self.whole >> ROW_VALUE_BITS)

    @property
    def row(self) -> Fraction:
        """Return what one row adds, in all parts together, in grains."""
        return Fraction(self.whole, self.grain)

    @property
    def corners(self) -> tuple[tuple[int, ...], ...]:
        """Return, for every part, the polynomial of each expression that the part is a product of."""
        return tuple(product(*(range(each + 1) for each in self.degree)))

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (*("".join(map(str, each)) for each in self.corners), *(("missing",) if self.missing else ()))

    @property
    def clamped(self) -> tuple[Tree, ...]:
        return self.of

    @once
    def exact(self) -> RowSums:
        """Return the exact data that an engine must deliver."""
        each = zip(self.of, self.low, self.high, self.step, self.low, strict=True)
        values = tuple(Steps(*said) for said in each)
        return RowSums(values=values, forms=self.forms, most_added=self.whole, grain=self.grain)

    @property
    def forms(self) -> tuple[Form, ...]:
        """Return each part as a sum over rows of products of powers of values."""
        found = []
        for corner in self.corners:
            form: dict[tuple[int, ...], int] = {(): 1}
            for width, degree, i in zip(self.widths, self.degree, corner, strict=True):
                more = _bernstein(width, degree, i)
                form = {(*p, q): a * b for p, a in form.items() for q, b in more.items()}
            found.append(form)
        there = (0,) * len(self.of)
        return (*found, *([{(): self.whole, there: -self.whole}] if self.missing else []))

    def reach(self, setting: Setting) -> Reach:
        """Return how far one unit can move all parts over all groups.

        Given    a unit counts with at most m rows, in at most g groups, and cut short its parts are rounded down.
        Promise  bounds on the change in ℓ1 and squared ℓ2 when a unit is added, removed or replaced.
        Because  a row adds parts that are not negative and W in all, so a unit adds a vector that is not negative and
                 m·W in all. Its norms are largest when all is in one part, which rows at the end of their range do: m·W
                 and (m·W)². Of two vectors x and y that are not negative |x - y| is at most |x| + |y| in ℓ1, and in
                 squared ℓ2 at most |x|² + |y|², as their product is not negative: twice as much, which two units at
                 opposite ends reach. Rounded to grains, a sum that moves by x moves by at most x + 1: one more in each
                 of c sums that a unit touches, which is c in ℓ1 and √c < c in ℓ2, and twice, or √2 times, for two.
        """
        caps = setting.caps
        groups = min(caps.most_rows, caps.most_groups) if setting.grouped else 1
        touched = len(self.parts) * groups if self.grain > 1 else 0
        most = math.ceil(caps.most_rows * self.row) + touched
        twice = setting.neighbours.changes
        return Reach(l1=twice * most, l2_squared=twice * most**2, neighbours=setting.neighbours, unit=setting.unit)

    # ── readings ─────────────────────────────────────────────────────────────────────────────────────────────

    def can_answer(self, statistic: Statistic) -> bool:
        function = statistic.name
        if function in ("rows", "present"):
            return function == "present" or self.missing
        if len(self.of) == 1 and function in SHAPES:
            return self.degree[0] >= SHAPES[function] or self.widths == (1,)
        if len(self.of) == 1:
            return function in ("sum", "sum plus", "avg", "var_samp", "var_pop", "stddev_samp", "stddev_pop")
        needed = {"covar_samp": (1, 1), "covar_pop": (1, 1), "regr_slope": (1, 2), "corr": (2, 2)}.get(function, (9, 9))
        return all(mine >= least for mine, least in zip(self.degree, needed, strict=True))

    def _estimator(self, statistic: Statistic) -> Estimator[Law]:
        function = statistic.name
        if function in ("rows", "present"):
            one = 1 / self.row
            return LinearEstimator(
                weights=self._padded([one] * len(self.corners), one if function == "rows" else 0), unit=one
            )
        if function in ("sum", "sum plus"):
            more = statistic.at or Fraction(0)
            low, high = self.low[0] * self.step[0] + more, self.high[0] * self.step[0] + more
            weights = [(low + t * (high - low)) / self.row for t in self._weights((1,))]
            possible = (0.0 if low >= 0 else -math.inf), (0.0 if high <= 0 else math.inf)
            unit = max(abs(low), abs(high)) / self.row
            return LinearEstimator(
                weights=self._padded(weights), unit=unit, whole=(self.step[0].denominator, more.denominator) == (1, 1),
                possible=possible,
                clamped=self._clamped,
            )  # fmt: skip
        if function == "avg":
            return self._means[0]
        if function.startswith(("var", "stddev")):
            square = self._padded(self._weights((2,)))
            return Variance(
                mean=self._means[0], square=square, sample=function.endswith("samp"), root=function.startswith("stddev")
            )
        if function in SHAPES:
            powers = tuple(self._padded(self._weights((power,))) for power in range(2, SHAPES[function] + 1))
            return Shape(mean=self._means[0], powers=powers)
        cross = self._padded(self._weights((1, 1)))
        if function in ("covar_samp", "covar_pop"):
            return Covariance(means=self._means, cross=cross, sample=function == "covar_samp")
        second = self._padded(self._weights((0, 2)))
        if function == "regr_slope":
            return Slope(means=self._means, cross=cross, square=second)
        assert function == "corr"
        return Correlation(means=self._means, cross=cross, squares=(self._padded(self._weights((2, 0))), second))

    @property
    def _clamped(self) -> str:
        ends = zip(self.low, self.high, self.step, strict=True)
        return ", ".join(f"{show(low * step)} to {show(high * step)}" for low, high, step in ends)

    @once
    def _means(self) -> tuple[Average, ...]:
        """Return the average of each expression, in the rows that have all."""
        found = []
        for n, (low, high, step) in enumerate(zip(self.low, self.high, self.step, strict=True)):
            top = self._weights(tuple(int(i == n) for i in range(len(self.of))))
            every = self._padded([Fraction(1)] * len(self.corners))
            found.append(
                Average(
                    top=self._padded(top), all=every, whole=self.row, low=low * step, high=high * step,
                    clamped=self._clamped,
                )
            )  # fmt: skip
        return tuple(found)

    def _weights(self, powers: tuple[int, ...]) -> list[Fraction]:
        """Return a product of powers of values, each scaled to [0, 1], as weights of the parts."""
        each = list(zip(self.degree, powers, strict=True))
        assert all(k <= d or w == 1 for w, (d, k) in zip(self.widths, each, strict=True))
        found = [[_power(i, d, k) for i, (d, k) in zip(corner, each, strict=True)] for corner in self.corners]
        return [math.prod(powers, start=Fraction(1)) for powers in found]

    def _padded(self, weights: list[Fraction], missing: Fraction | int = 0) -> Weights:
        return (*weights, *([Fraction(missing)] if self.missing else []))


def _bernstein(width: int, degree: int, i: int) -> dict[int, int]:
    """C(d,i)·xⁱ·(W - x)^(d-i) in powers of x."""
    left = degree - i
    return {i + j: math.comb(degree, i) * math.comb(left, j) * width ** (left - j) * (-1) ** j for j in range(left + 1)}


def _power(i: int, degree: int, k: int) -> Fraction:
    """Return the weight of polynomial i of degree d in t^k: C(i,k)/C(d,k). Beyond d, t is zero or one, like t^k."""
    k = min(k, degree)
    return Fraction(math.comb(i, k), math.comb(degree, k))
