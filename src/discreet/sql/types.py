"""Types of SQL, and the kinds of their values."""

from __future__ import annotations

__all__ = ["STORED", "TYPES"]

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

MAX_VALUES = 100_000  # of one column

MAX_DATES = 10_000  # that are listed one by one

MAX_VALUE_CHARS = 200  # characters of a name or a value

STORED = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE",
          "timestamp": "TIMESTAMP"}  # in the database above the aggregation  # fmt: skip
