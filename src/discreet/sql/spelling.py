"""Names, constants and CASE as every SQL engine spells them."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction

from discreet.core.values.dates import Interval

__all__ = ["MAX_INTEGER_LITERAL", "case", "constant", "quoted", "text"]

MAX_INTEGER_LITERAL = 1 << 62  # whole numbers below it are written as such


def quoted(name: str) -> str:
    """Write an identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """Write a text in quotes."""
    return "'" + value.replace("'", "''") + "'"


def constant(value: bool | int | Fraction | str | date | Interval | None) -> str:
    """Write a literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return text(value)
    if isinstance(value, date):
        return f"{'TIMESTAMP' if isinstance(value, datetime) else 'DATE'} '{value.isoformat()}'"
    if isinstance(value, Interval):
        return f"INTERVAL '{value}'"
    return (
        str(value)
        if isinstance(value, int) and abs(value) < MAX_INTEGER_LITERAL
        else f"{float(Fraction(value))!r}::DOUBLE"
    )


def case(*arguments: str) -> str:
    """Write a CASE of conditions and values by turns, then perhaps ELSE."""
    pairs = [arguments[i : i + 2] for i in range(0, len(arguments), 2)]
    return "CASE " + " ".join(f"WHEN {p[0]} THEN {p[1]}" if len(p) == 2 else f"ELSE {p[0]}" for p in pairs) + " END"
