"""Procedures that buy several answers, the index, families, and ledgers that are restored or swapped: on pairs of
neighbours, whatever is seen but noisy numbers is the same, and nothing fails."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.catalogue.schema import Catalogue
from discreet.engines.duckdb import connection, index_build
from discreet.learn import KMeans
from support import hostile as h
from support.campaign.oracle import looked, mixes, same, too_far, transcript
from support.campaign.worlds import FORMS, INF, NAN, WORST, World
from support.engines import curator_of, indexed
from support.kit import Script
from support.lineage import BUDGET, table

SALT = bytes(range(64)) * 64


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)


# ── the index ────────────────────────────────────────────────────────────────────────────────────────────────────


def asked(world: World) -> Iterator[str]:
    """Questions that an index answers, about two of its tables."""
    for role in ("visits", "labs"):
        name, named = f'"{world.tables[role]}"', {each: f'"{said}"' for each, said in world.names[role].items()}
        yield f"SELECT COUNT(*), COUNT(DISTINCT {named['unit']}), SUM({named['real']}) FROM {name}"
        if "key" in named:
            yield f"SELECT {named['key']}, COUNT(DISTINCT {named['unit']}), COUNT(*) FROM {name} GROUP BY 1"
            yield f"SELECT {named['key']}, AVG({named['number']}) FROM {name} GROUP BY 1"


@pytest.mark.parametrize("form", list(FORMS)[:: 1 if os.environ.get("DISCREET_SOAK") else 2])
def test_an_index_of_hostile_units(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under one salt: both neighbours within reach from the index, and each person alone adds up to all of them."""
    dice = random.Random(form)
    monkeypatch.setattr(index_build, "BATCH_ROWS", dice.choice([3, 10**6]))
    world = World.random(dice, form=form, place="duckdb")
    pair = world.pair(dice)
    parts = [pair.held(0), pair.held(1), *(each.held for each in pair.people[0])]
    opened = []
    for n, held in enumerate(parts):
        (folder := tmp_path / f"{n}").mkdir()
        monkeypatch.setenv("DISCREET_MARKS", str(folder / "marks"))
        opened.append(world.open(held, folder, ledger=folder / "the.ledger", coins=Script(SALT)))
        opened[-1].index()
    for sql in asked(world):
        plan = h.plan_of(opened[0], sql)
        found = [looked(each, plan, 0) for each in opened]
        assert indexed(opened[0], plan) is not None, sql
        assert too_far(plan, found[0], found[1]) is None, sql
        assert mixes(plan, found[0], found[2:]) is None, sql
    for each in opened:
        each.close()


# ── several purchases ────────────────────────────────────────────────────────────────────────────────────────────

NUMBERS = [each for each in WORST["real"] if each is not None]
PLAIN = [(n // 2, float(n % 40) + 0.5, "xy"[n % 2]) for n in range(400)]
HOSTILE = [(999, x, "x") for x in (*NUMBERS, NAN, INF, 1e300)] + [(999, None, "y")] * 50


def clinic(rows: list[tuple[Any, ...]], folder: Path, **said: Any) -> dp.Curator:
    """A file of who, x and ward; the upper bound of x is found in the data."""
    folder.mkdir(exist_ok=True)
    names = ("who", "x", "ward")
    frame = pa.table({name: pa.array([row[n] for row in rows]) for n, name in enumerate(names)})
    pq.write_table(frame, folder / "data.parquet")
    terms: dict[str, Any] = {
        "unit": "who", "rows_per_unit": 3, "budget": dp.Budget(epsilon=1000, delta="1e-6"),
        "columns": {"x": {"min": 0, "max": "auto"}, "ward": ["x", "y"]}, "ledger": folder / "the.ledger",
        "marks": folder / "marks",
    }  # fmt: skip
    return dp.open(folder / "data.parquet", **(terms | said))


def automatic(curator: dp.Curator) -> dict[str, Any]:
    found = transcript(curator, "SELECT ward, AVG(x), SUM(x) FROM data GROUP BY ward", epsilon=2)
    return {part: found.get(part) for part in ("status", "text", "columns", "kinds", "cost", "left", "entry")}


def relative(curator: dp.Curator) -> dict[str, Any]:
    """How often is asked depends on noisy answers; how much at most does not."""
    found = transcript(curator, "SELECT COUNT(*) AS n FROM data", within="30%", epsilon=5)
    return {part: found.get(part) for part in ("status", "text", "columns", "kinds")}


def clustered(curator: dp.Curator) -> dict[str, Any]:
    found = KMeans(2, epsilon=3).fit_table(curator, "data", ["x"])
    return {
        "status": "answer",
        "shape": found.cluster_centers_.shape,
        "cost": repr(found.cost_),
        "left": str(curator.left),
    }


PROCEDURES: dict[str, tuple[Callable[[dp.Curator], dict[str, Any]], dict[str, Any]]] = {
    "max = auto": (automatic, {}),
    "a relative margin": (relative, {}),
    "fit_table": (clustered, {"columns": {"x": (0, 50), "ward": ["x", "y"]}}),
}


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("name", PROCEDURES)
def test_a_procedure_sees_nobody(name: str, neighbours: str, tmp_path: Path) -> None:
    act, said = PROCEDURES[name]
    other = PLAIN if neighbours == "add-remove" else [*PLAIN, (998, 1.0, "y")]
    with (
        clinic([*PLAIN, *HOSTILE], tmp_path / "a", neighbours=neighbours, **said) as one,
        clinic(other, tmp_path / "b", neighbours=neighbours, **said) as two,
    ):
        same(act(one), act(two))


def test_families_are_charged_alike(tmp_path: Path) -> None:
    """Two data sets share a family; what one spends is gone for the other, on both neighbours."""
    heard = []
    for n, rows in enumerate(([*PLAIN, *HOSTILE], PLAIN)):
        family = {"region": dp.Budget(epsilon=3, delta="1e-6")}
        said = []
        for name in ("north", "south"):
            frame = pa.table({"who": [r[0] for r in rows], "x": pa.array([r[1] for r in rows], pa.float64())})
            declared = table("data", "who", rows_per_unit=2, columns={"x": (0, 50)})
            catalogue = Catalogue(name=name, budget=BUDGET, tables=(declared,), families=family)
            ledger = dp.Ledger(tmp_path / f"{n}.ledger", dataset=name, budget=BUDGET, families=family, unit="person")
            places = connection.DuckDBSource(places={"data": '"data"'}, frames={"data": frame})
            with curator_of(catalogue, places, ledger) as curator:
                said += [transcript(curator, f"SELECT SUM(x) FROM data WHERE x > {m}") for m in range(3)]
        heard.append(said)
    for one, other in zip(*heard, strict=True):
        same(one, other)
    assert [each["status"] for each in heard[0]] == ["answer"] * 3 + ["BudgetExceeded"] * 3


@pytest.mark.parametrize("way", ["restored", "swapped", "cut off"])
def test_a_ledger_that_is_not_the_last_one(way: str, tmp_path: Path) -> None:
    """It is refused in the same words, whoever is in the data."""
    said = []
    for name, rows in (("a", [*PLAIN, *HOSTILE]), ("b", PLAIN)):
        folder = tmp_path / name
        with clinic(rows, folder) as curator:
            curator.ask("SELECT COUNT(*) FROM data", epsilon=1)
        shutil.copy(folder / "the.ledger", folder / "old")
        with clinic(rows, folder) as curator:
            curator.ask("SELECT COUNT(*) FROM data WHERE ward = 'x'", epsilon=1)
        if way == "restored":
            shutil.copy(folder / "old", folder / "the.ledger")
        elif way == "cut off":
            (folder / "the.ledger").unlink()
        else:
            with clinic(PLAIN, tmp_path / f"other {name}", marks=tmp_path / "elsewhere") as another:
                another.ask("SELECT COUNT(*) FROM data", epsilon=2)
            shutil.copy(tmp_path / f"other {name}" / "the.ledger", folder / "the.ledger")
        with pytest.raises(dp.LedgerCorrupt) as refused, clinic(rows, folder) as curator:
            curator.ask("SELECT COUNT(*) FROM data", epsilon=1)
        said.append(re.sub(r"[0-9a-f]{32}", "#", str(refused.value).replace(str(folder), "…")))
    assert said[0] == said[1]
