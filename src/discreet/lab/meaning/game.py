"""Differential privacy as a game: an attacker who sees an answer guesses whether one person's data was used.

The attacker has narrowed the data down to two databases that differ in one person, knows the mechanism, sees what it
released, and guesses. A promise says how often the best guess is wrong at least.

    >>> from discreet.lab import game
    >>> round(game.error(epsilon=1), 4), round(game.error(epsilon=1, delta="0.1"), 4)
    (0.2689, 0.242)
    >>> import discreet as dp
    >>> noise = dp.Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
    >>> round(game.error(noise), 4)                      # from its exact curve δ(ε)
    0.4529
    >>> curve = game.tradeoff(noise)
    >>> [round(curve.missed(alarm), 3) for alarm in (0.05, 0.5)]     # false alarms against misses
    [0.92, 0.407]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Ball, Number, ball, nearest, number, positive_integer, price, probability
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.lab.proportions import at_most, share
from discreet.lab.report import Finding, Picture, Report, ReportTable, Series
from discreet.mechanisms.noise import Gaussian, Laplace, Noise

__all__ = ["Played", "Tradeoff", "error", "in_words", "play", "report", "tradeoff"]

ALARM = Fraction(1, 1000)  # the false-alarm rate of a report
Promise = tuple[Loss, Callable[[Fraction], Fraction]]
MIN_DELTA = Fraction(1, 10**9)  # a δ below which a curve is not followed
CURVE_POINTS = 48  # points of a curve δ(ε) that are read
NOTES = (("0", "perfect"), ("0.1", "very high"), ("1", "OK?"), ("5", "bad"), ("10", "meaningless?"), ("100000", ""))


def error(promise: Loss | Mechanism | None = None, *, epsilon: Number | None = None, delta: Number = 0) -> float:
    """Return the least error of the optimal guess, when both databases are equally likely: 1/(1 + e^ε) for pure ε.

    Given    a promise: a loss, a mechanism, or an ε (and δ).
    Promise  no attacker who sees the release guesses wrong less often than this.
    Because  the best guess is wrong with probability (1 - T)/2 for the total variation T = δ(0); and a point (ε, δ) of
             the curve bounds it by (1 - δ)/(1 + e^ε) (Kairouz, Oh and Viswanath 2015, on the sum of both errors).
    """
    loss, curve = _promise(promise, epsilon, delta)
    points = [(Fraction(0), curve(Fraction(0))), *_points(loss)]
    return max(nearest(partial(_least, *point)) for point in points)


def _least(epsilon: Fraction, delta: Fraction) -> Ball:
    return ball(1 - delta) / (1 + ball(epsilon).exp())


def in_words(epsilon: Number) -> str:
    """Return the least error as text, also where no float can hold it.

    >>> in_words(1), in_words(100000)
    ('0.269', '4·10^-43430')
    """
    e = _amount(epsilon)
    if e < 600:
        return show(error(epsilon=e), 3)
    ten = -float(e) / math.log(10)
    return f"{10 ** (ten - math.floor(ten)):.0f}·10^{math.floor(ten)}"


# ── the whole curve ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Tradeoff:
    """Points (ε, δ) that all hold, read as a trade-off between false alarms and misses (Wasserman and Zhou 2010)."""

    points: tuple[tuple[Fraction, Fraction], ...]

    def missed(self, alarm: float) -> float:
        """Return the least probability of missing a person who is in the data, for a test with this rate of false
        alarms.

        Because  (ε, δ) says 1 - missed <= e^ε·alarm + δ, and the same with the databases exchanged.
        """
        if not 0 <= alarm <= 1:
            raise NotUnderstood(
                "a rate of false alarms is between zero and one.", code="wrong-argument", instead="for example 0.05"
            )
        sides = [0.0]
        for e, d in self.points:
            spare = float(1 - d)
            grow = math.exp(min(float(e), 700.0))
            sides += [spare - grow * alarm, (spare - alarm) / grow]
        return max(sides)

    def series(self, name: str, count: int = 201) -> Series:
        """Return the curve, to be drawn."""
        alarms = np.unique(np.concatenate([np.linspace(0, 1, count), np.geomspace(1e-4, 1, count)]))
        return Series(name=name, x=tuple(map(float, alarms)), y=tuple(self.missed(float(each)) for each in alarms))


def tradeoff(promise: Loss | Mechanism | None = None, *, epsilon: Number | None = None, delta: Number = 0) -> Tradeoff:
    """Return what a promise says about every test, from its curve δ(ε): a lower bound on the whole trade-off curve."""
    loss, curve = _promise(promise, epsilon, delta)
    top = loss.pure if loss.pure is not None else loss.epsilon(max(MIN_DELTA, loss.event + MIN_DELTA))
    grid = [top * i / CURVE_POINTS for i in range(CURVE_POINTS + 1)]
    return Tradeoff(tuple(_points(loss) + [(e, curve(e)) for e in grid]))


def _points(loss: Loss) -> list[tuple[Fraction, Fraction]]:
    """Return the points (ε, δ) that a loss states."""
    pure = [] if loss.pure is None else [(loss.pure, loss.event)]
    return pure + ([] if loss.approximate is None else [loss.approximate])


def _promise(promise: Loss | Mechanism | None, epsilon: Number | None, delta: Number) -> Promise:
    """Return a loss, and its curve δ(ε), which a mechanism knows better than its loss."""
    if (promise is None) == (epsilon is None):
        raise NotUnderstood(
            "the game is about one promise.",
            code="wrong-argument",
            instead="game.error(epsilon=1), or game.error(noise.loss)",
        )
    if promise is not None:
        if not isinstance(promise, (Loss, Mechanism)):
            raise NotUnderstood(
                "a promise is a loss or a mechanism.",
                code="wrong-argument",
                instead="for example game.error(epsilon=1)",
            )
        return (promise, promise.delta) if isinstance(promise, Loss) else (promise.loss, promise.curve)
    event = number(delta, "delta")
    if not 0 <= event < 1:
        raise NotUnderstood(
            "delta is at least zero and below one.", code="wrong-argument", instead='for example delta="1e-6"'
        )
    loss = Loss(pure=_amount(epsilon), event=event)
    return loss, loss.delta


def _amount(epsilon: object) -> Fraction:
    read = number(epsilon, "epsilon")
    return read if read == 0 else price(read, "epsilon")


# ── played ───────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Played:
    """The number of wrong guesses of the best attacker, beside the least error that the promise allows."""

    wrong: int
    rounds: int
    least: float

    @property
    def error(self) -> float:
        """The measured error."""
        return self.wrong / self.rounds

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the true error."""
        return share(self.wrong, self.rounds)

    def fair(self, alarm: Number = ALARM) -> bool:
        """Return True if the error may be what the promise allows; a kept promise is accused with probability at
        most `alarm`.
        """
        return at_most(self.wrong, self.rounds, 1 - probability(alarm, "alarm")) >= self.least


def play(noise: Noise, *, rounds: int = 100_000, coins: Coins = SYSTEM) -> Played:
    """Play against a noise mechanism: a person is in the data or not, by a fair coin; the attacker guesses optimally.

    Because  the law is symmetric and falls away from its centre, so the likelier of two databases is the nearer one;
             a tie is broken by a coin.
    """
    if not isinstance(noise, Noise):
        raise NotUnderstood(
            "the game is played against noise on a number.", code="wrong-argument", instead="for example dp.Laplace(…)"
        )
    count = positive_integer(rounds, "rounds")
    step = math.isqrt(int(noise.reach.l2_squared))  # how far one person moves one cell
    fair = (coins.flip(2 * count) & 1).reshape(2, count)
    seen = noise.law.draw(count, coins) + step * fair[0].astype(np.int64)
    guess = np.where(2 * seen == step, fair[1], 2 * seen > step)
    return Played(wrong=int((guess != fair[0]).sum()), rounds=count, least=error(noise))


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────


def report(*, epsilon: Number = 1, delta: Number = "1e-6", rounds: int = 100_000, coins: Coins = SYSTEM) -> Report:
    """Explain ε (and δ) as a game: the table of the notes, a game that is played, and the trade-off curve."""
    e, d = price(epsilon, "epsilon"), number(delta, "delta")
    noises = {"Laplace": Laplace(epsilon=e, sensitivity=1)}
    if d:
        noises["Gaussian"] = Gaussian(epsilon=e, delta=d, sensitivity=1)
    played = {name: play(noise, rounds=rounds, coins=coins) for name, noise in noises.items()}
    mine = f"ε = {show(e)}"
    levels = [*NOTES] if show(e) in dict(NOTES) else sorted([*NOTES, (show(e), "")], key=lambda row: float(row[0]))
    table = ReportTable(
        heads=("ε", "least error", "best guess right", "said of it"),
        rows=tuple((each, in_words(each), f"{1 - error(epsilon=each):.5g}", word) for each, word in levels),
        right="ε,least error,best guess right",
    )
    rows = []
    for name, game in played.items():
        low, high = game.interval
        rows.append((name, f"{game.error:.4f} ({low:.4f} to {high:.4f})", f"{game.least:.4f}", f"{game.rounds:,}"))
    measured = ReportTable(
        heads=("noise", "measured error (95 %)", "least allowed", "rounds"), rows=tuple(rows), right="rounds"
    )
    unfair = [name for name, game in played.items() if not game.fair(ALARM / len(played))]
    diagonal = Series(name="knows nothing", x=(0.0, 1.0), y=(1.0, 0.0), kind="dashed")
    curves = [tradeoff(epsilon=e).series(f"{mine}, as Laplace noise")]
    curves += [tradeoff(noises["Gaussian"]).series(f"{mine}, δ = {show(d)}, as Gaussian noise")] if d else []
    picture = Picture(
        title="False alarms against misses: no test is below these curves",
        x="false alarms: says in, and is not",
        y="misses: says out, and is in",
        series=(diagonal, *curves, tradeoff(epsilon=e, delta="0.05").series(f"{mine}, δ = 0.05")),
        square=True,
    )
    return Report(
        title="What ε means: a guessing game",
        findings=(
            Finding(
                title=f"Is this person in the data? ({mine})",
                text="Two databases differ in one person. Whoever sees the answer guesses which one it came from, "
                f"and knows everything else. At {mine} the best guess is wrong at least {100 * error(epsilon=e):.3g} "
                "% of the time; a coin is wrong half of the time.",
                verdict=_verdict(unfair, e),
                good=False if unfair else None,
                tables=(table, measured),
                pictures=(picture,),
                facts={"epsilon": e, "error": error(epsilon=e), "unfair": unfair}
                | {name: {"error": game.error, "least": game.least} for name, game in played.items()},
            ),
        ),
    )


def _verdict(unfair: list[str], epsilon: Fraction) -> str:
    if unfair:
        return f"{' and '.join(unfair)} noise is guessed more often than its promise allows"
    return f"best guess right at most {100 * (1 - error(epsilon=epsilon)):.3g} %"
