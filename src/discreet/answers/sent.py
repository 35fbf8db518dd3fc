"""Answers as documents: the serialised part of an answer, and the answer that is read from it elsewhere.

A document holds what can be read from the answer where it was asked: its rows, the data of their intervals, the same
rows made consistent, the cost, the remaining budget, the facts of the receipt, and the remarks. The question, the plan,
the catalogue, the groups that are not shown and the releases that were added up stay behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.answers.answer import SAMPLE, Answer, Formula, Sheet
from discreet.answers.bill import Bill
from discreet.answers.codec import pack, unpack
from discreet.answers.estimates import Estimate, same_values
from discreet.core.exact import probability
from discreet.errors import NotAllowed, NotUnderstood
from discreet.postprocess.intervals import interval_of, released_names
from discreet.postprocess.table import Rows

if TYPE_CHECKING:
    from discreet.answers.answer import Purchase
    from discreet.plan.plan import Plan, Released

__all__ = ["answer_read", "answer_sent"]

FORM = "answer/1"
NAME = re.compile("[ak][0-9]{1,4}")
NUMBERS = ("integer", "real")
MAX_STEPS = 2_000_000_000  # of all intervals of an answer: rows times what is computed of each


@dataclass(frozen=True, eq=False, kw_only=True)
class _Consistent:
    """The difference of the consistent answer: in some columns, or also in its rows; and the limits of its numbers."""

    columns: Rows | None
    places: tuple[int, ...]
    limits: Mapping[str, tuple[float, float]]
    estimates: Mapping[str, Estimate] | None = None  # None: of the same rows


@dataclass(frozen=True, eq=False, kw_only=True)
class _Sent:
    """An answer, as it is serialised."""

    columns: Rows
    formulas: tuple[Formula, ...]
    estimates: Mapping[str, Estimate]
    groups: int
    numbers: int
    confidence: Fraction
    heard: Bill
    beside: tuple[str, ...]
    caps: tuple[str, ...]
    consistent: _Consistent


@dataclass(frozen=True, eq=False)
class SentOrigin:
    """The origin of an answer that was read from a document."""

    said: tuple[str, ...]
    counted: tuple[str, ...]
    sheet: Sheet

    @property
    def plan(self) -> Plan:
        _behind("plan")

    @property
    def released(self) -> Released:
        _behind("release")

    @property
    def purchase(self) -> Purchase:
        _behind("purchase")

    def beside(self, confidence: Fraction) -> tuple[str, ...]:
        return self.said

    def caps(self) -> tuple[str, ...]:
        return self.counted

    def consistent(self) -> Sheet:
        return self.sheet


def _behind(what: str) -> NoReturn:
    raise NotAllowed(
        f"the {what} stays with the curator.",
        code="stays-with-curator",
        instead="read the answer, its margins and its receipt",
    )


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def answer_sent(answer: Answer) -> dict[str, Any]:
    """Return an answer as a document."""
    sheet = answer.origin.consistent()
    sent = _Sent(
        columns=answer.data,
        formulas=answer.formulas,
        estimates=_plain(answer.estimates, answer.data, answer.formulas),
        groups=answer.groups,
        numbers=answer.numbers,
        confidence=answer.confidence,
        heard=answer.bill,
        beside=answer.origin.beside(answer.confidence),
        caps=answer.origin.caps(),
        consistent=_differing(answer, sheet),
    )
    return pack(FORM, sent)


def _plain(estimates: Mapping[str, Estimate], data: Rows, formulas: tuple[Formula, ...]) -> dict[str, Estimate]:
    """Return estimates as they are sent; values that a column shows unchanged are left out."""
    shown = _bare(formulas)
    found = {}
    for name, each in estimates.items():
        plain = each.plain()
        found[name] = plain.hidden(data.columns[shown[name]]) if name in shown else plain
    return found


def _bare(formulas: tuple[Formula, ...]) -> dict[str, int]:
    """Return for each estimate that a column shows unchanged the place of the first such column."""
    names = [(n, each.what.column) for n, each in enumerate(formulas) if each.what is not None]
    return {name: n for n, name in reversed(names) if name is not None}


def _differing(answer: Answer, sheet: Sheet) -> _Consistent:
    mine, other = answer.data.columns, sheet.data.columns
    limits = {name: each.limits for name, each in sheet.estimates.items() if each.limits is not None}
    whole = len(mine[0]) != len(other[0]) or not all(_alike(answer.estimates[n], sheet.estimates[n]) for n in limits)
    places = tuple(n for n in range(len(mine)) if whole or not same_values(mine[n], other[n]))
    data = sheet.data
    names, kinds = tuple(data.names[n] for n in places), tuple(data.kinds[n] for n in places)
    columns = Rows(names, kinds, tuple(other[n] for n in places)) if places else None
    estimates = {name: replace(each.plain(), limits=None) for name, each in sheet.estimates.items()} if whole else None
    return _Consistent(columns=columns, places=places, limits=limits, estimates=estimates)


def _alike(one: Estimate, other: Estimate) -> bool:
    """Return True if the intervals of two estimates are computed from the same data."""
    return one.footing is not None and one.footing == other.footing


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────


def answer_read(document: object) -> Answer:
    """Return the answer of a document."""
    sent = unpack(FORM, _Sent, document, _checked)
    data, formulas = sent.columns, sent.formulas
    estimates = _filled(sent)
    other = sent.consistent
    columns = list(data.columns)
    kinds = list(data.kinds)
    if other.columns is not None:
        for n, kind, values in zip(other.places, other.columns.kinds, other.columns.columns, strict=True):
            columns[n], kinds[n] = values, kind
    cut = {
        name: replace(each, limits=other.limits[name]) if name in other.limits else each
        for name, each in (estimates if other.estimates is None else other.estimates).items()
    }
    sheet = Sheet(Rows(data.names, tuple(kinds), tuple(columns)), cut)
    origin = SentOrigin(sent.beside, sent.caps, sheet)
    return Answer(data, formulas, estimates, sent.groups, sent.numbers, sent.confidence, sent.heard, origin)


def _filled(sent: _Sent) -> dict[str, Estimate]:
    """Return the estimates, with the values of columns that show them unchanged."""
    shown = _bare(sent.formulas)
    return {
        name: each.shown(sent.columns.columns[shown[name]]) if name in shown else each
        for name, each in sent.estimates.items()
    }


def _checked(sent: _Sent) -> None:
    """Refuse a document that is no answer, though its types are right.

    Promise  intervals of an answer that passes are computed in time that is in proportion to its rows, and are numbers.
    """
    probability(sent.confidence, "confidence")
    rows, other = len(sent.columns.columns[0]), sent.consistent
    size, names = len(sent.formulas), set[str]()
    _true(size == len(sent.columns.names) and 0 <= sent.groups < 1 << 53 and 0 <= sent.numbers < 1 << 53)
    steps = 0
    for each, kind in zip(sent.formulas, sent.columns.kinds, strict=True):
        if each.what is not None:
            read = each.what.columns
            _true(kind in NUMBERS)
            names |= read
            _true(not each.exact and bool(released_names(each.what)) and all(map(NAME.fullmatch, read)))
            _true(interval_of(each.what, dict.fromkeys(read, SAMPLE)) is not None)
            steps += each.what.size()
    _true(len({name for name in names if name[0] == "a"}) <= sent.numbers)
    estimates = _filled(sent)
    _estimates(estimates, names, rows)
    there = [] if other.columns is None else [len(each) for each in other.columns.columns]
    moved = rows if other.estimates is None else there[0] if there else -1
    _true(all(each == moved for each in there) and len(there) == len(other.places) == len(set(other.places)))
    _true(all(0 <= n < size for n in other.places) and (other.estimates is None or len(there) == size))
    _true(other.columns is None or other.columns.names == tuple(sent.columns.names[n] for n in other.places))
    kinds = () if other.columns is None else zip(other.places, other.columns.kinds, strict=True)
    _true(all(kind in NUMBERS or sent.formulas[n].what is None for n, kind in kinds))
    if other.estimates is not None:
        _estimates(other.estimates, names, moved)
    _true(set(other.limits) <= names and all(low <= high for low, high in other.limits.values()))
    laws = sum(each.laws for each in estimates.values())
    _true(max(rows, moved) * steps + 1000 * laws <= MAX_STEPS)


def _estimates(found: Mapping[str, Estimate], names: set[str], rows: int) -> None:
    """Refuse estimates other than those of `names`, or of another number of rows."""
    _true(set(found) == names)
    for each in found.values():
        _true(len(each) == rows and each.limits is None and each.sound())


def _true(said: bool) -> None:
    if not said:
        raise NotUnderstood("this is no answer.", code="not-a-document", instead="hand over what to_dict() gave")
