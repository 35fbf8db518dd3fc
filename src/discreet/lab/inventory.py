"""Every mechanism of this project, held against its own claim: exactly where its table can be written down, and by a
million releases where they come by the million.

    >>> from discreet.lab import inventory
    >>> laplace = inventory.EXACT[0].check()
    >>> laplace.name, laplace.kept, laplace.claim, round(laplace.share, 6)
    ('Laplace', True, 'ε = 1', 1.0)

A share of one means that the claim is tight: no smaller one would be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, show
from discreet.core.laplace import DiscreteLaplace
from discreet.core.mechanism import Mechanism, compose, parallel
from discreet.lab import audit, randomizers, tables
from discreet.lab.channel import Table
from discreet.lab.subject import Checked, Exact, Sampled
from discreet.mechanisms.ceiling import Ceiling
from discreet.mechanisms.combined import Combined
from discreet.mechanisms.extreme import Extreme
from discreet.mechanisms.modes import Modes
from discreet.mechanisms.noise import Gaussian, Laplace, Noise
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.quantiles import Quantiles
from discreet.mechanisms.selection import Exponential, NoisyMax, PermuteAndFlip, Selection, TopK
from discreet.mechanisms.strategy import Matrix, Strategy
from discreet.mechanisms.threshold import GaussianThreshold, Threshold

__all__ = ["EXACT", "SAMPLED", "checks"]


# ── exactly ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _noise(name: str, mechanism: Noise) -> Exact:
    """In one cell, moved by as much as one person can."""
    steps = int(mechanism.reach.l1)
    while steps**2 > mechanism.reach.l2_squared:
        steps -= 1
    return Exact(name=name, mechanism=mechanism, written=lambda: [tables.noise(mechanism.law, 0, steps)])


UP: dict[str, Any] = {"epsilon": 1, "sensitivity": 1}
APART = ([0, 40], [1, 39])  # one far behind: the ratio of its chances is all but e^ε
MIXED = ([3, 0, 5, 4], [4, 1, 4, 3])
GROWN = ([3, 0, 5, 4], [4, 0, 6, 4])
BEHIND = ([0, 40], [1, 40])


def _choice(choose: Selection) -> Exact:
    rows = (BEHIND, GROWN) if choose.monotone else (APART, MIXED, BEHIND, GROWN)
    name = type(choose).__name__ + (", monotone" if choose.monotone else "")
    return Exact(name=name, mechanism=choose, written=lambda: [tables.selection(choose, *each) for each in rows])


def _top(choose: TopK) -> Exact:
    return Exact(
        name="Top 2",
        mechanism=choose,
        written=lambda: [tables.top(choose, *MIXED), tables.top(choose, [0, 40, 40], [1, 39, 39])],
    )


def _keys(name: str, rule: Threshold | GaussianThreshold) -> Exact:
    """One person more in as many keys as one can touch, from nobody up to where all is certain."""

    def written() -> list[Table]:
        last, k = rule.error.least(0.9999) + 2, rule.touched
        return [tables.switch(rule, [n] * k, [n + 1] * k) for n in range(last)]

    return Exact(name=name, mechanism=rule, written=written)


RECORDS = ([2, 2, 3, 7, 9], [0] * 30, [10] * 30)
MORE = ([0], [10], [5])


def _misses(data: Sequence[int], last: int, aim: Callable[[int], Fraction]) -> list[Fraction]:
    """By the definition: minus how far the aim is from the records before each point, and before or at it."""
    found = []
    for y in range(last + 1):
        before, upto = sum(x < y for x in data), sum(x <= y for x in data)
        found.append(-max(Fraction(0), before - aim(len(data)), aim(len(data)) - upto))
    return found


def _quantile(m: Quantile) -> Exact:
    def scores(data: Sequence[int]) -> list[Fraction]:
        grid = range(int(m.bounds[1]) + 1)
        return [-abs((1 - m.q) * sum(x < y for x in data) - m.q * sum(x > y for x in data)) for y in grid]

    rate = m.epsilon / (2 * max(m.q, 1 - m.q))
    return Exact(name=f"Quantile, q = {show(m.q)}", mechanism=m, written=lambda: _one_more(scores, rate))


def _one_more(scores: Callable[[Sequence[int]], list[Fraction]], rate: Fraction) -> list[Table]:
    """The exponential mechanism with these scores, on some records and on one more."""
    return [tables.softmax(rate, scores(data), scores(data + more)) for data in RECORDS for more in MORE]


def _quantiles(m: Quantiles) -> Exact:
    (q,) = m.at
    scores = partial(_misses, last=m.last, aim=lambda n: q * n)
    rate = m.epsilon / (2 * max(q, 1 - q))
    return Exact(name="Quantiles of groups", mechanism=m, written=lambda: _one_more(scores, rate))


def _extreme(m: Extreme) -> Exact:
    scores = partial(_misses, last=m.last, aim=lambda n: Fraction(n - m.rank))
    return Exact(name="Extreme", mechanism=m, written=lambda: _one_more(scores, m.rate))


def _ceiling(m: Ceiling) -> Exact:
    def written() -> list[Table]:
        rows = [(m.scores(np.array(data)), m.scores(np.array(data + more))) for data in RECORDS for more in MORE]
        return [tables.selection(m.choose, *each) for each in rows]

    return Exact(name="Ceiling", mechanism=m, written=written)


LAPLACE = Laplace(epsilon=1, sensitivity=1)
FLIP = PermuteAndFlip(**UP)
MODES = Modes(choose=PermuteAndFlip(**UP, monotone=True))


WEIGHED = Combined(cells=2, strategies=(Strategy((Matrix(2, (1, -2)),)),), laws=(DiscreteLaplace(Fraction(2)),))


def _both(name: str, mechanism: Mechanism, scores: Sequence[Sequence[int]]) -> Exact:
    """Noise and a choice side by side."""

    def written() -> list[Table]:
        return [tables.product(tables.noise(LAPLACE.law, 0, 1), tables.selection(FLIP, *scores))]

    return Exact(name=name, mechanism=mechanism, written=written)


EXACT: tuple[Exact, ...] = (
    _noise("Laplace", LAPLACE),
    _noise("Laplace, sensitivity 3", Laplace(epsilon="0.5", sensitivity=3)),
    _noise("Laplace on a grid", Laplace(epsilon=1, sensitivity="0.5", step="0.25")),
    _noise("Gaussian", Gaussian(epsilon=1, delta="1e-6", sensitivity=1)),
    _noise("Gaussian by ρ", Gaussian(rho="0.2", sensitivity=2)),
    *(
        _choice(kind(**UP, monotone=grows))
        for kind in (Exponential, NoisyMax, PermuteAndFlip)
        for grows in (False, True)
    ),
    _top(FLIP.top(2)),
    Exact(
        name="Modes",
        mechanism=MODES,
        written=lambda: [tables.selection(MODES.choose, *each) for each in (BEHIND, GROWN)],
    ),
    _keys("Threshold", Threshold(epsilon=1, delta="1e-6")),
    _keys("Threshold, two keys", Threshold(epsilon=1, delta="1e-6", keys=2)),
    _keys("Gaussian threshold", GaussianThreshold(epsilon=1, delta="1e-6")),
    _keys("Gaussian threshold, two keys", GaussianThreshold(epsilon=1, delta="1e-6", keys=2)),
    _quantile(Quantile(epsilon=1, q="0.5", bounds=(0, 10), step=1)),
    _quantile(Quantile(epsilon=1, q="0.25", bounds=(0, 10), step=1)),
    _quantiles(Quantiles(epsilon=1, at=("1/2",), last=10)),
    _extreme(Extreme(epsilon=1, side="greatest", rank=2, last=10)),
    _ceiling(Ceiling(epsilon=1, last=10, slope="0.5")),
    Exact(
        name="Combined",
        mechanism=WEIGHED,
        written=lambda: [tables.noise(WEIGHED.laws[0], 0, *moved) for moved in ((1,), (-2,))],
    ),
    _both("Laplace, then a choice", compose(LAPLACE, FLIP), APART),
    _both("Laplace beside a choice", parallel(LAPLACE, FLIP), ([0, 40], [0, 40])),
    *randomizers.EXACT,
)


# ── by samples ───────────────────────────────────────────────────────────────────────────────────────────────────


def _released(mechanism: Mechanism, exact: int) -> audit.Sampler:
    return lambda count, coins: np.asarray(mechanism.release(np.full(count, exact), coins))


def _two_cells(mechanism: Mechanism, exact: tuple[int, int]) -> audit.Sampler:
    """Two cells at once, the pair as one number: differences beyond ±31 are cut."""

    def draw(count: int, coins: Coins) -> Any:
        cells = np.asarray(mechanism.release(np.tile(exact, (count, 1)), coins)).clip(-31, 31)
        return cells[:, 0] * 64 + cells[:, 1]

    return draw


COARSE = Fraction(1, 100)
MOVED = Laplace(epsilon=1, sensitivity=2, neighbours="replace")
BELL = Gaussian(epsilon=1, delta=COARSE, sensitivity=1)
NAMES = Threshold(epsilon=1, delta=COARSE)

SAMPLED: tuple[Sampled, ...] = (
    Sampled(
        name="Laplace", epsilon=Fraction(1), delta=Fraction(0), one=_released(LAPLACE, 41), other=_released(LAPLACE, 42)
    ),
    Sampled(
        name="Laplace, two cells, replaced",
        epsilon=Fraction(1),
        delta=Fraction(0),
        one=_two_cells(MOVED, (1, 0)),
        other=_two_cells(MOVED, (0, 1)),
    ),
    Sampled(name="Gaussian", epsilon=Fraction(1), delta=COARSE, one=_released(BELL, 41), other=_released(BELL, 42)),
    Sampled(name="Threshold", epsilon=Fraction(1), delta=COARSE, one=_released(NAMES, 4), other=_released(NAMES, 3)),
    *randomizers.SAMPLED,
)


def checks(samples: int = 10**6, alarm: Number = audit.ALARM, coins: Coins = SYSTEM) -> Iterator[Callable[[], Checked]]:
    """One check after the other, each when it is called."""
    for each in EXACT:
        yield each.check
    for one in SAMPLED:
        yield partial(one.check, samples, alarm=alarm, coins=coins)
