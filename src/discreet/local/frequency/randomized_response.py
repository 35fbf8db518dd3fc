"""Randomized response for yes or no, the oldest randomizer of all (Warner 1965).

>>> from discreet.local import RandomizedResponse
>>> coins = RandomizedResponse.fair_coin()         # heads: the truth; tails: whatever a second coin says
>>> coins.p, coins.odds, round(float(coins.epsilon), 6)
(Fraction(3, 4), Fraction(3, 1), 1.098612)
>>> coins.variance(n=1000, frequency="0.3"), coins.variance(n=1000, frequency="0.3", sampling=True)
(0.00075, 0.00096)
>>> coins.respondents(within="0.01")
28811
>>> print(coins.beside_laplace(n=28811))
From 28,811 people at ε = 1.09861: ±0.01 without a curator, ±8.3e-5 from one who adds Laplace noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.exact import Number, positive_integer, probability
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.local.channel import Table
from discreet.local.encoding import Numbers
from discreet.local.estimate import quantile
from discreet.local.frequency.pure_protocol import Supporting
from discreet.local.odds import odds_and_epsilon
from discreet.local.randomizer import Counts
from discreet.local.sampling import flips

__all__ = ["Comparison", "RandomizedResponse"]

HALF = Fraction(1, 2)


@recorded("randomized response/1")
@dataclass(frozen=True, kw_only=True)
class RandomizedResponse(Supporting):
    """A bit, reported truly with probability p and flipped otherwise.

    Given    p <= e^ε/(1 + e^ε).
    Promise  ε-private, exactly as `table` says; the estimate has the variance (1/n)·[1/(16(p - ½)²) - ¼], and
             π(1 - π)/n on top when the n are a sample (sampling=True).
    Because  both probabilities of a report are p and 1 - p, whose ratio is at most e^ε. Some lecture notes print the
             variance as 1/(n(16(p - ½)² - ¼)), which is infinite at p = ⅝ and negative below.
    """

    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    p: Fraction = None  # type: ignore[assignment]

    kind = np.uint8

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(self, *, epsilon: Number | None = None, p: Number | None = None) -> None: ...

    def __post_init__(self) -> None:
        odds = None
        if self.p is not None:
            truth = probability(self.p, "p")
            if truth <= HALF:
                raise NotUnderstood(
                    "p is the probability of the truth: more than one half.",
                    code="wrong-argument",
                    instead='for example p="0.75"',
                )
            odds = truth / (1 - truth)
        epsilon, odds = odds_and_epsilon(epsilon=self.epsilon, odds=odds)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "p", odds / (1 + odds))

    @classmethod
    def fair_coin(cls) -> RandomizedResponse:
        """Build the randomizer of two fair coins: heads, tell the truth; tails, say what the second coin shows. ε =
        ln 3.
        """
        return cls(p=Fraction(3, 4))

    @property
    def k(self) -> int:  # type: ignore[override]
        """The number of values: two, no and yes."""
        return 2

    @property
    def shares(self) -> int:
        """The number of shares: one, that of yes."""
        return 1

    @property
    def odds(self) -> Fraction:  # type: ignore[override]
        """p/(1 - p)."""
        return self.p / (1 - self.p)

    @property
    def hit(self) -> Fraction:
        return self.p

    @property
    def miss(self) -> Fraction:
        return 1 - self.p

    def shape(self) -> tuple[int, ...]:
        return ()

    def _inside(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        return values >= 1

    def _randomize(self, values: NDArray[Any], coins: Coins) -> NDArray[Any]:
        lies = flips(1 - self.p, len(values), coins)
        return np.asarray(np.logical_xor(values, lies))

    @property
    def layout(self) -> Numbers:
        return Numbers((1,))

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray((reports >= 0) & (reports <= 1))

    @property
    def counters(self) -> int:
        return 1

    def sketch(self, reports: NDArray[Any]) -> Counts:
        return np.array([np.count_nonzero(reports)], np.int64)

    def supports(self, sketch: Counts) -> int:
        return int(sketch[0])

    def table(self) -> Table:
        return Table((0, 1), (0, 1), ((self.p, 1 - self.p), (1 - self.p, self.p)))

    def beside_laplace(self, n: int) -> Comparison:
        """Compare with the central model: the same ε spent by a curator who counts and adds Laplace noise."""
        people = positive_integer(n, "n")
        central = DiscreteLaplace(1 / self.epsilon).variance / people**2
        return Comparison(epsilon=self.epsilon, n=people, local=self.variance(people), central=central)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two variances of a share among n respondents at the same ε: from reports alone, and from a curator's noisy count.

    The first falls as 1/n, the second as 1/n². Both are about these respondents; sampling them adds the same to each.
    """

    epsilon: Fraction
    n: int
    local: float
    central: float

    @property
    def ratio(self) -> float:
        """The ratio of the local standard deviation to the central one; it grows as √n."""
        return float((self.local / self.central) ** 0.5)

    def __str__(self) -> str:
        local, central = (quantile("0.95") * variance**0.5 for variance in (self.local, self.central))
        return (
            f"From {self.n:,} people at ε = {show(self.epsilon)}: ±{show(local, 2)} without a curator,"
            f" ±{show(central, 2)} from one who adds Laplace noise."
        )
