"""Kinds of values."""

from __future__ import annotations

from typing import Literal

__all__ = ["WORDS", "Kind"]

Kind = Literal["integer", "real", "text", "boolean", "date", "timestamp", "interval"]  # the last: constants only

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
