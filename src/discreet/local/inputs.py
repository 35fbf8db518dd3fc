"""Read public parameters: the number of values, a share of respondents, a text."""

from __future__ import annotations

from fractions import Fraction

from discreet.core.exact import Number, number, positive_integer
from discreet.errors import NotUnderstood

__all__ = ["is_text", "share", "values_of"]

MAX_RESPONDENTS = 1 << 31


def values_of(k: object) -> int:
    """Read a number of values: at least two, and fewer than 2^31."""
    read = positive_integer(k, "k")
    if read < 2 or read >= MAX_RESPONDENTS:
        raise NotUnderstood(
            "k counts the values: at least two, and fewer than 2^31.", code="wrong-argument", instead="for example k=10"
        )
    return read


def share(value: Number) -> Fraction:
    """Read a share of respondents: from zero to one."""
    read = number(value, "frequency")
    if not 0 <= read <= 1:
        raise NotUnderstood(
            "a frequency is a share of the respondents, from 0 to 1.", code="wrong-argument", instead='frequency="0.1"'
        )
    return read


def is_text(value: object) -> bool:
    """Return True if `value` is a text that can be encoded: a lone surrogate cannot."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)
