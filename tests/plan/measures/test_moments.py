"""Variances, covariances, correlations, slopes and distinct values: exact where there is no noise, honest where it is.

Statistical tests fail by chance at most once in 10^8 times, and each has a control that must fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law
from discreet.kernel.expressions import Field
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.statistic import Statistic
from support import hostile as h
from support.clinic import clinic, visits
from support.kit import ALARM, required

OPEN = dp.Budget(epsilon=10**12, delta="1e-6")
X, Y = Field(name="x", kind="integer"), Field(name="y", kind="integer")
SURE = Fraction(95, 100)


def people(rows: int = 3000) -> pa.Table:
    """Some numbers that go together, some missing, some outside their bounds."""
    rng = np.random.default_rng(7)
    x = np.round(rng.gamma(3, 10, rows), 2)
    y = np.round(40 + 0.8 * x + rng.normal(0, 15, rows), 2)
    gone = rng.random(rows) < 0.1
    return pa.table({
        "id": rng.integers(0, rows // 3, rows),
        "kind": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.39, 0.01]),
        "x": pa.array(x, mask=gone),
        "y": pa.array(y, mask=rng.random(rows) < 0.1),
        "k": rng.integers(-5, 60, rows),
        "flag": rng.random(rows) < 0.3,
        "text": [f"t{n % 401}" for n in rng.integers(0, 10**6, rows)],
    })  # fmt: skip


COLUMNS = required(
    {
        "kind": ["a", "b", "c"],
        "x": {"min": 0, "max": 150, "step": "0.01"},
        "y": {"min": 0, "max": 200, "step": "0.01"},
        "k": (-5, 60),
        "flag": None,
        "text": str,
    }
)
NUMBERS = """
    COUNT(*); COUNT(x); SUM(k); AVG(x); VAR_SAMP(x); VARIANCE(k); VAR_POP(x); STDDEV(y); STDDEV_SAMP(k); STDDEV_POP(y);
    VAR_SAMP(flag::INT); VAR_POP(k * 2 + 1); COVAR_SAMP(x, y); COVAR_POP(k, x); COVAR_SAMP(y, k); CORR(x, y);
    CORR(y, x);
    CORR(k, k); CORR(flag::INT, x); REGR_SLOPE(y, x); REGR_SLOPE(x, y); REGR_SLOPE(k, flag::INT); REGR_COUNT(y, x);
    COUNT(DISTINCT text); COUNT(DISTINCT k); COUNT(DISTINCT x); COUNT(DISTINCT flag); COUNT(DISTINCT FLOOR(k / 10));
    COUNT(DISTINCT CASE WHEN flag THEN text END); STDDEV(CASE WHEN flag THEN x END)
"""
ASKED = [" ".join(each.split()) for each in NUMBERS.split(";")]
GROUPS = ["", "GROUP BY kind"]


@pytest.mark.parametrize("unit", [None, "id"])
@pytest.mark.parametrize("group", GROUPS)
def test_without_noise_they_are_what_duckdb_says(unit: str | None, group: str) -> None:
    """At an ε of ten billion; what is left is the rounding to steps."""
    frame = people()
    caps = {"unit": unit, "rows_per_unit": 40, "groups_per_unit": 3} if unit else {}
    asked = dp.open(frame, columns=COLUMNS, budget=OPEN, **caps)
    keys = "kind, " if group else ""
    sql = f"SELECT {keys}{', '.join(ASKED)} FROM data {group}"
    ours = asked.ask(sql, epsilon=10**10)
    bounded = """SELECT * REPLACE (CASE WHEN y > 200 THEN 200 WHEN y < 0 THEN 0 ELSE y END AS y,
                                   CASE WHEN x > 150 THEN 150 ELSE x END AS x) FROM frame"""
    theirs = duckdb.sql(f"SELECT {keys}{', '.join(ASKED)} FROM ({bounded}) {group} ORDER BY ALL").fetchall()
    assert len(ours) == len(theirs) == (3 if group else 1)
    for mine, true in zip(ours, theirs, strict=True):
        for name, a, b in zip(ours.columns, mine, true, strict=True):
            assert a == b if isinstance(b, (int, str)) else a == pytest.approx(b, rel=1e-3, abs=1e-3), name


def test_they_share_one_measure_where_they_can() -> None:
    asked = dp.open(people(), columns=COLUMNS, budget=OPEN)
    one = asked.explain("SELECT VAR_SAMP(x) FROM data", epsilon=1).plan
    all_ = asked.explain("SELECT COUNT(x), SUM(x), AVG(x), VAR_POP(x), STDDEV(x), VAR_SAMP(x) FROM data", epsilon=1)
    assert all_.plan.measures == one.measures
    assert all_.plan.laws == one.laws
    two = asked.explain("SELECT COVAR_POP(y, x), REGR_SLOPE(x, y), CORR(x, y), COUNT(*) FROM data", epsilon=1).plan
    assert len(two.measures) == 1
    assert len(two.measures[0].parts) == 10
    assert len(asked.explain("SELECT REGR_SLOPE(x, y) FROM data", epsilon=1).plan.measures[0].parts) == 6
    assert len(asked.explain("SELECT CORR(x > 3, flag) FROM data", epsilon=1).plan.measures[0].parts) == 4


# ── a unit that is cut short ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("rows", "most"), [(7, 3), (5, 5), (100, 7), (3, 1)])
def test_parts_of_a_unit_that_is_cut_short_count_in_proportion(tmp_path: Path, rows: int, most: int) -> None:
    """Running totals are rounded down: computed here with fractions, for numbers that do not divide."""
    said = [{"gain": None if n % 4 == 3 else float(n * 17 % 101 - 50), "age": n * 31 % 121} for n in range(rows)]
    clinic = h.Clinic(folder=tmp_path, rows_per_unit=most, groups_per_unit=1)
    sqls = ["SELECT VAR_SAMP(age), COUNT(*) FROM data", "SELECT CORR(age, level), COUNT(*) FROM data"]
    with clinic.curator(h.PEOPLE[:1]) as curator:
        plans = [h.plan_of(curator, sql) for sql in sqls]
    found = clinic.exact([h.person(**each) for each in said], plans, lambda: h.Script(bytes(16)))
    for plan, exact in zip(plans, found, strict=True):
        (measure,), parts = plan.measures, []
        columns = [[each["age"] for each in said], [1] * rows]
        for corner in measure.corners:
            part = 0
            for row in range(rows):
                each = zip(corner, measure.degree, measure.low, measure.widths, columns, strict=False)
                part += math.prod(
                    math.comb(d, i) * (column[row] - low) ** i * (width - column[row] + low) ** (d - i)
                    for i, d, low, width, column in each
                )
            parts.append(part)
        running = np.cumsum([*parts, measure.whole * rows - sum(parts)])
        share = Fraction(min(rows, most), rows)
        expected = np.diff([math.floor(int(each) * share) for each in running], prepend=0) // measure.grain
        assert [int(each) for each in exact.sums[0][:, 0]] == expected.tolist()
        assert measure.grain == 1
        assert sum(expected) == measure.whole * min(rows, most)


def test_of_a_unit_as_many_values_count_as_rows_and_equal_ones_once(tmp_path: Path) -> None:
    clinic = h.Clinic(folder=tmp_path, rows_per_unit=4, groups_per_unit=2)
    many = [h.person("p", note=f"n{i}", level=1 + i % 3) for i in range(60)]
    same = [h.person("q", note="n0") for _ in range(50)]
    assert h.total(clinic, many, "SELECT COUNT(DISTINCT note) FROM data") == [4]
    assert h.total(clinic, same, "SELECT COUNT(DISTINCT note) FROM data") == [1]
    assert h.total(clinic, [*many, *same], "SELECT COUNT(DISTINCT note) FROM data") in ([4], [5])
    by_level = h.total(clinic, many, "SELECT level, COUNT(DISTINCT note) FROM data GROUP BY level")
    assert sum(by_level) == 4
    assert sum(each > 0 for each in by_level) <= 2
    spread = [h.person("p", note="n", level=1 + i % 3) for i in range(60)]
    by_level = h.total(clinic, spread, "SELECT level, COUNT(DISTINCT note) FROM data GROUP BY level")
    assert sorted(by_level) == [0, 0, 1, 1]
    others = [h.person(f"o{i}", note=f"o{i}") for i in range(9)]
    assert h.total(clinic, [*many, *others], "SELECT COUNT(DISTINCT note) FROM data") == [13]
    both = [h.person("p", note=f"n{i % 2}", level=1) for i in range(60)]
    assert h.total(clinic, both, "SELECT level, COUNT(DISTINCT note) FROM data GROUP BY level") == [2, 0, 0, 0]
    chosen = {tuple(h.exact(clinic, many, "SELECT note, COUNT(DISTINCT level) FROM data GROUP BY note",
                            bytes([salt] * 16)).keys) for salt in range(8)}  # fmt: skip
    assert len(chosen) > 1, "another salt, other groups"


def test_a_value_has_one_form(tmp_path: Path) -> None:
    clinic = h.Clinic(folder=tmp_path, unit=None)
    numbers = [0.0, -0.0, math.nan, None, math.inf, -math.inf, 1.0, 1.0]
    rows = [
        h.person(cost=each, gain=each, big=n % 2, note=["a", "a ", "A", None][n % 4]) for n, each in enumerate(numbers)
    ]
    assert h.total(clinic, rows, "SELECT COUNT(DISTINCT cost) FROM data") == [4]  # 0, ±∞, 1
    assert h.total(clinic, rows, "SELECT COUNT(DISTINCT -cost) FROM data") == [4]
    assert h.total(clinic, rows, "SELECT COUNT(DISTINCT cost * 0) FROM data") == [1]
    assert h.total(clinic, rows, "SELECT COUNT(DISTINCT note) FROM data") == [3]
    assert h.total(clinic, rows, "SELECT COUNT(DISTINCT CAST(big AS BIGINT)) FROM data") == [2]
    assert h.total(clinic, rows, "SELECT COUNT(DISTINCT -CAST(big AS INT)) FROM data") == [2]
    assert h.total(clinic, rows, "SELECT COUNT(DISTINCT age > 3), COUNT(DISTINCT NULL) FROM data") == [1, 0]


# ── how wrong they are ───────────────────────────────────────────────────────────────────────────────────────────

ANCHOR = np.clip(np.random.default_rng(20240501).lognormal(3, 1, 10_000), 0, 1000)


def anchored(folder: Path) -> dp.Curator:
    return clinic(folder, pa.table({"x": ANCHOR}), columns=required({"x": (0, 1000)}), budget=dp.Budget(epsilon=10**5))


def test_the_error_of_a_variance_by_quadrature(tmp_path: Path) -> None:
    """RMSE 132.2 at ε = 1, where three sums at a third of ε each give 425.

    Even if the mean θ and the number of rows were known, Σ(t - θ)² moves by (1 - θ)² at most, and noise for that alone
    gives 132.1: the triple is as good as that.
    """
    plan = anchored(tmp_path).explain("SELECT VAR_SAMP(x) FROM visits", epsilon=1).plan
    (measure,), (law,) = plan.measures, plan.laws
    assert plan.loss == dp.Loss(pure=1)
    t, b, n = ANCHOR / 1000, float(law.scale / measure.row), len(ANCHOR)
    exact = [np.sum((1 - t) ** 2), np.sum(2 * t * (1 - t)), np.sum(t**2)]
    nodes, weights = np.polynomial.laguerre.laggauss(24)
    draws, chance = np.concatenate([-nodes, nodes]) * b, np.concatenate([weights, weights]) / 2
    noisy = np.meshgrid(draws, draws, draws, indexing="ij")
    low, mid, high = (each + draw for each, draw in zip(exact, noisy, strict=True))
    rows = low + mid + high
    found = (low * high - mid**2 / 4 + b**2 / 2) / (rows * (rows - 1)) * 1e6
    odds = chance[:, None, None] * chance[None, :, None] * chance[None, None, :]
    rmse = math.sqrt(float((odds * (found - ANCHOR.var(ddof=1)) ** 2).sum()))
    assert rmse == pytest.approx(132.24, abs=0.05)
    assert rmse < 1.002 * math.sqrt(2) * (1 - t.mean()) ** 2 / n * 1e6, "what nobody can do better with Laplace noise"
    assert float((odds * found).sum()) == pytest.approx(ANCHOR.var(ddof=1), abs=0.1), "and no bias to speak of"


def test_the_error_of_a_variance_by_asking(tmp_path: Path) -> None:
    """400 answers at costs that differ in the ninth digit; false alarm below 1e-8 by the normal approximation."""
    asked, exact = anchored(tmp_path), float(ANCHOR.var(ddof=1))
    off = [
        float(asked.ask("SELECT VAR_SAMP(x) FROM visits", epsilon=1 + Fraction(turn, 10**9))) - exact
        for turn in range(400)
    ]
    rmse, spread = math.sqrt(np.mean(np.square(off))), 132.2 * math.sqrt(5 / 400) / 2
    assert abs(rmse - 132.2) < stats.norm.isf(ALARM / 2) * spread
    assert abs(rmse - 260.3) > 2 * spread, "the control: not the split budget"
    assert abs(np.mean(off)) < stats.norm.isf(ALARM / 2) * 132.2 / 20


LAWS = {
    "Laplace": lambda whole: DiscreteLaplace(Fraction(whole)),
    "Gaussian": lambda whole: DiscreteGaussian(Fraction(3 * whole**2)),
}
STEPS = 1000
MEASURES = {1: (2,), 2: (1, 1), 3: (1, 2), 4: (2, 2)}
TRUE: dict[str, tuple[int, Callable[..., float]]] = {
    "var_samp": (1, lambda x, y: x.var(ddof=1)),
    "var_pop": (1, lambda x, y: x.var()),
    "stddev_samp": (1, lambda x, y: x.std(ddof=1)),
    "avg": (1, lambda x, y: x.mean()),
    "covar_samp": (2, lambda x, y: np.cov(x, y)[0, 1]),
    "covar_pop": (4, lambda x, y: np.cov(x, y, ddof=0)[0, 1]),
    "regr_slope": (3, lambda x, y: np.cov(x, y)[0, 1] / y.var(ddof=1)),
    "corr": (4, lambda x, y: np.corrcoef(x, y)[0, 1]),
}


def sample(shape: str, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    x = {"wide": rng.random(rows), "skewed": np.minimum(rng.lognormal(-2.5, 0.8, rows), 1)}[shape]
    y = np.clip(0.6 * x + 0.4 * rng.random(rows), 0, 1)
    return np.round(STEPS * x).astype(int), np.round(STEPS * y).astype(int)


def released(measure: Moments, law: Law, columns: tuple[np.ndarray, ...], draws: int) -> np.ndarray:
    """The parts of some rows, with noise, so many times."""
    found = []
    for corner in measure.corners:
        part = np.ones(len(columns[0]), object)
        for i, d, x in zip(corner, measure.degree, columns, strict=False):
            part = part * math.comb(d, i) * x.astype(object) ** i * (STEPS - x.astype(object)) ** (d - i)
        found.append(np.full(draws, int(part.sum()) // measure.grain, object) + law.draw(draws).astype(object))
    return np.array(found)


@pytest.mark.parametrize("rows", [25, 200, 2000, 20_000])
@pytest.mark.parametrize("shape", ["wide", "skewed"])
@pytest.mark.parametrize("law_of", LAWS.values(), ids=LAWS)
@pytest.mark.parametrize("function", TRUE)
def test_intervals_hold_what_they_say(function: str, law_of: Callable[[int], Law], shape: str, rows: int) -> None:
    """At least 95 % of 4,000 releases at any number of rows, by the binomial law with false alarm 1e-8.

    The control: with many rows half of the interval holds it far less often; so it is not just wide.
    """
    draws, (size, true_of) = 4000, TRUE[function]
    degree = MEASURES[size]
    k = len(degree)
    measure = Moments(of=(X, Y)[:k], low=(0,) * k, high=(STEPS,) * k, step=(Fraction(1),) * k, degree=degree)
    law, (x, y) = law_of(measure.row), sample(shape, rows)
    noisy = released(measure, law, (x, y), draws)
    view, true = measure.estimator(Statistic(function)), float(true_of(x.astype(float), y.astype(float)))
    low, high = view.ends(law, noisy, SURE)
    values = np.array(view.values(law, noisy))
    assert np.isfinite(values).all()
    assert not np.isnan(low).any()
    assert not np.isnan(high).any()
    assert ((low <= values) & (values <= high)).all()
    if function != "avg":  # an average is cut by `consistent` only
        assert (view.possible[0] <= low).all()
        assert (high <= view.possible[1]).all()
    covered = int(((low - 1e-9 <= true) & (true <= high + 1e-9)).sum())
    assert covered >= stats.binom.ppf(ALARM, draws, 0.95)
    if rows == 20_000 and shape == "wide":
        inside = int((np.abs(values - true) <= np.maximum(high - values, values - low) / 2).sum())
        assert inside < stats.binom.ppf(ALARM, draws, 0.9)
        assert covered <= stats.binom.ppf(1 - ALARM, draws, 0.97)


@pytest.mark.parametrize(
    "weights", [(1, 1, 1, 1), (4, 1, 1, 1, 1), (1,) * 9, (9, 8, 7, 6, 5, 4, 3, 2, 1), (1, 0, 0, 0)]
)
@pytest.mark.parametrize("confidence", ["0.5", "0.8", "0.95", "0.999"])
def test_many_noises_together(weights: tuple[int, ...], confidence: str) -> None:
    """Merged into three: never less than it says in 200,000 draws, nor much more; the control is a fifth smaller."""
    law, draws, sure = DiscreteLaplace(Fraction(10**6)), 200_000, Fraction(confidence)
    (found,) = law.radii(np.array([weights], float), sure)
    total = sum(w * law.draw(draws).astype(np.float64) for w in weights if w)
    inside = int((np.abs(total) <= found).sum())
    assert inside >= stats.binom.ppf(ALARM, draws, float(sure))
    if float(sure) > 0.9:
        assert int((np.abs(total) <= 0.8 * found).sum()) < stats.binom.ppf(ALARM, draws, float(sure))


# ── whatever the noise does ──────────────────────────────────────────────────────────────────────────────────────

EVERYTHING = """SELECT kind, VAR_SAMP(x) AS a, STDDEV(x) AS b, COVAR_POP(x, y) AS c, CORR(x, y) AS d,
    REGR_SLOPE(y, x) AS e, VAR_POP(flag) AS f, CORR(flag, k) AS g FROM data GROUP BY kind"""


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_hardly_anybody_is_there(rows: int) -> None:
    """Numbers and intervals all the same, within what is possible, also after `consistent`."""
    asked = dp.open(people(300).slice(0, rows), columns=COLUMNS, budget=OPEN)
    for turn in range(3):
        answer = asked.ask(EVERYTHING, epsilon=Fraction(1, 10**turn) + Fraction(turn, 10**6))
        for view in (answer, answer.consistent()):
            low, high = view.interval()
            for name, (least, most) in {
                "a": (0, 11250),
                "b": (0, 107),
                "c": (-7500, 7500),
                "d": (-1, 1),
                "f": (0, 0.25),
            }.items():
                for value, first, last in zip(view[name], low[name], high[name], strict=True):
                    assert least <= first <= value <= last <= most, name
            assert all(math.isfinite(each) for each in view["e"])
            assert "nan" not in repr(view).lower()


def test_a_margin_can_be_asked_for() -> None:
    asked = dp.open(people(), columns=COLUMNS, budget=dp.Budget(epsilon=5000, delta="1e-6"))
    for sql, within in (("VAR_SAMP(x)", 40), ("STDDEV(y)", "5%"), ("CORR(x, y)", "0.1"), ("COVAR_SAMP(x, y)", "20%")):
        answer = asked.ask(f"SELECT {sql} AS v FROM data", within=within)
        margin, value = answer.margin().value, answer.value
        allowed = abs(value) * float(within[:-1]) / 100 if str(within).endswith("%") else float(within)
        assert margin <= allowed
        assert not [each for each in answer.bill.remarks if "not reached" in each]
    known = asked.ask("SELECT COUNT(DISTINCT text) AS n FROM data", within=5)
    assert known.margin().value == 5
    said = str(asked.explain("SELECT VAR_SAMP(x), CORR(x, y) FROM data", within=40))
    assert "The margin depends on the data" in said
    assert "would be within" in said


def test_what_cannot_be_reached_is_said() -> None:
    asked = dp.open(people(30), columns=COLUMNS, budget=dp.Budget(epsilon=2))
    answer = asked.ask("SELECT CORR(x, y) FROM data", within="0.01")
    assert "The margin was not reached: it would cost more than is left." in answer.bill.remarks


def test_many_groups_take_little_time() -> None:
    frame = pa.table({"k": list(range(20_000)), "x": [float(n % 50) for n in range(20_000)]})
    asked = dp.open(frame, columns=required({"k": {"min": 0, "max": 19_999}, "x": (0, 50)}), budget=OPEN)
    answer = asked.ask("SELECT k, STDDEV(x) AS s, CORR(x, k) AS r FROM data GROUP BY k", epsilon=1)
    assert len(repr(answer)) < 10_000
    assert all(0 <= each <= 50 for each in answer["s"])


def test_spreads_of_real_visits(tmp_path: Path) -> None:
    """With a unit, caps and Gaussian noise: what is said holds."""
    frame = visits()
    asked = clinic(tmp_path, frame, unit="patient_id", rows_per_unit=20, budget=dp.Budget(epsilon=50, delta="1e-3"))
    answer = asked.ask(
        "SELECT STDDEV(age) AS s, CORR(age, cost) AS r, COUNT(DISTINCT ward) AS w FROM visits", epsilon=40
    )
    low, high = answer.interval("0.99999999")
    (true,) = duckdb.sql("SELECT stddev(age), corr(age, cost), count(DISTINCT ward) FROM frame").fetchall()
    for name, exact in zip("srw", true, strict=True):
        assert low[name][0] <= exact <= high[name][0]
