"""MODE: the most frequent value, by private selection."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.contribution import Setting
from discreet.core.laws.law import Integers, Spread
from discreet.core.laws.price import Price
from discreet.core.record import recorded
from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import ValueCounts
from discreet.kernel.expressions import Tree, Value
from discreet.mechanisms.selection.mode import Modes
from discreet.plan.measures.measure import MeasureOf
from discreet.plan.measures.quantiles import CHOICES, Choice, SelectedValue
from discreet.plan.measures.statistic import Statistic

__all__ = ["Mode"]


@recorded("mode/1")
@dataclass(frozen=True, kw_only=True)
class Mode(MeasureOf[Choice]):
    """The commonest of the declared values of an expression. Its law is the name of a selection mechanism, and an ε."""

    of: Tree
    kind: Kind
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise NotUnderstood(
                "the recorded plan holds an invalid measure.", code="not-a-record", instead="ask in SQL"
            )

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("mode",)

    @property
    def exact(self) -> ValueCounts:
        return ValueCounts(of=self.of, kind=self.kind, values=self.values)

    @property
    def listed(self) -> tuple[tuple[Tree, Kind], ...]:
        return ((self.of, self.kind),)

    def mechanism(self, law: Choice, setting: Setting) -> Modes:
        choice = CHOICES[law[0]](
            epsilon=law[1], sensitivity=setting.caps.most_rows, monotone=setting.neighbours.monotone,
            neighbours=setting.neighbours,
        )  # fmt: skip
        return Modes(choose=choice, unit=setting.unit)

    def law(self, price: Price, setting: Setting) -> Choice:
        return price.choice, price.exponential()

    def expected_squared_error(self, law: Choice, setting: Setting) -> float:
        return (self.gap(law, setting, Fraction(95, 100)) / setting.caps.most_rows) ** 2

    def gap(self, law: Choice, setting: Setting, confidence: Fraction) -> float:
        """Return the gap: with this confidence the chosen value has fewer rows than the commonest by less than that."""
        return self.mechanism(law, setting).error.gap(len(self.values), confidence)

    def _estimator(self, statistic: Statistic) -> ModeValue:
        return ModeValue(of=self, kind=self.kind)


@dataclass(frozen=True, kw_only=True)
class ModeValue(SelectedValue[Choice]):
    """The estimator of MODE: one of the declared values."""

    of: Mode
    kind: Kind
    possible: tuple[float, float] = (-math.inf, math.inf)

    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        return [self.of.values[int(each)] for each in parts[0]]

    def noise_text(self, law: Choice) -> str:
        return {"flip": "permute-and-flip", "exponential": "exponential mechanism"}[law[0]]

    def remark(self, law: Choice, setting: Setting, confidence: Fraction) -> str:
        off = math.ceil(self.of.gap(law, setting, confidence))
        return f"it has fewer rows than the commonest value by less than {off:,}"
