"""What a question would cost and tell, before it is asked. Sees no data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.core.exact import show
from discreet.core.loss import Loss
from discreet.layout import table
from discreet.plan.answer import share_of
from discreet.plan.compile import Draft
from discreet.plan.frame import number_text
from discreet.plan.measure import Measure
from discreet.plan.plan import Plan
from discreet.plan.reading import Reading, average_margin
from discreet.plan.show import caps_said
from discreet.plan.spread import law_scale

__all__ = ["Explanation"]

SIZES = (100, 1_000, 10_000, 100_000)  # rows in a group, for averages


@dataclass(frozen=True, repr=False)
class Explanation:
    """Who is protected and how, what it costs, how wrong it can be, and what the engine would run."""

    draft: Draft
    plan: Plan
    confidence: Fraction
    left: str
    sql: str
    fits: bool
    remarks: tuple[str, ...] = ()

    @property
    def cost(self) -> Loss:
        """What asking would cost."""
        return self.plan.loss

    @property
    def unit(self) -> str:
        """Who is protected."""
        return self.plan.unit

    @property
    def neighbours(self) -> str:
        """Which data sets the promise compares."""
        return self.plan.neighbours

    def margins(self, *, simultaneous: bool = False) -> dict[str, float | None]:
        """Of each aggregate the margin of one number, or of all together; None where it depends on the data."""
        readings = self.draft.readings
        share = self.confidence
        if simultaneous:
            share = share_of(1 - (1 - share) / max(len(readings), 1), self.plan.cells)
        found = [reading.margin(self.plan, share) for reading in readings]
        return {
            title: None if each is None else float(each) for title, each in zip(self.draft.titles, found, strict=True)
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        plan = self.plan
        column = f" ({plan.caps.unit})" if plan.caps.unit else " (one row each)"
        change = {"add-remove": "is added or removed", "replace": "is replaced"}[plan.neighbours]
        room = "" if self.fits else "; this question does not fit"
        lines = [
            f"Protects each {plan.unit}{column}: compares data in which one {change}.",
            f"Cost: {self.cost}. Left: {self.left}{room}.",
            *self._groups(),
            *caps_said(self.draft),
            *self.remarks,
            "",
            self._numbers(),
            *self._averages(),
            "",
            "The engine would run:",
            *("  " + line for line in self.sql.split("\n")),
        ]
        return "\n".join(lines)

    def _groups(self) -> list[str]:
        plan = self.plan
        if not plan.keys:
            return []
        if plan.naming is None:
            return [f"Groups: {plan.cells:,}, all declared; each is in the answer, also when nobody is in it."]
        names = ", ".join(name for key, name in zip(plan.keys, self.draft.names, strict=True) if not key.declared)
        return [f"Groups: the values of {names} are private. {plan.naming.error.describe()}"]

    def _numbers(self) -> str:
        each, together = self.margins(), self.margins(simultaneous=True)
        rows = []
        for title, reading in zip(self.draft.titles, self.draft.readings, strict=True):
            measure, law = self.plan.measures[reading.measure], _noise(self.plan, reading)
            alone, all_ = each[title], together[title]
            rows.append(
                (
                    title,
                    _bounds(measure) if reading.function in ("sum", "avg") else "–",
                    law,
                    "depends on the number of rows" if alone is None else f"±{_up(alone)}",
                    "" if all_ is None or self.plan.naming is not None else f"±{_up(all_)}",
                )
            )
        if not rows:
            return "It asks for keys only."
        sure = f"{show(100 * self.confidence)} % margin"
        return table(["number", "clamped to", "noise", sure, "all together"], rows)

    def _averages(self) -> list[str]:
        lines = []
        for title, reading in zip(self.draft.titles, self.draft.readings, strict=True):
            if reading.function == "avg":
                measure = self.plan.measures[reading.measure]
                law = self.plan.laws[reading.measure]
                said = [f"±{_up(average_margin(measure, law, n, self.confidence))} of {n:,}" for n in SIZES]
                lines.append(f"{title} would be within {', '.join(said)} rows.")
        return lines


def _noise(plan: Plan, reading: Reading) -> str:
    """The noise on a number in words, in the units of the number."""
    measure, law = plan.measures[reading.measure], plan.laws[reading.measure]
    unit = measure.step if reading.function in ("sum", "avg") else Fraction(1, measure.whole)
    times = f"{len(measure.parts)} × " if len(measure.parts) > 1 else ""
    return f"{times}{str(law).split(' noise')[0]}, scale {show(float(unit) * law_scale(law), 4)}"


def _bounds(measure: Measure) -> str:
    if not measure.summed:
        return "–"
    return f"{show(measure.low * measure.step)} to {show(measure.high * measure.step)}"


def _up(value: float) -> str:
    return number_text(float(f"{value:.4g}"))
