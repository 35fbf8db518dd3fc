"""Outline a plan from its record without building it, so that a search skips plans that a question cannot use.

    >>> from discreet.core.record import write
    >>> from discreet.plan.outline import leaves
    >>> from discreet.kernel.expressions import Apply, Field, Literal
    >>> age = Field(name="age", kind="integer")
    >>> old, young = (Apply(function=f, arguments=(age, Literal(value=40)), kind="boolean") for f in (">", "<="))
    >>> leaves(write(old)) == leaves(write(young))
    True

Given    two things that are equal have records that differ at most in how a number is written: true or 1, 1.0 or 1.
Promise  equal things have equal outlines; what follows from a plan has an outline that fits it (`OutlineQuery.fits`).
         The other way round nothing is promised: a search compares the plans that are left.
Because  a hash of a text in which such numbers are written alike is the same for equal things. An earlier answer gives
         a new one only if it has no other conditions than those asked for, or their opposites (see `reuse`), which
         read the same columns and name the same constants; if it has every column that is grouped by; and if it
         measured the same expressions, or counts conditions.
Hashes are those of Python: good for one process, and never on record.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.core import record
from discreet.errors import Refusal
from discreet.kernel.expressions import Tree, conjunction, conjuncts, fields
from discreet.plan.counts import counted_conditions
from discreet.plan.draft import Draft
from discreet.plan.measures.statistic import ROWS, UNITS
from discreet.plan.plan import Population
from discreet.plan.regions import EXACT, regions

__all__ = ["Outline", "OutlineQuery", "leaves", "outline", "outline_query", "subject"]

ABOUT = {"batch/1": ("of", "values"), "cells/1": ("asked", "of"), "ceilings/1": ("of", "least", "first")}
MAX_LEAVES = 32  # of one plan that are remembered; a plan that has more is skipped less often
WHOLE = re.compile(r'\{"q":"(-?\d+)"\}')
BATCH = hash("batch")  # every batch of all rows
TRUTHS = {"0", "1"}  # `p IS NOT TRUE` is the opposite of p, and names one more
_text = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


class Outline(NamedTuple):
    """The outline of a recorded plan: hashes of what a question compares."""

    subject: int | None  # of a batch, a workload or an upper bound: its measure and rows, without its noise
    place: int | None  # the rows that other answers may follow from; None where none do
    leaves: frozenset[int]  # of the filter
    columns: frozenset[int]  # that rows are grouped by
    reads: frozenset[int] | None  # columns and constants of what is measured; None: counts, or too many to be listed
    files: tuple[int | None, ...]  # where a search finds it: by a leaf that few others have; by constants of a batch


class OutlineQuery(NamedTuple):
    """The outline of a question: what an earlier plan must fit so that the question may follow from it."""

    places: tuple[int, ...]
    leaves: frozenset[int]
    columns: frozenset[int]
    reads: frozenset[int]  # of what is not counted
    files: tuple[int | None, ...]  # where a search looks for plans

    def fits(self, plan: Outline) -> bool:
        """Return True if the question may follow from `plan`."""
        rows = plan.place in self.places and plan.leaves <= self.leaves and self.columns <= plan.columns
        return rows and (plan.reads is None or self.reads <= plan.reads)


def outline(text: str) -> Outline | None:
    """Return the outline of the plan with this record; None for the record of anything else."""
    try:
        said = json.loads(text)
        if said["is"] != "plan/1":
            return None
        rows = [_text(said[part]) for part in ("table", "caps", "where", "keys")]
        caps, naming, measures = said["caps"], said["naming"], said["measures"]
        kind = measures[0]["is"] if len(measures) == 1 else ""
        about = None
        if kind in ABOUT:
            about = _same(*rows, kind, *(_text(measures[0][part]) for part in ABOUT[kind]))
        place = _place(said["table"], caps["unit"], caps["rows"], kind == "batch/1") if naming is None else None
        constants, names = sorted(set(_constants(said["where"]))), sorted(set(_columns(said["where"])))
        named = [*constants, *names][:MAX_LEAVES]
        columns = _shared(frozenset(_columns(said["keys"])))
        reads = None if kind == "batch/1" else _shared(frozenset(_leaves(measures)))
        reads = None if reads is None or len(reads) > MAX_LEAVES else reads
        files: tuple[int | None, ...] = (named[0] if named else None,)
        if kind == "batch/1" and said["where"] is None and not said["keys"]:
            cuts = frozenset(_cuts(measures[0]["of"]))
            files = (BATCH, *cuts) if len(cuts) <= MAX_LEAVES else files
        return Outline(about, place, frozenset(named), columns, reads, files)
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def subject(rows: Population, kind: str, *what: Any) -> int | None:
    """Return the subject of plans that measure `what` of these rows; `kind` is the measure's name on record: `ABOUT`.

    None where the subject is too long to be on record: then no plan is.
    """
    try:
        return _same(*map(record.write, rows[:4]), kind, *map(record.write, what))
    except Refusal:
        return None


def outline_query(draft: Draft) -> OutlineQuery | None:
    """Return the outline of a question; None where it is too long to be outlined."""
    kinds = (False, True) if counted_conditions(draft) else (False,)  # batches tell counts, and nothing else
    places = [_place(draft.relation, draft.caps.unit, draft.caps.rows, batch) for batch in kinds]
    values = [draft.measures[each.measure] for each in draft.readings if each.statistic not in (ROWS, UNITS)]
    trees = [tree for each in values for tree in each.trees]
    try:
        named, measured = leaves(record.write(draft.where)), leaves(record.write(tuple(trees)))
        columns = frozenset(_columns(json.loads(record.write(draft.keys))))
        return OutlineQuery(tuple(places), named, columns, measured, (None, *named, *(_needed(draft) or [BATCH])))
    except Refusal:
        return None


def _needed(draft: Draft) -> list[int]:
    """Return constants of which a batch of all rows has one if it knows these counts; none where that is not known.

    Because  a count of rows between two bounds of a column, whatever else is asked of other columns, changes from one
             value of it to the next at one of these bounds. A batch tells these two values apart only if it compares
             the same column with a constant that is one of them, or between them (see `regions` and
             `counts.places_in_batch`).
    """
    rows = [each for each in conjuncts(draft.where) if fields(each)]
    for asked in counted_conditions(draft):
        parts = [*rows, *conjuncts(asked)]
        found = regions([functools.reduce(conjunction, parts, None)])
        if found is None or not found.codes:
            continue
        for name in sorted(set[str]().union(*map(fields, parts))):
            bounds = [_bound(each) for each in parts if name in fields(each)]
            if None not in bounds:
                near = [(math.floor(each) - 1, math.ceil(each) + 2) for each in bounds if each is not None]
                return [hash(("cut", n)) for span in near for n in range(*span)]
    return []


def _bound(tree: Tree) -> Fraction | None:
    """Return the absolute number that a column is compared with by <, <=, > or >=; None of any other condition."""
    parts = sorted(tree.operands("<", "<=", ">", ">="), key=lambda each: each.is_constant)
    if not parts or parts[0].column is None or parts[0].kind not in ("integer", "real"):
        return None
    value = parts[1].literal
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        return None
    size = abs(Fraction(value))
    return size if size < EXACT else None


def _cuts(said: Any) -> Iterator[int]:
    """Yield the whole numbers below and above each number in an expression, without its sign, as hashes."""
    for each in _things(said):
        value = each.get("value") if each["is"] == "value/1" else None
        if isinstance(value, dict) and "q" in value:
            value = Fraction(value["q"])
        if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
            yield from (hash(("cut", n)) for n in (math.floor(abs(value)), math.ceil(abs(value))))


def leaves(text: str) -> frozenset[int]:
    """Return the columns and constants in a condition with this record, as hashes."""
    return frozenset(_leaves(json.loads(text)))


def _same(*texts: str) -> int:
    return hash(tuple(map(_alike, texts)))


def _alike(text: str) -> str:
    """Write equal things alike: in Python true is 1, and so is a rational that is whole."""
    return WHOLE.sub(r"\1", text.replace("true", "1").replace("false", "0"))


@functools.lru_cache(1024)
def _shared(found: frozenset[int]) -> frozenset[int]:
    """Return one object for equal sets, as most plans are about the same columns."""
    return found


def _place(table: Any, unit: str | None, rows: int | None, batch: bool) -> int:
    """Hash the table of a plan with its bounds. A relation counts as None, as columns that are not read are pruned."""
    return hash((table if isinstance(table, str) else None, unit, rows, batch))


def _leaves(said: Any) -> list[int]:
    return [*_constants(said), *_columns(said)]


def _columns(said: Any) -> Iterator[int]:
    return (hash(("column", each["name"])) for each in _things(said) if each["is"] == "field/1")


def _constants(said: Any) -> Iterator[int]:
    values = (_alike(_text(each["value"])) for each in _things(said) if each["is"] == "value/1")
    return (hash(("constant", each)) for each in values if each not in TRUTHS)


def _things(said: Any) -> Iterator[dict[str, Any]]:
    """Yield all recorded things in a record, at any depth."""
    waiting = [said]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "is" in one:
                yield one
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
