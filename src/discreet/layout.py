"""Tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["table"]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], right: str = "") -> str:
    """Columns under their heads, as wide as they need; those named in `right` end flush.

    >>> print(table(["who", "n"], [["alice", 3], ["bob", 12]], right="n"))
    who     n
    alice   3
    bob    12
    """
    cells = [list(heads), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    flush = [head in right.split(",") for head in heads]
    lines = (
        "  ".join(
            cell.rjust(width) if end else cell.ljust(width) for cell, width, end in zip(row, widths, flush, strict=True)
        ).rstrip()
        for row in cells
    )
    return "\n".join(lines)
