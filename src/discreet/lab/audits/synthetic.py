"""Synthetic people for real catalogues: data to audit a question with, from what a catalogue declares.

No real data are read. Every synthetic person has one row in every table, found by the same number; the neighbouring
data differ in one person, who is as conspicuous as can be.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.errors import NotUnderstood

__all__ = ["ODD", "neighbours", "tables"]

PEOPLE = 40
DAY = date(2024, 1, 1)
ODD = ("greatest", "least", "missing", "unheard of", "everywhere")  # ways to stand out

Row = dict[str, Any]
Tables = dict[str, Any]  # Arrow tables by name


def tables(declared: Iterable[Any]) -> Tables:
    """Return a table of synthetic people for each declared one."""
    return {table.name: _arrow(table, [_row(table, n) for n in range(PEOPLE)]) for table in _of_people(declared)}


def neighbours(declared: Iterable[Any], how: str, *, replace: bool) -> Tables:
    """Return the same people, with one more (or one of them replaced) who stands out in the way `how`."""
    found = {}
    for table in _of_people(declared):
        people = [_row(table, n) for n in range(int(replace), PEOPLE)]
        number = 0 if replace else PEOPLE
        times = (
            50 if how == "everywhere" and table.unit is not None and not table.one_row_per_unit and not table.key else 1
        )
        found[table.name] = _arrow(table, people + [_odd(table, number, how, n) for n in range(times)])
    return found


def _of_people(declared: Iterable[Any]) -> list[Any]:
    every = list(declared)
    if any(table.public for table in every):
        raise NotUnderstood(
            "synthetic data have no public tables.",
            code="wrong-argument",
            instead="audit a catalogue in which all tables have people",
        )
    return every


def _row(table: Any, n: int) -> Row:
    """Return a row of a usual person; columns that join hold the person's number."""
    return {each.name: _usual(each, n) for each in table.columns} | {
        each.name: _id(each, n) for each in table.join_columns
    }


def _odd(table: Any, number: int, how: str, n: int) -> Row:
    change = {"greatest": _greatest, "least": _least, "missing": _missing, "unheard of": _undeclared}
    values = {each.name: change.get(how, lambda column: _usual(column, n))(each) for each in table.columns}
    return values | {each.name: _id(each, number) for each in table.join_columns}


def _id(column: Any, n: int) -> Any:
    return {"integer": n, "real": float(n), "boolean": bool(n % 2), "date": DAY + timedelta(n)}.get(
        column.kind, f"p{n}"
    )


def _usual(column: Any, n: int) -> Any:
    if column.values is not None:
        return column.values[n % len(column.values)]
    if column.bounds is not None:
        low, high = column.bounds
        return _number(column, low + (high - low) * Fraction(n % 7 + 1, 9))
    plain = {"integer": n % 5, "real": n % 5 + 0.5, "boolean": n % 2 == 0, "date": DAY, "timestamp": _moment(DAY)}
    return plain.get(column.kind, "abc"[n % 3])


def _greatest(column: Any) -> Any:
    if column.values is not None:
        return column.values[-1]
    huge = {"integer": 2**62, "real": 1e300, "boolean": True, "date": date.max, "timestamp": _moment(date.max)}
    return huge.get(column.kind, "z" * 200)


def _least(column: Any) -> Any:
    if column.values is not None:
        return column.values[0]
    tiny = {"integer": -(2**62), "real": -1e300, "boolean": False, "date": date.min, "timestamp": _moment(date.min)}
    return tiny.get(column.kind, "")


def _missing(column: Any) -> Any:
    return None


def _undeclared(column: Any) -> Any:
    odd = {"integer": -987654321, "real": float("nan"), "boolean": None, "date": date(1, 1, 1), "timestamp": None}
    return odd.get(column.kind, "zz only one is here")


def _number(column: Any, value: Fraction) -> Any:
    """Return a number within bounds as the column stores it; for dates the bounds are days."""
    if column.kind == "integer":
        return int(value)
    if column.kind == "date":
        return date.fromordinal(int(value))
    return _moment(date.fromordinal(int(value))) if column.kind == "timestamp" else float(value)


def _moment(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC).replace(tzinfo=None)


def _arrow(table: Any, rows: list[Row]) -> Any:
    import pyarrow as pa  # noqa: PLC0415

    kinds = {"integer": pa.int64(), "real": pa.float64(), "boolean": pa.bool_(), "date": pa.date32()}
    kinds["timestamp"] = pa.timestamp("us")
    schema = pa.schema(
        [(each.name, kinds.get(each.kind, pa.string())) for each in (*table.columns, *table.join_columns)]
    )
    return pa.Table.from_pylist(rows, schema)
