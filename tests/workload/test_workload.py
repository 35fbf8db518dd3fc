"""Workloads: the field's figures, the proof of optimality, exact sensitivities, and least squares written out."""

from __future__ import annotations

import pickle
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.core.laws.gaussian import GAUSSIAN, DiscreteGaussian
from discreet.core.laws.laplace import LAPLACE, DiscreteLaplace
from discreet.matrix import planner
from discreet.matrix.designs import Axis, Design, Solved
from discreet.matrix.families import Intervals, Queries
from discreet.matrix.gaussian_optimal import lower_bound
from discreet.matrix.hierarchical import best_levels
from discreet.matrix.mechanism import Combined
from discreet.matrix.strategy import Detail, Identity, Matrix, Merged, PIdentity, Strategy, Total
from discreet.plan.estimates.discrete_tails import margins
from discreet.workload import Workload, WorkloadMechanism

CLOSE = 0.02
TOTALS = Workload(np.vstack([np.eye(256), np.ones((1, 256))]))
FIGURES: list[
    Any
] = [  # mean squared error: each cell, best tree with its branches, wavelet, p-Identity, Gaussian, bound
    ("prefix 64", Workload.prefix(64), 65, (8, 47.7), 87.9, 28.32, 4.409, 8.32),
    ("ranges 64", Workload.ranges(64), 44, (8, 63.8), 102.2, 30.83, 5.300, 10.37),
    ("prefix 256", Workload.prefix(256), 257, (16, 95.8), 171.3, 53.71, 6.373, 12.22),
    ("ranges 256", Workload.ranges(256), 172, (16, 135.4), 221.1, 64.87, 8.418, 16.55),
    ("width 32", Workload.windows(256, 32), 64, (16, 119.5), 184.3, 40.14, 5.514, 10.61),
    ("identity and total", TOTALS, 3.98, None, None, 3.011, 1.1165, 2.233),
]


def written(queries: Queries) -> np.ndarray:
    return queries.times(np.eye(queries.cells))


def laplace(design: Design) -> float:
    """The mean squared error at ε = 1 with Laplace noise on the reals, of variance 2/ε² times the sensitivity²."""
    pairs = zip(design.strategies, design.shares, strict=True)
    return design.mean([2 * (strategy.l1 / float(share)) ** 2 for strategy, share in pairs])


@pytest.mark.parametrize("figures", FIGURES, ids=[each[0] for each in FIGURES])
def test_figures_of_the_field(figures: Any) -> None:
    """By formula: nothing here is random. The plan is as good as the field's best, or better."""
    _, work, each, tree, wavelet, spiked, gaussian, bound = figures
    assert laplace(Solved("", (Axis(work.queries, Identity(work.cells)),))) == pytest.approx(each, rel=CLOSE)
    if tree is not None:
        known = best_levels(work.queries, tree[0], LAPLACE, details=False, even=True)
        assert laplace(known) == pytest.approx(tree[1], rel=CLOSE)
        haar = best_levels(work.queries, 2, LAPLACE, details=True, even=True)
        assert laplace(haar) == pytest.approx(wavelet, rel=CLOSE)
    plan = work.plan(epsilon=1)
    assert plan.strategy == "p-identity"
    assert plan.expected_error == pytest.approx(spiked, rel=CLOSE)
    assert laplace(plan.error.design) == pytest.approx(spiked, rel=CLOSE)
    assert plan.loss.pure == 1
    best = work.plan(rho="0.5")  # noise of variance one on what one person moves by one
    assert best.expected_error == pytest.approx(gaussian, rel=CLOSE)
    assert best.loss.rho == Fraction(1, 2)
    values = np.linalg.svd(written(work.queries), compute_uv=False)
    assert 2 * values.sum() ** 2 / work.cells / len(work) == pytest.approx(bound, rel=CLOSE)


@pytest.mark.parametrize("figures", FIGURES, ids=[each[0] for each in FIGURES])
def test_the_certificate_proves_the_optimum(figures: Any) -> None:
    """Recomputed from the weights by singular values of WΛ^½, apart from the code that found them."""
    work = figures[1]
    plan = work.plan(rho="0.5")
    assert plan.certificate is not None
    weights = np.array(plan.certificate.weights)
    assert (weights > 0).all()
    values = np.linalg.svd(written(work.queries) * np.sqrt(weights), compute_uv=False)
    bound = values.sum() ** 2 / weights.sum()
    matrix = plan.mechanism.strategies[0].dense().astype(float)
    error = (matrix**2).sum(axis=0).max() * np.sum(work.queries.gram() * np.linalg.inv(matrix.T @ matrix))
    assert bound <= error <= bound * (1 + 1e-3)
    assert plan.gap == pytest.approx(error / bound - 1, abs=1e-6)
    assert error < bound * 1.01  # the control: a bound one per cent larger would be refuted by this very strategy


def test_no_strategy_is_below_the_bound() -> None:
    generator = np.random.default_rng(1)
    gram = Workload.prefix(12).queries.gram()
    for _ in range(300):
        matrix = generator.normal(size=(12, 12))
        matrix /= np.sqrt((matrix**2).sum(axis=0))
        error = np.sum(gram * np.linalg.inv(matrix.T @ matrix))
        assert lower_bound(gram, generator.uniform(0.1, 1, 12)) <= error


def test_marginals_of_five_attributes() -> None:
    work = Workload.marginals([10] * 5, ways=2)
    gaussian, pure = work.plan(rho="0.5"), work.plan(epsilon=1)
    assert gaussian.expected_error == pytest.approx(8.157, rel=CLOSE)
    assert gaussian.gap == pytest.approx(0, abs=1e-6)
    assert pure.expected_error == pytest.approx(171.2, rel=CLOSE)
    assert (gaussian.loss.rho, pure.loss.pure) == (Fraction(1, 2), 1)


def test_the_closed_form_is_the_optimum() -> None:
    """Marginals of a small domain, by descent over all strategies: nothing is better."""
    work = Workload.marginals((3, 2, 4), kept=[(0, 1), (2,), (1, 2)])
    general = Workload(written(work.queries)).plan(rho="0.5")
    assert work.plan(rho="0.5").expected_error <= general.expected_error * (1 + 1e-9)
    assert general.expected_error <= work.plan(rho="0.5").expected_error * (1 + 1e-3)


# ── every design, beside least squares written out ───────────────────────────────────────────────────────────────

SHIFTED = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [0, 0, 2, 2, 0]])  # cells 2 and 3 are alike
PLANS = {
    "p-identity": lambda **cost: Workload.prefix(9).plan(**cost),
    "merged": lambda **cost: Workload(SHIFTED).plan(**cost),
    "marginals": lambda **cost: Workload.marginals((2, 3, 2), ways=2).plan(**cost),
    "product": lambda **cost: Workload.product(Workload.prefix(4), Workload.ranges(3)).plan(**cost),
    "windows": lambda **cost: Workload.windows(7, 3).plan(**cost),
    "total": lambda **cost: Workload.total(6).plan(**cost),
}


def hierarchies(kind: str) -> list[Design]:
    queries, family = Intervals(11, "prefix"), GAUSSIAN if kind == "rho" else LAPLACE
    found: list[Design] = [best_levels(queries, each, family, details=kind == "rho") for each in (2, 3, 4)]
    return [*found, best_levels(queries, 2, family, details=True)]


def all_designs() -> list[Any]:
    plans = [(f"{name}, {cost}", make(**{cost: 1}).error.design) for name, make in PLANS.items() for cost in COSTS]
    return plans + [(f"{each.name}, {cost}", each) for cost in COSTS for each in hierarchies(cost)]


COSTS = ("epsilon", "rho")


@pytest.mark.parametrize("named", all_designs(), ids=lambda each: each[0] if isinstance(each, tuple) else None)
def test_answers_are_least_squares(named: Any) -> None:
    """Variances and answers beside the textbook formula with all matrices written out and the noise as weights."""
    _, design = named
    generator = np.random.default_rng(7)
    queries, noise = design.queries, [float(v) for v in generator.uniform(1, 5, len(design.strategies))]
    stacked = np.vstack([each.dense() for each in design.strategies]).astype(float)
    variance = np.concatenate([np.full(len(s.dense()), v) for s, v in zip(design.strategies, noise, strict=True)])
    matrix = written(queries)
    if isinstance(design, Solved) and design.axes[0].places is not None:
        stacked = stacked[:, np.unique(design.axes[0].places, return_index=True)[1]]
    matrix = np.hstack([matrix, np.zeros((len(matrix), stacked.shape[1] - matrix.shape[1]))])  # cells that are padded
    inverse = np.linalg.pinv(stacked / np.sqrt(variance)[:, None], rcond=1e-10)
    expected = ((matrix @ inverse) ** 2).sum(axis=1)
    assert design.variances(noise) == pytest.approx(expected, rel=1e-6)
    assert design.mean(noise) == pytest.approx(expected.mean(), rel=1e-6)
    released = [generator.integers(-50, 50, each.shape) for each in design.strategies]
    flat = np.concatenate([each.ravel() for each in released]) / np.sqrt(variance)
    assert design.estimate(released, noise).answers == pytest.approx(matrix @ (inverse @ flat), rel=1e-6, abs=1e-6)
    assert matrix @ inverse @ (stacked / np.sqrt(variance)[:, None]) == pytest.approx(matrix, abs=1e-6)  # no bias


@pytest.mark.parametrize("named", all_designs(), ids=lambda each: each[0] if isinstance(each, tuple) else None)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_sensitivities_are_those_of_the_matrices(named: Any, neighbours: Any) -> None:
    """By looking at every column, and at every pair of them, in integers."""
    for strategy in named[1].strategies:
        check_reach(strategy, neighbours)


ODD = [
    Strategy((Detail(4), Matrix(2, (1, -1)))),
    Strategy((Detail(2), Detail(3))),
    Strategy((Merged((0, 1, -1, 1), PIdentity((3, 2), (1, 2))), Total(3))),
    Strategy((Matrix(3, (5, -7, 1, 0, 2, 2)), Identity(2))),
]


@pytest.mark.parametrize("strategy", ODD, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_sensitivities_of_odd_strategies(strategy: Strategy, neighbours: Any) -> None:
    check_reach(strategy, neighbours)
    counts = np.arange(strategy.cells) * 3 - 5
    assert (strategy.measure(counts).ravel() == strategy.dense() @ counts).all()
    huge = counts.astype(object) * 10**30
    assert (strategy.measure(huge).ravel() == strategy.dense().astype(object) @ huge).all()


def check_reach(strategy: Strategy, neighbours: Any) -> None:
    columns = [[int(each) for each in column] for column in strategy.dense().T] + [[0] * len(strategy.dense())]
    others = columns if neighbours == "replace" else columns[-1:]
    apart = [[a - b for a, b in zip(one, two, strict=True)] for one in columns for two in others]
    l1, squared = max(sum(map(abs, each)) for each in apart), max(sum(d * d for d in each) for each in apart)
    m = Combined(
        cells=strategy.cells,
        strategies=(strategy,),
        laws=(DiscreteLaplace(Fraction(1)),),
        rows=3,
        neighbours=neighbours,
    )
    reach = m.reach(strategy)
    assert reach.l1 >= 3 * l1
    assert reach.l2_squared >= 9 * squared
    if neighbours == "add-remove":
        assert (reach.l1, reach.l2_squared) == (3 * l1, 9 * squared)


# ── by simulation ────────────────────────────────────────────────────────────────────────────────────────────────

SIX = 6.0  # standard errors: 2e-9 for each of some ten comparisons


@pytest.mark.parametrize("name", list(PLANS))
@pytest.mark.parametrize("cost", COSTS)
def test_the_error_is_what_was_foretold(name: str, cost: str) -> None:
    """Thousands of releases: the mean squared error is the expected one, and would not be for a scale of 1.2."""
    plan: WorkloadMechanism = PLANS[name](**{cost: "0.5"})
    counts = np.arange(plan.mechanism.cells) * 7 + 1
    work = plan.error.design.queries
    exact = SHIFTED @ counts if name == "merged" else work.times(counts[:, None].astype(float))[:, 0]
    off = np.array([np.asarray(plan.release(counts)) - exact for _ in range(8000 if name == "total" else 2000)])
    each = (off**2).mean(axis=1)
    spread = each.std() / np.sqrt(len(each))
    assert abs(each.mean() - plan.expected_error) < SIX * spread
    assert abs(each.mean() - plan.expected_error * 1.44) > SIX * spread  # the control
    assert (np.abs(off.mean(axis=0)) < SIX * np.sqrt(plan.error.variance / len(off))).all()
    covered = (np.abs(off) <= plan.error.radius("0.9") + 1e-9).mean(axis=0)
    assert (covered > 0.9 - SIX * np.sqrt(0.09 / len(off))).all()


# ── scale ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "work",
    [
        Workload.marginals([10] * 6, ways=2),
        Workload.product(Workload.windows(100, 7), Workload.identity(10), Workload.prefix(1000)),
        Workload.prefix(10**6),
        Workload.union(Workload.windows(10**5, 365), Workload.total(10**5)),
    ],
    ids=["marginals", "product", "hierarchy", "one by one"],
)
def test_a_million_cells_in_bounded_memory(work: Workload) -> None:
    """Strategies are never written out: a matrix of a million by a million would take terabytes."""
    tracemalloc.start()
    plan = work.plan(rho="0.1")
    answers = plan.release(np.ones(work.cells, np.int64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 400e6
    assert len(answers) == len(work)
    assert answers.margin().shape == (len(work),)
    assert plan.expected_error < 0.2 * dict(plan.compared)["identity"]
    off = np.asarray(answers) - work.answer(np.ones(work.cells))
    assert np.abs(off).max() < 12 * np.sqrt(plan.error.variance.max())


def test_all_ranges_of_a_thousand_cells_are_planned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Workload.ranges(1024)
    plan = work.plan(epsilon=1)
    assert plan.expected_error == pytest.approx(125.4, rel=CLOSE)
    assert plan.expected_error < 0.2 * dict(plan.compared)["identity"]
    monkeypatch.setattr(planner, "best_p_identity", None)  # planning again would fail
    assert Workload.ranges(1024).plan(epsilon="0.1").expected_error == pytest.approx(100 * 125.4, rel=CLOSE)


# ── costs, margins and refusals ──────────────────────────────────────────────────────────────────────────────────


def test_a_margin_buys_the_least_cost() -> None:
    plan = Workload.prefix(16).plan(within=20, confidence="0.99")
    assert plan.error.radius("0.99").max() <= 20
    less = Workload.prefix(16).plan(epsilon=plan.loss.pure * Fraction(98, 100))
    assert less.error.radius("0.99").max() > 20


@pytest.mark.parametrize(("cells", "within"), [(8, "0.5"), (8, 8), (64, 25)])
def test_a_margin_costs_no_more_than_any_cost_that_reaches_it(cells: int, within: Any) -> None:
    """Whichever design a cost would choose; at large costs another one errs least, and may be less even."""
    work = Workload.prefix(cells)
    plan = work.plan(within=within)
    assert plan.error.radius().max() <= Fraction(within)
    assert plan.compared[0][0] == plan.strategy
    for epsilon in ("0.3", "0.6", 1, 3, 10, 100):
        reached = work.plan(epsilon=epsilon).error.radius().max() <= Fraction(within)
        assert not reached or plan.loss.pure <= Fraction(epsilon)
    assert plan.loss.pure < 10


@pytest.mark.parametrize("scale", ["0.1", "0.3", 1])
def test_margins_of_little_noise_hold(scale: Any) -> None:
    """By convolving the law with itself: sums of thirty draws, and of ten that count three times."""
    law = DiscreteLaplace(Fraction(scale))
    one = np.array([law.pmf(k) for k in range(-60, 61)])
    tripled = np.zeros(361)
    tripled[::3] = one
    for size, draw, many in ((1, one, 30), (3, tripled, 10)):
        summed = np.ones(1)
        for _ in range(many):
            summed = np.convolve(summed, draw)
        far = np.abs(np.arange(len(summed)) - len(summed) // 2)
        for sure in ("0.5", "0.9", "0.999"):
            margin = margins(law, np.full((1, many), -float(size)), Fraction(sure))[0]
            assert summed[far <= margin].sum() >= float(Fraction(sure)) - 1e-12
            assert margin <= 4 * np.sqrt(2 * np.log(2 / (1 - float(sure))) * many * size**2 * law.variance) + size


def test_what_is_large_costs_what_was_asked() -> None:
    work = Workload.prefix(5)
    assert work.plan(epsilon=1, rows=3).loss.pure == 1
    assert work.plan(epsilon=1, rows=3).expected_error == pytest.approx(
        9 * work.plan(epsilon=1).expected_error, rel=0.1
    )
    assert work.plan(rho=1, neighbours="replace").loss.rho <= 1
    assert work.plan(rho=1, neighbours="replace").neighbours == "replace"


def test_a_ledger_charges_for_it() -> None:
    ledger = dp.Ledger(dataset="d", budget=dp.Budget(epsilon=3, delta="1e-6"))
    plan = Workload.ranges(8).plan(epsilon=1)
    receipt = ledger.spend(plan.mechanism)
    assert receipt.cost.pure == 1
    released = receipt.use(plan.mechanism).release([3] * 8)
    assert len(plan.function(released)) == 36
    assert ledger.verify().charges == 1


def test_answers_agree_with_each_other() -> None:
    answers = Workload.ranges(12).plan(epsilon=1).release(np.arange(12))
    assert answers.cells is not None
    assert answers[11] == pytest.approx(answers.cells.sum())
    tables = Workload.marginals((3, 4), kept=[(0, 1), (0,), ()]).plan(epsilon=1).release(np.ones((3, 4), int))
    assert tables[:12].reshape(3, 4).sum(axis=1) == pytest.approx(tables[12:15])
    assert tables[12:15].sum() == pytest.approx(tables[15])


def test_too_many_answers_to_list_are_released_all_the_same() -> None:
    """What was paid for is never lost: the counts are there, and only listing all answers is refused."""
    work = Workload.ranges(7000)
    answers = work.plan(epsilon=1).release(np.full(7000, 3))
    assert len(answers) == len(work) == 7000 * 7001 // 2
    assert abs(answers.cells.sum() - 21000) < 2000
    assert "24,503,500 answers: …" in repr(answers)
    with pytest.raises(dp.NotAllowed):
        answers[0]
    few = pickle.loads(pickle.dumps(Workload.ranges(3).plan(epsilon=1).release([1, 2, 3])))
    assert few.values.shape == (6,)


@pytest.mark.parametrize("cost", COSTS)
def test_attributes_with_one_value_tell_nothing(cost: str) -> None:
    one, none = Workload.marginals((1, 3, 2), ways=2), Workload.marginals((3, 2), kept=[(0,), (1,), (0, 1)])
    plan = one.plan(**{cost: 10**6})
    assert np.asarray(plan.release(np.arange(6))) == pytest.approx(one.answer(np.arange(6)), abs=1e-6)
    assert one.plan(**{cost: 1}).expected_error == pytest.approx(none.plan(**{cost: 1}).expected_error, rel=0.01)
    alone = Workload.marginals((1, 1), ways=1).plan(**{cost: 1})
    assert len(alone.release([5])) == 2
    assert (alone.error.variance > 0).all()


def test_products_of_products_are_products() -> None:
    parts = Workload.prefix(4), Workload.total(2), Workload.identity(3)
    nested = Workload.product(Workload.product(*parts[:2]), parts[2])
    assert nested == Workload.product(*parts)
    assert nested.plan(epsilon=1).expected_error > 0


def test_cells_that_nobody_asks_about_do_not_count() -> None:
    alone = Workload([[1, 1, 0, 0]]).plan(epsilon=1)
    assert alone.expected_error == pytest.approx(DiscreteLaplace(Fraction(1)).variance)
    assert alone.mechanism.cells == 4
    half = Workload([[0.5, 0.25], [0.5, -0.25]]).plan(rho=1)
    assert half.expected_error <= 0.5**2 * 0.5 + 0.25**2 * 0.5 + 1e-9
    assert isinstance(half.mechanism.laws[0], DiscreteGaussian)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Workload([]),
        lambda: Workload([[]]),
        lambda: Workload([1, 2, 3]),
        lambda: Workload([[1, 2], [3]]),
        lambda: Workload([[1, float("nan")]]),
        lambda: Workload([[1, float("inf")]]),
        lambda: Workload([[0, 0], [1, 0]]),
        lambda: Workload("ranges"),
        lambda: Workload(np.eye(3000)),
        lambda: Workload.prefix(0),
        lambda: Workload.prefix(-3),
        lambda: Workload.prefix(True),
        lambda: Workload.prefix(10**9),
        lambda: Workload.windows(5, 6),
        lambda: Workload.windows(5, 0),
        lambda: Workload.marginals((3, 3)),
        lambda: Workload.marginals((3, 3), ways=3),
        lambda: Workload.marginals((), ways=1),
        lambda: Workload.marginals((3, 3), kept=[(0, 2)]),
        lambda: Workload.marginals((3, 3), kept=[(0,), (0,)]),
        lambda: Workload.marginals([2] * 24, ways=12),
        Workload.product,
        lambda: Workload.union(Workload.prefix(3), Workload.prefix(4)),
        lambda: Workload.union(Workload.prefix(3), 4),
        lambda: Workload.predicates([], columns={"age": (0, 120)}),
        lambda: Workload.predicates(["age <"], columns={"age": (0, 120)}),
        lambda: Workload.predicates(["height > 3"], columns={"age": (0, 120)}),
        lambda: Workload.predicates(["age > 3 GROUP BY age"], columns={"age": (0, 120)}),
        lambda: Workload.predicates(["age > 3 HAVING COUNT(*) > 5"], columns={"age": (0, 120)}),
        lambda: Workload.predicates(["age > 3 ORDER BY 1"], columns={"age": (0, 120)}),
        lambda: Workload.predicates(["age > 3 LIMIT 1 OFFSET 1"], columns={"age": (0, 120)}),
        lambda: Workload.marginals(3, ways=1),
        lambda: Workload.marginals("33", ways=1),
        lambda: Workload.marginals((3, 3), kept=[3]),
        lambda: Workload.marginals((3, 3), kept=[("0",)]),
        lambda: Workload.predicates(["FALSE"], columns={"age": (0, 120)}),
        lambda: Workload.prefix(3).plan(),
        lambda: Workload.prefix(3).plan(epsilon=1, rho=1),
        lambda: Workload.prefix(3).plan(epsilon=-1),
        lambda: Workload.prefix(3).plan(within=-1),
        lambda: Workload.prefix(3).plan(within="nan"),
        lambda: Workload.prefix(3).plan(epsilon=1, rows=0),
        lambda: Workload.prefix(3).plan(epsilon=1, neighbours="other"),
        lambda: Workload.ranges(10**5).plan(within=5),
        lambda: Workload.ranges(10**5).plan(epsilon=1).error.variance,
        lambda: Workload.prefix(3).plan(epsilon=1).release([1, 2]),
        lambda: Workload.prefix(3).plan(epsilon=1).release([1.5, 2, 3]),
        lambda: Workload.prefix(3).plan(epsilon=1).release([1, 2, "x"]),
    ],
)
def test_refusals_end_with_what_works(make: Any) -> None:
    with pytest.raises(dp.Refusal) as caught:
        make()
    assert caught.value.instead


def test_advice_is_what_works() -> None:
    plan = Workload.marginals(np.array([3, 3]), ways=1).plan(epsilon=1)
    assert Workload.marginals((3, 3), kept=iter([np.array([0, 1])])) == Workload.marginals((3, 3), ways=2)
    with pytest.raises(dp.NotAllowed) as caught:
        plan.release(np.ones(9))
    assert "counts.astype(int)" in caught.value.instead
    assert len(plan.release(np.ones(9).astype(int))) == 6
    for rows in (0, -1, "0.5", "x", True, None):
        with pytest.raises(dp.NotUnderstood) as refused:
            Workload.prefix(3).plan(epsilon=1, rows=rows)
        assert refused.value.instead == "for example rows=10"
