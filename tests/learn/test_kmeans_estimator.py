"""k-means as people use it: with scikit-learn, from a budget or a ledger, on a curator's table, as a picture."""

from __future__ import annotations

import copy
import pickle
import re
import sys
import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import discreet as dp
from discreet.learn import KMeans, lloyd
from discreet.learn.kmeans import NotPoints
from discreet.learn.procedure import _Asking, _for
from discreet.learn.summary import Summary
from discreet.ledger.facts import Charge
from discreet.procedures.single import ask
from support.blobs import blobs
from support.kit import said_by

POINTS = blobs(3, 2, 2000, 0.1, 1)
PRIVATE = "a data set with nobody in it differs from another by one person, so it must not be told apart"
EXPECTED = {
    "check_estimators_empty_data_messages": PRIVATE,
    "check_clustering": "it wants labels_, which would keep one label of each person",
    "check_fit_idempotent": "two fits have noise of their own",
    "check_dtype_object": "it wants numpy's TypeError for a dict among the points; this is refused as discreet refuses",
}


def model(**changed) -> KMeans:
    return KMeans(**({"n_clusters": 3, "epsilon": 1, "bounds": (-1, 1)} | changed))


# ── scikit-learn ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["summary", "lloyd"])
def test_scikit_learns_own_checks_that_make_sense(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            model(bounds=(-10, 10), method=method), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None
        )
    failed = {each["check_name"] for each in results if each["status"] == "failed"}
    assert not failed
    assert {each["check_name"] for each in results if each["status"] == "xfail"} == set(EXPECTED)
    assert sum(each["status"] == "passed" for each in results) >= 30


def test_it_predicts_transforms_and_scores() -> None:
    found = model(epsilon=10).fit(POINTS)
    away = found.transform(POINTS)
    assert away.shape == (2000, 3)
    assert np.array_equal(found.predict(POINTS), away.argmin(axis=1))
    assert found.score(POINTS) == pytest.approx(-(away.min(axis=1) ** 2).sum())
    exact = lloyd(POINTS, found.cluster_centers_)
    assert np.abs(exact - found.cluster_centers_).max() < 0.02
    assert np.abs(np.bincount(found.predict(POINTS)) - found.cluster_sizes_).max() < 100
    assert found.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    assert len(np.unique(model(epsilon=10).fit_predict(POINTS))) == 3


def test_it_holds_nothing_but_what_was_released() -> None:
    small, large = (model().fit(blobs(3, 2, n, 0.1, 1)) for n in (100, 5000))
    assert not hasattr(large, "labels_")
    assert not hasattr(large, "inertia_")
    assert abs(len(pickle.dumps(small)) - len(pickle.dumps(large))) < 100
    assert pickle.loads(pickle.dumps(large)).cluster_centers_.tolist() == large.cluster_centers_.tolist()


def test_pipelines_clones_and_searches_share_a_ledger() -> None:
    with dp.Ledger(dataset="points", budget=dp.Budget(epsilon=10)) as ledger:
        pipe = make_pipeline(FunctionTransformer(np.tanh), model(budget=ledger, epsilon="0.5"))
        assert pipe.fit(POINTS).predict(POINTS).shape == (2000,)
        twin = clone(pipe[-1])
        assert twin.budget is ledger
        assert not hasattr(twin, "cluster_centers_")
        twin.fit(POINTS)
        assert ledger.left.pure == 9
        GridSearchCV(model(budget=ledger, epsilon="0.5"), {"n_clusters": [2, 3]}, cv=2, refit=False).fit(POINTS)
        assert ledger.left.pure == 7
        assert ledger.verify().charges == 6


def test_parameters() -> None:
    given = model(method="lloyd", rounds=7, last=3, neighbours="replace", unit="patient", analyst="alice")
    assert type(given)(**given.get_params()).get_params() == given.get_params()
    assert len(given.mechanism.parts) == 14
    assert given.set_params(rounds=4).mechanism.loss.pure == 1
    assert len(given.error) == 8


def test_it_says_what_to_install_where_scikit_learn_is_missing() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None\nimport discreet.learn as learn\nlearn.lloyd\n"
        "try:\n    learn.KMeans\nexcept Exception as refusal:\n    print(type(refusal).__name__, refusal)"
    )
    assert 'NotUnderstood refused: KMeans is a scikit-learn estimator.\n  pip install "discreet[learn]"' in said_by(
        sys.executable, "-c", code
    )


# ── spending ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_looked_at_that_was_not_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looked, real = [], Summary.run
    monkeypatch.setattr(Summary, "run", lambda self, *rest: looked.append(1) or real(self, *rest))
    with dp.Ledger(dataset="points", budget=dp.Budget(epsilon=1), analysts={"alice": dp.Budget(epsilon=1)}) as ledger:
        found = model(budget=ledger, analyst="alice", epsilon="0.6").fit(POINTS)
        assert found.cost_ == found.loss
        with pytest.raises(dp.BudgetExceeded):
            found.fit(POINTS)
        with pytest.raises(dp.NotYours):
            model(budget=ledger, epsilon="0.1").fit(POINTS)
        with pytest.raises(dp.NotAllowed, match="replace"):
            model(budget=ledger, analyst="alice", epsilon="0.1", neighbours="replace").fit(POINTS)
        assert len(looked) == 1


def test_a_budget_is_spent_by_an_estimator_and_its_clones_together() -> None:
    one = model(budget=dp.Budget(epsilon=1), epsilon="0.4")
    one.fit(POINTS)
    two = clone(one).fit(POINTS)
    for each in (one, two, clone(two)):
        with pytest.raises(dp.BudgetExceeded, match=r"ε = 0.8, ρ = \S+ was spent before"):
            each.fit(POINTS)
    one.set_params(budget=dp.Budget(epsilon="1.1"))  # a larger budget does not forget
    with pytest.raises(dp.BudgetExceeded):
        one.fit(POINTS)
    with pytest.raises(dp.NotUnderstood, match="budget or a ledger"):
        model(budget="much").fit(POINTS)


def test_another_budget_is_another_cap_and_no_other_purse() -> None:
    for given in (dp.Budget(epsilon=1), None):  # whether or not there was one when they parted
        one = model(epsilon="0.4", budget=given)
        family = [one, clone(one), clone(clone(one))]
        for each in family:
            each.set_params(budget=dp.Budget(epsilon="1.2"))
        for each in family:
            each.fit(POINTS)
        one.set_params(budget=None)  # nor is anything forgotten while another pays
        for each in (*family, clone(one).set_params(budget=dp.Budget(epsilon="1.3"))):
            each.set_params(budget=dp.Budget(epsilon="1.3"))
            with pytest.raises(dp.BudgetExceeded, match=r"ε = 1.2, ρ = \S+ was spent before"):
                each.fit(POINTS)


def test_a_budget_in_a_search_is_spent_by_all_candidates_together() -> None:
    tried = {"n_clusters": [2, 3], "budget": [dp.Budget(epsilon=1)]}
    search = GridSearchCV(model(epsilon="0.4"), tried, cv=2, refit=False, error_score="raise")
    with pytest.raises(dp.BudgetExceeded, match=r"ε = 0\.8"):
        search.fit(POINTS)


def test_a_copy_spends_together_or_is_refused() -> None:
    one = model(budget=dp.Budget(epsilon=1), epsilon="0.6")
    other = copy.copy(one)  # before anything was spent
    one.fit(POINTS)
    with pytest.raises(dp.BudgetExceeded):
        other.fit(POINTS)
    for each in (one, model(budget=dp.Budget(epsilon=1)), one.set_params(budget=None)):
        for way in (pickle.dumps, copy.deepcopy):
            with pytest.raises(dp.NotAllowed, match="spent twice"):
                way(each)
    assert pickle.loads(pickle.dumps(clone(model()))).get_params() == model().get_params()


# ── bad input, strange data ──────────────────────────────────────────────────────────────────────────────────

WRONG = {
    "no bounds": {"bounds": None},
    "empty bounds": {"bounds": ()},
    "bounds that are no pair": {"bounds": (1, 2, 3)},
    "bounds upside down": {"bounds": (1, -1)},
    "bounds that meet": {"bounds": (1, 1)},
    "too few bounds": {"bounds": [(0, 1)]},
    "NaN bounds": {"bounds": (float("nan"), 1)},
    "no ε": {"epsilon": 0},
    "an ε that is none": {"epsilon": float("nan")},
    "no cluster": {"n_clusters": 0},
    "half a cluster": {"n_clusters": 2.5},
    "more clusters than cells": {"n_clusters": 5000},
    "no round": {"rounds": 0},
    "endless rounds": {"rounds": 10**6},
    "another method": {"method": "magic"},
    "last without rounds": {"last": 2},
    "last beyond rounds": {"method": "lloyd", "rounds": 3, "last": 4},
    "other neighbours": {"neighbours": "friends"},
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_parameters_are_refused_whatever_the_data(name: str) -> None:
    said = set()
    for points in (POINTS, POINTS[:0], POINTS * np.nan):
        with pytest.raises(dp.Refusal) as refusal:
            model(**WRONG[name]).fit(points)
        said.add(str(refusal.value))
    assert len(said) == 1
    assert "\n  " in said.pop()


def test_bad_shapes_are_refused_and_say_nothing_of_rows() -> None:
    said = set()
    for rows in (3, 4):
        for given in (np.zeros(rows), np.zeros((rows, 0)), np.zeros((rows, 2, 2)), [["a", "b"]] * rows):
            with pytest.raises(dp.NotUnderstood) as refusal:
                model().fit(given)
            said.add(str(refusal.value))
    assert len(said) == 2
    with pytest.raises(NotPoints):
        model().fit(np.zeros((3, 2), complex))
    with pytest.raises(dp.NotUnderstood):
        model().fit(np.zeros((3, 1001)))


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3", True, None, 4097])
def test_a_wrong_number_of_clusters_is_told_by_its_name(wrong: object) -> None:
    with pytest.raises(dp.NotUnderstood, match=r"n_clusters is a whole number from 1 to 4,096\.\n  n_clusters=8"):
        model(n_clusters=wrong).fit(POINTS)
    assert model(n_clusters=np.int64(2)).fit(POINTS).cluster_centers_.shape == (2, 2)


def test_texts_are_no_points() -> None:
    for given in (
        [["a", "b"]], np.array([["a", "b"]]), pd.DataFrame({"sex": ["F", "M"], "age": [1, 2]}),
        pd.DataFrame({"day": pd.to_datetime(["2024-01-31"]), "age": [1]}), [[{}, 1]],
    ):  # fmt: skip
        with pytest.raises(NotPoints, match="points are rows of numbers") as refusal:
            model().fit(given)
        assert isinstance(refusal.value, ValueError)


def test_true_and_false_are_one_and_zero() -> None:
    flags = POINTS > 0
    for given in (flags, flags.tolist(), pd.DataFrame({"a": flags[:, 0], "b": flags[:, 1] * 1.0}),
                  pd.DataFrame(flags).astype("boolean")):  # fmt: skip
        found = KMeans(4, epsilon=50, bounds=(0, 1)).fit(given)
        away = np.linalg.norm(flags[:, None] - found.cluster_centers_, axis=2)
        assert away.min(axis=1).max() < 0.05
        assert np.array_equal(found.predict(given), away.argmin(axis=1))


@pytest.mark.parametrize("method", ["summary", "lloyd"])
@pytest.mark.parametrize("way", ["add-remove", "replace"])
def test_nothing_fails_on_data(method: str, way: str) -> None:
    strange = {
        "nobody": POINTS[:0],
        "one": POINTS[:1],
        "nothing but NaN": POINTS[:9] * np.nan,
        "some NaN": np.where(np.random.default_rng(1).random(POINTS.shape) < 0.3, np.nan, POINTS),
        "infinite": np.where(POINTS > 0.3, np.inf, POINTS) - np.where(POINTS < -0.3, np.inf, 0.0),
        "huge": POINTS * 1e308,
        "constant": np.zeros((500, 2)),
        "one constant feature": POINTS * [1, 0],
        "whole numbers": np.arange(40).reshape(20, 2),
        "a frame": pd.DataFrame({"a": [1, None, 3], "b": [1.5, 2, None]}),
        "objects": [[Fraction(1, 3), 2], [None, 10**400], ["0.5" and 0.5, 1]],
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, given in strange.items():
            for k in (1, 3, 30):
                found = model(method=method, neighbours=way, n_clusters=k).fit(given)
                assert found.cluster_centers_.shape == (k, 2), name
                assert (np.abs(found.cluster_centers_) <= 1).all(), name
                found.predict(given)


def test_rows_with_a_missing_value_do_not_count() -> None:
    half = POINTS.copy()
    half[1000:] = [np.nan, 0.9]
    found = model(epsilon=50).fit(half)
    assert found.cluster_sizes_.sum() == pytest.approx(1000, abs=20)


def test_bounds_of_very_different_sides() -> None:
    rng = np.random.default_rng(1)
    points = np.stack([rng.normal(0, 1e-3, 5000), rng.choice([100, 900], 5000) + rng.normal(0, 5, 5000)], axis=1)
    found = KMeans(2, epsilon=1, bounds=[(-0.01, 0.01), (0, 1000)]).fit(points)
    assert np.allclose(np.sort(found.cluster_centers_[:, 1]), [100, 900], atol=3)
    assert (np.abs(found.cluster_centers_[:, 0]) <= 0.01).all()


# ── tables ───────────────────────────────────────────────────────────────────────────────────────────────────


def clinic(**changed) -> dp.Curator:
    rng = np.random.default_rng(2)
    age = np.concatenate([rng.normal(30, 5, 6000), rng.normal(70, 5, 6000), [np.nan] * 300])
    cost = np.concatenate([rng.normal(100, 20, 6000), rng.normal(300, 20, 6000), [500.0] * 300])
    table = pa.table({"person": np.arange(12_300) // 2, "age": age, "cost": cost, "ward": ["a"] * 12_300})
    terms = {"unit": "person", "rows_per_unit": 2, "budget": dp.Budget(epsilon=3),
             "columns": {"age": (0, 120), "cost": (0, 500), "ward": str}}  # fmt: skip
    return dp.open(table, **(terms | changed))


def test_a_table_is_clustered_by_questions() -> None:
    with clinic() as curator:
        found = KMeans(2, epsilon=1).fit_table(curator, "data", ["age", "cost"])
        order = np.argsort(found.cluster_centers_[:, 0])
        assert np.abs(found.cluster_centers_[order] - [[30, 100], [70, 300]]).max() < 4
        assert np.abs(found.cluster_sizes_ - 6000).max() < 600
        assert found.cost_.pure == 1
        assert curator.left.pure == 2
        assert found.feature_names_in_.tolist() == ["age", "cost"]
        assert found.predict(pd.DataFrame({"age": [20.0], "cost": [90.0]}))[0] == order[0]
        one = KMeans(1, epsilon="0.5", rounds=1).fit_table(curator, "data", ["cost"])
        assert abs(one.cluster_centers_[0, 0] - 200) < 30


def test_what_cannot_be_asked_of_a_table_is_refused_before_anything_is_paid() -> None:
    with clinic(budget=dp.Budget(epsilon="0.5")) as curator:
        for table, columns, changed in (
            ("nowhere", ["age"], {}),
            ("data", ["ward"], {}),
            ("data", ["height"], {}),
            ("data", [], {}),
            ("data", ["age", "age"], {}),
            ("data", ["age", "cost"], {"n_clusters": 400}),
            ("data", ["age", "cost"], {"method": "lloyd"}),
            ("data", ["age", "cost"], {"epsilon": 1}),
            ("data", ["age", "cost"], {"bounds": (0, 100)}),
            ("data", "age", {}),
        ):
            with pytest.raises(dp.Refusal):
                KMeans(**({"n_clusters": 2, "epsilon": "0.2"} | changed)).fit_table(curator, table, columns)
        assert curator.left.pure == Fraction(1, 2)


@pytest.mark.parametrize(
    ("columns", "bounds", "said"),
    [
        (["age"], (0, 100), "leave bounds= out"),
        ("age", None, 'columns=["age"]'),
        (["height"], None, "`height` is not one.\n  of data these are: age, cost; or declare it: height"),
        (["ward"], None, "`ward` is not one"),
    ],
)
def test_a_refusal_of_a_table_says_what_would_work(columns: Any, bounds: Any, said: str) -> None:
    with clinic() as curator, pytest.raises(dp.Refusal) as caught:
        KMeans(2, epsilon=1, bounds=bounds).fit_table(curator, "data", columns)
    assert said in str(caught.value)


def wide(d: int) -> dp.Curator:
    """A table of d columns around two places."""
    rng = np.random.default_rng(d)
    points = np.where(rng.random((2000, 1)) < 0.5, -0.5, 0.5) + rng.normal(0, 0.1, (2000, d))
    return dp.open(
        pa.table({f"x{i}": points[:, i] for i in range(d)}),
        columns={f"x{i}": (-1, 1) for i in range(d)},
        budget=dp.Budget(epsilon=100),
    )


@pytest.mark.parametrize(("d", "said"), [(1, "{} of one"), (2, "{} of two columns"), (4, "{} of four"),
                                         (8, "{} of eight"), (12, "{} of twelve")])  # fmt: skip
def test_the_most_clusters_of_a_table_are_those_of_the_documentation(d: int, said: str) -> None:
    text = " ".join(Path("docs/kmeans.md").read_text("utf-8").split())
    most = int(re.search(said.format(r"(\d+)"), text)[1])
    with wide(d) as curator:
        columns = [f"x{i}" for i in range(d)]
        with pytest.raises(dp.NotUnderstood, match=f"{most + 1} clusters of {d} columns are more"):
            KMeans(most + 1, epsilon=1).fit_table(curator, "data", columns)
        asking(curator, columns, most)
        assert curator.left.pure == 100


def asking(curator: dp.Curator, columns: list[str], clusters: int) -> _Asking:
    """What is asked of so many clusters; refused where there are too many."""
    method = Summary(clusters=clusters, epsilon=1, rounds=2)
    return _Asking(method, curator.session().context(), "data", columns)


def test_many_clusters_of_many_columns() -> None:
    with wide(12) as curator:
        found = KMeans(12, epsilon=5).fit_table(curator, "data", [f"x{i}" for i in range(12)])
        assert found.cost_.pure == 5
        assert found.cluster_sizes_.sum() == pytest.approx(2000, abs=400)
        side = np.sign(found.cluster_centers_).sum(axis=1)
        assert (np.abs(side[found.cluster_sizes_ > 200]) == 12).all()  # each of them is at one of the two places
        charges = [each.fact.mechanism for each in curator.ledger if isinstance(each.fact, Charge)]
        assert max(map(len, charges)) < 100_000  # letters on record


@pytest.mark.parametrize("epsilon", [40, 5000])
def test_little_noise_is_no_reason_to_fail(epsilon: int) -> None:
    with clinic(budget=dp.Budget(epsilon=5000), unit=None, rows_per_unit=None) as curator:
        found = KMeans(2, epsilon=epsilon, rounds=1).fit_table(curator, "data", ["age"])
        assert np.abs(np.sort(found.cluster_centers_[:, 0]) - [30, 70]).max() < 2
        assert found.cost_.pure == epsilon


def test_whatever_refuses_refuses_before_the_first_charge() -> None:
    """Of a budget in ρ, too: there is room for one question, and not for all."""
    with clinic(budget=dp.Budget(epsilon="0.7", delta="1e-6")) as curator:
        before = curator.left
        with pytest.raises(dp.BudgetExceeded):
            KMeans(2, epsilon=20).fit_table(curator, "data", ["age"])
        assert curator.left == before


def test_all_questions_of_a_fit_are_as_large_as_the_one_that_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more parts than that has, wherever the centres are, so none is refused after others were paid."""
    asked, tried, real = [], [], _Asking._ask
    monkeypatch.setattr(
        _Asking,
        "_ask",
        lambda self, query, epsilon: asked.append(query) or tried.append(self._tried(4)) or real(self, query, epsilon),
    )
    with clinic(columns={"age": (-50, 120), "cost": (-1000, 500)}) as curator:
        KMeans(4, epsilon=1, rounds=3).fit_table(curator, "data", ["age", "cost"])
    moves = [each for each in asked if each.items[0].name == "j"]
    assert len(set(moves)) == 3
    assert max(map(parts, moves)) <= min(map(parts, tried))


def parts(query: Any) -> int:
    """How many nodes a query has."""
    return repr(query).count("(")


@pytest.mark.parametrize("d", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("k", [1, 2, 6, 20])
def test_a_query_finds_the_nearest_centre(d: int, k: int) -> None:
    """Asked of a curator at an ε at which the noise is below a thousandth of a step."""
    rng = np.random.default_rng(d)
    bounds = [(-9, 9), (1000, 1001), (0, 5)] * 4
    low, high = np.array(bounds[:d], float).T
    centres, rows = rng.uniform(low, high, (k, d)), rng.uniform(low, high, (500, d))
    centres[-1] = centres[k // 2]
    columns = [f"x{i}" for i in range(d)]
    away = np.linalg.norm(rows[:, None] - centres, axis=2)
    nearest = away.argmin(axis=1)
    budget = dp.Budget(epsilon=10**12)
    with dp.open(
        pa.table({name: rows[:, i] for i, name in enumerate(columns)}),
        columns={name: bounds[i] for i, name in enumerate(columns)},
        budget=budget,
    ) as curator:
        asked = asking(curator, columns, k)
        query = asked._moves(centres, 2)
        answer = curator.session().run(lambda context: ask(query, None, _for(Fraction(10**10)), context))
    counts, sums = np.zeros(k), np.zeros((k, d))
    counts[np.array(answer["j"], int)] = answer["n"]
    sums[np.array(answer["j"], int)] = np.array([answer[f"s{i}"] for i in range(d)], float).T
    twins = sorted({k - 1, k // 2})  # which of two that are in one place is the nearest is all the same
    expected = np.bincount(nearest, minlength=k)
    offsets = (rows - centres[nearest]).clip(-2, 2)
    wanted = np.array([offsets[nearest == j].sum(axis=0) for j in range(k)])
    for found, exact, off in ((counts[:, None], expected[:, None], 0.5), (sums, wanted, 0.6)):
        others = [j for j in range(k) if j not in twins]
        assert np.allclose(found[others], exact[others], atol=off)
        assert np.allclose(found[twins].sum(axis=0), exact[twins].sum(axis=0), atol=off)


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_picture_shows_regions_centres_and_noise(tmp_path: Path) -> None:
    found = model(epsilon="0.3").fit(pd.DataFrame(POINTS, columns=["east", "north"]))
    for figure in (found.plot(), found.plot(pd.DataFrame(POINTS, columns=["east", "north"]))):
        panel = figure.axes[0]
        assert len(panel.patches) == np.isfinite(found.center_noise_).sum()
        assert (panel.get_xlabel(), panel.get_ylabel()) == ("east", "north")
        assert len(panel.texts) == 3
        figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000
    with pytest.raises(dp.NotUnderstood, match="two features"):
        model().fit(np.zeros((5, 3))).plot()
