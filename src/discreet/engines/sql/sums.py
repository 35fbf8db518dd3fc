"""SQL of the sums that an engine adds up for the measures of a plan.

A measure that needs sums declares them: values of each row, and each of its parts as a sum over rows of products of
powers of these values. For each part the engine delivers the running total of that part and all parts before it, so
that a unit beyond its limit can be scaled down without any part becoming negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from discreet.engines.sql.dialect import Dialect, Stored
from discreet.engines.sql.expressions import in_steps, spell
from discreet.kernel.exact_data import Form, RowSums, Steps
from discreet.kernel.ranges import LARGEST, running_totals
from discreet.kernel.types import ROWS
from discreet.plan.measures.measure import Measure

__all__ = ["capped_totals", "plain_totals", "repeated", "row_totals", "values"]

VALUES = "vw"  # the first value of a row for measure n is vn, the second wn


def summed(measures: Sequence[Measure]) -> Iterator[tuple[int, RowSums]]:
    for n, measure in enumerate(measures):
        if (sums := measure.exact.sums) is not None:
            yield n, sums


# ── SQL ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def values(measures: Sequence[Measure], stored: Stored) -> list[str]:
    """SQL columns with the values that each measure reads from a row."""
    found = []
    for n, measure in summed(measures):
        found += [f"{_value(each, stored)} AS {VALUES[i]}{n}" for i, each in enumerate(measure.values)]
    return found


def _value(value: Steps, stored: Stored) -> str:
    if value.step is None:
        return f"CASE WHEN {spell(value.of, stored)} IS NOT NULL THEN 1 END"
    text = in_steps(value.of, value.low, value.high, value.step, stored)
    return f"{stored.dialect.cast(text, 'bigint')} - ({value.base})" if value.base else text


def plain_totals(measures: Sequence[Measure], dialect: Dialect, *, named: bool = False) -> list[str]:
    """SQL columns of the running totals of each measure over a group; with `named`, from those of `row_totals`."""
    found = []
    for n, measure in summed(measures):
        for i, form in enumerate(running_totals(measure)):
            spelled = partial(_name, n) if named else partial(_total, n, dialect=dialect)
            found.append(f"{_weighted(form, spelled, dialect)} AS p{n}_{i}")
    return found


def repeated(measures: Sequence[Measure]) -> bool:
    """Return True if sums should be computed in a subquery, as `plain_totals` would write most of them repeatedly."""
    forms = [running_totals(measure) for _, measure in summed(measures)]
    written = sum(len(form) for each in forms for form in each)
    return written > 2 * sum(len({powers for form in each for powers in form}) for each in forms)


def row_totals(measures: Sequence[Measure], dialect: Dialect) -> list[str]:
    """SQL columns with the sums over rows that running totals are made of; r is the number of rows."""
    found = []
    for n, measure in summed(measures):
        used = dict.fromkeys(powers for form in measure.forms for powers in form if powers)
        found += [f"{_total(n, powers, dialect)} AS {_name(n, powers)}" for powers in used]
    return found


def capped_totals(measures: Sequence[Measure], room: str, cap: int, dialect: Dialect) -> list[str]:
    """SQL columns that sum the running totals of each measure over units, each scaled down to its `room` of rows.

    `room` is at most `cap`, which bounds the width of a product with it (see `discreet.kernel.ranges`).

    Promise  no part of a unit becomes negative, and together they are at most what so many rows add.
    Because  of r rows with running totals S₁ <= S₂ <= … the share k/r counts, rounded down: ⌊S₁k/r⌋ <= ⌊S₂k/r⌋ <= …,
             and the last is at most k times what one row adds, as S is at most r times that.
    """
    found, named = [], repeated(measures)
    for n, measure in summed(measures):
        small = ROWS * measure.most_added * cap <= LARGEST[64]
        for i, form in enumerate(running_totals(measure)):
            text = f"p{n}_{i}" if named else _weighted(form, partial(_name, n), dialect)
            whole = f"({text})" if small else dialect.typed(f"({text})", "hugeint")
            part = dialect.whole_quotient(f"({whole} * {room})", "r")
            cut = f"CASE WHEN r <= {room} THEN {text} ELSE {part} END"
            found.append(f"sum({cut}) AS p{n}_{i}")
    return found


def _name(n: int, powers: tuple[int, ...]) -> str:
    return "_".join([f"s{n}", *map(str, powers)]) if powers else "r"


def _total(n: int, powers: tuple[int, ...], dialect: Dialect) -> str:
    """SQL of a sum over rows: their number, the number with all values, or a sum of products of powers."""
    if not powers:
        return "count(*)"
    names = [f"{VALUES[i]}{n}" for i in range(len(powers))]
    factors = [name for name, power in zip(names, powers, strict=True) for _ in range(power)]
    there = f" FILTER ({' AND '.join(f'{name} IS NOT NULL' for name in names)})" if len(names) > 1 else ""
    if not factors:
        return f"count({names[0]})" + there
    if len(factors) > 1:
        factors[0] = dialect.cast(factors[0], "bigint")
    return f"sum({' * '.join(factors)})" + there


def _weighted(form: Form, spelled: Callable[[tuple[int, ...]], str], dialect: Dialect) -> str:
    """SQL of a weighted sum, with HUGEINT weights other than 1."""
    signs = ["-" if weight < 0 else "+" for weight in form.values()]
    sizes = ["" if abs(weight) == 1 else f"{dialect.typed(str(abs(weight)), 'hugeint')} * " for weight in form.values()]
    terms = [f"{sign} {size}{spelled(powers)}" for sign, size, powers in zip(signs, sizes, form, strict=True)]
    return " ".join(terms).removeprefix("+ ") or "0"
