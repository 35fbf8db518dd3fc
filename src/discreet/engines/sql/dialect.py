"""What differs between the SQL of engines. All other SQL of this folder is what DuckDB, PostgreSQL and Spark share.

Types are named by what they hold ("bigint": 64 bits, "hugeint": 128, "ubigint": those of a hash, …), and an engine has
words of its own for them. The promises of this folder (nothing fails on any row, whole numbers are exact) are those of
an engine and its dialect together: `try_cast` is NULL where a cast fails, doubles never raise, and texts are put in
the order of their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from discreet.plan.expressions.function import Text
from discreet.plan.expressions.tree import Value

__all__ = ["Dialect", "Stored"]


class Dialect(Protocol):
    """The words of one engine."""

    @property
    def words(self) -> Mapping[str, str]:
        """Names of types, and what templates of functions name besides: {zero}, {first_day}."""

    @property
    def functions(self) -> Mapping[str, Text]:
        """Functions that are spelled otherwise than their entries say (`plan/expressions/functions`)."""

    @property
    def joins(self) -> Mapping[str, str]:
        """Each way to join: "inner", "left", "semi", "anti"."""

    def quoted(self, name: str) -> str:
        """An identifier."""

    def literal(self, value: Value) -> str:
        """A constant."""

    def double(self, value: float | str) -> str:
        """A number as double; "nan", "inf" and "NULL", too."""

    def cast(self, text: str, to: str) -> str:
        """A value in another type that holds it."""

    def try_cast(self, text: str, to: str) -> str:
        """A value in another type; NULL where that does not hold it."""

    def typed(self, text: str, to: str) -> str:
        """A constant, or an expression in brackets, of a type."""

    def unit_hash(self, *columns: str) -> str:
        """64 bits that follow from these columns and the secret salt, and from nothing else."""

    def first_rows(self, columns: str, rows: str, some: str) -> str:
        """Some columns of those rows for which a condition on windows holds."""

    def some_rows(self, how: str, rows: str, others: str, on: str) -> str:
        """The rows that have ("semi"), or have not ("anti"), another for which a condition holds."""

    def gather(self, column: str) -> str:
        """All values of a group, as a list."""

    def without(self, column: str) -> str:
        """All columns but one."""

    def whole_quotient(self, dividend: str, divisor: str) -> str:
        """A quotient of whole numbers that are not negative, rounded down."""

    def bytes(self, text: str) -> str:
        """How many bytes a text has."""

    def digest(self, text: str) -> str:
        """The SHA-256 of a text, in 64 letters."""

    def replaced(self, rows: str, columns: Mapping[str, str]) -> str:
        """Rows with these expressions in the place of columns."""

    def utc(self, zoned: str) -> str:
        """A timestamp with a zone, as that of UTC."""


class Stored(dict[str, str]):
    """How a relation stores each of its columns, and in whose dialect it is asked.

    Of each column: integer, wide (beyond 64 bits), whole (in a double), real, decimal, text, boolean, date, …
    """

    def __init__(self, columns: Mapping[str, str], dialect: Dialect) -> None:
        super().__init__(columns)
        self.dialect = dialect
