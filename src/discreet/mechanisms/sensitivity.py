"""Sensitivity: how far one privacy unit can change an answer, for common queries.

Each function returns a `Reach` to hand to a mechanism: `dp.Laplace(epsilon=1, sensitivity=dp.sensitivity.count())`.
The bound is over *all* neighbouring data sets. The change between two particular ones (a local sensitivity) is smaller,
but noise that fits only those two gives them away.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.core.exact import Number, interval, positive_integer
from discreet.core.reach import Reach, neighbourhood

__all__ = ["count", "fraction", "histogram", "mean", "queries", "sum"]


def count(*, neighbours: str = "add-remove") -> Reach:
    """Sensitivity of the number of units that satisfy a predicate: one."""
    return Reach(l1=Fraction(1), l2_squared=Fraction(1), neighbours=neighbourhood(neighbours))


def queries(k: int, *, neighbours: str = "add-remove") -> Reach:
    """Sensitivity of k counting queries with any predicates: one unit may be in all of them."""
    most = Fraction(positive_integer(k, "k"))
    return Reach(l1=most, l2_squared=most, neighbours=neighbourhood(neighbours))


def histogram(*, neighbours: str = "add-remove") -> Reach:
    """Sensitivity of counts of disjoint cells: a unit is in one cell, and when replaced moves from one to another."""
    cells = Fraction(neighbourhood(neighbours).changes)
    return Reach(l1=cells, l2_squared=cells, neighbours=neighbourhood(neighbours))


def sum(*, bounds: tuple[Number, Number], neighbours: str = "add-remove") -> Reach:
    """Sensitivity of a sum of values in [a, b]: max(|a|, |b|) if one is added or removed, b - a if replaced.

    Not b, as some notes have it: a unit with value a = -5 in [-5, 3] moves the sum by 5.
    """
    low, high = interval(bounds)
    most = max(abs(low), abs(high)) if neighbourhood(neighbours).changes == 1 else high - low
    return Reach(l1=most, l2_squared=most**2, neighbours=neighbourhood(neighbours))


def mean(*, bounds: tuple[Number, Number], n: int, neighbours: str = "add-remove") -> Reach:
    """Sensitivity of the mean of at least n values in [a, b], counting the unit that comes or goes: (b - a)/n.

    Because  replacing one of n values moves the mean by at most (b - a)/n; adding x to n - 1 values with mean m moves
             it by |x - m|/n, which is no more.
    """
    low, high = interval(bounds)
    most = (high - low) / positive_integer(n, "n")
    return Reach(l1=most, l2_squared=most**2, neighbours=neighbourhood(neighbours))


def fraction(n: int, *, neighbours: str = "add-remove") -> Reach:
    """Sensitivity of the share of at least n units that satisfy a predicate: 1/n, as for a mean of bits."""
    return mean(bounds=(0, 1), n=n, neighbours=neighbours)
