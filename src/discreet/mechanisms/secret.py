"""Read secret numbers. Types and shapes are public and may be refused; values never decide whether input is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotUnderstood

__all__ = ["REAL", "kinds", "rational", "read", "row", "to_float"]

REAL = (float, Fraction, Decimal, np.floating)


MISSING = ("NoneType", "NAType", "NaTType")


def read(given: Any, *, missing: bool = False) -> NDArray[Any]:
    """Return numbers as an array of int64, float64 or Python objects, by their types and never by their size.

    With missing=True a missing value (None, pandas' NA) reads as NaN.
    """
    if type(given).__name__ == "MaskedArray":
        raise NotUnderstood(
            "a masked array hides values that would be read.",
            code="wrong-argument",
            instead="pass x.compressed() or x.filled(0)",
        )
    plain = isinstance(given, (list, tuple, int, float, Fraction, Decimal))
    try:
        array = np.array(given, object) if plain else np.asarray(given)
    except (TypeError, ValueError):
        array = np.array(None, object)
    if array.dtype.kind == "O":
        array = _plain(array, missing)
    found = kinds(array)
    strange = sorted(kind.__name__ for kind in found if _strange(kind))
    if strange:
        raise NotUnderstood(
            f"exact answers are numbers or arrays of numbers, not {', '.join(strange)}.",
            code="wrong-argument",
            instead="pass a number, a list (of a dict: list(d.values())) or a numpy array, all rows of one length",
        )
    if array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    if found and all(issubclass(kind, (float, np.floating)) for kind in found):
        return array.astype(np.float64, copy=False)
    return array.astype(object, copy=False)


def _plain(array: NDArray[Any], missing: bool) -> NDArray[Any]:
    """Convert numpy scalars among objects to Python numbers, so that none of them overflows."""
    out = np.empty(array.shape, object)
    for index, value in enumerate(array.flat):
        if missing and type(value).__name__ in MISSING:
            value = math.nan  # noqa: PLW2901
        known = isinstance(value, (np.integer, np.floating)) and not _strange(type(value))
        out.flat[index] = value.item() if known else value
    return out


def row(given: Any, *, missing: bool = False) -> NDArray[Any]:
    """Return one row of numbers as an array; refuse other shapes."""
    array = read(given, missing=missing)
    if array.ndim != 1:
        raise NotUnderstood(
            "this takes one row of numbers.",
            code="wrong-argument",
            instead="pass a list with one number for each, or an array of one dimension",
        )
    return array


def kinds(array: NDArray[Any]) -> set[type]:
    """Return the types of the numbers in an array."""
    return {type(value) for value in array.flat} if array.dtype.kind == "O" else {array.dtype.type}


def _strange(kind: type) -> bool:
    return issubclass(kind, (bool, np.longdouble, np.timedelta64)) or not issubclass(kind, (int, np.integer, *REAL))


def rational(value: Any, *, nan: Fraction, far: Fraction) -> Fraction:
    """Return a number exactly; NaN reads as `nan`, and values beyond ±`far` as ±`far`."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Decimal):
        if value.is_nan():
            return nan
        if not value or value.adjusted() < -5000:
            return Fraction(0)
        if value.is_infinite() or value.adjusted() > 400:
            return far if value > 0 else -far
    if isinstance(value, float):
        if math.isnan(value):
            return nan
        if math.isinf(value):
            return far if value > 0 else -far
    return min(max(Fraction(value), -far), far)


def to_float(value: Fraction) -> float:
    """Return the nearest float, infinite if the number is too large."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
