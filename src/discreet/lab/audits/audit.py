"""Audit a black box: lower bounds on ε from its releases on two neighbouring secrets.

    >>> import discreet as dp
    >>> from discreet.lab import audit
    >>> noise = dp.Laplace(epsilon=1, sensitivity=1)
    >>> found = audit.mechanism(noise, 41, 42, samples=200_000, alarm="1e-9")
    >>> found.epsilon <= 1 < found.epsilon + 0.1, found.refutes(1), found.refutes("0.5")
    (True, False, True)

An event that is likelier under one secret than e^ε times under the other refutes ε. `counted` counts events that were
named before looking. `searched` looks for the event in the first half of the samples, and counts it in the second: what
was found by chance in the one is not there in the other. Both state how often they raise a false alarm.
`one_run` needs a single run, on data into which many canaries were put by coin flips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number, positive_integer, precision, probability
from discreet.core.mechanism import Mechanism
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.lab.proportions import at_least, at_most

__all__ = ["ALARM", "Bound", "Event", "OneRun", "black_box", "counted", "mechanism", "one_run", "searched"]

ALARM = Fraction(1, 1000)  # the false-alarm rate
ATOMS = 4096  # more different outputs than these are put into bins
BINS = 64
SHOWN = 6

Outputs = NDArray[Any]
Sampler = Callable[[int, Coins], Outputs]


@dataclass(frozen=True)
class Event:
    """An event of outputs: a name, and a function that decides for each of many outputs whether the event holds."""

    name: str
    holds: Callable[[Outputs], NDArray[np.bool_]]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A lower bound on ε at some δ; it is too high with probability at most `alarm`, whatever the mechanism."""

    epsilon: float
    delta: Fraction
    alarm: Fraction
    event: str
    hits: tuple[int, int]  # of the event: under the secret where it is likelier, and under the other
    trials: tuple[int, int]

    def refutes(self, claim: Number) -> bool:
        """Return True if a claimed ε (at this δ) is too small."""
        return self.epsilon > float(number(claim, "claim"))

    def describe(self) -> str:
        """Return the evidence in one sentence."""
        (a, b), (m, n) = self.hits, self.trials
        at = f" at δ = {show(self.delta)}" if self.delta else ""
        return (
            f"ε >= {self.epsilon:.4g}{at}, but for a false alarm of probability {show(self.alarm)}:"
            f" “{self.event}” was seen {a:,} times of {m:,} under one secret and {b:,} of {n:,} under the other"
        )


# ── events named beforehand, and events searched for ─────────────────────────────────────────────────────────────


def counted(
    events: Event | Sequence[Event], one: Any, other: Any, *, delta: Number = 0, alarm: Number = ALARM
) -> Bound:
    """Return the best bound from events that were named beforehand, on samples of outputs under two secrets.

    Promise  the bound exceeds the true ε at δ with probability at most `alarm`.
    Because  P(E) <= e^ε·P'(E) + δ, so ln((P(E) - δ)/P'(E)) bounds ε; both probabilities are bounded by Clopper and
             Pearson, each of the four bounds of each event at `alarm` over their number.
    """
    named = [events] if isinstance(events, Event) else list(events)
    at, doubt = _delta(delta), probability(alarm, "alarm")
    sides = [np.asarray(each) for each in (one, other)]
    if not named or not all(len(side) for side in sides):
        raise NotUnderstood(
            "an audit needs an event, and outputs under both secrets.",
            code="wrong-argument",
            instead="draw some thousands",
        )
    sure = 1 - doubt / (4 * len(named))
    found: list[Bound] = []
    for event in named:
        hits = [int(np.count_nonzero(event.holds(side))) for side in sides]
        for first in (0, 1):
            h, n = (hits[first], hits[1 - first]), (len(sides[first]), len(sides[1 - first]))
            lower = _log_ratio(h, n, float(at), sure)
            found.append(Bound(epsilon=lower, delta=at, alarm=doubt, event=event.name, hits=h, trials=n))
    return max(found, key=lambda bound: bound.epsilon)


def _delta(value: Number) -> Fraction:
    return Fraction(0) if value == 0 else probability(value, "delta")


def _log_ratio(hits: tuple[int, int], trials: tuple[int, int], delta: float, sure: Fraction) -> float:
    """Return a lower bound on ln((p - δ)/q), at least zero; a hopeless case is not computed."""
    if hits[0] / trials[0] - delta <= hits[1] / trials[1]:
        return 0.0
    above = at_least(hits[0], trials[0], sure) - delta
    below = at_most(hits[1], trials[1], sure)
    return max(0.0, math.log(above / below)) if above > 0 else 0.0


def searched(one: Any, other: Any, *, delta: Number = 0, alarm: Number = ALARM) -> Bound:
    """Return the bound of the best event that the first half of the samples suggests, counted in the second half.

    Because  given the first half, the two events (one for each direction) are fixed: see `counted`.
    """
    sides = [np.asarray(each) for each in (one, other)]
    if any(side.ndim != 1 or len(side) < 4 for side in sides):
        raise NotUnderstood(
            "an audit needs a row of outputs for each secret.",
            code="wrong-argument",
            instead="number the outputs, or name them by texts",
        )
    halves = [(side[: len(side) // 2], side[len(side) // 2 :]) for side in sides]
    at, doubt = float(_delta(delta)), float(probability(alarm, "alarm")) / 8
    events = [_likely(halves[i][0], halves[1 - i][0], at, doubt) for i in (0, 1)]
    return counted(events, halves[0][1], halves[1][1], delta=delta, alarm=alarm)


def _likely(one: Outputs, other: Outputs, delta: float, doubt: float) -> Event:
    """Return the event that seems to distinguish best: outputs in order of their likelihood ratios, as many as pay.

    Because  (Neyman and Pearson) no other event of the same probability under one secret is rarer under the other. An
             output that was seen seldom counts as its ratio less one standard error; a pair of probabilities as what
             is left of it after the normal law's share of doubt, which the other half will have to show, too.
    """
    place, cells, name = _cells(np.concatenate([one, other]))
    count = [np.bincount(place(side), minlength=cells).astype(float) for side in (one, other)]
    a, b = count[0] + 0.5, count[1] + 0.5
    orders = [np.argsort(-(np.log(a / b) - np.sqrt(1 / a + 1 / b)), kind="stable")]
    if one.dtype.kind in "biuf":
        orders = [np.arange(cells), np.arange(cells)[::-1], *orders]  # half-lines, which come first among equals
    best, chosen = -math.inf, np.zeros(cells, bool)
    for order in orders:
        p, q = np.cumsum(count[0][order]) / len(one), np.cumsum(count[1][order]) / len(other)
        worth = _worth(p, q, min(len(one), len(other)), delta, doubt)
        last = int(np.argmax(worth))
        if worth[last] > best + 0.03:
            best, chosen = float(worth[last]), np.isin(np.arange(cells), order[: last + 1])
    return Event(name(chosen), lambda outputs: chosen[place(outputs)])


def _worth(p: Any, q: Any, n: int, delta: float, doubt: float) -> NDArray[np.float64]:
    """Return about what `counted` would conclude from such shares of n, by the normal law."""
    z2 = -2 * math.log(doubt)
    low = p - np.sqrt(z2 * p * (1 - p).clip(0) / n) - z2 / n - delta
    high = q + np.sqrt(z2 * q * (1 - q).clip(0) / n) + z2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)


def _cells(outputs: Outputs) -> tuple[Callable[[Outputs], NDArray[np.intp]], int, Callable[[NDArray[np.bool_]], str]]:
    """Put outputs into cells: one for each value, if they are few, or bins between quantiles; and name sets of cells.

    The last cell is for values that were not seen.
    """
    values = np.unique(outputs)
    if len(values) > ATOMS:
        edges = np.unique(np.quantile(outputs, np.linspace(0, 1, BINS + 1)[1:-1]))
        return (
            lambda x: np.searchsorted(edges, x, side="right"),
            len(edges) + 1,
            lambda chosen: _intervals(chosen, edges),
        )

    def place(x: Outputs) -> NDArray[np.intp]:
        at = np.minimum(np.searchsorted(values, x), len(values) - 1)
        return np.where(values[at] == x, at, len(values))

    return place, len(values) + 1, lambda chosen: _listed(chosen[:-1], values)


def _listed(chosen: NDArray[np.bool_], values: Outputs) -> str:
    some = values[chosen]
    if values.dtype.kind in "if" and len(some):
        if chosen[: len(some)].all():
            return f"output <= {some[-1]:g}"
        if chosen[len(values) - len(some) :].all():
            return f"output >= {some[0]:g}"
    if len(some) > SHOWN:
        return f"one of {len(some)} outputs"
    return "output " + (" or ".join(map(str, some.tolist())) if len(some) else "nowhere")


def _intervals(chosen: NDArray[np.bool_], edges: NDArray[np.float64]) -> str:
    size = int(chosen.sum())
    if chosen[:size].all() and size <= len(edges):
        return f"output < {edges[size - 1]:g}"
    if chosen[len(chosen) - size :].all() and 0 < size <= len(edges):
        return f"output >= {edges[len(chosen) - size - 1]:g}"
    return f"output in one of {size} intervals"


# ── what to draw from ────────────────────────────────────────────────────────────────────────────────────────────


def black_box(
    one: Sampler,
    other: Sampler,
    *,
    samples: int = 10**6,
    events: Event | Sequence[Event] | None = None,
    delta: Number = 0,
    alarm: Number = ALARM,
    coins: Coins = SYSTEM,
) -> Bound:
    """Draw `samples` outputs under each of two secrets, and bound ε; by `events`, or by the best event that is
    found.
    """
    count = positive_integer(samples, "samples")
    sides = one(count, coins), other(count, coins)
    if events is None:
        return searched(*sides, delta=delta, alarm=alarm)
    return counted(events, *sides, delta=delta, alarm=alarm)


def mechanism(
    audited: Mechanism,
    secret: Any,
    neighbour: Any,
    *,
    samples: int = 10**6,
    delta: Number = 0,
    alarm: Number = ALARM,
    coins: Coins = SYSTEM,
) -> Bound:
    """Return the bound for a mechanism of this project on two neighbouring secrets; numbers are released all at
    once.
    """

    def sampler(exact: Any) -> Sampler:
        if isinstance(exact, (int, float)):
            return lambda count, coins: np.asarray(audited.release(np.full(count, exact), coins))
        return lambda count, coins: np.array([_label(audited.release(exact, coins)) for _ in range(count)])

    return black_box(sampler(secret), sampler(neighbour), samples=samples, delta=delta, alarm=alarm, coins=coins)


def _label(released: Any) -> Any:
    """Return a single number as it is, and any other release as text."""
    flat = np.asarray(released).ravel()
    return flat[0] if flat.size == 1 and flat.dtype.kind in "biuf" else str(np.asarray(released).tolist())


# ── one run ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class OneRun:
    """A lower bound on ε from the number of correct guesses of an attacker, in a single run."""

    epsilon: float
    delta: Fraction
    alarm: Fraction
    canaries: int
    guesses: int
    right: int
    surest: tuple[tuple[int, int], ...]  # (n, right guesses among the n surest)

    def refutes(self, claim: Number) -> bool:
        """Return True if a claimed ε (at this δ) is too small."""
        return self.epsilon > float(number(claim, "claim"))

    def describe(self) -> str:
        """Return the evidence in one sentence."""
        at = f" at δ = {show(self.delta)}" if self.delta else ""
        return (
            f"ε >= {self.epsilon:.4g}{at}, but for a false alarm of probability {show(self.alarm)}:"
            f" of {self.canaries:,} canaries, {self.right:,} of {self.guesses:,} guesses were right in a single run"
        )


def one_run(
    release: Callable[[NDArray[np.bool_], Coins], Any],
    *,
    canaries: int,
    guesses: int | None = None,
    delta: Number = 0,
    alarm: Number = ALARM,
    coins: Coins = SYSTEM,
) -> OneRun:
    """Put canaries into the data by fair coins, run once, and guess by their scores which ones are in.

    Given    release(included, coins) runs the mechanism on data in which those canaries are, each a unit of its
             own, and gives a score for each: high where it seems to be in.
    Promise  the bound exceeds the true ε at δ with probability at most `alarm`.
    Because  Steinke, Nasr, Jagielski 2023, Theorem 3.1: of r guesses (the highest and the lowest scores, the rest is
             not guessed) as many are right, at most, as r coins of chance e^ε/(1 + e^ε) show, but for 2·m·δ times the
             most that moving some of the guesses can add.
    """
    m = positive_integer(canaries, "canaries")
    r = m if guesses is None else positive_integer(guesses, "guesses")
    if r > m:
        raise NotUnderstood("there are no more guesses than canaries.", code="wrong-argument", instead=f"guesses={m}")
    at, doubt = _delta(delta), probability(alarm, "alarm")
    included = (coins.flip(m) & 1).astype(bool)
    scores = np.asarray(release(included.copy(), coins), float)
    if scores.shape != (m,):
        raise NotUnderstood(
            f"each of the {m} canaries has one score.", code="wrong-argument", instead=f"return an array of length {m}"
        )
    order = np.argsort(scores, kind="stable")
    surest = _surest(included[order])
    right = int(surest[r])
    some = tuple((int(n), int(surest[n])) for n in np.unique(np.geomspace(min(50, m), m, 24).astype(int)))
    below, above = 0.0, 1.0
    while above < 64 and _chance(m, r, right, above, float(at)) <= doubt:
        below, above = above, 2 * above
    for _ in range(30):
        middle = (below + above) / 2
        below, above = (middle, above) if _chance(m, r, right, middle, float(at)) <= doubt else (below, middle)
    return OneRun(epsilon=below, delta=at, alarm=doubt, canaries=m, guesses=r, right=right, surest=some)


def _surest(included: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many of the n surest guesses are right, for each n: the lowest scores are out, the highest are in."""
    m = len(included)
    out = np.concatenate([[0], np.cumsum(~included)])
    inside = np.concatenate([[0], np.cumsum(included[::-1])])
    n = np.arange(m + 1)
    return np.asarray(out[n // 2] + inside[n - n // 2], np.int64)


def _chance(m: int, r: int, right: int, epsilon: float, delta: float) -> float:
    """Return an upper bound on the probability of so many right guesses, if the mechanism is (ε, δ)-private."""
    q = 1 / (1 + math.exp(-epsilon))
    with precision(128):  # P(so many or more are right), from above
        seen = float(arb(q).beta_lower(right, r - right + 1, regularized=True).upper()) if right else 1.0
    if delta == 0 or right == 0:
        return seen
    values = np.arange(right)
    log_pmf = _log_binomial(r, right) + values * math.log(q) + (r - values) * math.log1p(-q)
    moved = np.cumsum(np.exp(log_pmf)[::-1]) / (values + 1)
    return min(1.0, seen + 2 * m * delta * float(moved.max()))


def _log_binomial(r: int, count: int) -> NDArray[np.float64]:
    """Return ln of r over k, for k below `count`."""
    k = np.arange(1, count, dtype=float)
    return np.concatenate([[0.0], np.cumsum(np.log((r - k + 1) / k))])
