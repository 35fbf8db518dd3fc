"""Every mechanism there is passes the contract; a new one fails here until it has a case."""

from __future__ import annotations

import inspect
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.price import Pure
from discreet.core.reach import Neighbours
from discreet.kernel.expressions import Field
from discreet.kernel.plan import ExactResult, Key
from discreet.matrix.mechanism import Combined
from discreet.matrix.strategy import Identity, Matrix, Strategy, Total
from discreet.mechanisms.noise import Noise
from discreet.mechanisms.quantiles.extreme import Extreme
from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.quantiles.upper_bound import UpperBoundMechanism
from discreet.mechanisms.selection.mode import Modes
from discreet.mechanisms.selection.selection import TopK
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.distinct import Distinct
from discreet.plan.measures.grouping_sets import GROUP_DENOMINATOR, GroupingSets
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.sums import Sums
from discreet.plan.measures.workload_cells import WorkloadCells
from discreet.plan.plan import Plan
from discreet.workload import Workload
from support.contract import Case, Table, check_loss_against_law, check_mechanism, check_release_against_law
from support.edges import edged
from support.quantiles import law
from support.randomizers import CASES as RANDOMIZERS
from support.surveys import CASES as SURVEYS


def double(x: int) -> int:
    return 2 * x


def noisy(law: Any, step: Fraction = Fraction(1), span: int = 300) -> Any:
    pmf = {k: law.pmf(k) for k in range(-span, span + 1)}
    real = step != 1

    def table(secret: Any) -> Table:
        start = int(Fraction(str(secret)) / step + Fraction(1, 2)) if real else secret
        return {float((start + k) * step) if real else start + k: p for k, p in pmf.items()}

    return table


def chosen(m: Any) -> Any:
    return lambda scores: dict(enumerate(m.probabilities(scores)))


def named(m: Any) -> Any:
    def table(counts: list[int]) -> Table:
        ps = [m.error.probability(n) for n in counts]
        found = {}
        for mask in itertools.product((False, True), repeat=len(counts)):
            found[mask] = float(np.prod([p if yes else 1 - p for p, yes in zip(ps, mask, strict=True)]))
        return found

    return table


def peeled(m: TopK) -> Any:
    """The best two, from the probabilities of each choice among those left."""

    def table(scores: list[int]) -> Table:
        found = {}
        first = m.choose.probabilities(scores)
        for i in range(len(scores)):
            left = [j for j in range(len(scores)) if j != i]
            second = m.choose.probabilities([scores[j] for j in left])
            for j, p in zip(left, second, strict=True):
                found[(i, j)] = float(first[i] * p)
        return found

    return table


def placed(m: TopKRanking) -> Any:
    """The places of the first two."""
    sign = -1 if m.least else 1

    def table(scores: list[list[int]]) -> Table:
        first = peeled(m.choose.top(2))([sign * each for each in scores[0]])
        found = {}
        for (i, j), p in first.items():
            places = [0] * len(scores[0])
            places[i], places[j] = 2 * sign, sign
            found[(tuple(places),)] = p
        return found

    return table


def softmax(m: dp.Quantile) -> Any:
    def table(data: list[int]) -> Table:
        q, grid = float(m.q), range(int(m.bounds[0]), int(m.bounds[1]) + 1)
        x = np.array(data)
        score = np.array([-abs((1 - q) * np.sum(x < y) - q * np.sum(x > y)) for y in grid])
        most = max(q, 1 - q) if m.neighbours == "add-remove" else 1
        weights = np.exp(float(m.epsilon) / (2 * most) * score)
        return {float(y): float(w / weights.sum()) for y, w in zip(grid, weights, strict=True)}

    return table


def beyond(m: Extreme) -> Any:
    """By the definition: how far the rank is from the number of records before a point, and before or at it."""

    def table(data: list[int]) -> Table:
        x, sign = np.array(data), 1 if m.side == "least" else -1
        scores = []
        for y in range(m.last + 1):
            strict, weak = np.sum(sign * x < sign * y), np.sum(sign * x <= sign * y)
            scores.append(max(0, strict - m.rank, m.rank - weak))
        weights = np.exp(-float(m.rate) * np.array(scores))
        return {((y,),): float(w / weights.sum()) for y, w in enumerate(weights)}

    return table


def ladder(m: UpperBoundMechanism) -> Any:
    def table(data: list[int]) -> Table:
        above = np.array([np.sum(np.array(data) > rung) for rung in range(m.last + 1)])
        weights = np.exp(-float(m.epsilon) / m.records * above - float(m.slope) * np.arange(m.last + 1))
        return {((rung,),): float(w / weights.sum()) for rung, w in enumerate(weights)}

    return table


def moded(m: Modes) -> Any:
    def table(counts: list[list[int]]) -> Table:
        return {((i,),): p for i, p in enumerate(m.choose.probabilities([each[0] for each in counts]))}

    return table


def both(one: Any, two: Any) -> Any:
    def table(secret: Any) -> Table:
        a, b = one(secret[0]), two(secret[1])
        return {(x, y): p * q for x, p in a.items() for y, q in b.items()}

    return table


def counted(people: int) -> ExactResult:
    return ExactResult(keys=(), units=np.array([people]), sums=(np.array([[people]]),))


def keyed(*people: int) -> ExactResult:
    return ExactResult(keys=(("a",), ("b",)), units=np.array(people), sums=(np.array([people]),))


def planned(law: Any, naming: Any = None) -> Any:
    """What a plan that counts releases: for private keys those that are named, each with its noisy count."""
    pmf = {k: law.pmf(k) for k in range(-40, 41)}

    def table(secret: ExactResult) -> Table:
        if naming is None:
            start = int(secret.units[0])
            return {(((),), (((start + k,),),)): p for k, p in pmf.items()}
        found: Table = {}
        chances = [naming.error.probability(int(n)) for n in secret.units]
        for mask in itertools.product((False, True), repeat=2):
            odds = float(np.prod([p if yes else 1 - p for p, yes in zip(chances, mask, strict=True)]))
            which = [i for i in range(2) if mask[i]]
            keys = tuple(secret.keys[i] for i in which)
            for noise in itertools.product(pmf, repeat=len(which)):
                counts = tuple(int(secret.units[i]) + k for i, k in zip(which, noise, strict=True))
                p = odds * float(np.prod([pmf[k] for k in noise]))
                found[(keys, ((counts,),))] = found.get((keys, ((counts,),)), 0.0) + p
        return found

    return table


def parted(*parts: int) -> ExactResult:
    return ExactResult(keys=(), units=np.array([sum(parts)]), sums=(np.array([[each] for each in parts]),))


def two(law: Any) -> Any:
    """What a plan with two parts releases: each with noise of its own."""
    pmf = {k: law.pmf(k) for k in range(-40, 41)}

    def table(secret: ExactResult) -> Table:
        low, high = (int(each) for each in secret.sums[0][:, 0])
        return {(((),), (((low + i,), (high + j,)),)): p * q for i, p in pmf.items() for j, q in pmf.items()}

    return table


def tabled(measure: GroupingSets, law: Any) -> Any:
    """What totals of one group release: the mean of two noisy numbers, with weights, on a fine grid."""
    (first, second), (u, v) = measure.laws(law), measure.precisions(law.family)

    def table(secret: ExactResult) -> Table:
        exact, found = int(secret.units[0]), dict[Any, float]()
        for i, j in itertools.product(range(-100, 101), repeat=2):
            fine = (2 * GROUP_DENOMINATOR * (u * (exact + i) + v * (exact + j)) + u + v) // (2 * (u + v))
            key = ((("a",),), (((fine,),),))
            found[key] = found.get(key, 0.0) + first.pmf(i) * second.pmf(j)
        return found

    return table


def column(*laws: Any) -> Any:
    """What combinations of one group release: the count, and twice the count, each with noise of its own."""

    def table(secret: ExactResult) -> Table:
        exact = int(secret.units[0])
        first, second = ({k: law.pmf(k) for k in range(-45, 46)} for law in laws)
        both = itertools.product(first.items(), second.items())
        return {(((),), (((exact + i,), (2 * exact + j,)),)): p * q for (i, p), (j, q) in both}

    return table


def combined(m: Combined) -> Any:
    """What combinations with one row each release, from the matrices written out."""

    def table(secret: list[int]) -> Table:
        starts = [int(each.dense()[0] @ np.array(secret)) for each in m.strategies]
        laws = [{start + k: law.pmf(k) for k in range(-50, 51)} for start, law in zip(starts, m.laws, strict=True)]
        found = {}
        for chosen_ in itertools.product(*(each.items() for each in laws)):
            found[tuple((value,) for value, _ in chosen_)] = float(np.prod([p for _, p in chosen_]))
        return found

    return table


def answered(m: Any) -> Any:
    law = m.mechanism.laws[0]

    def table(secret: list[int]) -> Table:
        values = {secret[0] + k: law.pmf(k) for k in range(-60, 61)}
        return {m.function((np.array([value]),)): p for value, p in values.items()}

    return table


LAPLACE = dp.Laplace(epsilon=1, sensitivity=1)
WIDE = dp.Laplace(epsilon="0.5", sensitivity=3)
GRID = dp.Laplace(epsilon=1, sensitivity="0.5", step="0.25")
GAUSSIAN = dp.Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
BY_RHO = dp.Gaussian(rho="0.2", sensitivity=2)
UP = {"epsilon": 1, "sensitivity": 1}
EXPONENTIAL, NOISY_MAX, FLIP = dp.Exponential(**UP), dp.NoisyMax(**UP), dp.PermuteAndFlip(**UP)
MONOTONE = [kind(**UP, monotone=True) for kind in (dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip)]
THRESHOLD = dp.Threshold(epsilon=1, delta="1e-2")
KEYS = dp.Threshold(epsilon=1, delta="1e-2", keys=2)
BELL = dp.GaussianThreshold(epsilon=2, delta="1e-2", keys=2)
BELL_BY_RHO = dp.GaussianThreshold(rho="0.3", delta="1e-2", keys=2)
MEDIAN = dp.Quantile(epsilon=1, q="0.5", bounds=(0, 10), step=1)
MOVED = dp.Quantile(epsilon=1, q="0.25", bounds=(0, 10), step=1, neighbours="replace")
TOP = FLIP.top(2)
QUARTERS = Quantiles(epsilon=1, at=("1/4", "1/2", "3/4"), last=3, fine=2, records=2)
THIRDS = Quantiles(epsilon=1, at=("1/3", "2/3"), last=3, fine=2, neighbours="replace")
GREATEST = Extreme(epsilon=1, side="greatest", rank=2, last=10)
LEAST = Extreme(epsilon=2, side="least", rank=1, last=10, neighbours="replace")
EDGES = QuantileIntervalMechanism(epsilon=2, q="1/2", shift=2, last=2)  # nearly as far as one record can move both ends
TWO_ENDS = QuantileIntervalMechanism(epsilon=2, q="1/4", shift=2, last=4, records=2)
MOVED_EDGES = QuantileIntervalMechanism(epsilon=2, q="1/2", shift=3, last=4, neighbours="replace")
MODES = Modes(choose=MONOTONE[2])
PLACES = TopKRanking(choose=MONOTONE[2], k=2, among=4)
LOWEST = TopKRanking(choose=MONOTONE[0], k=2, among=4, least=True)
EITHER_WAY = TopKRanking(choose=FLIP, k=2, among=3, least=True)
CEILING = UpperBoundMechanism(epsilon=1, last=5, records=2, slope="0.5")
ROW = ContributionBounds(unit=None, rows=None, groups=None)
ROWS = Sums(parts=("rows",))
PLAN = Plan(table="t", caps=ROW, where=None, keys=(), measures=(ROWS,), laws=(LAPLACE.law,), naming=None)
WARD = Key(tree=Field(name="ward", kind="text"), kind="text")
BY_WARD = Plan(table="t", caps=ROW, where=None, keys=(WARD,), measures=(ROWS,), laws=(LAPLACE.law,), naming=THRESHOLD)

TRIPLE = Moments(of=(Field(name="x", kind="integer"),), low=(0,), high=(1,), step=(Fraction(1),), degree=(1,))
SPREAD = Plan(
    table="t", caps=ROW, where=None, keys=(), measures=(TRIPLE,), laws=(TRIPLE.law(Pure(Fraction(1)), Setting(
        caps=ROW, neighbours=Neighbours.ADD_REMOVE, unit="person", grouped=False)),), naming=None,
)  # fmt: skip
DIFFERENT = Plan(
    table="t", caps=ROW, where=None, keys=(), measures=(Distinct(of=WARD.tree),), laws=(LAPLACE.law,), naming=None
)
HALVES = Strategy((Total(2),)), Strategy((Matrix(2, (1, -2)),))
COMBINED = Combined(cells=2, strategies=HALVES, laws=(DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(3, 2))))
TURNED = Combined(
    cells=2, strategies=HALVES[1:], laws=(DiscreteGaussian(Fraction(20)),), neighbours="replace",
)  # fmt: skip
PLANNED = Workload.identity(1).plan(epsilon=1)
BATCH = Plan(
    table="t", caps=ROW, where=None, keys=(), laws=(LAPLACE.law,), naming=None,
    measures=(CountBatch(of=WARD.tree, values=("10", "11"), strategy=Strategy((Identity(2),))),),
)  # fmt: skip
TABLES = GroupingSets(of=ROWS, sizes=(1,), asked=((0,), ()), tables=((0,), ()), weights=(2, 1))
ONE_WARD = Key(tree=WARD.tree, kind="text", values=("a",))
WEIGHED = WorkloadCells(
    asked="0" * 64, of=ROWS, cells=1, strategies=(Strategy((Identity(1),)), Strategy((Matrix(1, (2,)),))),
    shares=(Fraction(1, 3), Fraction(2, 3)),
)  # fmt: skip
CELLS = Plan(
    table="t", caps=ROW, where=None, keys=(ONE_WARD,), measures=(WEIGHED,), naming=None,
    laws=((DiscreteLaplace(Fraction(1)), DiscreteLaplace(Fraction(1))),),
)  # fmt: skip
TOTALS = Plan(table="t", caps=ROW, where=None, keys=(ONE_WARD,), measures=(TABLES,), laws=(LAPLACE.law,), naming=None)

CASES = [
    Case("Laplace", LAPLACE, 41, 42, noisy(LAPLACE.law)),
    Case("Laplace, sensitivity 3", WIDE, 41, 38, noisy(WIDE.law)),
    Case("Laplace on a grid", GRID, "1.1", "1.6", noisy(GRID.law, Fraction(1, 4))),
    Case("Gaussian", GAUSSIAN, 41, 42, noisy(GAUSSIAN.law)),
    Case("Gaussian by ρ", BY_RHO, 41, 43, noisy(BY_RHO.law)),
    Case("Exponential", EXPONENTIAL, [3, 0, 5, 4], [4, 1, 4, 3], chosen(EXPONENTIAL)),
    Case("NoisyMax", NOISY_MAX, [3, 0, 5, 4], [4, 1, 4, 3], chosen(NOISY_MAX)),
    Case("PermuteAndFlip", FLIP, [3, 0, 5, 4], [4, 1, 4, 3], chosen(FLIP)),
    *(Case(f"{type(m).__name__}, monotone", m, [3, 0, 5, 4], [3, 1, 5, 5], chosen(m)) for m in MONOTONE),
    Case("Threshold", THRESHOLD, [4, 1], [4, 2], named(THRESHOLD)),
    Case("Threshold, new key", THRESHOLD, [4, 1], [4, 0], named(THRESHOLD)),
    Case("Threshold, two keys", KEYS, [9, 3, 1], [10, 3, 0], named(KEYS)),
    Case("GaussianThreshold", BELL, [4, 6, 1], [5, 6, 0], named(BELL)),
    Case("GaussianThreshold by ρ", BELL_BY_RHO, [6, 4, 1], [7, 4, 0], named(BELL_BY_RHO)),
    Case("Quantile", MEDIAN, [2, 2, 2, 7, 9], [2, 2, 2, 7, 9, 0], softmax(MEDIAN)),
    Case("Quantile, replaced", MOVED, [2, 2, 2, 7, 9], [2, 2, 2, 7, 0], softmax(MOVED)),
    Case("Quantiles", QUARTERS, [0, 2, 2, 1], [0, 2, 2, 1, 3, 3], lambda x: law(QUARTERS, x)),
    Case("Quantiles, replaced", THIRDS, [0, 2, 2, 1], [0, 2, 2, 3], lambda x: law(THIRDS, x)),
    Case("Extreme", GREATEST, [1, 4, 4, 7], [1, 4, 4, 7, 9], beyond(GREATEST)),
    Case("Extreme, replaced", LEAST, [1, 4, 4, 7], [9, 4, 4, 7], beyond(LEAST)),
    Case("Edges", EDGES, [1, 1, 1], [1, 1, 1, 1], edged(EDGES), draws=1500),
    Case("Edges, two records", TWO_ENDS, [1, 3, 3], [1, 3, 3, 4, 4], edged(TWO_ENDS), draws=1500),
    Case("Edges, replaced", MOVED_EDGES, [1, 3, 3], [1, 3, 0], edged(MOVED_EDGES), draws=1500),
    Case("Modes", MODES, [[3], [0], [5], [4]], [[3], [1], [5], [5]], moded(MODES)),
    Case("Places", PLACES, [[3, 0, 5, 4]], [[3, 1, 5, 5]], placed(PLACES)),
    Case("Places, the lowest", LOWEST, [[3, 0, 5, 4]], [[3, 1, 5, 5]], placed(LOWEST)),
    Case("Places, either way", EITHER_WAY, [[3, 0, 5]], [[2, 1, 5]], placed(EITHER_WAY)),
    Case("Ceiling", CEILING, [0, 2, 2, 1], [0, 2, 2, 1, 6, 4], ladder(CEILING)),
    Case("TopK", TOP, [3, 0, 5, 4], [4, 1, 4, 3], peeled(TOP)),
    Case(
        "Composition",
        dp.compose(LAPLACE, FLIP),
        [41, [3, 0, 5]],
        [42, [4, 0, 4]],
        both(noisy(LAPLACE.law), chosen(FLIP)),
    ),
    Case(
        "Parallel", dp.parallel(LAPLACE, FLIP), [41, [3, 0, 5]], [42, [3, 0, 5]], both(noisy(LAPLACE.law), chosen(FLIP))
    ),
    Case("Plan", PLAN, counted(41), counted(42), planned(LAPLACE.law)),
    Case("Plan, moments", SPREAD, parted(7, 3), parted(7, 4), two(SPREAD.laws[0])),
    Case("Plan, distinct", DIFFERENT, counted(41), counted(42), planned(LAPLACE.law)),
    Case("Plan, private keys", BY_WARD, keyed(3, 1), keyed(3, 2), planned(LAPLACE.law, THRESHOLD)),
    Case("Combined", COMBINED, [7, 3], [7, 4], combined(COMBINED)),
    Case("Combined, replaced", TURNED, [7, 3], [6, 4], combined(TURNED)),
    Case("Planned", PLANNED, [41], [42], answered(PLANNED)),
    Case("Plan, batch", BATCH, parted(7, 3), parted(7, 4), two(BATCH.laws[0])),
    Case("Plan, totals", TOTALS, counted(41), counted(42), tabled(TABLES, LAPLACE.law)),
    Case("Plan, cells", CELLS, counted(41), counted(42), column(*CELLS.laws[0])),
    *RANDOMIZERS,
    *SURVEYS,
    Case("Then", LAPLACE.then(double), 41, 42, lambda x: {2 * k: p for k, p in noisy(LAPLACE.law)(x).items()}),
]
for index, case in enumerate(CASES):
    if case.name == "Laplace on a grid":
        CASES[index] = Case(case.name, GRID, 1.1, 1.6, case.table)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_contract(case: Case) -> None:
    check_mechanism(case)


def concrete(kind: type) -> set[type]:
    below = {each for child in kind.__subclasses__() for each in concrete(child)}
    return below if inspect.isabstract(kind) or kind.__name__.startswith("_") else below | {kind}


def test_every_mechanism_has_a_case() -> None:
    known = {type(case.mechanism) for case in CASES}
    missing = {kind.__name__ for kind in concrete(dp.Mechanism) if kind.__module__.startswith("discreet.")} - {
        kind.__name__ for kind in known
    }
    assert not missing, f"add a Case for {missing}"


def test_the_contract_catches_what_it_is_for() -> None:
    """Scale ten per cent too small, the notes' Gaussian, half the noise without monotone scores, local sensitivity."""
    little = Noise(law=DiscreteLaplace(Fraction(10, 11)), reach=LAPLACE.reach)
    wrong = [
        Case("too small", LAPLACE, 41, 42, noisy(little.law)),
        Case("the notes' Gaussian", GAUSSIAN, 41, 42, noisy(DiscreteGaussian(Fraction(138155, 10000)))),
        Case("half the noise", NOISY_MAX, [3, 0, 5, 4], [4, 1, 4, 3], chosen(MONOTONE[1])),
        Case("too sensitive", LAPLACE, 41, 43, noisy(LAPLACE.law)),
        Case(
            "bounded range claimed",
            dp.Exponential(**UP),
            [0] * 9 + [9],
            [1] * 9 + [8],
            chosen(dp.PermuteAndFlip(epsilon=2, sensitivity=1)),
        ),
    ]
    for case in wrong:
        with pytest.raises(AssertionError):
            check_loss_against_law(case)
    with pytest.raises(AssertionError):
        check_release_against_law(Case("", LAPLACE, 41, 42, noisy(DiscreteLaplace(Fraction(11, 10))), draws=20_000))
