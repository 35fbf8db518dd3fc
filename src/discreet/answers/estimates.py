"""Estimates: the numbers of an answer, row by row, with what their intervals are computed from.

An answer keeps of a release only what its own rows need: of a count or a sum its value and the laws of its noise, of an
average or a spread the sums that it is a quotient of, of a quantile the ends that were bought with it. No condition, no
column and no other group can be read from them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.laws.law import Integers, Law, SumOf
from discreet.errors import NotUnderstood
from discreet.plan.estimates.estimator import Estimator, Floats
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.estimates.noise_sums import WeightedSum
from discreet.postprocess.intervals import Box

__all__ = ["Estimate", "ExactValue", "Noises", "RatioEstimate", "ReleasedInterval", "SumEstimate", "same_values"]

MAX_LAWS = 4096  # different laws in one column
MAX_DRAWS = 1_000_000  # noises that are added up
MAX_WEIGHTS = 100_000  # parts of one number


def same_values(one: list[Any], other: list[Any]) -> bool:
    """Return True if two columns have the same values, of the same types."""
    equal = [a == b or (a != a and b != b) for a, b in zip(one, other, strict=False)]  # noqa: PLR0124  # NaN
    return len(one) == len(other) and all(equal) and list(map(type, one)) == list(map(type, other))


@dataclass(frozen=True, eq=False, kw_only=True)
class Noises:
    """The law of the noise of each row."""

    laws: tuple[Law | SumOf | WeightedSum, ...]
    rows: NDArray[np.int64] | None = None  # the place of each row's law; None: all have the only one

    def __post_init__(self) -> None:
        places = [0] if self.rows is None else self.rows
        draws = [each.draws[1] for each in self.laws if each.draws is not None]
        parts = [part for each in self.laws for part in each.floats]
        if (
            not 0 < len(self.laws) <= MAX_LAWS
            or (len(places) and not 0 <= min(places) <= max(places) < len(self.laws))
            or not all(0 < each <= MAX_DRAWS for each in draws)
            or not all(0 <= each < np.inf for each in parts)
        ):
            raise NotUnderstood("these are no laws of noise.", code="not-a-record", instead="ask for the answer again")

    @classmethod
    def of(cls, alike: Iterable[tuple[Any, Any]], size: int, places: NDArray[np.int64]) -> Noises:
        """Return the laws of the rows at `places`; `by_law` yields each law with those of `size` rows that have it."""
        laws, rows = [], np.zeros(size, np.int64)
        for n, (law, here) in enumerate(alike):
            laws.append(law)
            rows[here] = n
        used, again = np.unique(rows[places], return_inverse=True)
        if len(laws) == 1 or not len(used):
            return cls(laws=(laws[0],))
        return cls(laws=tuple(laws[n] for n in used), rows=again.ravel())

    def fit(self, size: int) -> bool:
        """Return True if these are the laws of `size` rows."""
        return self.rows is None or len(self.rows) == size

    @property
    def footing(self) -> list[Any]:
        """The laws and their places, in a form that can be compared."""
        return [self.laws, None if self.rows is None else self.rows.tolist()]

    def by_law(self) -> list[tuple[Law | SumOf | WeightedSum, Any]]:
        """Return each law with the rows that have it."""
        if self.rows is None:
            return [(self.laws[0], slice(None))]
        return [(law, np.flatnonzero(self.rows == n)) for n, law in enumerate(self.laws)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate(ABC):
    """One number of each row. `limits` are the least and the greatest possible value, in a consistent answer."""

    limits: tuple[float, float] | None = None
    noisy: ClassVar[bool] = True  # True if its interval is cut to `limits` in a consistent answer

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def around(self, confidence: Fraction) -> Box | None:
        """Return the ends of an interval around each number with this confidence; None where none is known."""

    def interval(self, confidence: Fraction) -> Box | None:
        """Return the interval of `around`, cut to `limits` in a consistent answer."""
        found = self.around(confidence)
        if found is None or self.limits is None:
            return found
        return np.clip(found[0], *self.limits), np.clip(found[1], *self.limits)

    def plain(self) -> Self:
        """Return an estimate with the same intervals and nothing else, which is what is sent."""
        return self

    @property
    def laws(self) -> int:
        """The number of noise laws from which intervals are computed."""
        return 0

    @property
    def footing(self) -> list[Any] | None:
        """The data from which intervals are computed, in a form that can be compared; None where there is no noise."""
        return None

    def sound(self) -> bool:
        """Return True if intervals can be computed; a document that was sent may contain anything."""
        return True

    def hidden(self, column: list[Any]) -> Estimate:
        """Return the estimate without its values, if `column` of the answer shows them unchanged."""
        return self

    def shown(self, column: list[Any]) -> Estimate:
        """Return the estimate with the values of `column`, if it has none of its own."""
        return self


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactValue(Estimate):
    """A whole number without noise: a key."""

    values: tuple[int, ...]
    noisy: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.values)

    def around(self, confidence: Fraction) -> Box:
        found = np.array([float(each) for each in self.values])
        return found, found


@dataclass(frozen=True, eq=False, kw_only=True)
class SumEstimate(Estimate):
    """A count or a sum: its margin depends on the laws of its noise alone."""

    values: tuple[int | float, ...]
    view: LinearEstimator
    noises: Noises

    def __post_init__(self) -> None:
        if len(self.view.weights) > MAX_WEIGHTS:
            raise NotUnderstood("this is no sum of noises.", code="not-a-record", instead="ask for the answer again")

    def __len__(self) -> int:
        return len(self.values)

    def around(self, confidence: Fraction) -> Box:
        middle, margin = np.array(self.values, np.float64), np.zeros(len(self.values))
        for law, here in self.noises.by_law():
            margin[here] = float(self.view.margin(law, confidence))
        return middle - margin, middle + margin

    def plain(self) -> SumEstimate:
        weights = tuple(sorted(abs(each) for each in self.view.weights if each))
        return replace(self, view=LinearEstimator(weights=weights, unit=Fraction(1), whole=self.view.whole))

    @property
    def laws(self) -> int:
        return len(self.noises.laws)

    @property
    def footing(self) -> list[Any]:
        return [[(type(each), each if each == each else None) for each in self.values], *self.noises.footing]  # noqa: PLR0124  # NaN

    def sound(self) -> bool:
        return self.noises.fit(len(self)) and all(type(each) in (int, float) for each in self.values)

    def hidden(self, column: list[Any]) -> Estimate:
        return replace(self, values=()) if same_values(column, list(self.values)) else self

    def shown(self, column: list[Any]) -> Estimate:
        return self if self.values else replace(self, values=tuple(column))


@dataclass(frozen=True, eq=False, kw_only=True)
class RatioEstimate(Estimate):
    """An average or a spread: its interval is computed from the noisy sums themselves."""

    view: Estimator[Any]
    parts: Integers
    noises: Noises

    def __len__(self) -> int:
        return int(self.parts.shape[1])

    def around(self, confidence: Fraction) -> Box:
        low, high = np.zeros(len(self)), np.zeros(len(self))
        for law, here in self.noises.by_law():
            low[here], high[here] = self.view.ends(law, self.parts[:, here], confidence)
        return low, high

    @property
    def laws(self) -> int:
        return len(self.noises.laws)

    @property
    def footing(self) -> list[Any]:
        return [self.parts.tolist(), *self.noises.footing]

    def sound(self) -> bool:
        if not self.noises.fit(len(self)) or not all(many == len(self.parts) for many in _weights(self.view)):
            return False
        noises = replace(self.noises, laws=self.noises.laws[:1], rows=None)
        return replace(self, parts=self.parts[:, :1], noises=noises).interval(Fraction(1, 2)) is not None


def _weights(what: Any) -> list[int]:
    """Return for each tuple of weights in an estimator the number of parts that it is for."""
    if is_dataclass(what):
        return [many for field in fields(what) for many in _weights(getattr(what, field.name))]
    if isinstance(what, tuple) and all(isinstance(each, Fraction) for each in what):
        return [len(what)]
    return [many for each in what for many in _weights(each)] if isinstance(what, tuple) else []


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleasedInterval(Estimate):
    """A quantile whose interval was released with it, and holds up to the confidence `level`."""

    low: Floats
    high: Floats
    level: Fraction
    noisy: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.low)

    def around(self, confidence: Fraction) -> Box | None:
        return (self.low, self.high) if confidence <= self.level else None
