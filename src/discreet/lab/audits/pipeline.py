"""Audit a whole pipeline of SQL from outside: open it on two neighbouring data sets, ask, compare.

    >>> import discreet as dp, pyarrow as pa
    >>> from discreet.lab import pipeline
    >>> opened = pipeline.opening(columns={"cost": (0, 100)}, budget=dp.Budget(epsilon=10))
    >>> one, other = pa.table({"cost": [3.0, 5.0]}), pa.table({"cost": [3.0, 5.0, 1e9]})
    >>> pipeline.replayed(opened, one, other, "SELECT SUM(cost) FROM data", epsilon=1).same
    True

`replayed` plays the same coins on both and flags whatever differs but noisy numbers: control flow, coins, scales, keys,
columns, costs, refusals. `canaries` puts thousands of people into one table by coin flips, asks a single question by
groups, and bounds ε from one answer. `caged` runs the pipeline on a small data set thousands of times in one question,
for `audit.black_box`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number, positive_integer
from discreet.core.loss import Budget
from discreet.core.reach import neighbourhood
from discreet.curator.curator import Curator, open
from discreet.errors import NotUnderstood
from discreet.lab.audits.audit import ALARM, OneRun, Sampler, one_run
from discreet.lab.audits.replay import Replay, compare

__all__ = ["Opening", "caged", "canaries", "observed", "opening", "replayed"]

Opening = Callable[[Any, Coins], Curator]
MAX_CAGES = 50_000  # cages in one question
AGGREGATES = ("COUNT(*)", "COUNT(DISTINCT id)", "SUM(x)")


def opening(**said: Any) -> Opening:
    """Return a function that opens data by `dp.open` with these arguments; a fresh curator, with a ledger in memory,
    each time.
    """
    return lambda data, coins: open(data, coins=coins, **said)


def observed(answer: Any, *, steady: bool = True) -> dict[str, Any]:
    """Return what an analyst sees of an answer that must not depend on the data: all but noisy numbers and their
    consequences.

    Rows that HAVING or LIMIT chooses by noisy numbers are left out. If the run is not `steady` (see
    `replayed`), so are the keys and the scales.
    """
    seen = {"columns": str(answer.to_arrow().schema), "cost": str(answer.cost), "left": str(answer.left)}
    if not steady:
        return seen
    released = answer.released
    return seen | {
        "keys": str(released.keys),
        "numbers": str([part.shape for part in released.sums]),
        "mechanisms": str([*map(str, answer.plan.mechanisms)]),
        "remarks": str(answer.bill.remarks),
    }


def replayed(
    opened: Opening, one: Any, other: Any, sql: str, *, tapes: int = 3, coins: Coins = SYSTEM, **wanted: Any
) -> Replay:
    """Ask the same on two neighbouring data sets with the same coins, and return what differs but noisy numbers.

    Private keys that are named, and bounds that are found in the data, are released themselves; what is drawn after
    them, and for how many of them, may depend on them. Then coins, keys and scales are not compared.
    """
    steady = _steady(opened, one, sql, wanted)

    def run(data: Any, coins: Coins) -> dict[str, Any]:
        with opened(data, coins) as curator:
            return observed(curator.ask(sql, **wanted), steady=steady)

    return compare(run, one, other, tapes=tapes, draws=steady, coins=coins)


def _steady(opened: Opening, data: Any, sql: str, wanted: dict[str, Any]) -> bool:
    """Return True if no release on the way decides how a run goes on."""
    try:
        with opened(data, SYSTEM) as curator:
            if any(column.auto_lower is not None for table in curator.catalogue.tables for column in table.columns):
                return False
            return curator.explain(sql, **wanted).plan.naming is None
    except Exception:  # the replay sees it again, and compares it
        return True


def caged(data: Any, aggregate: str, *, epsilon: Number, columns: dict[str, Any]) -> Sampler:
    """Return a sampler of one aggregate of a small data set: copies of the data, each in a cage, in one question by
    cages.

    Given    a frame in which every row is a unit; units of different copies are different units.
    Because  a unit is in one cage, so that each cage is answered for the whole ε, with noise of its own: every cage
             is a run of the pipeline on the data set.
    """
    import pyarrow as pa  # noqa: PLC0415

    cost = number(epsilon, "epsilon")

    def draw(count: int, coins: Coins) -> NDArray[Any]:
        cages = np.repeat(np.arange(count), data.num_rows)
        copies = {name: np.tile(np.asarray(data[name]), count) for name in data.column_names}
        frame = pa.table({"id": np.arange(len(cages)), "cage": cages, **copies})
        declared = {"cage": _cages(count), **columns}
        opened = opening(unit="id", rows_per_unit=1, groups_per_unit=1, budget=Budget(epsilon=cost), columns=declared)
        return _by_cage(opened(frame, coins), aggregate, count, cost)

    return lambda count, coins: np.concatenate(
        [draw(min(MAX_CAGES, count - start), coins) for start in range(0, count, MAX_CAGES)]
    )


def _cages(count: int) -> dict[str, Any]:
    return {"values": list(range(count)), "required": True}


def _by_cage(curator: Curator, aggregate: str, cages: int, cost: Number) -> NDArray[Any]:
    """Ask for an aggregate of every cage; return the answers in the order of the cages."""
    with curator:
        answer = curator.ask(f"SELECT cage, {aggregate} AS seen FROM data GROUP BY cage", epsilon=cost).to_arrow()
    found = np.zeros(cages, np.asarray(answer["seen"]).dtype)
    found[np.asarray(answer["cage"])] = np.asarray(answer["seen"])
    return found


def canaries(
    aggregate: str = "COUNT(*)",
    *,
    epsilon: Number = 1,
    canaries: int = 10_000,
    guesses: int | None = None,
    neighbours: str = "add-remove",
    alarm: Number = ALARM,
    coins: Coins = SYSTEM,
) -> OneRun:
    """Return a lower bound on ε of a question by groups, from one answer: every canary is a unit in a group of its own.

    Given    one of COUNT(*), COUNT(DISTINCT id), SUM(x); a canary that is in counts one, or as much as x can be.
             Where neighbours replace each other, every canary is there, in one of two groups of its own.
    Because  adding or removing a unit changes one group, and replacing one changes two, for which that question has
             the noise: every canary is protected by the whole ε, `one_run`.
    """
    if aggregate not in AGGREGATES:
        raise NotUnderstood("canaries are counted or summed.", code="wrong-argument", instead=" or ".join(AGGREGATES))
    import pyarrow as pa  # noqa: PLC0415

    m, cost, replaced = (
        positive_integer(canaries, "canaries"),
        number(epsilon, "epsilon"),
        neighbourhood(neighbours).changes > 1,
    )
    cages = 2 * m if replaced else m
    opened = opening(
        unit="id", rows_per_unit=1, groups_per_unit=1, budget=Budget(epsilon=cost), neighbours=neighbours,
        columns={"cage": _cages(cages), "x": (0, 1)},
    )  # fmt: skip

    def release(included: NDArray[np.bool_], coins: Coins) -> NDArray[Any]:
        who = np.arange(m) if replaced else np.flatnonzero(included)
        frame = pa.table({"id": who, "cage": np.where(included[who], who, m + who), "x": np.ones(len(who))})
        seen = _by_cage(opened(frame, coins), aggregate, cages, cost)
        return seen[:m].clip(0, 1) - seen[m:].clip(0, 1) if replaced else seen  # beyond [0, 1] a count adds no evidence

    return one_run(release, canaries=m, guesses=guesses, alarm=alarm, coins=coins)
