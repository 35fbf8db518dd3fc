"""Which centre a row is nearest to, and how far it is from there, in SQL.

    >>> import numpy as np
    >>> from discreet.learn.domain import Box
    >>> from discreet.learn.nearest_center import Centres
    >>> Centres(np.array([[2.0], [6.0], [4.0]]), Box.of((0, 9), 1)).label
    'CASE WHEN x0 <=  3.0000000 THEN 0 WHEN x0 <=  5.0000000 THEN 2 ELSE 1 END'

Numbers are padded, so that a question is as long whatever the centres are: one that may be asked of some of them may be
asked of all.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.core.once import once
from discreet.errors import NotUnderstood
from discreet.learn.domain import Box, Floats

__all__ = ["Centres", "few_enough"]

MOST_LETTERS, ABOVE = 20_000, 1000  # of a question; more clusters than so many letters can name
SHARES = 6  # decimals of a position, as a share of half the longest side: finer than a step


@dataclass(frozen=True, eq=False)
class Centres:
    """Positions in a box, in the user's units. Columns are called x0, x1, …, and scores a0, a1, …"""

    at: Floats
    box: Box

    def sums(self, width: float) -> list[str]:
        """Of each column, the sum of how far rows are from the centre j that they are nearest to, clipped."""
        found = []
        for i, column in enumerate(self.at.T):
            *tested, last = (self._written(float(each), i) for each in column)
            tests = " ".join(f"WHEN {j} THEN {each}" for j, each in enumerate(tested or [last]))
            most = self._written(width)
            found.append(f"SUM(LEAST({most}, GREATEST(-{most}, x{i} - CASE j {tests} ELSE {last} END))) AS s{i}")
        return found

    def labelled(self, rows: str) -> str:
        """A SELECT of the rows of another, with j: which centre each is nearest to, by its scores."""
        names = ", ".join(f"x{i}" for i in range(len(self.box)))
        if self.scores:
            scores = ", ".join(f"{score} AS a{j}" for j, score in enumerate(self.scores))
            rows = f"SELECT {names}, {scores} FROM ({rows})"
        return f"SELECT {names}, {self.label} AS j FROM ({rows})"

    @once
    def label(self) -> str:
        """The first centre that is as near as all later ones: each before it was beaten by one that comes later."""
        k = len(self.at)
        if k == 1:
            return "CASE WHEN TRUE THEN 0 ELSE 0 END"
        if not self.scores:  # along one line the next one speaks for all later ones
            order = np.argsort(self.at[:, 0], kind="stable")
            ends = [self._written(float(self.at[[a, b], 0].mean())) for a, b in pairwise(order)]
            tests = [f"WHEN x0 <= {end} THEN {j}" for j, end in zip(order, ends, strict=False)]
            return f"CASE {' '.join(tests)} ELSE {order[-1]} END"
        tests = [f"WHEN a{j} >= GREATEST({', '.join(f'a{b}' for b in range(j + 1, k))}) THEN {j}" for j in range(k - 1)]
        return f"CASE {' '.join(tests)} ELSE {k - 1} END"

    @once
    def scores(self) -> tuple[str, ...]:
        """Of each centre a number that is the greater the nearer a row is; none along one line, where none is needed.

        Because  |x - c|² = |x|² - 2(x·c - |c|²/2), whose first part is the same for all centres. Positions count from
                 the middle m of the box, as shares u of half its longest side h: x·u - (m·u + h|u|²/2). The shares are
                 rounded first, so that rows are compared with centres that are less than a step away from these.
        """
        if len(self.box) == 1 or len(self.at) == 1:
            return ()
        half = float(max(high - low for low, high in self.box.sides)) / 2
        shares = np.round((self.at - self.box.middle) / half, SHARES)
        taken = shares @ self.box.middle + half / 2 * (shares**2).sum(axis=1)
        products = [[f"{u:{SHARES + 3}.{SHARES}f} * x{i}" for i, u in enumerate(each)] for each in shares]
        return tuple(f"{' + '.join(p)} - {self._written(t, finer=3)}" for p, t in zip(products, taken, strict=True))

    def _written(self, value: float, column: int | None = None, *, finer: int = 0) -> str:
        """To a tenth of a step, or finer, in as many letters as the bounds take: of one column, or their sum, which no
        other number exceeds."""
        decimals = self._decimals + finer
        most = sum(self._ends) if column is None else self._ends[column]
        return f"{value:{len(f'{-most:.{decimals}f}')}.{decimals}f}"

    @once
    def _decimals(self) -> int:
        return max(0, math.ceil(1 - math.log10(self.box.step)))

    @once
    def _ends(self) -> tuple[float, ...]:
        return tuple(float(max(abs(low), abs(high))) for low, high in self.box.sides)


def few_enough(clusters: int, features: int, asked: Callable[[int], str]) -> None:
    """Refuse more clusters than a question, the longest that is asked of so many, can name."""
    most = bisect_right(range(1, ABOVE), MOST_LETTERS, key=lambda k: len(asked(k)))
    if clusters > most:
        raise NotUnderstood(
            f"{features} column{'s' * (features > 1)} of this table can have at most {most} clusters:"
            f" a question names each of them, and has at most {MOST_LETTERS:,} letters.",
            instead=f"n_clusters={most} or fewer, or fewer columns; KMeans.fit has no such limit",
        )
