"""SQL dialects: what differs between engines. All other SQL of this folder is shared by DuckDB, PostgreSQL and Spark.

Types are named by what they hold ("bigint": 64 bits, "hugeint": 128, "ubigint": those of a hash, …), and each engine
has its own words for them. The promises of this folder (nothing fails on any row, whole numbers are exact) are those of
an engine and its dialect together: `try_cast` is NULL where a cast fails, doubles never raise, and texts are ordered by
their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from discreet.kernel.expressions import Value
from discreet.plan.expressions.function import Text

__all__ = ["Dialect", "Stored"]


class Dialect(Protocol):
    """The SQL dialect of one engine. Every method returns SQL text."""

    @property
    def words(self) -> Mapping[str, str]:
        """The names of types, and the constants that templates of functions use: {zero}, {first_day}."""

    @property
    def functions(self) -> Mapping[str, Text]:
        """The functions whose spelling differs from their entry in `plan/expressions/functions`."""

    @property
    def joins(self) -> Mapping[str, str]:
        """The SQL of each kind of join: "inner", "left", "semi", "anti"."""

    def quoted(self, name: str) -> str:
        """A quoted identifier."""

    def literal(self, value: Value) -> str:
        """A constant."""

    def double(self, value: float | str) -> str:
        """A DOUBLE constant; `value` may be "nan", "inf" or "NULL"."""

    def cast(self, text: str, to: str) -> str:
        """A cast to a type that holds every value of `text`."""

    def try_cast(self, text: str, to: str) -> str:
        """A cast that is NULL where the type does not hold the value."""

    def typed(self, text: str, to: str) -> str:
        """A constant, or an expression in brackets, with its type."""

    def unit_hash(self, *columns: str) -> str:
        """A hash of 64 bits of `columns` under the secret salt."""

    def first_rows(self, columns: str, rows: str, some: str) -> str:
        """The given columns of those `rows` for which `some`, a condition on window functions, holds."""

    def some_rows(self, how: str, rows: str, others: str, on: str) -> str:
        """The `rows` that have ("semi") or have not ("anti") a row of `others` for which `on` holds."""

    def gather(self, column: str) -> str:
        """A list of all values of `column` in a group."""

    def without(self, column: str) -> str:
        """All columns but `column`."""

    def whole_quotient(self, dividend: str, divisor: str) -> str:
        """The quotient of two whole numbers, the second positive, rounded towards zero."""

    def bytes(self, text: str) -> str:
        """The number of bytes of a text."""

    def digest(self, text: str) -> str:
        """The SHA-256 of a text, as 64 hexadecimal digits."""

    def replaced(self, rows: str, columns: Mapping[str, str]) -> str:
        """The rows, with the expressions of `columns` in place of the columns of these names."""

    def utc(self, zoned: str) -> str:
        """The UTC timestamp of a timestamp with a time zone."""


class Stored(dict[str, str]):
    """The storage of each column of a relation, and the SQL dialect of its engine.

    The storage classes are: integer, wide (beyond 64 bits), whole (in a double), real, decimal, text, boolean, date, …
    """

    def __init__(self, columns: Mapping[str, str], dialect: Dialect) -> None:
        super().__init__(columns)
        self.dialect = dialect
