"""Lay out the payload of a report in bytes: numbers, bits, or picks. All reports of one layout have one length.

    Numbers   each little-endian, in as few bytes as its largest value needs
    Bits      bit i in byte i // 8, the least significant first; the unused bits of the last byte are zero
    Picks     the places of the ones among the bits, in increasing order, as numbers

>>> import numpy as np
>>> from discreet.local.encoding import Bits, Numbers
>>> Numbers((299,)).pack(np.array([258])).tolist(), Bits(10).pack(np.array([[1] + 8 * [0] + [1]])).tolist()
([[2, 1]], [[1, 2]])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bits", "Layout", "Numbers", "Picks"]

Rows = NDArray[np.uint8]
Flags = NDArray[np.bool_]


class Layout(ABC):
    """A layout of reports as rows of bytes."""

    @property
    @abstractmethod
    def length(self) -> int:
        """The number of bytes of a report."""

    @abstractmethod
    def pack(self, reports: NDArray[Any]) -> Rows:
        """Return the bytes of valid reports, a row for each."""

    @abstractmethod
    def unpack(self, rows: Rows) -> tuple[NDArray[Any], Flags]:
        """Return the reports, and which of them are laid out as `pack` would."""


@dataclass(frozen=True)
class Numbers(Layout):
    """One number, or several in a row; `tops` are the largest values of each."""

    tops: tuple[int, ...]

    @property
    def widths(self) -> list[int]:
        """The number of bytes of each number."""
        return [_bytes(top) for top in self.tops]

    @property
    def length(self) -> int:
        return sum(self.widths)

    def pack(self, reports: NDArray[Any]) -> Rows:
        columns = reports.reshape(len(reports), -1).astype("<i8").T
        parts = [_down(column, width) for column, width in zip(columns, self.widths, strict=True)]
        return np.concatenate(parts, axis=1)

    def unpack(self, rows: Rows) -> tuple[NDArray[Any], Flags]:
        columns, start = [], 0
        for width in self.widths:
            columns.append(_up(rows[:, start : start + width]))
            start += width
        reports = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
        return reports, np.ones(len(rows), np.bool_)


@dataclass(frozen=True)
class Bits(Layout):
    """A row of k ones and zeros."""

    k: int

    @property
    def length(self) -> int:
        return -(-self.k // 8)

    def pack(self, reports: NDArray[Any]) -> Rows:
        return np.packbits(reports.astype(np.bool_), axis=1, bitorder="little")

    def unpack(self, rows: Rows) -> tuple[NDArray[Any], Flags]:
        used = self.k % 8 or 8
        clean = rows[:, -1] >> np.uint8(used) == 0 if used < 8 else np.ones(len(rows), np.bool_)
        return np.unpackbits(rows, axis=1, count=self.k, bitorder="little"), np.asarray(clean)


@dataclass(frozen=True)
class Picks(Layout):
    """A row of k bits with exactly `size` ones, stored by their places."""

    k: int
    size: int

    @property
    def width(self) -> int:
        """The number of bytes of one place."""
        return _bytes(self.k - 1)

    @property
    def length(self) -> int:
        return self.size * self.width

    def pack(self, reports: NDArray[Any]) -> Rows:
        places = np.nonzero(reports)[1]
        return _down(places.astype("<i8"), self.width).reshape(len(reports), -1)

    def unpack(self, rows: Rows) -> tuple[NDArray[Any], Flags]:
        places = _up(rows.reshape(-1, self.width)).reshape(len(rows), self.size)
        fine = np.all(places < self.k, axis=1) & np.all(places[:, 1:] > places[:, :-1], axis=1)
        reports = np.zeros((len(rows), self.k), np.uint8)
        np.put_along_axis(reports, np.minimum(places, self.k - 1), 1, axis=1)
        return reports, fine


def _bytes(top: int) -> int:
    return max(1, -(-top.bit_length() // 8))


def _down(column: NDArray[Any], width: int) -> Rows:
    return np.ascontiguousarray(column).view(np.uint8).reshape(-1, 8)[:, :width]


def _up(rows: Rows) -> NDArray[np.int64]:
    out = rows[:, 0].astype(np.int64)
    for place in range(1, rows.shape[1]):
        out |= rows[:, place].astype(np.int64) << (8 * place)
    return out
