"""A small table of named columns, from which frames of other libraries are made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from discreet.core.text import table
from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.postprocess.table import Rows

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["Frame", "key_text", "number_text", "shown_rows"]


@dataclass(frozen=True, repr=False)
class Frame:
    """Columns by name: `frame["n"]` is a list; iterating gives rows."""

    data: Rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.data.names

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kind of each column: integer, real, text, boolean, date or timestamp."""
        return self.data.kinds

    def __getitem__(self, name: str) -> list[Any]:
        if name not in self.columns:
            raise NotUnderstood(
                f"there is no column {name!r}.", code="unknown-column", instead=f"there are: {', '.join(self.columns)}"
            )
        return self.data.columns[self.columns.index(name)]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.data.columns, strict=True)

    def __len__(self) -> int:
        return len(self.data.columns[0]) if self.data.columns else 0

    @property
    def value(self) -> Any:
        """The only value of a table with one row and one column; refused for any other table."""
        if len(self) != 1 or len(self.columns) != 1:
            raise NotUnderstood(
                "there is more than one number.", code="several-numbers", instead='name a column: answer["n"]'
            )
        return self.data.columns[0][0]

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def to_arrow(self) -> pyarrow.Table:
        """Return an Arrow table; whole numbers that are too large for 64 bits are decimals there, or floats."""
        import pyarrow as pa  # noqa: PLC0415

        stored = {"integer": pa.int64(), "real": pa.float64(), "text": pa.string(), "boolean": pa.bool_(),
                  "date": pa.date32(), "timestamp": pa.timestamp("us")}  # fmt: skip
        arrays = [
            pa.array(*_fitting(values, stored[kind]))
            for values, kind in zip(self.data.columns, self.data.kinds, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=list(self.columns))

    def to_pandas(self) -> pandas.DataFrame:
        """Return a pandas frame; needs pandas."""
        return _wanted("pandas") and self.to_arrow().to_pandas(date_as_object=False)

    def to_polars(self) -> polars.DataFrame:
        """Return a polars frame; needs polars."""
        return _wanted("polars").from_arrow(self.to_arrow())  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return _drawn(self)


def _fitting(values: Sequence[Any], stored: Any) -> tuple[list[Any], Any]:
    """Return the values of a column, and the Arrow type that holds them: int64 for whole numbers, if they fit."""
    import pyarrow as pa  # noqa: PLC0415

    largest = max((abs(each) for each in values if each is not None), default=0) if stored == pa.int64() else 0
    if largest < 1 << 63:
        return list(values), stored
    if largest < 10**38:
        return [None if each is None else Decimal(each) for each in values], pa.decimal128(38, 0)
    return [None if each is None else float(Decimal(each)) for each in values], pa.float64()


def _wanted(library: str) -> Any:
    """Import an optional library; refuse if it is not installed."""
    import importlib  # noqa: PLC0415

    try:
        return importlib.import_module(library)
    except ImportError:
        raise NotUnderstood(
            f"{library} is not installed.", code="not-installed", instead=f"pip install {library}, or .to_arrow()"
        ) from None


def shown_rows(size: int) -> list[int | None]:
    """Return the rows of a long table that are shown; None stands for those that are not."""
    return list(range(size)) if size <= 60 else [*range(40), None, *range(size - 10, size)]


def _drawn(frame: Frame) -> str:
    rows = shown_rows(len(frame))
    cells = [["…" if row is None else number_text(column[row]) for row in rows] for column in frame.data.columns]
    right = [name for name, kind in zip(frame.columns, frame.kinds, strict=True) if kind in ("integer", "real")]
    return table(frame.columns, zip(*cells, strict=True), right=",".join(right))


def key_text(value: Any) -> str:
    """Return the value of a key as text for display: whole numbers as they are, such as the year 1984."""
    return str(value) if isinstance(value, int) else number_text(value)


def number_text(value: Any, digits: int = 6) -> str:
    """Return a value as text for display."""
    if value is None:
        return "–"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(value):
        return "∞" if value > 0 else "-∞" if value < 0 else "–"
    return f"{value:,.0f}" if abs(value) >= 10 ** (digits - 2) else f"{value:.{digits}g}"
