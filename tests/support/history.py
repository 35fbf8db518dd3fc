"""A ledger with every kind of entry, and all that was asked in it: written by one version, read by all later ones.

    python tests/support/history.py tests/golden/ledgers/0.3.0

makes the folder of another version (PYTHONPATH=src:tests, or discreet installed). It holds the data (`*.parquet`), the
catalogue of the clinic (`clinic.toml`), the ledger (`city.ledger`), the index beside it (`*.duckdb.gz`), a respondent's
file with a report of each randomizer (`respondent`), and what was asked and told (`city.json`). Coins, names and times
are made up by a counter, so the same version writes the same again, but for the index and the tag of the files.

A ledger goes by what it holds and not by where it is: a copy is opened like the original, by whoever has no mark of it.
Data in files go by their size, time and inode as well, so a copy of a file is another version of the data and is paid
for anew. Data in frames go by their content. So all that is to be found again is asked of frames here.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from discreet.catalogue import toml
from discreet.core.coins import SYSTEM, Coins, System
from discreet.core.conversion import zcdp_of
from discreet.core.record import read
from discreet.core.text import show
from discreet.curator.curator import Curator
from discreet.curator.opening import ledger_of
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.learn import KMeans
from discreet.ledger import journal
from discreet.ledger.facts import Charge
from discreet.local import Memoised, Respondent
from discreet.local.randomizer import Randomizer
from discreet.workload import Workload
from support.engines import curator_of
from support.golden import Seeded, plain, secret_of, secrets
from support.kit import required

LEDGER = "city.ledger"
CLINIC = ("patients", "bills", "lines", "stays", "towns")
NOISE = dp.Laplace(epsilon="0.1", sensitivity=1)
MEMO = Memoised(k=3, forever=2, each=1)
PEOPLE: dict[str, Any] = {
    "budget": dp.Budget(epsilon=40),
    "columns": required({
        "age": (0, 120), "sex": ["F", "M", "X"], "smoker": [False, True], "height": (0.5, 2.5), "weight": (0, 300),
        "income": {"min": 0, "max": "auto"}, "zip": {},
    }),
}  # fmt: skip
VISITS: dict[str, Any] = {
    "budget": dp.Budget(epsilon=200, delta="1e-5"),
    "unit": "patient_id",
    "rows_per_unit": 6,
    "groups_per_unit": 3,
    "columns": required({
        "ward": ["W0", "W1", "O'Neill"], "cost": (0, 1000), "minutes": (0, 60), "nurse": {},
        "day": (date(2024, 1, 1), date(2024, 3, 31)),
    }),
}  # fmt: skip
TRIPS: dict[str, Any] = {
    "budget": dp.Budget(epsilon=200, delta="1e-4"),
    "unit": "rider",
    "rows_per_unit": 100,
    "groups_per_unit": 40,
    "neighbours": "replace",
    "columns": required({"line": [1, 2, 3, 5, 8], "place": {}, "seen": (datetime(2024, 1, 1), datetime(2024, 1, 8))}),
}
TABLES = {"people": PEOPLE, "visits": VISITS, "trips": TRIPS}
WORKLOADS = {
    "prefix": Workload.prefix(3),
    "ranges": Workload.ranges(3),
    "windows": Workload.windows(3, 2),
    "total": Workload.total(3),
    "marginals": Workload.marginals((3, 2), ways=1),
    "dense": Workload([[1, 1, 0], [0, 1, 1]]),
    "crossed": Workload.product(Workload.identity(3), Workload.prefix(2)),
    "stacked": Workload.union(Workload.identity(3), Workload.total(3)),
}


# ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────


def opened(folder: Path, name: str, *, ledger: Path, rows: int | None = None, coins: Coins = SYSTEM) -> Curator:
    """The curator of one of the data sets in a folder, perhaps of its first rows only, with this ledger."""
    if name == "clinic":
        return _clinic(folder, ledger, coins)
    frame = pq.read_table(folder / f"{name}.parquet").slice(0, rows)
    return dp.open(frame, name=name, ledger=ledger, coins=coins, **TABLES[name])


def _clinic(folder: Path, ledger: Path, coins: Coins) -> Curator:
    said = replace(toml.read(folder / "clinic.toml"), ledger=str(ledger))
    frames = {each: pq.read_table(folder / "clinic" / f"{each}.parquet") for each in CLINIC}
    source = DuckDBSource(places={each: f'"{each}"' for each in CLINIC}, frames=frames)
    return curator_of(said, source, ledger_of(said), coins=coins)


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────


def ask(dataset: str, sql: str, how: str = "ask", **said: Any) -> dict[str, Any]:
    return {"dataset": dataset, "how": how, "said": {"sql": sql, **(said or {"epsilon": "0.5"})}}


def together(dataset: str, questions: list[str], **said: Any) -> dict[str, Any]:
    return {"dataset": dataset, "how": "ask_many", "said": {"questions": questions, **said}}


def load(dataset: str, queries: str, **said: Any) -> dict[str, Any]:
    return {"dataset": dataset, "how": "workload", "queries": queries, "said": {"epsilon": "0.5", **said}}


ASKED = [
    ask("people", "SELECT COUNT(*) FROM people"),
    ask("people", "SELECT sex, COUNT(*), SUM(age), AVG(weight) FROM people GROUP BY sex"),
    ask("people", "SELECT COUNT(*) FROM people WHERE age > ? AND sex = ?", epsilon="0.25", params=[30, "F"]),
    ask("people", "SELECT COUNT(*) FROM people WHERE age < $most", epsilon="0.25", params={"most": 50}),
    ask("people", "SELECT VAR_SAMP(height), CORR(age, weight) FROM people"),
    ask("people", "SELECT MEDIAN(age), QUANTILE_CONT(height, 0.9) FROM people", epsilon="1"),
    ask("people", "SELECT QUANTILE_LOW(age, 0.5), QUANTILE_HIGH(age, 0.5) FROM people", epsilon="2"),
    ask("people", "SELECT MIN(age), MAX(weight) FROM people", epsilon="1"),
    ask("people", "SELECT MODE(sex) FROM people"),
    ask("people", "SELECT COUNT(DISTINCT zip) FROM people"),
    ask("people", "SELECT sex FROM people GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 1"),
    ask("people", "SELECT sex, smoker, COUNT(*) FROM people GROUP BY CUBE (sex, smoker)"),
    ask("people", "SELECT SUM(income) FROM people", epsilon="1"),
    ask("people", "SELECT sex, COUNT(*) FROM people WHERE smoker GROUP BY sex", within=20),
    ask("people", "SELECT AVG(age) FROM people", within="40%"),
    ask("people", "SELECT COUNT(*) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE age > 50), COUNT(*) FROM people"),
    together("people", ["SELECT COUNT(*) FROM people WHERE age < 30", "SELECT COUNT(*) FROM people WHERE age < 60",
                        "SELECT COUNT(*) FROM people WHERE sex = 'F' AND age < 30",
                        "SELECT SUM(weight) FROM people"], epsilon="1"),
    together("people", ["SELECT COUNT(*) FROM people WHERE smoker", "SELECT COUNT(*) FROM people WHERE NOT smoker"],
             within=15),
    load("people", "prefix", table="people", by="sex"),
    load("people", "ranges", table="people", by="sex", where="smoker"),
    load("people", "windows", table="people", by=["sex"]),
    load("people", "total", table="people", by=["sex"]),
    load("people", "marginals", table="people", by=["sex", "smoker"]),
    load("people", "dense", table="people", by=["sex"]),
    load("people", "crossed", table="people", by=["sex", "smoker"]),
    load("people", "stacked", table="people", by=["sex"]),
    ask("visits", "SELECT ward, COUNT(*), COUNT(DISTINCT patient_id), SUM(cost) FROM visits GROUP BY ward"),
    ask("visits", "SELECT nurse, COUNT(*) FROM visits GROUP BY nurse", epsilon="20", delta="1e-6"),
    ask("visits", "SELECT DISTINCT nurse, ward FROM visits", epsilon="40", delta="1e-6"),
    ask("visits", "SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month"),
    ask("visits", "SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)"),
    ask("visits", "SELECT COUNT(*) FROM visits WHERE UPPER(ward) LIKE 'W%' AND cost * 2 + 1 > 100"),
    ask("visits", "SELECT MEDIAN(cost) FROM visits", epsilon="1"),
    load("visits", "prefix", table="visits", by="ward", count="COUNT(DISTINCT patient_id)"),
    ask("trips", "SELECT line, COUNT(*) FROM trips GROUP BY line", epsilon="1"),
    ask("trips", "SELECT place, COUNT(DISTINCT rider) FROM trips GROUP BY place", epsilon="20", delta="1e-5"),
    ask("trips", "SELECT COUNT(*) FROM trips WHERE seen < '2024-01-04'"),
    ask("trips", "SELECT line, COUNT(*) FROM trips GROUP BY line", epsilon="1") | {"rows": 50},
    ask("clinic", "SELECT town, COUNT(*) FROM patients JOIN towns ON patients.zip = towns.zip GROUP BY town",
        epsilon="1", analyst="ana"),
    ask("clinic", "SELECT item, SUM(amount) FROM lines GROUP BY item", epsilon="1", analyst="ana"),
    ask("clinic", "SELECT COUNT(*) FROM (SELECT days AS x FROM stays UNION ALL SELECT born FROM patients)",
        epsilon="1", analyst="bob"),
    ask("clinic", "SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM bills WHERE paid)",
        epsilon="1", analyst="bob"),
]  # fmt: skip
FOLLOWS = [
    ask("people", "SELECT COUNT(*) FROM people", reuse=True),
    ask("people", "SELECT sex, AVG(age) FROM people GROUP BY sex HAVING COUNT(*) > 1", reuse=True),
    ask("visits", "SELECT SUM(cost) FROM visits WHERE ward <> 'W1'", reuse=True),
    ask("visits", "SELECT ward, AVG(cost) FROM visits GROUP BY ward ORDER BY 2", reuse=True),
    ask("trips", "SELECT line FROM trips GROUP BY line ORDER BY COUNT(*) DESC LIMIT 2", reuse=True),
]


def told(curator: Curator, step: dict[str, Any]) -> Any:
    """Ask, and what came of it, as JSON has it, with the cost in ε (and ρ)."""
    if step["how"] == "workload":
        said = dict(step["said"])
        answer = WORKLOADS[step["queries"]].ask(curator, said.pop("table"), **said)
        return {"values": plain(answer.values), "cost": cost(answer.cost)}
    if step["how"] == "ask_many":
        answers = curator.ask_many(**step["said"])
        return {"values": [shown(each) for each in answers], "cost": cost(*(each.cost for each in answers))}
    answer = curator.ask(**step["said"])
    return {"values": shown(answer), "cost": cost(answer.cost)}


def cost(*losses: dp.Loss) -> list[list[str | None]]:
    return [list(Charge.price(each)) for each in losses]


def shown(answer: dp.Answer | Any) -> dict[str, Any]:
    """The columns of an answer, and the margin of each number."""
    margin = answer.margin()
    return {
        "columns": {name: [_said(each) for each in answer[name]] for name in answer.columns},
        "margins": {name: [_said(each) for each in margin[name]] for name in margin.columns},
    }


def _said(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else plain(value)


# ── what is in a ledger ──────────────────────────────────────────────────────────────────────────────────────────


def balances(ledger: dp.Ledger) -> dict[str, Any]:
    """All accounts, with what they may spend, have spent, and how often."""
    return {
        "/".join(each.account): [str(each.budget), list(Charge.price(each.spent)), each.charges, _room(each)]
        for each in ledger.balances
    }


def words(ledger: dp.Ledger) -> list[str]:
    return [entry.fact.WORD for entry in ledger]


# ── making one ───────────────────────────────────────────────────────────────────────────────────────────────────


def make(folder: Path) -> None:
    """Write the data, the ledger, the index and what was told into a new folder."""
    folder.mkdir(parents=True)
    _data(folder)
    with ExitStack() as stack:
        coins, names = Seeded("coins"), Seeded("names")
        marks = stack.enter_context(tempfile.TemporaryDirectory())
        stack.enter_context(mock.patch.dict(os.environ, DISCREET_MARKS=marks))
        stack.enter_context(mock.patch.object(System, "flip", lambda _, count: coins.flip(count)))
        stack.enter_context(mock.patch.object(os, "urandom", names.take))
        stack.enter_context(mock.patch.object(journal, "datetime", Clock()))
        steps, reports = _write(folder), _respondent(folder)
        with dp.Ledger(folder / LEDGER) as ledger:
            found = {"balances": balances(ledger), "words": Counter(words(ledger)), "head": ledger.verify().head}
        found["reports"] = reports
    lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in steps)
    about = json.dumps(found, ensure_ascii=False, indent=1)
    (folder / "city.json").write_text(f'{about[:-2]},\n "steps": [\n{lines}\n]}}\n', "utf-8")


class Clock:
    """A second for each entry."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self, zone: Any) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now


def _data(folder: Path) -> None:
    dice, n = random.Random(1), range(60)
    tables = {
        "people": {
            "age": [dice.randrange(100) for _ in n], "sex": [dice.choice("FFMX") for _ in n],
            "smoker": [dice.random() < 0.3 for _ in n], "height": [round(dice.uniform(1.5, 2), 2) for _ in n],
            "weight": [dice.randrange(50, 110) for _ in n], "income": [100.0 * dice.randrange(900) for _ in n],
            "zip": [f"1{i % 4}" for i in n],
        },
        "visits": {
            "patient_id": [i // 3 for i in n], "ward": [["W0", "W1", "O'Neill"][i % 3] for i in n],
            "cost": [dice.randrange(1000) for _ in n], "minutes": [dice.randrange(60) for _ in n],
            "nurse": [f"n{i % 2}" for i in n], "day": [date(2024, 1, 1) + timedelta(days=i) for i in n],
        },
        "trips": {
            "rider": [i // 2 for i in n], "line": [[1, 2, 3, 5, 8][i % 5] for i in n],
            "place": [f"p{i % 2}" for i in n], "seen": [datetime(2024, 1, 1) + timedelta(hours=3 * i) for i in n],
        },
        "clinic/patients": {
            "patient_id": list(n), "born": [1950 + i for i in n], "zip": [f"1{i % 2}" for i in n],
        },
        "clinic/bills": {"bill": list(n), "patient_id": [i // 2 for i in n], "paid": [i % 3 == 0 for i in n]},
        "clinic/lines": {
            "bill": list(n), "amount": [2.5 * i for i in n], "item": [["bed", "drug"][i % 2] for i in n],
        },
        "clinic/stays": {"patient_id": [i // 2 for i in n], "days": [i % 20 for i in n]},
        "clinic/towns": {"zip": ["10", "11"], "town": ["Aa", "Bb"]},
    }  # fmt: skip
    (folder / "clinic").mkdir()
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    (folder / "clinic.toml").write_text(CATALOGUE, "utf-8")


def _write(folder: Path) -> list[dict[str, Any]]:
    """Everything that can happen to a ledger; returns what was asked of curators, and told."""
    place, steps = folder / LEDGER, list[dict[str, Any]]()
    _register(place)
    for step in ASKED:
        with opened(folder, step["dataset"], ledger=place, rows=step.get("rows")) as curator:
            steps.append(step | {"told": told(curator, step)})
    with opened(folder, "people", ledger=place) as curator:
        curator.ledger.amend(families={"city": CITY})
    with opened(folder, "visits", ledger=place) as curator:
        steps += _clusters(curator)
        curator.ledger.amend(protects={"archive": "unit patient_nr"})
        curator.ledger.amend(protects={"archive": "unit patient_id", "codes": "public"})
        index = curator.index()
        step = ask("visits", "SELECT ward, AVG(minutes), COUNT(DISTINCT patient_id) FROM visits GROUP BY ward")
        steps.append(step | {"told": told(curator, step)})
    with Curator.load(folder / "clinic.toml") as curator:  # from files
        curator.ask("SELECT COUNT(*) FROM patients", epsilon="0.5", analyst="ana")
    for step in FOLLOWS:
        with opened(folder, step["dataset"], ledger=place) as curator:
            steps.append(step | {"told": told(curator, step)})
    (folder / f"{index.name}.gz").write_bytes(gzip.compress(index.read_bytes(), mtime=0))
    shutil.rmtree(index.parent)
    return steps


def _respondent(folder: Path) -> dict[str, Any]:
    """A respondent who has answered every question there is, once, and one again and again."""
    respondent = Respondent(folder / "respondent", budget=dp.Budget(epsilon=40), new=True)
    reports = {name: plain(respondent.answer(name, value, randomizer)) for name, value, randomizer in randomizers()}
    respondent.again("every day", 1, MEMO)
    return reports


def randomizers() -> list[tuple[str, Any, Randomizer]]:
    """One of each, with a name and a value."""
    local = [each for each in secrets() if '"is":"plan/1"' not in each[1]]  # a plan that is not read fails elsewhere
    cases = [(name, secret_of(said), read(text)) for name, text, said in local]
    return [(name, value, each) for name, value, each in cases if isinstance(each, Randomizer)]


def _clusters(curator: Curator) -> list[dict[str, Any]]:
    """All questions of a k-means."""
    asked, plainly = list[dict[str, Any]](), curator.ask

    def listen(sql: str, **said: Any) -> Any:
        answer = plainly(sql, **said)
        step = ask("visits", sql, epsilon=str(said["epsilon"]))
        asked.append(step | {"told": {"values": shown(answer), "cost": cost(answer.cost)}})
        return answer

    curator.ask = listen  # type: ignore[method-assign]
    KMeans(2, epsilon=4).fit_table(curator, "visits", ["cost", "minutes"])
    curator.ask = plainly  # type: ignore[method-assign]
    return asked


CITY = dp.Budget(epsilon=500, delta="1e-3")


def _register(place: Path) -> None:
    """What curators do seldom, done to the ledger itself: crashes, failures, analysts, budgets of each kind."""
    budget = dp.Budget(epsilon=3, delta="1e-6")
    with dp.Ledger(place, dataset="register", budget=budget, families={"city": CITY}, failures=2) as ledger:
        several = NOISE, dp.Gaussian(rho="0.01", sensitivity=2), THRESHOLD, dp.compose(NOISE, MAX)
        for n, mechanism in enumerate(several):
            keep(ledger, ledger.spend(mechanism, key=f"question {n}", version="2026"))
        keep(ledger, ledger.spend(NOISE))
        for receipt in ledger.spend_all([[(NOISE, "one")], [(NOISE, "two"), (MAX, "instead")]], version="2026"):
            keep(ledger, receipt)
        ledger.spend(NOISE, key="crashed", version="2026")
        keep(ledger, ledger.spend(NOISE, key="crashed", version="2026"))
        fail(ledger, "failed")
        fail(ledger, "failed as well")
        ledger.resume(ledger.failures)
        keep(ledger, ledger.spend(NOISE, key="failed", version="2026"))
        ledger.spend(NOISE, key="open", version="2026")  # and never answered
        with suppress(dp.Stopped):  # nor this, until its owner says so
            while True:
                ledger.spend(NOISE, key="begun too often", version="2026")
        ledger.amend(budget=dp.Budget(epsilon=5, delta="1e-6"), analysts={"ana": dp.Budget(epsilon=1), "bob": budget})
        keep(ledger, ledger.spend(NOISE, key="of ana", version="2026", analyst="ana"))
    with dp.Ledger(place, dataset="stopped", budget=dp.Budget(epsilon=1), unit="household") as ledger:
        keep(ledger, ledger.spend(replace(NOISE, reach=HOUSE), key="before"))
        fail(ledger, "fatal", replace(NOISE, reach=HOUSE))


THRESHOLD, MAX = dp.Threshold(epsilon="0.1", delta="1e-7"), dp.NoisyMax(epsilon="0.1", sensitivity=1)
HOUSE = replace(NOISE.reach, unit="household")


def keep(ledger: dp.Ledger, receipt: Any) -> bytes:
    """Answer a receipt, without any data."""
    return ledger.answer(receipt, lambda: receipt.use(receipt.mechanism) and f"answer to {receipt.key}".encode())


def fail(ledger: dp.Ledger, key: str, mechanism: dp.Mechanism = NOISE) -> None:
    """Ask what makes the engine fail."""
    receipt = ledger.spend(mechanism, key=key, version="2026")

    def look() -> bytes:
        receipt.use(mechanism)
        raise OSError("of an engine")

    with suppress(dp.Broken):
        ledger.answer(receipt, look)


CATALOGUE = """\
[dataset]
name = "clinic"
source = "clinic"
ledger = "city.ledger"
budget = { epsilon = "20", delta = "1e-6" }
failures = 2

[analysts]
ana.budget = { epsilon = "10", delta = "1e-6" }
bob.budget = { epsilon = "5", delta = "1e-7" }

[families]
city.budget = { epsilon = "500", delta = "1e-3" }

[tables.patients]
unit = "patient_id"
rows_per_unit = 1
columns.born = { min = 1900, max = 2030 }
columns.zip = {}

[tables.bills]
unit = "patient_id"
key = "bill"
rows_per_unit = 5
columns.paid = {}

[tables.lines]
unit = "bill -> bills.bill"
rows_per_unit = 20
groups_per_unit = 2
columns.amount = { min = 0, max = 500, step = "0.5" }
columns.item = { values = ["bed", "drug"], required = true }

[tables.stays]
unit = "patient_id"
rows_per_unit = 2
columns.days = { min = 0, max = 90 }

[tables.towns]
public = true
"""

if __name__ == "__main__":
    make(Path(sys.argv[1]))


def _room(account: Any) -> str:
    """What is left by the sums of ε and ρ, as the first versions told it, of the δ that was theirs."""
    left = account.left
    if left is None:
        return "None"
    budget = account.budget
    most = zcdp_of(budget.epsilon, budget.converted) if budget.converted else 0
    rho = max(Fraction(0), most - account.spent.rho)
    ways = [] if left.pure is None else [f"ε = {show(left.pure)}"]
    ways += [f"ρ = {show(rho)}"] if rho or not ways else []
    return " or ".join(ways) + (f", and {show(left.events)} for private keys" if left.events else "")
