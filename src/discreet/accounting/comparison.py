"""Compare composition theorems: the ε of the same history by each of them.

A budget is kept by sums of ε and sums of ρ, which are sound when the next question, and its cost, is chosen after
seeing the last answer. The other theorems say how much less was revealed if the questions were fixed in advance. They
are for reading; nothing is spent by them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.composition import advanced_sum, optimal, zcdp_simple
from discreet.core.exact import Number, probability
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.errors import NotUnderstood

__all__ = ["Row", "compare"]

Counts = Mapping[Mechanism, int]
MAX_CURVES = 20  # distinct mechanisms whose own curves are read; of the rest only what their losses say
EXACT = 1000  # equal mechanisms for which the formula of optimal composition is evaluated as it stands
MAX_EPSILON, MIN_DELTA = 100, Fraction(1, 10**14)  # ε and δ that doubles can still compose


@dataclass(frozen=True, kw_only=True)
class Row:
    """One theorem's ε for the whole history; None where it says nothing. `note` says why, or when it holds."""

    theorem: str
    epsilon: float | None
    adaptive: bool
    note: str


def compare(history: Counts, delta: Number) -> list[Row]:
    """Return the ε of a history at this δ by each theorem, and whether it holds for adaptively chosen costs."""
    at = probability(delta, "delta")
    pieces: Counter[Mechanism] = Counter()
    for mechanism, times in history.items():
        for piece in mechanism.pieces:
            pieces[piece] += times
    sums = "sound for questions and costs chosen one after the other"
    fixed = "only if all costs were fixed in advance"
    batch = "only for a batch fixed in advance"
    many = (
        f"; of the {len(pieces)} different mechanisms {MAX_CURVES} by their own curves"
        if len(pieces) > MAX_CURVES
        else ""
    )
    ways: list[tuple[str, Callable[[], float], bool, str]] = [
        ("basic: sum of ε", lambda: _basic(pieces, at), True, sums),
        ("advanced composition", lambda: _advanced(pieces, at), False, fixed),
        ("zCDP, simple conversion", lambda: float(zcdp_simple(_total(pieces).rho, _rest(pieces, at))), True, sums),
        ("zCDP, tight conversion", lambda: _tight(pieces, at), True, sums),
        (
            "Rényi",
            lambda: _renyi(pieces, at),
            False,
            "only for an order fixed in advance; here the best one afterwards",
        ),
        ("optimal composition (KOV)", lambda: _optimal(pieces, at), False, batch),
        ("privacy loss distributions (PLD)", lambda: _distributions(pieces, at), False, batch + many),
    ]
    if not pieces:
        return [Row(theorem=name, epsilon=0.0, adaptive=adaptive, note=note) for name, _, adaptive, note in ways]
    return [_row(*way) for way in ways]


def _row(name: str, compute: Callable[[], float], adaptive: bool, note: str) -> Row:
    epsilon: float | None = None
    try:
        epsilon = compute()
        if not math.isfinite(epsilon):
            epsilon, note = None, "it says nothing at this δ"
    except NotUnderstood as says_nothing:
        note = says_nothing.reason
    except (ArithmeticError, ValueError):
        note = "beyond what floating point can say"
    return Row(theorem=name, epsilon=epsilon, adaptive=adaptive, note=note)


def _total(pieces: Counts) -> Loss:
    return sum((n * piece.loss for piece, n in pieces.items()), Loss.ZERO)


def _points(pieces: Counts) -> list[tuple[Fraction, Fraction, int]]:
    """Return each mechanism as one point (ε, δ), with its count."""
    found = []
    for piece, n in pieces.items():
        point = piece.loss.approximate
        if point is None:
            raise NotUnderstood(
                "noise that was bought by ρ has no ε of its own", code="not-composed", instead="read the other rows"
            )
        found.append((*point, n))
    return found


def _rest(pieces: Counts, at: Fraction) -> Fraction:
    """Return δ less the probability of the events of private keys."""
    return _less(at, _total(pieces).event)


def _less(at: Fraction, events: Fraction) -> Fraction:
    if events >= at:
        raise NotUnderstood("the δ of its parts alone is larger", code="not-composed", instead="ask for a larger delta")
    return at - events


def _basic(pieces: Counts, at: Fraction) -> float:
    points = _points(pieces)
    if sum(delta * n for _, delta, n in points) > at:
        raise NotUnderstood("the δ of its parts alone is larger", code="not-composed", instead="ask for a larger delta")
    return float(sum(epsilon * n for epsilon, _, n in points))


def _advanced(pieces: Counts, at: Fraction) -> float:
    points = _points(pieces)
    if max(epsilon for epsilon, *_ in points) > MAX_EPSILON:
        raise NotUnderstood("e^ε is too large", code="not-composed", instead="read the other rows")
    counts: Counter[Fraction] = Counter()
    for epsilon, _, n in points:
        counts[epsilon] += n
    return float(advanced_sum(counts, _less(at, sum((delta * n for _, delta, n in points), Fraction(0)))))


def _tight(pieces: Counts, at: Fraction) -> float:
    total = _total(pieces)
    return float(Loss.of(None, total.rho, total.event).epsilon(at))


def _renyi(pieces: Counts, at: Fraction) -> float:
    """Return the ε of the best order of the added Rényi curves, with the conversion of Canonne, Kamath and Steinke.

    Because  an ε-private mechanism's Rényi divergence of any order is at most that of randomized response, and that of
             a ρ-zCDP one at most ρ times the order.
    """
    delta = math.log(_rest(pieces, at))
    orders = 1 + np.geomspace(1e-3, 1e5, 4001)
    curve = np.zeros_like(orders)
    for piece, n in pieces.items():
        loss = piece.loss
        each = float(loss.rho) * orders
        if loss.pure is not None:
            e = float(loss.pure)
            pair = np.logaddexp(orders * e, (1 - orders) * e) - np.logaddexp(0, e)
            each = np.minimum(each, pair / (orders - 1))
        curve += n * each
    epsilon = curve + np.log1p(-1 / orders) - (delta + np.log(orders)) / (orders - 1)
    return max(0.0, float(epsilon.min()))


def _optimal(pieces: Counts, at: Fraction) -> float:
    """Return the ε of optimal composition: by the exact formula where all ε are equal, else numerically, rounded up."""
    points = _points(pieces)
    if max(epsilon for epsilon, *_ in points) > MAX_EPSILON:
        raise NotUnderstood(
            "ε is too large to be composed optimally", code="not-composed", instead="read the other rows"
        )
    kinds, times = {(epsilon, delta) for epsilon, delta, _ in points}, sum(n for *_, n in points)
    if len(kinds) == 1 and not points[0][1] and times <= EXACT:
        return float(optimal(points[0][0], times, at))
    worst = Counter[Loss]()
    for epsilon, delta, n in points:
        worst[Loss(pure=epsilon, event=delta)] += n
    return _numeric({}, _coarse(worst), at)


def _distributions(pieces: Counts, at: Fraction) -> float:
    """Return the ε from each mechanism's own curve δ(ε), as privacy loss distributions."""
    often, losses = Counter(pieces).most_common(), Counter[Loss]()
    for piece, n in often[MAX_CURVES:]:
        losses[piece.loss] += n
    return _numeric(dict(often[:MAX_CURVES]), _coarse(losses), at)


def _coarse(losses: Counter[Loss]) -> Counter[Loss]:
    """Round each loss up to one of a few if there are many different ones: more work would hardly change the result."""
    if len(losses) <= MAX_CURVES:
        return losses
    few = Counter[Loss]()
    for loss, n in losses.items():
        pure = None if loss.pure is None else _up(loss.pure)
        few[Loss(pure=pure, rho=_up(loss.rho), event=_up(loss.event))] += n
    return few


def _up(value: Fraction) -> Fraction:
    """Return the next power of 2^(1/32), or nearly that, rounded up: about two per cent more at most."""
    if not value:
        return value
    power = math.ceil(32 * (math.log2(value.numerator) - math.log2(value.denominator)) - 1e-9)
    return max(value, Fraction(2 ** (power % 32 / 32)) * Fraction(2) ** (power // 32))


def _numeric(mechanisms: Mapping[Mechanism, int], losses: Mapping[Loss, int], at: Fraction) -> float:
    """Compose privacy loss distributions of curves δ(ε), those of mechanisms and those that losses state.

    The composition is numerical, and rounded up.

    Because  Doroshenko et al. 2022 (connect the dots) for the discretisation; `dp-accounting` composes.
    """
    pld = _library()
    curves = [(each.loss, partial(_own, each), n) for each, n in mechanisms.items()]
    curves += [(each, partial(_stated, each), n) for each, n in losses.items()]
    small = at / (1000 * sum(n for *_, n in curves))
    tops = [_top(loss, small) for loss, *_ in curves]
    if max(tops) > MAX_EPSILON or at < MIN_DELTA:
        raise NotUnderstood(
            "ε is too large, or δ too small, to be composed numerically",
            code="not-composed",
            instead="read the other rows",
        )
    step = _step(tops)
    total: Any = None
    for (_, curve, n), top in zip(curves, tops, strict=True):
        grid = np.arange(max(1, math.ceil(top / step)) + 1) * step
        part = _distribution(pld, step, curve(grid))
        several = part.self_compose(n) if n > 1 else part
        total = several if total is None else total.compose(several)
    whole = sum((n * loss for loss, _, n in curves), Loss.ZERO)
    most = math.inf if whole.pure is None or whole.event > at else float(whole.pure)
    return min(most, float(total.get_epsilon_for_delta(float(at))))


def _own(mechanism: Mechanism, grid: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return δ of a mechanism at the ε in `grid`."""
    return np.array([float(mechanism.curve(Fraction(x))) for x in grid.tolist()])


def _stated(each: Loss, grid: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return δ at the ε in `grid`, in floats, as a loss states it."""
    above = 1 + np.geomspace(1e-2, 1e6, 400)[:, None]  # orders; any of them is a bound, the least of them nearly tight
    exponent = (above - 1) * (above * float(each.rho) - grid) + above * np.log1p(-1 / above) - np.log(above - 1)
    best = np.exp(np.minimum(0, exponent.min(axis=0)))
    if each.pure is not None:  # randomized response
        e = float(each.pure)
        best = np.minimum(best, np.maximum(0, -np.expm1(grid - e)) / (1 + math.exp(-e)))
    event = float(each.event)
    return np.asarray(event + (1 - event) * best)


def _top(loss: Loss, small: Fraction) -> float:
    """Return an ε that is exceeded with probability `small` at most, but for the event of the loss."""
    if loss.pure is not None:
        return float(loss.pure)
    return float(Loss.of(None, loss.rho, Fraction(0)).epsilon(small))


def _step(tops: list[float]) -> float:
    """Return a power of two as step of the grid: fine for the smallest curve and not too long for the largest."""
    fine = min(max(min(tops) / 64, max(tops) / 1024), 1e-2)
    return 2.0 ** math.floor(math.log2(fine))


def _distribution(pld: Any, step: float, deltas: NDArray[np.floating]) -> Any:
    """Return the distribution with these δ at 0, step, 2·step, …; below zero by symmetry of neighbours."""
    grid = np.arange(len(deltas))
    low = -np.expm1(-grid[:0:-1] * step) + np.exp(-grid[:0:-1] * step) * deltas[:0:-1]
    places = np.arange(1 - len(deltas), len(deltas))
    everywhere = _convex(np.exp(places * step), np.concatenate([low, deltas]))
    pmf = pld.pld_pmf.create_pmf_pessimistic_connect_dots(step, places, everywhere)
    return pld.PrivacyLossDistribution(pmf)


def _convex(x: NDArray[np.floating], deltas: NDArray[np.floating]) -> NDArray[np.floating]:
    """Return the largest curve below these points that is convex in x = e^ε. The true curve is convex and below the
    points, so it is below this one, too.
    """
    hull: list[int] = []
    for i in range(len(x)):
        while len(hull) > 1:
            a, b = hull[-2:]
            if (deltas[b] - deltas[a]) * (x[i] - x[a]) < (deltas[i] - deltas[a]) * (x[b] - x[a]):
                break
            hull.pop()
        hull.append(i)
    return np.asarray(np.interp(x, x[hull], deltas[hull]))


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution  # noqa: PLC0415  # an extra, imported where needed
    except ImportError:
        raise NotUnderstood(
            "needs discreet[report]", code="not-installed", instead='pip install "discreet[report]"'
        ) from None
    return privacy_loss_distribution
