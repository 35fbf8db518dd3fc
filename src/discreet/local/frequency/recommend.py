"""Recommend a randomizer: the least variance, and among equals the shortest report.

>>> from discreet.local import best, options
>>> type(best(k=1024, epsilon=1)).__name__, type(best(k=4, epsilon=2)).__name__
('LocalHashing', 'KaryResponse')
>>> for option in options(k=1024, epsilon=1, n=10_000):
...     print(f"{type(option.randomizer).__name__:17} ±{option.margin:.4f}  {option.length:3} bytes")
SubsetSelection   ±0.0376  132 bytes
LocalHashing      ±0.0376    9 bytes
UnaryEncoding     ±0.0376  132 bytes
UnaryEncoding     ±0.0388  132 bytes
LocalHashing      ±0.0424    9 bytes
HadamardResponse  ±0.0424    6 bytes
KaryResponse      ±0.3654    6 bytes
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.core.exact import Number, number, positive_integer
from discreet.errors import NotAllowed, NotUnderstood
from discreet.local.estimate import quantile
from discreet.local.frequency.hadamard import HadamardResponse
from discreet.local.frequency.hashing import LocalHashing, least_prime
from discreet.local.frequency.kary import KaryResponse
from discreet.local.frequency.subset import SubsetSelection
from discreet.local.frequency.unary import UnaryEncoding
from discreet.local.randomizer import Categories
from discreet.local.wire import Wire

__all__ = ["Option", "best", "options"]


@dataclass(frozen=True, kw_only=True)
class Option:
    """One randomizer: its mean variance over all values, and the length of a report in bytes."""

    randomizer: Categories
    variance: float
    length: int

    @property
    def margin(self) -> float:
        """Half the width of a 95 % interval with this variance."""
        return float(quantile("0.95") * self.variance**0.5)


def options(k: int, epsilon: Number, n: int = 10_000) -> list[Option]:
    """Return all randomizers, the least variance first.

    Because  variances are linear in the shares, and shares add up to one, the mean over the k values is the variance at
             a share of 1/k, whatever the shares are (for Hadamard response: when they are spread evenly).
    """
    ways: list[Categories] = [
        KaryResponse(k=k, epsilon=epsilon),
        SubsetSelection(k=k, epsilon=epsilon),
        UnaryEncoding(k=k, epsilon=epsilon),
        UnaryEncoding(k=k, epsilon=epsilon, optimised=False),
        _hashing(k, epsilon, None),
        _hashing(k, epsilon, 2),
        HadamardResponse(k=k, epsilon=epsilon),
    ]
    found = [
        Option(randomizer=way, variance=way.variance(n, Fraction(1, way.k)), length=Wire(randomizer=way).length)
        for way in ways
    ]
    return sorted(found, key=lambda option: (option.variance, option.length))


def _hashing(k: int, epsilon: Number, g: int | None) -> LocalHashing:
    """Return local hashing with the least possible prime."""
    wide = LocalHashing(k=k, epsilon=epsilon, g=g)
    return replace(wide, prime=least_prime(max(wide.k, wide.g)))


def best(k: int, epsilon: Number, n: int = 10_000, *, longest: int | None = None, slack: Number = "0.05") -> Categories:
    """Return the randomizer with the shortest reports among those whose variance is least, up to a slack of 5 %.

    `longest` is the most bytes that a report may have.
    """
    most, extra = None if longest is None else positive_integer(longest, "longest"), number(slack, "slack")
    if extra < 0:
        raise NotUnderstood(
            "slack is how much more variance is as good.", code="wrong-argument", instead='for example slack="0.05"'
        )
    fitting = [option for option in options(k=k, epsilon=epsilon, n=n) if most is None or option.length <= most]
    if not fitting:
        least = min(option.length for option in options(k, epsilon, n))
        raise NotAllowed(
            "no randomizer has reports as short as that.", code="not-answered", instead=f"allow {least} bytes or more"
        )
    limit = fitting[0].variance * float(1 + extra)
    return min((o for o in fitting if o.variance <= limit), key=lambda o: (o.length, o.variance)).randomizer
