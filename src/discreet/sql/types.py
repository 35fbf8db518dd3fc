"""Kinds of values, and their names in SQL."""

from __future__ import annotations

from typing import Literal

__all__ = ["STORED", "TYPES", "WORDS", "Kind"]

TYPES: dict[str, str] = {  # types that CAST may make; a value that cannot be read so becomes NULL
    "BOOLEAN": "boolean",
    "TINYINT": "integer",
    "SMALLINT": "integer",
    "INT": "integer",
    "BIGINT": "integer",
    "FLOAT": "real",
    "DOUBLE": "real",
    "TEXT": "text",
    "VARCHAR": "text",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMPNTZ": "timestamp",
    "DATETIME": "timestamp",
}

Kind = Literal["integer", "real", "text", "boolean", "date", "timestamp", "interval"]  # the last: constants only

MAX_VALUES = 100_000  # of one column

MAX_DATES = 10_000  # that are listed one by one

MAX_VALUE_CHARS = 200  # characters of a name or a value

STORED = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE",
          "timestamp": "TIMESTAMP"}  # in the database above the aggregation  # fmt: skip

WORDS = {
    "integer": "a whole number",
    "real": "a number",
    "text": "text",
    "boolean": "true or false",
    "date": "a date",
    "timestamp": "a timestamp",
    "interval": "an interval",
    None: "NULL",
}
