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
from discreet.plan.plan import Plan
from discreet.plan.show import caps_said, remarks_said

__all__ = ["Explanation"]

SIZES = (100, 1_000, 10_000, 100_000)  # rows in a group, where the margin depends on them


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
        found = [reading.margin(self.plan, share, self.draft.added) for reading in readings]
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
            *self._foretold(),
            *remarks_said(self.draft, plan, self.confidence),
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
            view, alone, all_ = reading.view(self.plan.measures), each[title], together[title]
            rows.append(
                (
                    title,
                    view.clamped,
                    view.noise(self.plan.laws[reading.measure]),
                    f"±{_up(alone)}"
                    if alone is not None
                    else "depends on the data"
                    if view.ranged
                    else "none: see below",
                    "" if all_ is None or self.plan.naming is not None else f"±{_up(all_)}",
                )
            )
        if not rows:
            return "It asks for keys only."
        sure = f"{show(100 * self.confidence)} % margin"
        return table(["number", "clamped to", "noise", sure, "all together"], rows)

    def _foretold(self) -> list[str]:
        lines = []
        for title, reading in zip(self.draft.titles, self.draft.readings, strict=True):
            view, law = reading.view(self.plan.measures), self.plan.laws[reading.measure]
            said = [(view.foretold(law, n, self.confidence), n) for n in SIZES]
            known = [f"±{_up(each)} of {n:,}" for each, n in said if each is not None]
            lines += [f"{title} would be within {', '.join(known)} rows."] if known else []
        return lines


def _up(value: float) -> str:
    return number_text(float(f"{value:.4g}"))
