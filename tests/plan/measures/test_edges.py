"""Intervals around quantiles: they hold them as often as they say, for any data, and cost what they say."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.core.record import write
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism, shift_for
from discreet.plan.measures.quantile_interval import QuantileIntervalAt
from support.clinic import clinic
from support.edges import edged
from support.kit import ALARM, required

SURE = Fraction(95, 100)
NONE = np.zeros(0, np.int64)
DATA = {
    "one": [7],
    "two at the bottom": [0, 0],
    "two at the top": [60, 60],
    "many alike": [30] * 500,
    "two heaps": [3] * 40 + [57] * 41,
    "spread": list(range(61)) * 5,
    "a heap and one beyond": [12] * 80 + [60],
}


def edges(q: str, last: int = 60, **said: Any) -> QuantileIntervalMechanism:
    said = {"epsilon": Fraction(1), "q": Fraction(q), "last": last} | said
    return QuantileIntervalMechanism(shift=shift_for(SURE, **said), **said)


def quantiles(data: list[int], q: Fraction) -> tuple[int, int]:
    """The least and the greatest of all that is called a quantile: rank q·n, or anything within one record of it."""
    x, aim = sorted(data), q * len(data)
    least = max(0, math.ceil(aim - 1) - 1)
    most = min(len(x) - 1, math.floor(aim + 1))
    return x[least], x[most]


def missed(m: QuantileIntervalMechanism, data: list[int]) -> float:
    """The exact probability that an end is on the wrong side of some quantile, from the definition of the law."""
    least, most = quantiles(data, m.q)
    return sum(p for ((low,), (high,)), p in edged(m)(data).items() if low > least or high < most)


# ── coverage ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("q", ["0.5", "0.1", "0.99"])
def test_the_interval_holds_the_quantile_whatever_the_data(q: str, name: str) -> None:
    for m in (edges(q), edges(q, epsilon=Fraction(5), records=3), edges(q, neighbours="replace")):
        assert missed(m, DATA[name]) <= 0.05


def test_a_shorter_one_does_not() -> None:
    """The control: nearly what is allowed is missed at the worst data, and far more with half the shift."""
    m = edges("0.5")
    assert max(missed(m, data) for data in DATA.values()) > 0.01
    half = QuantileIntervalMechanism(epsilon=1, q="0.5", last=60, shift=m.shift // 2)
    assert max(missed(half, data) for data in DATA.values()) > 0.1
    assert half.error.beyond() > 0
    assert m.error.beyond() == 0
    assert 0 < m.error.beyond("0.999") < m.shift


def test_no_other_way_to_count_quantiles_is_left_out() -> None:
    """All ways that numpy has lie between the least and the greatest that the interval must hold."""
    ways = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "hazen", "weibull", "linear", "lower",
            "higher", "midpoint", "nearest", "median_unbiased", "normal_unbiased"]  # fmt: skip
    rng = np.random.default_rng(3)
    for n in range(1, 40):
        data = sorted(rng.integers(0, 60, n).tolist())
        for q in ("0.5", "0.1", "0.37", "0.99"):
            least, most = quantiles(data, Fraction(q))
            assert all(least <= np.quantile(data, float(q), method=way) <= most for way in ways), (n, q)


def table(groups: int) -> tuple[pa.Table, list[Any]]:
    rng = np.random.default_rng(9)
    data = [np.round(rng.gamma(2, 8, int(rng.integers(1, 300))), 1).clip(0, 100) for _ in range(groups)]
    labels = np.repeat(np.arange(groups), [len(each) for each in data])
    return pa.table({"g": labels, "x": np.concatenate(data)}), data


def threshold(runs: int, chance: float) -> int:
    """How many of so many independent misses of this chance are exceeded with probability ALARM at most."""
    tail, k = 0.0, runs
    while k and tail <= ALARM:
        log = math.lgamma(runs + 1) - math.lgamma(k + 1) - math.lgamma(runs - k + 1)
        tail, k = tail + math.exp(log + k * math.log(chance) + (runs - k) * math.log1p(-chance)), k - 1
    return k + 1


def test_answers_hold_them_too(tmp_path: Path) -> None:
    """Four hundred groups at once, through SQL: more than 5 % missed, beyond chance, is a false alarm once in 1/ALARM
    runs. The control: the point alone, as an interval of one step, misses."""
    rows, data = table(400)
    columns = required({"g": list(range(400)), "x": {"min": 0, "max": 100, "step": "0.1"}})
    asked = clinic(tmp_path, rows, columns=columns, budget=dp.Budget(epsilon=100))
    sql = (
        "SELECT g, QUANTILE(x, 0.3) AS m, QUANTILE_LOW(x, 0.3) AS a, QUANTILE_HIGH(x, 0.3) AS b FROM visits GROUP BY g"
    )
    answer = asked.ask(sql, epsilon=3)
    low, high = answer.interval()
    true = [np.quantile(each, 0.3, method="inverted_cdf") for each in data]
    outside = [not (a - 1e-9 <= t <= b + 1e-9) for a, b, t in zip(low["m"], high["m"], true, strict=True)]
    assert sum(outside) <= threshold(400, 0.05)
    near = [abs(m - t) > 0.1 for m, t in zip(answer["m"], true, strict=True)]
    assert sum(near) > threshold(400, 0.05)
    assert low["m"] == [min(pair) for pair in zip(answer["a"], answer["b"], strict=True)]
    assert answer.margin("0.99")["m"] == [None] * 400  # more than was bought
    assert "QUANTILE_LOW(x, 0.3): it is not above the quantile, and at most" in repr(answer)


@pytest.mark.parametrize("confidence", ["0.5", "0.999"])
def test_answers_hold_them_as_surely_as_is_asked(tmp_path: Path, confidence: str) -> None:
    """By the same count; ends for 95 % would be further apart than 50 % needs, and nearer than 99.9 % does."""
    rows, data = table(400)
    columns = required({"g": list(range(400)), "x": {"min": 0, "max": 100, "step": "0.1"}})
    asked = clinic(tmp_path, rows, columns=columns, budget=dp.Budget(epsilon=100))
    sql = "SELECT g, MEDIAN(x) AS m, QUANTILE_LOW(x, 0.5) AS a, QUANTILE_HIGH(x, 0.5) AS b FROM visits GROUP BY g"
    answer, usual = asked.ask(sql, epsilon=3, confidence=confidence), asked.ask(sql, epsilon=3)
    low, high = answer.interval()
    true = [np.quantile(each, 0.5, method="inverted_cdf") for each in data]
    outside = [not (a - 1e-9 <= t <= b + 1e-9) for a, b, t in zip(low["m"], high["m"], true, strict=True)]
    assert sum(outside) <= threshold(400, float(1 - Fraction(confidence)))
    shifts = [each.plan.laws[1][1] for each in (answer, usual)]
    assert (shifts[0] > shifts[1]) == (Fraction(confidence) > SURE)
    assert answer.cost == usual.cost
    assert asked.ask(sql, epsilon=3, confidence=confidence).cost == dp.Loss.ZERO
    assert answer.margin("0.9999")["m"] == [None] * 400  # more than was bought
    assert "it is not above the quantile" in repr(answer)


def test_what_was_bought_at_the_usual_confidence_is_still_the_same(tmp_path: Path) -> None:
    """Its record is what it was, so it is free; and only ends know of a confidence."""
    rows, _ = table(3)
    asked = clinic(tmp_path, rows, columns=required({"g": [0, 1, 2], "x": (0, 100)}), budget=dp.Budget(epsilon=9))
    low = "SELECT QUANTILE_LOW(x, 0.5) FROM visits"
    texts = [write(asked.explain(low, epsilon=1, confidence=each).plan) for each in ("0.95", Fraction(19, 20), "0.9")]
    assert ["ends/1" in each for each in texts] == [True, True, False]
    assert texts[0] == texts[1]
    assert "ends/2" in texts[2]
    other = "SELECT MEDIAN(x), COUNT(*), MIN(x) FROM visits"
    plans = [asked.explain(other, epsilon=1, confidence=each).plan for each in ("0.95", "0.9")]
    assert plans[0] == plans[1]
    for wrong in (0, 1, "2"):
        with pytest.raises(dp.NotUnderstood):
            QuantileIntervalAt(
                of=plans[0].measures[0].trees[0], q=Fraction(1, 2), low=0, high=9, step=Fraction(1), confidence=wrong
            )


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_quantile_is_as_exact_as_ever_unless_ends_are_asked_for(tmp_path: Path) -> None:
    rows, _ = table(3)
    asked = clinic(tmp_path, rows, columns=required({"g": [0, 1, 2], "x": (0, 100)}), budget=dp.Budget(epsilon=9))
    alone = asked.explain("SELECT MEDIAN(x) FROM visits", epsilon=1).plan
    assert alone.mechanisms[0].epsilon == 1
    both = asked.explain("SELECT QUANTILE_LOW(x, 0.5), QUANTILE_HIGH(x, 0.5) FROM visits", epsilon=1).plan
    assert len(both.measures) == 1  # one release
    assert both.loss == dp.Loss(pure=1, rho="1/16")
    other = asked.explain("SELECT QUANTILE_LOW(x, 0.5), QUANTILE_LOW(x, 0.6) FROM visits", epsilon=1).plan
    assert len(other.measures) == 2


def test_what_is_no_interval_is_refused() -> None:
    for said in ({"q": "0"}, {"q": "1"}, {"shift": 0}, {"epsilon": 0}, {"last": 0}, {"neighbours": "both"}):
        with pytest.raises(dp.NotUnderstood):
            QuantileIntervalMechanism(**({"epsilon": 1, "q": "0.5", "shift": 3, "last": 60} | said))
    with pytest.raises(dp.NotUnderstood, match="several groups"):
        edges("0.5").release(Histogram(2, NONE, NONE, NONE))
