"""Sensitivity: what one person can do to an answer, for the questions everybody asks.

Each function returns a `Reach` to hand to a mechanism: `dp.Laplace(epsilon=1, sensitivity=dp.sensitivity.count())`.
They bound the change over *all* neighbouring data sets. The change between two particular ones (a local sensitivity)
is smaller, but noise that fits only those two gives them away.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.core.exact import Number, interval, whole
from discreet.core.reach import Reach, neighbourhood

__all__ = ["count", "fraction", "histogram", "mean", "queries", "sum"]


def count(*, neighbours: str = "add-remove") -> Reach:
    """How many people satisfy a predicate: one person changes it by one."""
    return Reach(l1=Fraction(1), l2_squared=Fraction(1), neighbours=neighbourhood(neighbours))


def queries(k: int, *, neighbours: str = "add-remove") -> Reach:
    """k counting queries at once, any predicates: one person may be in all of them."""
    most = Fraction(whole(k, "k"))
    return Reach(l1=most, l2_squared=most, neighbours=neighbourhood(neighbours))


def histogram(*, neighbours: str = "add-remove") -> Reach:
    """Counts of disjoint cells: one person is in one cell, and when replaced moves from one to another."""
    cells = Fraction(neighbourhood(neighbours).changes)
    return Reach(l1=cells, l2_squared=cells, neighbours=neighbourhood(neighbours))


def sum(*, bounds: tuple[Number, Number], neighbours: str = "add-remove") -> Reach:
    """The sum of values between bounds [a, b]: max(|a|, |b|) when one is added or removed, b - a when replaced.

    Not b, as some notes have it: a person with value a = -5 in [-5, 3] moves the sum by 5.
    """
    low, high = interval(bounds)
    most = max(abs(low), abs(high)) if neighbourhood(neighbours).changes == 1 else high - low
    return Reach(l1=most, l2_squared=most**2, neighbours=neighbourhood(neighbours))


def mean(*, bounds: tuple[Number, Number], n: int, neighbours: str = "add-remove") -> Reach:
    """The mean of at least n values between bounds [a, b], counting the person who comes or goes: (b - a)/n.

    Because  replacing one of n values moves the mean by at most (b - a)/n; adding x to n - 1 values with mean m moves
             it by |x - m|/n, which is no more.
    """
    low, high = interval(bounds)
    most = (high - low) / whole(n, "n")
    return Reach(l1=most, l2_squared=most**2, neighbours=neighbourhood(neighbours))


def fraction(n: int, *, neighbours: str = "add-remove") -> Reach:
    """Which share of at least n people satisfies a predicate: the mean of bits, 1/n."""
    return mean(bounds=(0, 1), n=n, neighbours=neighbours)
