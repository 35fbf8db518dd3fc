"""The SQL dialect of DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.core.values.calendar import FIRST
from discreet.engines.sql.dialect import Dialect
from discreet.kernel.expressions import Value
from discreet.plan.expressions.function import Text
from discreet.sql.spelling import constant, quoted

__all__ = ["DUCKDB"]

TYPES = {"double": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "tinyint": "TINYINT", "smallint": "SMALLINT",
         "integer": "INTEGER", "uinteger": "UINTEGER", "bigint": "BIGINT", "ubigint": "UBIGINT", "hugeint": "HUGEINT",
         "days": "DECIMAL(6, 0)", "date": "DATE", "timestamp": "TIMESTAMP", "zoned": "TIMESTAMPTZ"}  # fmt: skip


class DuckDialect:
    """The dialect of DuckDB, in which the table of functions is written, too."""

    words: Mapping[str, str] = TYPES | {"zero": "0::DOUBLE", "first_day": constant(FIRST)}
    functions: Mapping[str, Text] = {}
    joins: Mapping[str, str] = {"inner": "JOIN", "left": "LEFT JOIN", "semi": "SEMI JOIN", "anti": "ANTI JOIN"}

    def quoted(self, name: str) -> str:
        return quoted(name)

    def literal(self, value: Value) -> str:
        return constant(value)

    def double(self, value: float | str) -> str:
        text = value if isinstance(value, str) else repr(value)
        return f"'{text}'::DOUBLE" if text in ("nan", "inf") else f"{text}::DOUBLE"

    def cast(self, text: str, to: str) -> str:
        return f"CAST({text} AS {TYPES[to]})"

    def try_cast(self, text: str, to: str) -> str:
        return f"TRY_CAST({text} AS {TYPES[to]})"

    def typed(self, text: str, to: str) -> str:
        return f"{text}::{TYPES[to]}"

    def unit_hash(self, *columns: str) -> str:
        return f"hash(hash($salt, {', '.join(columns)}))"

    def first_rows(self, columns: str, rows: str, some: str) -> str:
        return f"SELECT {columns} FROM {rows}\nQUALIFY {some}"

    def some_rows(self, how: str, rows: str, others: str, on: str) -> str:
        return f"{rows} {self.joins[how]} {others} ON {on}"

    def gather(self, column: str) -> str:
        return f"list({column})"

    def without(self, column: str) -> str:
        return f"* EXCLUDE ({column})"

    def whole_quotient(self, dividend: str, divisor: str) -> str:
        return f"{dividend} // {divisor}"

    def bytes(self, text: str) -> str:
        return f"strlen({text})"

    def digest(self, text: str) -> str:
        return f"sha256({text})"

    def replaced(self, rows: str, columns: Mapping[str, str]) -> str:
        said = ", ".join(f"{text} AS {self.quoted(name)}" for name, text in columns.items())
        return f"(SELECT * REPLACE ({said}) FROM {rows})"

    def utc(self, zoned: str) -> str:
        return f"make_timestamp(epoch_us({zoned}))"


DUCKDB: Dialect = DuckDialect()
