"""Pieces whose code does what it says and whose claim is wrong: constants, thresholds, losses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.core.exact import ball, ceiling
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law
from discreet.lab.audits import mechanism_tables
from discreet.lab.audits.channel import Table
from discreet.lab.museum.piece import Piece, by_rho, by_table
from discreet.mechanisms.noise import Gaussian
from discreet.mechanisms.selection.selection import NoisyMax, PermuteAndFlip
from discreet.mechanisms.threshold import GaussianThreshold, Threshold

__all__ = ["CLAIMS"]

DELTA = Fraction(1, 10**6)
UPTO = 40  # people who share a key
ONE_MORE = [(n, n + 1) for n in range(UPTO)]


# ── selection ────────────────────────────────────────────────────────────────────────────────────────────────────


def flip_as_bounded_range() -> tuple[Table, Fraction]:
    flip = PermuteAndFlip(epsilon=1, sensitivity=1)
    return mechanism_tables.selection(flip, [0, 0], [1, -1]), flip.epsilon**2 / 8


def flip_as_pure() -> tuple[Table, Fraction]:
    flip = PermuteAndFlip(epsilon=1, sensitivity=1)
    return mechanism_tables.selection(flip, [0, 0], [1, -1]), flip.epsilon**2 / 2


def half_the_noise() -> Table:
    return mechanism_tables.selection(NoisyMax(epsilon=1, sensitivity=1, monotone=True), [0, 5], [1, 4])


def all_the_noise() -> Table:
    return mechanism_tables.selection(NoisyMax(epsilon=1, sensitivity=1), [0, 5], [1, 4])


# ── Gaussian noise ───────────────────────────────────────────────────────────────────────────────────────────────


def gaussian_of_the_notes() -> Table:
    variance = ceiling(lambda: ball(1 / DELTA).log())  # (Δ/ε)²·ln(1/δ)
    return mechanism_tables.noise(DiscreteGaussian(variance), 0, 1)


def gaussian_by_its_curve() -> Table:
    return mechanism_tables.noise(Gaussian(epsilon=1, delta=DELTA, sensitivity=1).law, 0, 1)


# ── thresholds for private keys ──────────────────────────────────────────────────────────────────────────────────


class Cutoff:
    """A rule that names a key with at least one person when its noisy count reaches a cutoff."""

    def __init__(self, law: Law, cutoff: int) -> None:
        self.law, self.cutoff = law, cutoff

    def enclose_probability(self, units: int) -> Any:
        far = self.cutoff - units
        inside = self.law.enclose_tail(abs(far) + (far <= 0)) / 2
        return inside if far > 0 else 1 - inside


def laplace_cutoff_on_gaussian_noise() -> Table:
    law = Gaussian(epsilon=1, delta=DELTA, sensitivity=1).law
    cutoff = 1 + ceiling(lambda: -ball(2 * DELTA).log()).__ceil__()  # 1 + ln(1/(2δ))/ε
    return _named(Cutoff(law, cutoff))


def gaussian_cutoff() -> Table:
    return _named(GaussianThreshold(epsilon=1, delta=DELTA))


def names_at_the_cutoff() -> Table:
    law, cutoff = DiscreteLaplace(Fraction(1)), 1
    while law.tail(cutoff) / 2 > DELTA:  # P(1 + noise > cutoff): those at the cutoff are forgotten
        cutoff += 1
    return _named(Cutoff(law, cutoff))


def best_rule() -> Table:
    return _named(Threshold(epsilon=1, delta=DELTA))


def _named(rule: Any) -> Table:
    return mechanism_tables.switch(rule, *([n] for n in range(UPTO + 1)))


# ── randomised response ──────────────────────────────────────────────────────────────────────────────────────────


def lie_by_the_same_coin() -> list[list[str]]:
    # with 3/4 the truth, else an answer drawn by a coin that says yes with 3/4
    return [["13/16", "3/16"], ["1/16", "15/16"]]


def lie_for_certain() -> list[list[str]]:
    # with 3/4 the truth, else the other answer
    return [["3/4", "1/4"], ["1/4", "3/4"]]


CLAIMS = (
    Piece(
        name="noisy max charged as bounded range",
        year=2026,
        source="OpenDP, issue 2911",
        story="The maximum was chosen by permute-and-flip and charged ρ = ε²/8, which the exponential mechanism earns "
        "by its bounded range. Permute-and-flip has none.",
        claim="ε = 1, ρ = 1/8",
        wrong=flip_as_bounded_range,
        right=flip_as_pure,
        look=by_rho,
    ),
    Piece(
        name="noisy max with half the noise",
        year=2014,
        source="lecture notes that follow Dwork, Roth 2014, Claim 3.9, beyond counts",
        story="Noise of scale 1/ε on every score is enough when all scores move the same way, as counts do. "
        "These do not.",
        claim="ε = 1",
        wrong=half_the_noise,
        right=all_the_noise,
        look=by_table(1),
    ),
    Piece(
        name="a Gaussian constant of lecture notes",
        year=2023,
        source="lecture notes; the exact curve is by Balle, Wang 2018",
        story="The variance (Δ/ε)²·ln(1/δ) is too small: the true δ is ten times the claimed one.",
        claim="ε = 1, δ = 1e-6",
        wrong=gaussian_of_the_notes,
        right=gaussian_by_its_curve,
        look=by_table(1, DELTA),
    ),
    Piece(
        name="a Laplace threshold under Gaussian noise",
        year=2020,
        source="smartnoise-sdk, issue 204",
        story="Counts got Gaussian noise, and the threshold that hides keys of one person was computed for "
        "Laplace noise.",
        claim="ε = 1, δ = 1e-6",
        wrong=laplace_cutoff_on_gaussian_noise,
        right=gaussian_cutoff,
        look=by_table(1, DELTA, pairs=ONE_MORE),
    ),
    Piece(
        name="a threshold off by one",
        year=2026,
        source="OpenDP, issue 2922",
        story="Keys are named when the noisy count reaches the threshold, and δ was computed for those that exceed it.",
        claim="ε = 1, δ = 1e-6",
        wrong=names_at_the_cutoff,
        right=best_rule,
        look=by_table(1, DELTA, pairs=ONE_MORE),
    ),
    Piece(
        name="a lie that may be the truth",
        year=2022,
        source="OpenDP, issue 480",
        story="Randomised response gave the truth with probability p, and otherwise an answer drawn by a coin that "
        "could be the truth again, and fell on one side more often: the two answers are not protected alike.",
        claim="ε = ln 3",
        wrong=lie_by_the_same_coin,
        right=lie_for_certain,
        look=by_table("1.0986122886681099"),
    ),
)
