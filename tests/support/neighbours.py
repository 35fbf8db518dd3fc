"""What `test_neighbours.py` and others share."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

import discreet as dp
from discreet.kernel.plan import ExactResult
from discreet.plan.measures.measure import Measure
from discreet.plan.plan import Plan
from support import engines
from support import hostile as h

UNIT, ROW = "id", None


ADD, REPLACE = "add-remove", "replace"


LEVELS = [(UNIT, ADD), (UNIT, REPLACE), (ROW, ADD), (ROW, REPLACE)]


WORST = ["all of it", "nobody", "500 keys"]


@cache
def plain(clinic: h.Clinic, asked: tuple[h.Asked, ...], explain: bool) -> list[tuple[str, list[object]]]:
    with clinic.curator(h.PEOPLE) as curator:
        return list(h.transcript(curator, asked, explain=explain))


def compare(clinic: h.Clinic, name: str, asked: Sequence[h.Asked], *, explain: bool = False) -> None:
    expected = plain(clinic, tuple(asked), explain)
    with clinic.curator(clinic.neighbour(h.PEOPLE, h.HOSTILE[name])) as curator:
        for (sql, before), (_, after) in zip(expected, h.transcript(curator, asked, explain=explain), strict=True):
            assert before == after, sql


Seam = Callable[[ExactResult], ExactResult]


def seam(curator: dp.Curator, through: Seam) -> None:
    """Put something between the engine and the noise."""

    def seen(look: engines.Looks) -> engines.Looks:
        def aggregate(*given: Any, **more: Any) -> tuple[Plan, ExactResult]:
            plan, exact = look(*given, **more)
            return plan, through(exact)

        return aggregate

    engines.between(curator, seen)


def within(measure: Measure, plan: Plan, moved: np.ndarray) -> None:
    """What one person moved is within the reach that was paid for."""
    change, reach = h.noised(plan.mechanisms[plan.measures.index(measure)], moved)
    assert sum(abs(each) for each in change) <= reach.l1, (measure, change)
    assert sum(each**2 for each in change) <= reach.l2_squared, (measure, change)


LINEAGE = [
    "SELECT COUNT(*) FROM data",
    "SELECT COUNT(cost), COUNT(*) FROM data WHERE age > 30",
    "SELECT COUNT(DISTINCT id) FROM data WHERE level < 3",
    "SELECT SUM(cost) FROM data",
    "SELECT SUM(gain), COUNT(note) FROM data",
    "SELECT AVG(gain), COUNT(*), SUM(age) FROM data",
    "SELECT sex, COUNT(*) FROM data GROUP BY sex",
    "SELECT level, SUM(gain), AVG(cost) FROM data GROUP BY level",
    "SELECT sex, level, COUNT(DISTINCT id), COUNT(*), COUNT(age) FROM data GROUP BY sex, level",
    "SELECT level, COUNT(DISTINCT id) FROM data GROUP BY level",
    "SELECT COUNT(DISTINCT id) FILTER (WHERE cost > 1), COUNT(DISTINCT id) FILTER (WHERE sex = 'F') FROM data",
    "SELECT level, COUNT(DISTINCT id) FILTER (WHERE age < 50) FROM data GROUP BY level",
    "SELECT FLOOR(gain / 20) AS g, AVG(cost), COUNT(*) FROM data GROUP BY g",
    "SELECT CASE WHEN cost > 500 THEN 'dear' ELSE 'cheap' END AS g, SUM(cost - gain * 3) FROM data GROUP BY g",
    "SELECT ward, COUNT(*) FROM data GROUP BY ward",
    "SELECT ward, sex, SUM(gain), AVG(age) FROM data GROUP BY ward, sex",
    "SELECT CAST(big AS INT) AS b, COUNT(DISTINCT id) FROM data GROUP BY b",
    "SELECT VAR_SAMP(gain), COUNT(*), STDDEV(cost) FROM data",
    "SELECT level, VAR_SAMP(gain), COUNT(*), SUM(gain) FROM data GROUP BY level",
    "SELECT COVAR_SAMP(gain, age), CORR(cost, gain), COUNT(*) FROM data",
    "SELECT sex, REGR_SLOPE(gain, level), CORR(age > 50, cost) FROM data GROUP BY sex",
    "SELECT ward, STDDEV(cost), COUNT(DISTINCT level) FROM data GROUP BY ward",
    "SELECT COUNT(DISTINCT note), COUNT(DISTINCT cost), COUNT(DISTINCT CAST(big AS INT)) FROM data",
    "SELECT level, COUNT(DISTINCT age), COUNT(DISTINCT ward || note) FROM data GROUP BY level",
    "SELECT sex, level, COUNT(DISTINCT cost), COUNT(*) FROM data GROUP BY sex, level",
    "SELECT COUNT(*) FILTER (WHERE level = 1), COUNT(*) FILTER (WHERE level = 2), COUNT(*) FROM data",
    "SELECT COUNT(*) FILTER (WHERE age < 8), COUNT(*) FILTER (WHERE age < 32), COUNT(*) FILTER (WHERE cost > 0)"
    " FROM data WHERE sex = 'F' OR gain IS NULL",
    "SELECT level, COUNT(*) FILTER (WHERE age < 30), COUNT(*) FILTER (WHERE age >= 30), COUNT(*) FROM data"
    " GROUP BY level",
    "SELECT sex, level, HISTOGRAM(cost, [0, 1, 500]) FROM data GROUP BY sex, level",
    "SELECT ward, COUNT(*) FILTER (WHERE age < 8), COUNT(*) FILTER (WHERE cost > 0) FROM data GROUP BY ward",
]


INFINITE, NAN = float("inf"), float("nan")


STRANGE: dict[str, list[Any]] = {
    "sex": ["F", "M", None, "X"],
    "ward": ["north", "south", "w1", "w2", None],
    "level": [1, 2, 3, 4, None],
    "age": [0, 7, 31, 120, 10**6, -4, None],
    "cost": [0.0, -0.0, 1.0, 999.99, 1000.0, 1e9, -1e9, INFINITE, -INFINITE, NAN, None, 0.005],
    "gain": [0.0, 1.0, 50.0, -50.0, 1e9, -1e9, INFINITE, -INFINITE, NAN, None],
    "big": [0, 1, 2, 2**62, None],
    "note": ["a", None],
}


EAGER = {"sex": ["F", "M"], "ward": ["w1", "w2"], "level": [1, 2, 3], "age": [120], "cost": [1e9], "gain": [-1e9, 50.0]}


def somebody(chance: random.Random, name: str | None, rows: int, *, eager: bool = False) -> h.Rows:
    """A person of so many rows: of anything, or of all that moves sums as far as can be."""
    said = STRANGE | (EAGER if eager else {})
    return [h.person(name, **{key: chance.choice(values) for key, values in said.items()}) for _ in range(rows)]


def moved(plan: Plan, before: ExactResult, after: ExactResult) -> list[np.ndarray]:
    """The change of each measure; for private keys, a group that is not there is empty."""
    if plan.naming is None:
        return [b.astype(object) - a.astype(object) for a, b in zip(before.sums, after.sums, strict=True)]
    keys = list(dict.fromkeys([*before.keys, *after.keys]))
    found = []
    for n, measure in enumerate(plan.measures):
        change = np.zeros((len(measure.parts), len(keys)), object)
        for exact, sign in ((before, -1), (after, 1)):
            for at, key in enumerate(exact.keys):
                change[:, keys.index(key)] += sign * exact.sums[n][:, at].astype(object)
        found.append(change)
    shared = {key: [0, 0] for key in keys}
    for side, exact in enumerate((before, after)):
        for at, key in enumerate(exact.keys):
            shared[key][side] += int(exact.units[at])
    changes = [abs(two[1] - two[0]) for two in shared.values()]
    assert max(changes, default=0) <= 1
    assert sum(changes) <= plan.naming.touched
    return found


EDGES = [  # a question, and a person who moves it as far as one can
    ("SELECT COUNT(*) FROM data", [{}] * 9),
    ("SELECT COUNT(cost) FROM data", [{}] * 9),
    ("SELECT COUNT(DISTINCT id) FROM data", [{}]),
    ("SELECT SUM(cost) FROM data", [{"cost": 1e9}] * 9),
    ("SELECT SUM(gain) FROM data", [{"gain": -1e9}] * 5),
    ("SELECT AVG(gain) FROM data", [{"gain": 50.0}] * 5),
    ("SELECT SUM(cost), COUNT(*) FROM data", [{"cost": float("inf")}] * 5),
    ("SELECT COUNT(*), AVG(age) FROM data", [{"age": None}] * 6),
    ("SELECT sex, COUNT(*) FROM data GROUP BY sex", [{}] * 7),
    ("SELECT level, COUNT(DISTINCT id) FROM data GROUP BY level", [{"level": n} for n in (1, 2, 3)]),
    ("SELECT COUNT(DISTINCT id) FILTER (WHERE age < 50) FROM data", [{"age": n} for n in range(9)]),
    (
        "SELECT level, COUNT(DISTINCT id) FILTER (WHERE age < 50) FROM data GROUP BY level",
        [{"level": n, "age": 9} for n in (1, 2, 3)],
    ),
    ("SELECT age, COUNT(DISTINCT id) FROM data GROUP BY age", [{"age": n} for n in range(50)]),
    ("SELECT level, SUM(gain) FROM data GROUP BY level", [{"gain": 77.0, "level": 2}] * 6),
    ("SELECT VAR_SAMP(gain) FROM data", [{"gain": 1e9}] * 6),
    ("SELECT VAR_SAMP(gain), COUNT(*) FROM data", [{"gain": None}] * 6),
    ("SELECT level, STDDEV(age) FROM data GROUP BY level", [{"age": 120, "level": 3}] * 5),
    ("SELECT COVAR_SAMP(age, gain) FROM data", [{"age": 120, "gain": -50.0}] * 5),
    ("SELECT CORR(cost, gain) FROM data", [{"cost": 1e9, "gain": -1e9}] * 9),
    ("SELECT REGR_SLOPE(age, gain), COUNT(*) FROM data", [{"age": None}] * 5),
    ("SELECT COUNT(DISTINCT cost) FROM data", [{"cost": n + 0.125} for n in range(50)]),
    ("SELECT level, COUNT(DISTINCT cost) FROM data GROUP BY level", [{"cost": n + 0.125} for n in range(9)]),
]
