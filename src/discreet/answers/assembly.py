"""Assemble the answer to a composite from the releases of its inner questions and from public tables.

All that is computed here reads released numbers and public rows, so it is free. A number keeps its margin where it is
computed, row by row, from numbers that have one; a number of a public table has the margin zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.answers.answer import SAMPLE, Answer, Formula, Purchase, Sheet
from discreet.answers.bill import Bill
from discreet.answers.estimates import Estimate, ReleasedInterval
from discreet.core.once import once
from discreet.errors import NotAllowed
from discreet.plan.draft import Composite
from discreet.plan.plan import Plan, Released
from discreet.postprocess.intervals import interval_of, is_exact, over_released, released_names
from discreet.postprocess.query import run_tables
from discreet.postprocess.table import Given, Rows, reading_of, row_of
from discreet.sql import query as q

__all__ = ["Assembly", "assembled"]

NUMBERS = ("integer", "real")


def assembled(
    question: Composite, purchases: Sequence[Purchase], public: Sequence[Rows], bill: Bill, confidence: Fraction
) -> Answer:
    """Return the answer to a composite, from the releases of its drafts and the rows of its public tables."""
    origin = Assembly(question, tuple(purchases), tuple(public))
    sheet, (formulas, numbers) = origin.shown, origin.formulas
    groups = max((each.groups for each in purchases), default=len(sheet.data.columns[0]))
    return Answer(sheet.data, formulas, sheet.estimates, groups, numbers, confidence, bill, origin)


@dataclass(frozen=True, eq=False)
class Assembly:
    """The releases for a question that is made of several, in the process of the curator: they are never sent."""

    question: Composite
    purchases: tuple[Purchase, ...]
    public: tuple[Rows, ...]

    @property
    def plan(self) -> Plan:
        """Refused: there are several plans, or none."""
        raise _several("plan", len(self.purchases))

    @property
    def released(self) -> Released:
        """Refused: there are several releases, or none."""
        raise _several("release", len(self.purchases))

    @property
    def purchase(self) -> Purchase:
        """Refused: there are several purchases, or none."""
        raise _several("purchase", len(self.purchases))

    def beside(self, confidence: Fraction) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for each in self.purchases for line in each.beside(confidence)))

    def caps(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(line for each in self.purchases for line in each.caps()))

    def consistent(self) -> Sheet:
        if self.question.free:
            return self.shown
        sheet, names = self._sheet([each.feasible() for each in self.purchases]), set(self.shown.estimates)
        if not names <= set(sheet.estimates):  # a row that an outer join does not find any more has no number
            sheet = self.shown
        cut = {}
        for name in names:
            (purchase, local), each = self._read_by(name), sheet.estimates[name]
            cut[name] = each if purchase is None else purchase.limited(local, each)
        return Sheet(sheet.data, cut)

    # ── formulas ─────────────────────────────────────────────────────────────────────────────────────────────────

    @once
    def _flat(self) -> tuple[list[q.Expression | None], dict[str, tuple[int, str]]]:
        """The columns over the tables themselves, each number under a name of its own; and whose these names are."""
        names: dict[tuple[int, str], str] = {}

        def named(name: q.Name) -> q.Expression:
            place = int((name.table or "")[1:])
            first = "a" if self.question.readings[place].startswith("r") and name.name.startswith("a") else "k"
            own = names.setdefault((place, name.name), f"{first}{len(names)}")
            return q.Name(name=own, place=name.place)

        view = self.question.view
        found = [over_released(view, item.what) for item in view.items]
        flat = [None if what is None else what.rename(named) for what in found]
        return flat, {own: where for where, own in names.items()}

    def _read_by(self, name: str) -> tuple[Purchase | None, str]:
        """Return the purchase that a number is read from, and its name there."""
        place, local = self._flat[1][name]
        table = self.question.readings[place]
        return (self.purchases[int(table[1:])] if table.startswith("r") else None), local

    @once
    def formulas(self) -> tuple[tuple[Formula, ...], int]:
        """The formula of each column over the numbers that have estimates, and how many numbers they read."""
        view, used, found, sheet = self.question.view, set[str](), list[Formula](), self._all
        for n, what in enumerate(self._flat[0]):
            if self.question.free:
                exact = n not in self.question.computed or sheet.data.kinds[n] not in NUMBERS
                number: q.Expression | None = None if exact else q.Name(name=f"a{n}", place=view.place)
            else:
                exact = is_exact(view, view.items[n].what)
                number = what if not exact and self._followed(what, sheet.estimates) else None
            used |= set() if number is None else released_names(number)
            found.append(Formula(exact=exact, what=number))
        return tuple(found), len(used)

    def _followed(self, what: q.Expression | None, estimates: Mapping[str, Estimate]) -> bool:
        """Return True if the interval of a column follows from estimates of its numbers."""
        if what is None or not released_names(what) or not what.columns <= set(estimates):
            return False
        return interval_of(what, dict.fromkeys(estimates, SAMPLE)) is not None

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────

    @once
    def shown(self) -> Sheet:
        """The rows of the answer, with the estimates that its formulas read."""
        read = {name for each in self.formulas[0] if each.what is not None for name in each.what.columns}
        return Sheet(self._all.data, {name: each for name, each in self._all.estimates.items() if name in read})

    @once
    def _all(self) -> Sheet:
        return self._sheet([each.released for each in self.purchases])

    def _sheet(self, shown: Sequence[Released]) -> Sheet:
        """Return the rows of the answer with the numbers `shown`; estimates are of the numbers that were released."""
        view, size = self.question.view, len(self.question.view.items)
        if self.question.free:
            rows = self.public[0]
            data = Rows(tuple(item.name for item in view.items), rows.kinds, rows.columns)
            numbers = [n for n in sorted(self.question.computed) if rows.kinds[n] in NUMBERS]
            return Sheet(data, {f"a{n}": _exactly(rows.columns[n]) for n in numbers})
        public = {f"p{n}": table.given(self.public[n]) for n, table in enumerate(self.question.tables)}
        tables = {f"r{n}": each.table(shown[n]) for n, each in enumerate(self.purchases)} | public
        rows = run_tables(view, tables, rows=True)
        data = Rows(tuple(item.name for item in view.items), rows.kinds[:size], rows.columns[:size])
        numbered = dict(zip(rows.names[size:], rows.columns[size:], strict=True))
        released = {f"r{n}": each.table(each.released) for n, each in enumerate(self.purchases)} | public
        estimates = {name: self._estimate(name, released, numbered) for name in self._wanted()}
        return Sheet(data, {name: each for name, each in estimates.items() if each is not None})

    def _wanted(self) -> list[str]:
        """Return the names of the numbers that columns with noise read."""
        flat, view = self._flat[0], self.question.view
        noisy = [what for what, item in zip(flat, view.items, strict=True) if what and not is_exact(view, item.what)]
        return sorted({name for what in noisy for name in what.columns})

    def _estimate(
        self, name: str, tables: Mapping[str, Sequence[Given]], numbered: Mapping[str, list[Any]]
    ) -> Estimate | None:
        """Return the estimate of a number in the rows that show it; None if it has none, or is missing in some rows."""
        place, local = self._flat[1][name]
        table = self.question.readings[place]
        rows = numbered.get(row_of(table, reading_of(place)) or "")
        if rows is None or any(each is None for each in rows):
            return None
        column = next(each for each in tables[table] if each.name.lower() == local.lower())
        purchase, places = self._read_by(name)[0], np.array(rows, np.int64)
        if purchase is not None:
            return purchase.estimate(local, column.values, places) if local in purchase.known() else None
        values = [column.values[n] for n in rows]
        return _exactly(values) if column.kind in NUMBERS and None not in values else None


def _exactly(values: Sequence[Any]) -> ReleasedInterval:
    """Return the estimate of numbers without noise."""
    found = np.array([0.0 if each is None else float(each) for each in values])
    return ReleasedInterval(low=found, high=found, level=Fraction(1))


def _several(what: str, many: int) -> NotAllowed:
    said = f"there are {many} {what}s" if many else f"there is no {what}"
    return NotAllowed(f"{said} behind this answer.", code="stays-with-curator", instead="read the answer and its cost")
