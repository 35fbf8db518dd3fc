"""SQL expressions for k-means: the index of the nearest centre of each row, and the sums of clipped offsets from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from discreet.core.once import once
from discreet.learn.domain import Box, Floats
from discreet.sql.build import aggregate_of, call, column, number, select, truth
from discreet.sql.query import Expression, Select

__all__ = ["Centres"]

SHARES = 6  # decimals of a position, as a share of half the longest side: finer than a step


@dataclass(frozen=True, eq=False)
class Centres:
    """Positions in a box, in the user's units. Columns are called x0, x1, …, and scores a0, a1, …"""

    at: Floats
    box: Box

    def sums(self, width: float) -> dict[str, Expression]:
        """Return, for each column, the sum of the clipped offsets of rows from their nearest centre j."""
        most = self._rounded(width)
        found = dict[str, Expression]()
        for i, places in enumerate(self.at.T):
            *tested, last = (self._rounded(float(each)) for each in places)
            tests = [
                part
                for j, each in enumerate(tested or [last])
                for part in (call("=", column("j"), number(j)), number(each))
            ]
            away = call("-", column(f"x{i}"), call("case", *tests, number(last)))
            clipped = call("least", number(most), call("greatest", number(-most), away))
            found[f"s{i}"] = aggregate_of("sum", clipped)
        return found

    def labelled(self, rows: Select) -> Select:
        """Return a SELECT of the rows of another, with j: the index of the nearest centre of each row."""
        columns = {f"x{i}": column(f"x{i}") for i in range(len(self.box))}
        if self.scores:
            rows = select(rows, columns | {f"a{j}": score for j, score in enumerate(self.scores)})
        return select(rows, columns | {"j": self.label})

    @once
    def label(self) -> Expression:
        """The expression of the index of the nearest centre: the first centre whose score is at least that of all later
        ones.
        """
        k = len(self.at)
        if k == 1:
            return call("case", truth(True), number(0), number(0))
        if not self.scores:  # one column: compare with the midpoints of neighbouring centres
            order = [int(each) for each in np.argsort(self.at[:, 0], kind="stable")]
            ends = [self._rounded(float(self.at[[a, b], 0].mean())) for a, b in pairwise(order)]
            tests = [(call("<=", column("x0"), number(end)), number(j)) for j, end in zip(order, ends, strict=False)]
            return call("case", *(part for test in tests for part in test), number(order[-1]))
        better = [call("greatest", *(column(f"a{b}") for b in range(j + 1, k))) for j in range(k - 1)]
        tests = [(call(">=", column(f"a{j}"), rest), number(j)) for j, rest in enumerate(better)]
        return call("case", *(part for test in tests for part in test), number(k - 1))

    @once
    def scores(self) -> tuple[Expression, ...]:
        """Scores of the centres, each greater the nearer a row is; empty for one column or one centre, which need none.

        Because  |x - c|² = |x|² - 2(x·c - |c|²/2), whose first part is the same for all centres. Positions count from
                 the middle m of the box, as shares u of half its longest side h: x·u - (m·u + h|u|²/2). The shares are
                 rounded first, so that rows are compared with centres that are less than a step away from these.
        """
        if len(self.box) == 1 or len(self.at) == 1:
            return ()
        half = float(max(high - low for low, high in self.box.sides)) / 2
        shares = np.round((self.at - self.box.middle) / half, SHARES)
        taken = shares @ self.box.middle + half / 2 * (shares**2).sum(axis=1)
        return tuple(
            call("-", _sum([_product(u, i) for i, u in enumerate(each)]), number(self._rounded(t, finer=3)))
            for each, t in zip(shares, taken, strict=True)
        )

    def _rounded(self, value: float, *, finer: int = 0) -> Fraction:
        """Round a value to a tenth of a step, or finer."""
        decimals = max(0, math.ceil(1 - math.log10(self.box.step))) + finer
        return Fraction(f"{value:.{decimals}f}")


def _product(share: float, i: int) -> Expression:
    return call("*", number(Fraction(f"{share:.{SHARES}f}")), column(f"x{i}"))


def _sum(parts: list[Expression]) -> Expression:
    found, *rest = parts
    for each in rest:
        found = call("+", found, each)
    return found
