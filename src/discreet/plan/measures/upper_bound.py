"""An upper bound of a column, found by private selection."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from discreet.core.contribution import Setting
from discreet.core.laws.price import Price
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import Ladder
from discreet.kernel.expressions import Tree
from discreet.mechanisms.quantiles.upper_bound import UpperBoundMechanism
from discreet.plan.measures.measure import MeasureOf
from discreet.plan.measures.quantiles import TOP
from discreet.plan.measures.statistic import Statistic

__all__ = ["UpperBound"]


@recorded("ceilings/1")
@dataclass(frozen=True, kw_only=True)
class UpperBound(MeasureOf[Fraction]):
    """A bound above `least` that hardly any value exceeds, from a ladder of 1, 2 and 5 times powers of ten.

    The law of this measure is an ε.
    """

    of: Tree
    least: Fraction
    first: int  # the power of ten that the ladder begins with

    def __post_init__(self) -> None:
        if not -30 <= self.first < TOP:
            raise NotUnderstood(
                "the recorded plan holds an invalid measure.", code="not-a-record", instead="ask in SQL"
            )

    @property
    def rungs(self) -> tuple[Fraction, ...]:
        """Return the possible bounds, the lowest first."""
        powers = [Fraction(10) ** each for each in range(self.first, TOP)]
        return tuple(self.least + times * power for power in powers for times in (1, 2, 5))

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("ceiling",)

    @property
    def exact(self) -> Ladder:
        return Ladder(of=self.of, rungs=self.rungs)

    def mechanism(self, law: Fraction, setting: Setting) -> UpperBoundMechanism:
        last, rows = len(self.rungs) - 1, setting.caps.most_rows
        return UpperBoundMechanism(
            epsilon=law, last=last, records=rows, neighbours=setting.neighbours, unit=setting.unit
        )

    def law(self, price: Price, setting: Setting) -> Fraction:
        return price.exponential()

    def expected_squared_error(self, law: Fraction, setting: Setting) -> float:
        return float(1 / law) ** 2

    def _estimator(self, statistic: Statistic) -> NoReturn:
        raise NotUnderstood("a bound is not a number of an answer.", code="no-number", instead="ask in SQL")
