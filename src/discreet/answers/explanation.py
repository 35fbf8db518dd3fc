"""What a question would cost and tell, before it is asked. Sees no data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import overload

from discreet.answers.display import caps_said, remarks_said
from discreet.answers.frame import number_text
from discreet.core.loss import Loss
from discreet.core.text import show, table
from discreet.plan.draft import Draft
from discreet.plan.estimates.estimator import share_of
from discreet.plan.plan import Plan

__all__ = ["Explanation", "Explanations", "listed"]

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

    @property
    def protects(self) -> str:
        """Who is protected, in a sentence."""
        plan = self.plan
        column = f" ({plan.caps.unit})" if plan.caps.unit else " (one row each)"
        return f"Protects each {plan.unit}{column}: compares data in which one is {plan.neighbours.change}."

    @property
    def sure(self) -> str:
        """What its margins are called."""
        return f"{show(100 * self.confidence)} % margin"

    def __str__(self) -> str:
        lines = [
            self.protects,
            _cost_said(self.cost, self.left, self.fits, "this question does"),
            *self._groups(),
            *caps_said(self.draft, self.draft.keys),
            *self.remarks,
            "",
            self._numbers(),
            *self.beside(),
            "",
            "The engine would run:",
            *("  " + line for line in self.sql.split("\n")),
        ]
        return "\n".join(lines)

    def beside(self) -> list[str]:
        """What is said beside numbers whose margins depend on the data, or that have none."""
        return [*self._foretold(), *remarks_said(self.draft, self.plan, self.confidence)]

    def _groups(self) -> list[str]:
        plan = self.plan
        if not plan.keys:
            return []
        if plan.naming is None:
            return [f"Groups: {plan.cells:,}, all declared; each is in the answer, also when nobody is in it."]
        names = ", ".join(name for key, name in zip(plan.keys, self.draft.names, strict=True) if not key.declared)
        return [f"Groups: the values of {names} are private. {plan.naming.error.describe()}"]

    def rows(self) -> list[tuple[str, ...]]:
        """Of each number what it is clamped to, its noise, its margin, and that of all together."""
        each, together = self.margins(), self.margins(simultaneous=True)
        rows: list[tuple[str, ...]] = []
        for title, reading in zip(self.draft.titles, self.draft.readings, strict=True):
            view, alone, all_ = reading.estimator(self.plan.measures), each[title], together[title]
            rows.append(
                (
                    title,
                    view.clamped,
                    reading.noise_text(self.plan),
                    f"±{_up(alone)}"
                    if alone is not None
                    else "depends on the data"
                    if view.ranged
                    else "none: see below",
                    "" if all_ is None or self.plan.naming is not None else f"±{_up(all_)}",
                )
            )
        return rows

    def _numbers(self) -> str:
        rows = self.rows()
        if not rows:
            return "It asks for keys only."
        return table(["number", "clamped to", "noise", self.sure, "all together"], rows)

    def _foretold(self) -> list[str]:
        lines = []
        for title, reading in zip(self.draft.titles, self.draft.readings, strict=True):
            said = [(reading.foretold(self.plan, n, self.confidence), n) for n in SIZES]
            known = [f"±{_up(each)} of {n:,}" for each, n in said if each is not None]
            lines += [f"{title} would be within {', '.join(known)} rows."] if known else []
        return lines


@dataclass(frozen=True, repr=False)
class Explanations(Sequence[Explanation]):
    """The same for several questions that are asked together: one explanation of each, and what all of them cost."""

    each: tuple[Explanation, ...]
    ways: tuple[tuple[int, ...], ...]  # the places of those that are answered together, from one release each
    left: str
    fits: bool
    remarks: tuple[str, ...] = ()

    @property
    def joint(self) -> bool:
        """Whether one release answers all."""
        return [len(each) for each in self.ways] == [len(self.each)]

    @staticmethod
    def total(each: Iterable[Explanation]) -> Loss:
        """What asking all of them would cost."""
        plans = {one.plan.key: one.cost for one in each}
        return sum(plans.values(), start=Loss.ZERO)

    @property
    def cost(self) -> Loss:
        """What asking all of them would cost."""
        return self.total(self.each)

    @overload
    def __getitem__(self, index: int) -> Explanation: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Explanation]: ...
    def __getitem__(self, index: int | slice) -> Explanation | Sequence[Explanation]:
        return self.each[index]

    def __len__(self) -> int:
        return len(self.each)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        first = self.each[0]
        way = "answered together, from one release" if self.joint else "asked one by one"
        mixed = self.ways and not self.joint
        if mixed:
            others = ", the others asked one by one" if sum(map(len, self.ways)) < len(self) else ""
            way = "; ".join(f"{listed(each)} answered together, from one release" for each in self.ways) + others
        rows = [(str(n), *row[:4]) for n, one in enumerate(self.each, start=1) for row in one.rows()]
        remarks = [remark for one in self.each for remark in (*caps_said(one.draft, one.draft.keys), *one.remarks)]
        said = dict.fromkeys(remarks)
        beside = dict.fromkeys(line for one in self.each for line in one.beside())
        statements = dict.fromkeys(one.sql for one in self.each)
        lines = [
            first.protects,
            f"{len(self)} questions{':' if mixed else ','} {way}. "
            + _cost_said(self.cost, self.left, self.fits, "these do"),
            *self.remarks,
            *said,
            "",
            table(["question", "number", "clamped to", "noise", first.sure], rows),
            *beside,
            "",
            "The engine would run:",
            *("  " + line for line in ";\n".join(statements).split("\n")),
        ]
        return "\n".join(lines)


def listed(places: Iterable[int]) -> str:
    """Places as people count them: 1–3, 7."""
    runs = [[n for _, n in run] for _, run in groupby(enumerate(sorted(places)), lambda pair: pair[1] - pair[0])]
    return ", ".join(
        f"{run[0] + 1}–{run[-1] + 1}" if len(run) > 2 else ", ".join(f"{n + 1}" for n in run) for run in runs
    )


def _cost_said(cost: Loss, left: str, fits: bool, who: str) -> str:
    return f"Cost: {cost}. Left: {left}" + ("." if fits else f"; {who} not fit.")


def _up(value: float) -> str:
    return number_text(float(f"{value:.4g}"))
