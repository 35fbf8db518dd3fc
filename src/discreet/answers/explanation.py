"""Explanations: the cost and the margins of a question before it is asked. No data are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from typing import Any, overload

from discreet.answers.codec import pack, unpack
from discreet.answers.display import bounds_text, remarks_text
from discreet.answers.frame import number_text
from discreet.core.exact import probability
from discreet.core.loss import Loss
from discreet.core.once import once
from discreet.core.text import show, table
from discreet.errors import NotAllowed, NotUnderstood, visible
from discreet.plan.draft import Draft
from discreet.plan.estimates.estimator import share_of
from discreet.plan.plan import Plan

__all__ = ["Explanation", "Explanations", "Facts", "PlannedQuestion", "place_ranges"]

SIZES = (100, 1_000, 10_000, 100_000)  # rows in a group, where the margin depends on them


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The content of an explanation beside the budget and the SQL. It can be sent, without the plan and the draft."""

    cost: Loss
    key: str  # of the plan: those that are answered together have the same
    unit: str
    neighbours: str
    protects: str
    groups: tuple[str, ...]
    caps: tuple[str, ...]
    rows: tuple[tuple[str, str, str, str, str], ...]
    margins: tuple[tuple[str, float | None, float | None], ...]  # of each aggregate alone, and of all together
    beside: tuple[str, ...]

    @property
    def plan(self) -> Plan:
        """Refused: the plan stays with the curator."""
        raise NotAllowed(
            "the plan stays with the curator.", code="stays-with-curator", instead="read the cost and the margins"
        )

    @property
    def draft(self) -> Draft:
        """Refused: the question stays with the curator."""
        raise NotAllowed(
            "the question stays with the curator.", code="stays-with-curator", instead="read the cost and the margins"
        )

    def facts(self, confidence: Fraction) -> Facts:
        """Return these facts."""
        return self


@dataclass(frozen=True)
class PlannedQuestion:
    """A question and the plan that would be run, in the process of the curator."""

    draft: Draft
    plan: Plan
    beside: Loss = Loss.ZERO  # the cost of what is bought before it, such as automatic bounds

    @property
    def cost(self) -> Loss:
        """The cost of the plan, and of what is bought before it."""
        return self.plan.loss if self.beside == Loss.ZERO else self.beside + self.plan.loss.charged

    @property
    def key(self) -> str:
        """The key of the plan."""
        return self.plan.key

    def facts(self, confidence: Fraction) -> Facts:
        """Return the content of the explanation."""
        alone, together = self._margins(confidence), self._margins(self._shared(confidence))
        margins = zip(self.draft.titles, alone, together, strict=True)
        plan = self.plan
        return Facts(
            cost=self.cost, key=plan.key, unit=plan.unit, neighbours=str(plan.neighbours), protects=self._protects(),
            groups=tuple(self._groups()), caps=tuple(bounds_text(self.draft, self.draft.keys)),
            rows=tuple(self._rows(alone, together)), margins=tuple(margins),
            beside=(*self._margin_lines(confidence), *remarks_text(self.draft, plan, confidence)),
        )  # fmt: skip

    def _shared(self, confidence: Fraction) -> Fraction:
        """Return the confidence of each number that gives all of them together this confidence."""
        return share_of(1 - (1 - confidence) / max(len(self.draft.readings), 1), self.plan.cells)

    def _margins(self, confidence: Fraction) -> list[float | None]:
        readings, added = self.draft.readings, self.draft.max_added_groups
        found = [reading.margin(self.plan, confidence, added) for reading in readings]
        return [None if each is None else float(each) for each in found]

    def _protects(self) -> str:
        plan = self.plan
        column = f" ({plan.caps.unit})" if plan.caps.unit else " (one row each)"
        return f"Protects each {plan.unit}{column}: compares data in which one is {plan.neighbours.change}."

    def _groups(self) -> list[str]:
        plan = self.plan
        if not plan.keys:
            return []
        if plan.naming is None:
            what = "all declared" if plan.listed is None else "those that can be"
            return [f"Groups: {plan.cells:,}, {what}; each is in the answer, also when nobody is in it."]
        names = ", ".join(name for key, name in zip(plan.keys, self.draft.names, strict=True) if not key.declared)
        return [f"Groups: the values of {names} are private. {plan.naming.error.describe()}"]

    def _rows(self, each: list[float | None], together: list[float | None]) -> Iterator[tuple[str, str, str, str, str]]:
        """Yield for each number its bounds, its noise, its margin, and the margin of all together."""
        rows = zip(self.draft.titles, self.draft.readings, each, together, strict=True)
        for title, reading, alone, all_ in rows:
            view = reading.estimator(self.plan.measures)
            unknown = "depends on the data" if view.has_interval else "none: see below"
            yield (
                title,
                view.clamped,
                reading.noise_text(self.plan),
                unknown if alone is None else f"±{_up(alone)}",
                "" if all_ is None or self.plan.naming is not None else f"±{_up(all_)}",
            )

    def _margin_lines(self, confidence: Fraction) -> list[str]:
        lines = []
        for title, reading in zip(self.draft.titles, self.draft.readings, strict=True):
            said = [(reading.expected_margin(self.plan, n, confidence), n) for n in SIZES]
            known = [f"±{_up(each)} of {n:,}" for each, n in said if each is not None]
            lines += [f"{title} would be within {', '.join(known)} rows."] if known else []
        return lines


@dataclass(frozen=True, repr=False)
class Explanation:
    """The protected unit, the cost, the margins, and the SQL that the engine would run. It can be sent."""

    origin: PlannedQuestion | Facts
    confidence: Fraction
    left: str
    sql: str
    fits: bool
    remarks: tuple[str, ...] = ()

    @once
    def facts(self) -> Facts:
        """The content of the explanation."""
        return self.origin.facts(self.confidence)

    @property
    def plan(self) -> Plan:
        """The plan that would be run; it stays with the curator."""
        return self.origin.plan

    @property
    def draft(self) -> Draft:
        """The draft of the question; it stays with the curator."""
        return self.origin.draft

    @property
    def cost(self) -> Loss:
        """The cost of asking."""
        return self.origin.cost

    @property
    def unit(self) -> str:
        """The privacy unit."""
        return self.facts.unit

    @property
    def neighbours(self) -> str:
        """The neighbour relation of the guarantee."""
        return self.facts.neighbours

    @property
    def protects(self) -> str:
        """The privacy unit and its neighbours, in a sentence."""
        return self.facts.protects

    def margins(self, *, simultaneous: bool = False) -> dict[str, float | None]:
        """Return the margin of each aggregate, alone or of all together; None where it depends on the data."""
        return {title: together if simultaneous else alone for title, alone, together in self.facts.margins}

    def rows(self) -> list[tuple[str, ...]]:
        """Return for each number its bounds, its noise, its margin, and the margin of all together."""
        return list(self.facts.rows)

    @property
    def confidence_text(self) -> str:
        """The heading of the margins."""
        return f"{show(100 * self.confidence)} % margin"

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values that JSON has."""
        return pack("explanation/1", _Sent.of(self))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Explanation:
        """Return the explanation that `to_dict` wrote; refuse any other document."""
        return unpack("explanation/1", _Sent, document, _Sent.check).explanation

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return Explanation.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        lines = [
            visible(self.protects),
            _cost_text(self.cost, self.left, self.fits, "this question does"),
            *map(visible, (*self.facts.groups, *self.facts.caps, *self.remarks)),
            "",
            self._numbers(),
            *map(visible, self.facts.beside),
            "",
            "The engine would run:",
            *("  " + visible(line) for line in self.sql.split("\n")),
        ]
        return "\n".join(lines)

    def _numbers(self) -> str:
        rows = self.rows()
        if not rows:
            return "It asks for keys only." if self.cost != Loss.ZERO else "Every number has the margin 0."
        return table(["number", "clamped to", "noise", self.confidence_text, "all together"], rows)


@dataclass(frozen=True)
class _Sent:
    """An explanation, as it is serialised."""

    facts: Facts
    confidence: Fraction
    left: str
    sql: str
    fits: bool
    remarks: tuple[str, ...]

    @classmethod
    def of(cls, said: Explanation) -> _Sent:
        return cls(said.facts, said.confidence, said.left, said.sql, said.fits, said.remarks)

    @property
    def explanation(self) -> Explanation:
        return Explanation(self.facts, self.confidence, self.left, self.sql, self.fits, self.remarks)

    def check(self) -> None:
        """Refuse values that types allow and an explanation does not."""
        probability(self.confidence, "confidence")


@dataclass(frozen=True, repr=False)
class Explanations(Sequence[Explanation]):
    """The explanations of several questions that are asked together, and their total cost."""

    each: tuple[Explanation, ...]
    ways: tuple[tuple[int, ...], ...]  # the places of those that are answered together, from one release each
    left: str
    fits: bool
    remarks: tuple[str, ...] = ()

    @property
    def joint(self) -> bool:
        """True if one release answers all questions."""
        return [len(each) for each in self.ways] == [len(self.each)]

    @staticmethod
    def total(each: Iterable[Explanation]) -> Loss:
        """Return the cost of asking all of them; those of one plan are paid once."""
        plans = {one.origin.key: one.cost for one in each}
        return sum(plans.values(), start=Loss.ZERO)

    @property
    def cost(self) -> Loss:
        """The cost of asking all of them."""
        return self.total(self.each)

    def to_dict(self) -> dict[str, Any]:
        """Return all explanations as plain values that JSON has."""
        each = tuple(map(_Sent.of, self.each))
        return pack("explanations/1", _AllSent(each, self.ways, self.left, self.fits, self.remarks))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Explanations:
        """Return the explanations that `to_dict` wrote; refuse any other document."""
        found = unpack("explanations/1", _AllSent, document, _AllSent.check)
        return cls(tuple(one.explanation for one in found.each), found.ways, found.left, found.fits, found.remarks)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return Explanations.from_dict, (self.to_dict(),)

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
            way = "; ".join(f"{place_ranges(each)} answered together, from one release" for each in self.ways) + others
        rows = [(str(n), *row[:4]) for n, one in enumerate(self.each, start=1) for row in one.rows()]
        remarks = [remark for one in self.each for remark in (*one.facts.caps, *one.remarks)]
        said = dict.fromkeys(remarks)
        beside = dict.fromkeys(line for one in self.each for line in one.facts.beside)
        statements = dict.fromkeys(one.sql for one in self.each)
        lines = [
            visible(first.protects),
            f"{len(self)} questions{':' if mixed else ','} {way}. "
            + _cost_text(self.cost, self.left, self.fits, "these do"),
            *map(visible, (*self.remarks, *said)),
            "",
            table(["question", "number", "clamped to", "noise", first.confidence_text], rows),
            *map(visible, beside),
            "",
            "The engine would run:",
            *("  " + visible(line) for line in ";\n".join(statements).split("\n")),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class _AllSent:
    """Several explanations, as they are serialised."""

    each: tuple[_Sent, ...]
    ways: tuple[tuple[int, ...], ...]
    left: str
    fits: bool
    remarks: tuple[str, ...]

    def check(self) -> None:
        """Refuse values that types allow and explanations do not."""
        for one in self.each:
            one.check()
        if not self.each or not all(0 <= n < len(self.each) for way in self.ways for n in way):
            raise NotUnderstood(
                "these are no explanations.", code="not-a-document", instead="hand over what to_dict() gave"
            )


def place_ranges(places: Iterable[int]) -> str:
    """Return places as text, counted from one: 1–3, 7."""
    runs = [[n for _, n in run] for _, run in groupby(enumerate(sorted(places)), lambda pair: pair[1] - pair[0])]
    return ", ".join(
        f"{run[0] + 1}–{run[-1] + 1}" if len(run) > 2 else ", ".join(f"{n + 1}" for n in run) for run in runs
    )


def _cost_text(cost: Loss, left: str, fits: bool, who: str) -> str:
    return f"Cost: {cost}. Left: {left}" + ("." if fits else f"; {who} not fit.")


def _up(value: float) -> str:
    return number_text(float(f"{value:.4g}"))
