"""Numbers and tables as text for display."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from fractions import Fraction
from unicodedata import combining, east_asian_width

from discreet.errors import visible

__all__ = ["did_you_mean", "show", "table"]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], right: str = "") -> str:
    """Return columns under their heads, as wide as they need; those named in `right` are aligned to the right.

    Letters that cannot be seen are escaped, so a cell is one line.

    >>> print(table(["who", "n"], [["alice", 3], ["bob", 12]], right="n"))
    who     n
    alice   3
    bob    12
    """
    cells = [[visible(str(cell)) for cell in row] for row in (heads, *rows)]
    widths = [max(_width(row[i]) for row in cells) for i in range(len(heads))]
    ends = right.split(",")
    flush = [head in ends for head in heads]
    lines = (
        "  ".join(
            " " * (width - _width(cell)) + cell if end else cell + " " * (width - _width(cell))
            for cell, width, end in zip(row, widths, flush, strict=True)
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)


def _width(text: str) -> int:
    """Return the columns that a text takes on a terminal: wide letters take two, those that combine none."""
    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def did_you_mean(name: str, names: Iterable[str], otherwise: str) -> str:
    """Return the question whether one of `names` was meant by `name`, if one is much like it; else `otherwise`.

    >>> did_you_mean("wrad", ["ward", "cost"], "declared: ward, cost")
    'did you mean `ward`?'
    """
    known = {each.lower(): each for each in names}
    close = get_close_matches(name.lower()[:100], [each[:100] for each in known], n=1, cutoff=0.6)
    return f"did you mean `{known.get(close[0], close[0])}`?" if close else otherwise


def show(value: Fraction | float | None, digits: int = 6) -> str:
    """Return a number for display: exact when short, otherwise rounded to `digits` digits."""
    if value is None:
        return "∞"
    if isinstance(value, Fraction) and value.denominator == 1 and abs(value) < 10**15:
        return str(value.numerator)
    try:
        return f"{float(value):.{digits}g}".replace("e-0", "e-").replace("e+0", "e+")
    except OverflowError:
        exponent = len(str(abs(int(value)))) - 1
        return f"{float(value / 10**exponent):.{digits}g}e+{exponent}"
