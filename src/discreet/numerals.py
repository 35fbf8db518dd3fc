"""Read numbers exactly: their digits and exponents are bounded before anything is computed.

`1e-99999999` has eleven letters, and a hundred million digits when it is written as a fraction. So every number that a
question, a parameter, a catalogue or a caller brings is read here, or is bounded by the limits named here.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

__all__ = ["MAX_BITS", "MAX_EXPONENT", "MAX_NUMERAL_CHARS", "rational", "sized"]

MAX_NUMERAL_CHARS = 1_000  # letters of a number
MAX_EXPONENT = 9_999  # powers of ten that it is multiplied by, or divided
MAX_BITS = 1 << 16  # of its numerator, and of its denominator
EXPONENT = re.compile(r"[eE][+-]?0*(\d*)")


def rational(
    value: str | float | Decimal, *, longest: int = MAX_NUMERAL_CHARS, most_exponent: int = MAX_EXPONENT
) -> Fraction | None:
    """Return the rational that is written, or None if it is no finite number; a float is the decimal that it prints as.

    Raises OverflowError where it has more letters than `longest` or a larger exponent than `most_exponent`.
    """
    text = str(value).strip()
    if len(text) > longest:
        raise OverflowError("a number of too many digits")
    said = EXPONENT.search(text)
    if said is not None and said[1] and (len(said[1]) > len(str(most_exponent)) or int(said[1]) > most_exponent):
        raise OverflowError("a number with too large an exponent")
    try:
        return sized(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None


def sized(value: Fraction) -> Fraction:
    """Return `value`; raise OverflowError if its numerator or its denominator has too many digits."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise OverflowError("a number of too many digits")
    return value
