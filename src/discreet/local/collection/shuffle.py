"""Shuffling: the privacy amplification of reports whose senders are unknown.

Each respondent randomises and sends; a shuffler mixes the reports before the collector sees them. The collector
then learns much less about one respondent than the report alone would say, by a bound that is computed here.

>>> from discreet.local import Shuffled
>>> mixed = Shuffled(epsilon=1, n=10_000)
>>> round(float(mixed.central(delta="1e-6")), 3)
0.053
>>> mixed.central(delta="1e-6") < Shuffled(epsilon=1, n=1_000).central(delta="1e-6") < 1
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from discreet.core.exact import (
    Ball,
    Number,
    ball,
    ceiling,
    log,
    number,
    positive_integer,
    precision,
    price,
    probability,
    probability_ceiling,
)
from discreet.core.loss import Loss
from discreet.errors import NotAllowed, NotUnderstood
from discreet.local.frequency.kary import KaryResponse
from discreet.local.frequency.randomized_response import RandomizedResponse
from discreet.local.randomizer import Randomizer

__all__ = ["Shuffled"]

BITS = 80  # of the balls; a bound is rounded up whatever the precision
GRAIN = 1 << 10  # the central ε is found to one part in so many
# range of the number of clones in standard deviations, and parts of each
FIRST_DEVIATION, LAST_DEVIATION, STEPS_PER_DEVIATION = -12, 4, 4


@dataclass(frozen=True, init=False)
class Shuffled:
    """n reports, each ε-private on its own, in an order that is unknown to the collector.

    `n` counts the respondents who randomise as agreed: those who may collude with the collector hide no other, and do
    not count. With `epsilon`, the largest of any of them, the bound holds for all randomizers, also different ones.
    With `randomizer`, which all respondents use, the bound is the better of that and its own: k-ary responses, and
    yes-no answers, are amplified more than reports of a general randomizer.
    """

    epsilon: Fraction
    n: int
    randomizer: Randomizer | None = None

    def __init__(
        self,
        *wrong: object,
        epsilon: Number | None = None,
        n: int | None = None,
        randomizer: Randomizer | None = None,
    ) -> None:
        if wrong or n is None or (epsilon is None) == (randomizer is None):
            raise NotUnderstood(
                "shuffling needs an ε or a randomizer, and how many honest respondents there are, each by its name.",
                code="wrong-argument",
                instead="Shuffled(epsilon=1, n=10_000), or Shuffled(randomizer=KaryResponse(k=4, epsilon=1), n=10_000)",
            )
        if randomizer is not None and not isinstance(randomizer, Randomizer):
            raise NotUnderstood(
                "this is no randomizer.",
                code="wrong-argument",
                instead="for example randomizer=RandomizedResponse(epsilon=1)",
            )
        price_of_one = price(epsilon if randomizer is None else randomizer.epsilon, "epsilon")
        if price_of_one > 40 or positive_integer(n, "n") > 1 << 32:
            raise NotUnderstood(
                "shuffling is computed for epsilon up to 40, n up to 2^32.",
                code="wrong-argument",
                instead="for example n=30",
            )
        for name, value in {"epsilon": price_of_one, "n": positive_integer(n, "n"), "randomizer": randomizer}.items():
            object.__setattr__(self, name, value)

    @property
    def _values(self) -> set[int | None]:
        """The k for which the bound for k-ary responses holds, and None for the general bound."""
        known = type(self.randomizer) in (RandomizedResponse, KaryResponse)
        return {None, self.randomizer.k} if known else {None}  # type: ignore[union-attr]

    def curve(self, epsilon: Number) -> Fraction:
        """Return an upper bound on the δ at which all reports together are (ε, δ)-private for each respondent.

        Given    n respondents, this one among them, randomise as agreed, and the order says nothing.
        Promise  replacing one respondent's value changes the probability of no event beyond (ε, δ).
        Because  Feldman, McMillan and Talwar 2021 (Section 3 and Appendix E): every report of the others is, with
                 probability e^-ε0, as good as a fair coin between the two values that are to be told apart, a clone;
                 the respondent's own report shows the right one with probability e^ε0/(1 + e^ε0). What is left to see
                 is how many of C + 1 say which, where C is binomial. More clones hide better, so a range of C counts
                 as its least, and the sum is enclosed and rounded up. A k-ary response, unless it names a third value,
                 is the same with C ~ Bin(n - 1, 2/(e^ε0 + k - 1)).
        """
        at = number(epsilon, "epsilon")
        if at < 0:
            raise NotUnderstood(
                "epsilon must not be negative.", code="wrong-argument", instead='for example epsilon="0.5"'
            )
        if at >= self.epsilon:
            return Fraction(0)
        return min(_delta(self.epsilon, self.n, k, at) for k in self._values)

    def central(self, delta: Number) -> Fraction:
        """Return an upper bound on the ε for which all reports together are (ε, δ)-private for each respondent; at most
        the ε of one report.
        """
        wanted = probability(delta, "delta")
        grain = self.epsilon / GRAIN
        low, high = Fraction(0), self.epsilon
        if (first := self._excess(low, wanted)) <= 0:
            return low
        at_low, at_high = first, -math.inf
        while high - low > max(grain, low / GRAIN) / 4:
            middle = _between(low, high, at_low, at_high)
            found = self._excess(middle, wanted)
            if found <= 0:
                high, at_high = middle, found
            else:
                low, at_low = middle, found
            grain = min(grain, high / GRAIN)
        return high

    def closed_form(self, delta: Number) -> Fraction:
        """Return a simpler, larger ε that can be checked by hand.

        Because  Feldman, McMillan and Talwar 2021, Theorem 3.1: for ε0 <= ln(n/(16·ln(4/δ))),
                 ε = ln(1 + (e^ε0 - 1)/(e^ε0 + 1)·(8·√(e^ε0·ln(4/δ)/n) + 8·e^ε0/n)).
        """
        wanted = probability(delta, "delta")
        if float(self.epsilon) > math.log(self.n / (16 * (math.log(4) - log(wanted)))):
            raise NotAllowed(
                "the closed form holds for many reports and a small epsilon only.",
                code="wrong-argument",
                instead="ask central(delta=…), which holds for any",
            )

        def exact() -> Ball:
            e0, n = ball(self.epsilon).exp(), arb(self.n)
            root = (e0 * (4 / ball(wanted)).log() / n).sqrt()
            return ((e0 - 1) / (e0 + 1) * (8 * root + 8 * e0 / n)).log1p()

        return ceiling(exact)

    def loss(self, delta: Number) -> Loss:
        """Return the loss of the shuffled reports for one respondent whose value is replaced."""
        return Loss(pure=self.epsilon, approximate=(self.central(delta), probability(delta, "delta")))

    def _excess(self, epsilon: Fraction, delta: Fraction) -> float:
        """Return ln(δ(ε)/δ): positive if δ(ε) is too large."""
        found = self.curve(epsilon)
        return log(found) - log(delta) if found else -math.inf


def _between(low: Fraction, high: Fraction, at_low: float, at_high: float) -> Fraction:
    """Return a guess at the root of ln δ(ε), as if that fell with the square of ε, kept away from both ends."""
    if math.isinf(at_high):
        return low + (high - low) / 8
    one, other = float(low) ** 2, float(high) ** 2
    guess = math.sqrt(one + (other - one) * at_low / (at_low - at_high))
    part = (guess - float(low)) / float(high - low)
    return low + (high - low) * Fraction(min(0.9, max(0.1, part)))


@lru_cache(maxsize=4096)
def _delta(epsilon0: Fraction, n: int, k: int | None, epsilon: Fraction) -> Fraction:
    with precision(BITS):
        e0, e = ball(epsilon0).exp(), ball(epsilon).exp()
        told = 1 if k is None else (e0 + 1) / (e0 + k - 1)
        total = told * sum((mass * _apart(least, e0, e) for least, mass in _clones(epsilon0, n, k)), arb(0))
    return probability_ceiling(lambda: total)


@lru_cache(maxsize=64)
def _clones(epsilon0: Fraction, n: int, k: int | None) -> list[tuple[int, Ball]]:
    """Return the law of the number of clones: ranges, given by their least number, and their probabilities."""
    e0 = ball(epsilon0).exp()
    clone = 1 / e0 if k is None else 2 / (e0 + k - 1)
    edges = _edges(n - 1, float(clone.mid()))
    reach = [arb(1), *(clone.beta_lower(arb(edge), arb(n - edge), True) for edge in edges[1:]), arb(0)]
    return [(edge, this - after) for edge, this, after in zip(edges, reach[:-1], reach[1:], strict=True)]


def _edges(n: int, clone: float) -> list[int]:
    """Return the numbers of clones at which ranges begin; the bound holds for any choice."""
    mean, spread = n * clone, math.sqrt(n * clone * (1 - clone))
    found = {0} | {
        math.ceil(mean + spread * i / STEPS_PER_DEVIATION)
        for i in range(FIRST_DEVIATION * STEPS_PER_DEVIATION, LAST_DEVIATION * STEPS_PER_DEVIATION + 1)
    }
    return sorted(edge for edge in found if 0 <= edge <= n)


def _apart(clones: int, e0: Ball, e: Ball) -> Ball:
    """Return δ(ε) of one report among exactly `clones` clones, for e0 = e^ε0 and e = e^ε.

    With r = e0/(1 + e0) and A ~ Bin(c, 1/2), the number X of reports that say the one value is A + 1 with probability
    r, else A; on the other value the other way around. X = x is more than e times likelier on the one exactly when
    x > (c + 1)·(e0·e - 1)/((e0 - 1)(e + 1)). If a ball cannot tell on which side a whole number is, both are
    tried: the true δ is the larger.
    """
    edge = (clones + 1) * (e0 * e - 1) / ((e0 - 1) * (e + 1))
    first, last = (int(end.floor().unique_fmpz()) + 1 for end in (edge.lower(), edge.upper()))
    best = arb(0)
    for x in range(first, min(last, clones + 1) + 1):
        # P(A >= x - 1) = b·(1 + rest) and P(A >= x) = b·rest, where b = P(A = x - 1)
        b = (arb(clones + 1).lgamma() - arb(x).lgamma() - arb(clones - x + 2).lgamma() - clones * arb(2).log()).exp()
        rest = ball(Fraction(clones - x + 1, x)) * _run(clones, x)
        best = best.max(b * ((e0 - e) * (1 + rest) - (e0 * e - 1) * rest) / (e0 + 1))
    return best


def _run(c: int, x: int) -> Ball:
    """Return P(A >= x)/P(A = x) for A ~ Bin(c, 1/2) and x > c/2: a sum of decreasing products.

    Because  each of the L factors is rounded twice, the sum at most L times, and what is left out is less than a
             geometric series that begins with the last product.
    """
    terms = min(c - x, 6 * math.isqrt(c) + 64)
    step = np.arange(terms, dtype=np.float64)
    products = np.cumprod((c - x - step) / (x + 1 + step))
    total = 1.0 + float(products.sum())
    error = total * (terms + 4) * 2.0**-51
    if terms < c - x:
        ratio = (c - x - terms) / (x + 1 + terms)
        error += 2.0 * float(products[-1]) * ratio / (1.0 - ratio) + 1e-300
    return arb(total, error)
