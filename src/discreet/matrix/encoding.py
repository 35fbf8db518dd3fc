"""Encode large matrices of whole numbers as short texts, so that a strategy of a thousand cells fits into a record.

Neighbouring entries of a good strategy are alike: each is written as its difference from the one before it in its row,
or in its diagonal, or as it is, whichever makes the shortest text. Differences are folded to non-negative numbers, cut
into bytes, the lowest of all entries first, and compressed (zlib, because it is everywhere); base64 makes them a text.
Decoding is exact.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotUnderstood

__all__ = ["pack", "unpack"]

Whole = NDArray[np.int64]
WAYS = 3  # as it is; by rows; by diagonals
MAX_DIFFERENCE_BYTES, MAX_TOTAL_BYTES = 5, 1 << 26  # bytes of a difference, and of all of them


def pack(matrix: Whole) -> str:
    """Encode a matrix as a text."""
    found = [_compressed(way, matrix) for way in range(WAYS)]
    return base64.b64encode(min(found, key=len)).decode()


def unpack(text: str, cells: int) -> Whole:
    """Decode a matrix with `cells` columns; refuse a text that is not the encoding of one."""
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text, validate=True), MAX_TOTAL_BYTES)
        if not reader.eof or reader.unused_data or reader.unconsumed_tail:
            raise ValueError("cut short, or too long")
        way, width = data[0], data[1]
        if way >= WAYS or not 1 <= width <= MAX_DIFFERENCE_BYTES:
            raise ValueError("not a way to write a matrix")
        planes = np.frombuffer(data, np.uint8, offset=2).reshape(width, -1, cells).astype(np.int64)
    except (binascii.Error, zlib.error, ValueError, IndexError):
        raise NotUnderstood(
            "this is not a matrix of whole numbers.", code="not-a-record", instead="build it of one"
        ) from None
    folded = sum((plane << (8 * n) for n, plane in enumerate(planes)), start=np.zeros(planes.shape[1:], np.int64))
    return _restored(way, np.where(folded & 1, -(folded >> 1) - 1, folded >> 1))


def _compressed(way: int, matrix: Whole) -> bytes:
    there: Any = matrix.astype(np.int64)
    if way == 1:
        there = np.diff(there, axis=1, prepend=0)
    elif way == 2:
        there[1:, 1:] -= matrix[:-1, :-1]
    folded = np.where(there < 0, -2 * there - 1, 2 * there)
    width = max(1, (int(folded.max()).bit_length() + 7) // 8)
    planes = b"".join(((folded >> (8 * n)) & 255).astype(np.uint8).tobytes() for n in range(width))
    return zlib.compress(bytes([way, width]) + planes, 6)


def _restored(way: int, there: Whole) -> Whole:
    if way == 1:
        return np.cumsum(there, axis=1)
    if way == 2:
        for n in range(1, len(there)):
            there[n, 1:] += there[n - 1, :-1]
    return there
