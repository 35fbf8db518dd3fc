"""Private selection: which candidate has the best score, without the scores.

All three mechanisms add continuous noise to every score and publish the index of the largest. They differ in the noise:

    Exponential       Gumbel noise: the exponential mechanism         may use twice the ε under zCDP (ρ = ε²/8)
    NoisyMax          Laplace noise: report noisy max                 the notes' algorithm
    PermuteAndFlip    exponential noise: permute-and-flip             never worse than the other two at pure ε
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import (
    Ball,
    Number,
    ball,
    log,
    nearest,
    nearest_all,
    positive,
    positive_integer,
    price,
    probability,
)
from discreet.core.laws.argmax import GUMBEL, NEVER, ONE_SIDED, TWO_SIDED, Jitter, race
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.reach import Neighbours, Reach, neighbourhood
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotAllowed, NotUnderstood
from discreet.mechanisms.selection.scores import Scores
from discreet.mechanisms.selection.win_probability import (
    Weights,
    gumbel_chances,
    gumbel_mean,
    one_sided_chances,
    one_sided_mean,
    two_sided_mean,
)

__all__ = ["Exponential", "NoisyMax", "PermuteAndFlip", "Selection", "SelectionError", "TopK"]


@dataclass(frozen=True, kw_only=True)
class Selection(Mechanism):
    """Publish the index of the candidate with the highest noisy score.

    Given    one unit changes no score by more than `sensitivity`. `monotone` promises more: adding a unit never
             lowers any score (as with counts), under add/remove neighbours.
    Promise  ε-private, and ρ-zCDP with the ρ of the subclass.
    Because  the noise has rate ε/(2·sensitivity), or ε/sensitivity when monotone: scores that all move the same way
             cannot move apart by more than the sensitivity.
    """

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool = False
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self, *, epsilon: Number, sensitivity: Number, monotone: bool = False, neighbours: str = "add-remove"
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        if isinstance(self.sensitivity, Reach):
            raise NotUnderstood(
                "a choice takes the most that one person can move a single score, as a number.",
                code="wrong-argument",
                instead="write sensitivity=1 for counts",
            )
        object.__setattr__(self, "sensitivity", positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))
        if not Fraction(1, 1 << 900) < self.rate < 1 << 900:
            raise NotUnderstood(
                "epsilon / sensitivity is too large, too small or too long.",
                code="wrong-argument",
                instead="scale the scores to ordinary units",
            )
        if not isinstance(self.monotone, bool):
            raise NotUnderstood(
                "monotone is True or False.",
                code="wrong-argument",
                instead="write monotone=True only for scores like counts",
            )
        if self.monotone and not self.neighbours.monotone:
            raise NotAllowed(
                "when a person is replaced one score can rise while another falls, so half the noise is not enough.",
                code="other-neighbours",
                instead='leave monotone out, or use neighbours="add-remove"',
            )

    @property
    @abstractmethod
    def jitter(self) -> Jitter:
        """The noise that is added to every score."""

    @abstractmethod
    def mean(self, weights: Weights) -> Ball:
        """Return the exact mean of a value of the winner."""

    @abstractmethod
    def log_tail(self, gap: float, best: int) -> float:
        """Return ln of a bound on the probability that a candidate wins which is `gap`/rate behind `best` others."""

    @property
    def rate(self) -> Fraction:
        """The number of noise scales in one unit of score."""
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    def release(self, exact: Any, coins: Coins = SYSTEM) -> int:
        """Return the index of the winner among the candidates with these scores."""
        return self._choose(Scores(exact), coins)

    def _choose(self, scores: Scores, coins: Coins) -> int:
        return race(
            len(scores),
            heights=scores.below,
            rate=float(self.rate),
            exact=lambda i: NEVER if (gap := scores.exact(i)) is None else ball(gap * self.rate),
            jitter=self.jitter,
            coins=coins,
        )

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon)

    @property
    def error(self) -> SelectionError:
        return SelectionError(self)

    def probabilities(self, scores: Any) -> NDArray[np.float64]:
        """Return the exact probability that each candidate wins.

        For NoisyMax this takes one rigorous integral for each distinct score, a minute for a hundred of them; the
        expected gap (`.error.expected_gap`) takes one integral in all.
        """
        gaps, counts, member = Scores(scores).groups()
        each = nearest_all(lambda: self.chances(Weights(self.rate, gaps, counts, gaps)))
        return np.array([*each, 0.0])[member]

    def chances(self, weights: Weights) -> list[Ball]:
        """Return the probability that one candidate of each gap wins: one integral for each."""
        gaps, counts = weights.gaps, weights.counts
        values = [[Fraction(int(i == j), counts[i]) for j in range(len(gaps))] for i in range(len(gaps))]
        return [self.mean(Weights(weights.rate, gaps, counts, each)) for each in values]

    def top(self, k: int) -> TopK:
        """Return the mechanism that selects the k best, one after the other; its loss is k times as large."""
        return TopK(choose=self, k=positive_integer(k, "k"))


@dataclass(frozen=True)
class SelectionError:
    """The error of a private selection: how far the winner can be from the best."""

    selection: Selection

    def expected_gap(self, scores: Any) -> float:
        """Return the exact mean of (best score - winner's score), for these scores."""
        gaps, counts, _ = Scores(scores).groups()
        if gaps == [0]:
            return 0.0
        return nearest(lambda: self.selection.mean(Weights(self.selection.rate, gaps, counts, gaps)))

    def gap(self, candidates: int, confidence: Number = 0.95, *, best: int = 1) -> float:
        """Return a gap such that, with this confidence, the winner's score is less than it below the best, whatever the
        scores.

        Because  the utility theorem: a candidate that is x/rate behind wins with probability at most e^log_tail(x),
                 where `best` candidates share the best score, and there are fewer than `candidates` of them. For the
                 exponential mechanism that is (ln(candidates/best) + ln(1/(1 - confidence)))/rate.
        """
        n, top = positive_integer(candidates, "candidates"), positive_integer(best, "best")
        allowed = log(1 - probability(confidence, "confidence")) - math.log(n)
        low, high = 0.0, 1.0
        while self.selection.log_tail(high, top) > allowed:
            high *= 2
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if self.selection.log_tail(middle, top) > allowed else (low, middle)
        return high / float(self.selection.rate)

    def describe(self) -> str:
        return (
            f"Among ten candidates the chosen one is less than {show(self.gap(10))} below the best score"
            f" 95 % of the time, among a thousand less than {show(self.gap(1000))}."
        )


@recorded("exponential/1")
class Exponential(Selection):
    """The exponential mechanism: a candidate wins with probability proportional to e^(rate·score)."""

    jitter = GUMBEL

    def mean(self, weights: Weights) -> Ball:
        return gumbel_mean(weights)

    def chances(self, weights: Weights) -> list[Ball]:
        return gumbel_chances(weights)

    def log_tail(self, gap: float, best: int) -> float:
        return -gap - math.log(best)

    @property
    def loss(self) -> Loss:
        """Pure ε, and ρ = ε²/8.

        Because  the privacy loss has a range of ε (Durfee, Rogers 2019), hence ρ = ε²/8 (Cesar, Rogers 2021).
        """
        return Loss(pure=self.epsilon, rho=self.epsilon**2 / 8)


@recorded("noisy max/1")
class NoisyMax(Selection):
    """Report noisy max: Laplace noise on every score, publish the index of the largest."""

    jitter = TWO_SIDED

    def mean(self, weights: Weights) -> Ball:
        return two_sided_mean(weights)

    def log_tail(self, gap: float, best: int) -> float:
        """ln P(L - L' >= x) for two Laplace variables: ln(e^(-x)·(1 + x/2)/2).

        It ignores that several may share the best score.
        """
        return -gap + math.log1p(gap / 2) - math.log(2)


@recorded("permute and flip/1")
class PermuteAndFlip(Selection):
    """Permute-and-flip: in random order, accept a candidate with probability e^(-rate·gap); the first accepted one
    wins.

    Because  that is the same as the largest score plus exponential noise (Ding et al. 2021); it is ε-private but not
             of bounded range, so ρ = ε²/2, and its error is never above the exponential mechanism's (McKenna and
             Sheldon 2020).
    """

    jitter = ONE_SIDED

    def mean(self, weights: Weights) -> Ball:
        return one_sided_mean(weights)

    def chances(self, weights: Weights) -> list[Ball]:
        return one_sided_chances(weights) if sum(weights.counts) <= 4000 else super().chances(weights)

    def log_tail(self, gap: float, best: int) -> float:
        """-x - ln(best + 1).

        Because  the candidate must come before all of the best, any of which is accepted, and then be accepted itself.
        """
        return -gap - math.log1p(best)


@recorded("top/1")
@dataclass(frozen=True, kw_only=True)
class TopK(Mechanism):
    """The k best candidates by peeling: choose one, set it aside, choose again."""

    choose: Selection
    k: int

    def release(self, exact: Any, coins: Coins = SYSTEM) -> list[int]:
        """Return the indices of the winners, the best first."""
        scores = Scores(exact)
        if self.k > len(scores):
            raise NotUnderstood(
                f"there are fewer than {self.k} candidates.", code="wrong-argument", instead=f"at most k={len(scores)}"
            )
        left = np.arange(len(scores))
        winners = []
        for _ in range(self.k):
            place = self.choose._choose(scores, coins)
            winners.append(int(left[place]))
            left, scores = np.delete(left, place), scores.without(place)
        return winners

    @property
    def loss(self) -> Loss:
        """The sum of the losses of k choices.

        Because  sequential composition, adaptive: each choice knows the winners before it.
        """
        return self.k * self.choose.loss

    @property
    def error(self) -> SelectionError:
        """The error of each choice among the remaining candidates."""
        return self.choose.error

    def describe(self) -> str:
        protection, _, error = super().describe().partition(". ")
        return f"{protection}. Of each of the {self.k} choices: {error[0].lower()}{error[1:]}"

    @property
    def neighbours(self) -> Neighbours:
        return self.choose.neighbours
