"""QUANTILE_LOW(x, q) and QUANTILE_HIGH(x, q): the ends of an interval that holds a quantile, in the units of its value.

The ends are bought like any other number, so a quantile alone is as exact as ever. Where a question has a quantile and
both of its ends, they are its interval. The confidence of the interval is that of the question. A question with another
confidence is another question, since its ends are other values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.contribution import Setting
from discreet.core.exact import probability
from discreet.core.laws.law import NOISELESS, Integers
from discreet.core.laws.price import Price
from discreet.core.record import recorded
from discreet.kernel.exact_data import ValueHistogram
from discreet.kernel.expressions import Tree
from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism, shift_for
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.plan.estimates.estimator import ReleasedEnds
from discreet.plan.measures.quantiles import GridValue, Histogrammed
from discreet.plan.measures.statistic import Statistic

__all__ = ["DEFAULT_CONFIDENCE", "QuantileInterval", "QuantileIntervalAt"]

DEFAULT_CONFIDENCE = Fraction(95, 100)  # the confidence of both ends together, unless a question has another


@recorded("ends/1")
@dataclass(frozen=True, kw_only=True)
class QuantileInterval(Histogrammed[tuple[Fraction, int]]):
    """The two ends of an interval around a quantile of one expression. Its law is an ε and a shift, in rows."""

    of: Tree
    q: Fraction
    low: int
    high: int
    step: Fraction

    def __post_init__(self) -> None:
        self._check()
        Quantiles(epsilon=1, at=(self.q,), last=self.last)  # refuses what is not a quantile

    @property
    def level(self) -> Fraction:
        """Return the confidence with which both ends together hold the quantile."""
        return DEFAULT_CONFIDENCE

    def at_confidence(self, confidence: Fraction) -> QuantileInterval:
        said: dict[str, Any] = {"of": self.of, "q": self.q, "low": self.low, "high": self.high, "step": self.step}
        return (
            QuantileInterval(**said)
            if confidence == DEFAULT_CONFIDENCE
            else QuantileIntervalAt(**said, confidence=confidence)
        )

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (f"low {self.q}", f"high {self.q}")

    @property
    def exact(self) -> ValueHistogram:
        return replace(super().exact, packed=False)

    def can_answer(self, statistic: Statistic) -> bool:
        return statistic.name in ("low", "high") and statistic.at == self.q

    def mechanism(self, law: tuple[Fraction, int], setting: Setting) -> QuantileIntervalMechanism:
        return QuantileIntervalMechanism(epsilon=law[0], shift=law[1], **self._arguments(setting))

    def _arguments(self, setting: Setting) -> dict[str, Any]:
        return {
            "q": self.q, "last": self.last, "records": setting.caps.most_rows, "grouped": setting.grouped,
            "neighbours": setting.neighbours, "unit": setting.unit,
        }  # fmt: skip

    def law(self, price: Price, setting: Setting) -> tuple[Fraction, int]:
        """Because  each of two choices has half of ε."""
        epsilon = price.exponential(2 * Fraction(1, 2) ** 2)
        return epsilon, shift_for(self.level, epsilon=epsilon, **self._arguments(setting))

    def expected_squared_error(self, law: tuple[Fraction, int], setting: Setting) -> float:
        return float(law[1] / setting.caps.most_rows) ** 2

    def _estimator(self, statistic: Statistic) -> IntervalEnd:
        return IntervalEnd(of=self, row=("low", "high").index(statistic.name), kind=self._kind)

    def remark(self, row: int, law: tuple[Fraction, int], setting: Setting, confidence: Fraction) -> str:
        """Describe on which side of the quantile an end is, and how far away."""
        error = self.mechanism(law, setting).error
        side, over = "below" if row else "above", error.beyond(confidence)
        said = f"it is not {side} the quantile" if not over else f"it is at most {over:,} rows {side} the quantile"
        return f"{said}, and at most {error.within(confidence):,} of the rows that count are between them"


@recorded("ends/2")
@dataclass(frozen=True, kw_only=True)
class QuantileIntervalAt(QuantileInterval):
    """Ends of an interval with a confidence of its own; those for 95 % are recorded as `QuantileInterval`."""

    confidence: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "confidence", probability(self.confidence, "confidence"))

    @property
    def level(self) -> Fraction:
        return self.confidence


class IntervalEnd(GridValue[tuple[Fraction, int]]):
    """One end of an interval around a quantile."""

    of: QuantileInterval

    def interval(self, parts: Integers) -> ReleasedEnds | None:
        """Return the interval between both ends; None for dates."""
        if self.kind == "date":
            return None
        both = (replace(self, row=row).values(NOISELESS, parts) for row in (0, 1))
        low, high = (np.array(each, np.float64) for each in both)
        return ReleasedEnds(np.minimum(low, high), np.maximum(low, high), self.of.level)
