"""The numbers of an answer: released, or computed from released numbers; and how exact they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core.values.kinds import Kind
from discreet.plan.draft import Composite, Draft
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.plan import Plan
from discreet.postprocess.intervals import Box, interval_of, over_released, released_names
from discreet.postprocess.query import check, keeps_rows
from discreet.postprocess.sizes import check_sizes
from discreet.postprocess.table import RELEASED, ROW, Given, Rows
from discreet.sql import query as q

__all__ = ["SAMPLES", "OutputColumns", "assumed_rows", "check_composite", "check_output", "output_columns",
           "released_samples"]  # fmt: skip

MAX_ASSUMED = 100  # rows of an answer that is not known yet

NONE: Box = (np.array(0.0), np.array(0.0))


@dataclass(frozen=True)
class OutputColumns:
    """The numeric output columns, by how they follow from released numbers: copied, linear, computed, or unknown."""

    bare: frozenset[int]  # numbers that were released, shown as they are or not at all
    linear: tuple[q.Expression, ...]  # sums of multiples of them, whose margin does not depend on the data
    computed: bool  # whether there is any other number that is computed from them
    unknown: tuple[str, ...]  # the names of those that no margin is known for

    @property
    def plain(self) -> bool:
        """Return True if all numbers are shown as they were released."""
        return not self.linear and not self.computed and not self.unknown

    @property
    def read(self) -> set[int]:
        """Return the released numbers whose margins decide, of those that do not depend on the data."""
        return set(self.bare).union(*(_numbers(each) for each in self.linear))

    def within(
        self, draft: Draft, plan: Plan, confidence: Fraction, margin: Fraction, wide: Counter[int] | None = None
    ) -> bool:
        """Return True if `plan` answers every number within `margin`, as far as that does not depend on the data.

        `wide` counts the numbers that were too wide for other plans; those are tested first.
        """
        readings = draft.measured(plan.measures).readings

        added, wide = draft.max_added_groups, Counter() if wide is None else wide

        def margins(numbers: Collection[int], share: Fraction) -> Iterator[tuple[int, Fraction | None]]:
            ordered = sorted(numbers, key=wide.__getitem__, reverse=True)
            return ((n, readings[n].margin(plan, share, added)) for n in ordered)

        for n, each in margins(self.bare, confidence):
            if each is None or each > margin:
                wide[n] += 1
                return False
        for what in self.linear:
            numbers = _numbers(what)
            known = dict(margins(numbers, 1 - (1 - confidence) / max(len(numbers), 1)))  # a union bound over them
            boxes = {f"a{n}": (np.array(-float(m)), np.array(float(m))) for n, m in known.items() if m is not None}
            ends = interval_of(what, boxes | {f"k{n}": NONE for n in range(len(draft.keys))})
            if ends is None or float(ends[1] - ends[0]) / 2 > margin * (1 + Fraction(1, 10**9)):
                return False
        return True


@lru_cache(maxsize=256)
def output_columns(draft: Draft) -> OutputColumns:
    """Sort the numbers of an answer by how they follow from what is released."""
    view, used = draft.view, set[int]()
    bare, linear, computed, unknown = set[int](), list[q.Expression](), False, list[str]()
    around = np.array(1.0), np.array(2.0)
    samples = {f"a{n}": around for n in range(len(draft.readings))}
    samples |= {f"k{n}": around for n, key in enumerate(draft.keys) if key.kind == "integer"}
    for item, kind in zip(view.items, check_output(draft) if view.items else (), strict=True):
        flat = over_released(view, item.what)
        if kind not in ("integer", "real") or (flat is not None and not released_names(flat)):
            continue
        if flat is None or not keeps_rows(view) or interval_of(flat, samples) is None:
            unknown.append(item.name)
            continue
        used |= _numbers(flat)
        if flat.column is not None:
            bare |= _numbers(flat)
        elif _linear(flat):
            linear.append(flat)
        else:
            computed = True
    bare |= set(range(len(draft.readings))) - used
    return OutputColumns(frozenset(bare), tuple(linear), computed, tuple(unknown))


def _numbers(what: q.Expression) -> set[int]:
    return {int(name[1:]) for name in released_names(what)}


def _linear(what: q.Expression) -> bool:
    """Return True for a linear expression: a sum of multiples."""
    if what.column is not None or what.is_constant:
        return True
    if terms := what.operands("+", "-", "negative"):
        return all(map(_linear, terms))
    if factors := what.operands("*"):
        return any(each.is_constant for each in factors) and all(map(_linear, factors))
    quotient = what.operands("/")
    return bool(quotient) and quotient[-1].is_constant and _linear(quotient[0])


SAMPLES: dict[str, list[Any]] = {  # values on which a view is tried out, so that every branch of it is taken
    "integer": [1, 0, -1, 7],
    "real": [1.5, 0.0, -2.5, 7.0],
    "text": ["a", "", "b", "7"],
    "boolean": [True, False, True, False],
    "date": [date(2024, 1, 31), date(1, 1, 1), date(9999, 12, 31), date(2000, 2, 29)],
    "timestamp": [datetime(2024, 1, 31, 10, 30), datetime.min, datetime.max, datetime(2000, 2, 29)],
}


def check_output(draft: Draft) -> tuple[Kind, ...]:
    """Return the kinds of an answer's columns; refuse what cannot be computed, before anything is paid."""
    given = released_samples(draft)
    check_sizes(draft.view, {RELEASED: {each.name: each.kind for each in given}})
    return check(draft.view, {RELEASED: given})


def released_samples(draft: Draft) -> list[Given]:
    """Return a released table of this form on which a view is tried out."""
    numbers = [reading.estimator(draft.measures).kind for reading in draft.readings]
    keys = [SAMPLES[key.kind] for key in draft.keys]
    return released_table(draft, keys, {f"a{n}": SAMPLES[kind] for n, kind in enumerate(numbers)})


def released_table(
    draft: Draft, keys: list[list[Any]], numbers: Mapping[str, list[Any]], merge: Merge | None = None
) -> list[Given]:
    """Return the released table: one column for each key and each aggregate, and the number of the row."""
    added = None if merge is None else merge.added
    size = len(keys[0]) if keys else len(next(iter(numbers.values()))) if numbers else 0
    columns = [Given(ROW, "integer", list(range(size)))]
    columns += [Given(f"k{n}", key.kind, keys[n] if keys else []) for n, key in enumerate(draft.keys)]
    for n in range(len(draft.keys)) if draft.sets else ():
        total = [each is None for each in keys[n]] if added is None else [each[n] for each in added]
        columns.append(Given(f"g{n}", "integer", [int(each) for each in total]))
    for n, reading in enumerate(draft.readings):
        columns.append(Given(f"a{n}", reading.estimator(draft.measures).kind, numbers.get(f"a{n}", [])))
    return columns


def check_composite(question: Composite) -> tuple[Kind, ...]:
    """Return the kinds of the answer's columns; refuse what cannot be computed, before anything is paid."""
    rows = 4 if len(question.readings) <= 5 else 2 if len(question.readings) <= 12 else 1  # joined with each other
    tables = {f"r{n}": released_samples(each) for n, each in enumerate(question.drafts)}
    for n, each in enumerate(question.tables):
        names, kinds = zip(*each.columns, strict=True)
        tables[f"p{n}"] = each.given(Rows(names, kinds, tuple(SAMPLES[kind] for kind in kinds)))
    few = {name: [Given(each.name, each.kind, each.values[:rows]) for each in given] for name, given in tables.items()}
    check_sizes(question.view, {name: {each.name: each.kind for each in given} for name, given in few.items()})
    return check(question.view, few)


def assumed_rows(question: Draft | Composite) -> Rows:
    """Return rows of the form of an answer, as long as it is not known: all declared values of a key, or one value."""
    whole = question.composite
    view = question.alone.view if whole is None else whole.view
    kinds = check_output(question.alone) if whole is None else check_composite(whole)
    columns = [SAMPLES[kind][:1] for kind in kinds]
    for n, item in enumerate(view.items):
        flat = over_released(view, item.what) if whole is None else None
        name = "" if flat is None or flat.column is None else flat.column
        key = question.alone.keys[int(name[1:])] if name.startswith("k") else None
        if key is not None and key.declared and any(each is not None for each in key.domain):
            columns[n] = [each for each in key.domain if each is not None][:MAX_ASSUMED]
    size = max(map(len, columns))
    return Rows(
        tuple(item.name for item in view.items),
        kinds,
        tuple([each[n % len(each)] for n in range(size)] for each in columns),
    )
