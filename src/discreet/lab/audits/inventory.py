"""Check every mechanism of this project against its own claim: exactly if its table can be written down, and by a
million releases if it releases many numbers at once.

    >>> from discreet.lab import inventory
    >>> laplace = inventory.EXACT[0].check()
    >>> laplace.name, laplace.kept, laplace.claim, round(laplace.share, 6)
    ('Laplace', True, 'ε = 1', 1.0)

A share of one means that the claim is tight: no smaller one would be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, probability
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.mechanism import Mechanism, compose, parallel
from discreet.core.text import show
from discreet.lab.audits import audit, mechanism_tables, randomizers
from discreet.lab.audits.channel import Table
from discreet.lab.audits.subject import Checked, ExactSubject, SampledSubject
from discreet.matrix.mechanism import Combined
from discreet.matrix.strategy import Matrix, Strategy
from discreet.mechanisms.noise import Gaussian, Laplace, Noise
from discreet.mechanisms.quantiles.extreme import Extreme
from discreet.mechanisms.quantiles.grid_choice import GridRange
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.quantiles.single import Quantile
from discreet.mechanisms.quantiles.upper_bound import UpperBoundMechanism
from discreet.mechanisms.selection.mode import Modes
from discreet.mechanisms.selection.selection import Exponential, NoisyMax, PermuteAndFlip, Selection, TopK
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.mechanisms.threshold import GaussianThreshold, Threshold

__all__ = ["EXACT", "SAMPLED", "checks"]


# ── exactly ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _noise(name: str, mechanism: Noise) -> ExactSubject:
    """Return the check of noise on one cell, moved as far as one unit can move it."""
    steps = int(mechanism.reach.l1)
    while steps**2 > mechanism.reach.l2_squared:
        steps -= 1
    return ExactSubject(
        name=name, mechanism=mechanism, written=lambda: [mechanism_tables.noise(mechanism.law, 0, steps)]
    )


UP: dict[str, Any] = {"epsilon": 1, "sensitivity": 1}
APART = ([0, 40], [1, 39])  # one far behind: the ratio of its chances is all but e^ε
MIXED = ([3, 0, 5, 4], [4, 1, 4, 3])
GROWN = ([3, 0, 5, 4], [4, 0, 6, 4])
LATE = ([0, 0, 40], [1, 1, 39])  # two far behind
BEHIND = ([0, 40], [1, 40])


def _choice(choose: Selection) -> ExactSubject:
    rows = (BEHIND, GROWN) if choose.monotone else (APART, MIXED, BEHIND, GROWN)
    name = type(choose).__name__ + (", monotone" if choose.monotone else "")
    return ExactSubject(
        name=name, mechanism=choose, written=lambda: [mechanism_tables.selection(choose, *each) for each in rows]
    )


def _top(choose: TopK) -> ExactSubject:
    return ExactSubject(
        name="Top 2",
        mechanism=choose,
        written=lambda: [mechanism_tables.top(choose, *MIXED), mechanism_tables.top(choose, *LATE)],
    )


def _keys(name: str, rule: Threshold | GaussianThreshold) -> ExactSubject:
    """Return the check of a threshold: one more unit in as many keys as it can touch, from no unit up to where all
    is certain.
    """

    def written() -> list[Table]:
        last, k = rule.error.least(0.9999) + 2, rule.touched
        return [mechanism_tables.switch(rule, [n] * k, [n + 1] * k) for n in range(last)]

    return ExactSubject(name=name, mechanism=rule, written=written)


LAST = 30  # of the grids
RECORDS = (  # wide gaps at the aimed rank, which one more record on the far side changes most
    [2, 2, 3, 7, 9],
    [0] * 5 + [2] * 5 + [28] * 30,
    [0] * 20 + [28] * 20,
    [0] * 20 + [28] * 5,
    [0] * 15 + [14] * 10 + [28] * 15,
)
MORE = ([0], [LAST])


def _one_more() -> Iterator[tuple[list[int], list[int]]]:
    """Yield some records, and the same with one more."""
    return ((data, data + more) for data in RECORDS for more in MORE)


def _quantile(m: Quantile) -> ExactSubject:
    def scores(data: Sequence[int]) -> list[Fraction]:
        slots = m._slots(data)
        return [Fraction(-miss) for miss in np.repeat(slots.miss, slots.width).tolist()]

    return ExactSubject(
        name=f"Quantile, q = {show(m.q)}",
        mechanism=m,
        written=lambda: [mechanism_tables.softmax(m._rate, *map(scores, pair)) for pair in _one_more()],
    )


def _points(
    name: str,
    m: Quantiles | Extreme | QuantileIntervalMechanism,
    choices: Callable[[GridRange], Iterable[tuple[GridRange, Fraction, Fraction]]],
) -> ExactSubject:
    """Return the check of choices among the points of a grid, side by side, by the slots, the aim and the rate of
    each.
    """

    def written() -> list[Table]:
        rows = [[choices(_part(data, m.last)) for data in pair] for pair in _one_more()]
        return [reduce(mechanism_tables.product, map(_softmax, *pair)) for pair in rows]

    return ExactSubject(name=name, mechanism=m, written=written)


def _part(data: Sequence[int], last: int) -> GridRange:
    (part,) = Histogram.of(np.array(data)).parts(last)
    return part


def _softmax(one: tuple[GridRange, Fraction, Fraction], other: tuple[GridRange, Fraction, Fraction]) -> Table:
    """Return the table of one choice on two neighbours, each given by its records and aim; the rate depends on no
    data.
    """
    (held, aim, rate), (held_too, aim_too, rate_too) = one, other
    assert rate == rate_too
    return mechanism_tables.softmax(
        rate, mechanism_tables.scores(held, aim), mechanism_tables.scores(held_too, aim_too)
    )


def _quantiles(m: Quantiles) -> ExactSubject:
    assert m.fine == len(m.at) == 1  # every point is a value
    root = m._root
    return _points("Quantiles of groups", m, lambda part: [(part, root.q * part.total, m._rate(root))])


def _extreme(m: Extreme) -> ExactSubject:
    return _points("Extreme", m, lambda part: [(part, Fraction(part.total - m.rank), m.rate)])


def _edges(m: QuantileIntervalMechanism) -> ExactSubject:
    return _points("Edges", m, lambda part: [(held, aim, m.rate) for held, aim in m._aims(part)])


def _places(m: TopKRanking) -> ExactSubject:
    sign = -1 if m.least else 1
    rows = [[sign * score for score in each] for each in LATE]
    return ExactSubject(name="Places", mechanism=m, written=lambda: [mechanism_tables.top(m._top, *rows)])


def _ceiling(m: UpperBoundMechanism) -> ExactSubject:
    def written() -> list[Table]:
        rows = [(m.scores(np.array(data)), m.scores(np.array(data + more))) for data in RECORDS for more in MORE]
        return [mechanism_tables.selection(m.choose, *each) for each in rows]

    return ExactSubject(name="Ceiling", mechanism=m, written=written)


LAPLACE = Laplace(epsilon=1, sensitivity=1)
FLIP = PermuteAndFlip(**UP)
MODES = Modes(choose=PermuteAndFlip(**UP, monotone=True))


WEIGHED = Combined(cells=2, strategies=(Strategy((Matrix(2, (1, -2)),)),), laws=(DiscreteLaplace(Fraction(2)),))


def _both(name: str, mechanism: Mechanism, scores: Sequence[Sequence[int]]) -> ExactSubject:
    """Return the check of noise and a choice side by side."""

    def written() -> list[Table]:
        return [
            mechanism_tables.product(
                mechanism_tables.noise(LAPLACE.law, 0, 1), mechanism_tables.selection(FLIP, *scores)
            )
        ]

    return ExactSubject(name=name, mechanism=mechanism, written=written)


EXACT: tuple[ExactSubject, ...] = (
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
    ExactSubject(
        name="Modes",
        mechanism=MODES,
        written=lambda: [mechanism_tables.selection(MODES.choose, *each) for each in (BEHIND, GROWN)],
    ),
    _keys("Threshold", Threshold(epsilon=1, delta="1e-6")),
    _keys("Threshold, two keys", Threshold(epsilon=1, delta="1e-6", keys=2)),
    _keys("Gaussian threshold", GaussianThreshold(epsilon=1, delta="1e-6")),
    _keys("Gaussian threshold, two keys", GaussianThreshold(epsilon=1, delta="1e-6", keys=2)),
    _quantile(Quantile(epsilon=1, q="0.5", bounds=(0, LAST), step=1)),
    _quantile(Quantile(epsilon=1, q="0.25", bounds=(0, LAST), step=1)),
    _quantiles(Quantiles(epsilon=1, at=("1/2",), last=LAST)),
    _extreme(Extreme(epsilon=1, side="greatest", rank=5, last=LAST)),
    _edges(QuantileIntervalMechanism(epsilon=1, q="1/2", shift=5, last=LAST)),
    _places(TopKRanking(choose=FLIP, k=2, among=3)),
    _ceiling(UpperBoundMechanism(epsilon=1, last=LAST, slope="0.5")),
    ExactSubject(
        name="Combined",
        mechanism=WEIGHED,
        written=lambda: [mechanism_tables.noise(WEIGHED.laws[0], 0, *moved) for moved in ((1,), (-2,))],
    ),
    _both("Laplace, then a choice", compose(LAPLACE, FLIP), APART),
    _both("Laplace beside a choice", parallel(LAPLACE, FLIP), ([0, 40], [0, 40])),
    *randomizers.EXACT,
)


# ── by samples ───────────────────────────────────────────────────────────────────────────────────────────────────


def _released(mechanism: Mechanism, exact: int) -> audit.Sampler:
    return lambda count, coins: np.asarray(mechanism.release(np.full(count, exact), coins))


def _two_cells(mechanism: Mechanism, exact: tuple[int, int]) -> audit.Sampler:
    """Return a sampler of two cells at once, the pair as one number: differences beyond ±31 are cut."""

    def draw(count: int, coins: Coins) -> Any:
        cells = np.asarray(mechanism.release(np.tile(exact, (count, 1)), coins)).clip(-31, 31)
        return cells[:, 0] * 64 + cells[:, 1]

    return draw


COARSE = Fraction(1, 100)
MOVED = Laplace(epsilon=1, sensitivity=2, neighbours="replace")
BELL = Gaussian(epsilon=1, delta=COARSE, sensitivity=1)
NAMES = Threshold(epsilon=1, delta=COARSE)

SAMPLED: tuple[SampledSubject, ...] = (
    SampledSubject(
        name="Laplace", epsilon=Fraction(1), delta=Fraction(0), one=_released(LAPLACE, 41), other=_released(LAPLACE, 42)
    ),
    SampledSubject(
        name="Laplace, two cells, replaced",
        epsilon=Fraction(1),
        delta=Fraction(0),
        one=_two_cells(MOVED, (1, 0)),
        other=_two_cells(MOVED, (0, 1)),
    ),
    SampledSubject(
        name="Gaussian", epsilon=Fraction(1), delta=COARSE, one=_released(BELL, 41), other=_released(BELL, 42)
    ),
    SampledSubject(
        name="Threshold", epsilon=Fraction(1), delta=COARSE, one=_released(NAMES, 4), other=_released(NAMES, 3)
    ),
    *randomizers.SAMPLED,
)


def checks(samples: int = 10**6, alarm: Number = audit.ALARM, coins: Coins = SYSTEM) -> Iterator[Callable[[], Checked]]:
    """Yield the checks one after the other; together they raise a false alarm with probability at most `alarm`."""
    for each in EXACT:
        yield each.check
    own = probability(alarm, "alarm") / len(SAMPLED)
    for one in SAMPLED:
        yield partial(one.check, samples, alarm=own, coins=coins)
