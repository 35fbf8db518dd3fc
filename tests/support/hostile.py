"""A small clinic, and people who try to make themselves seen in it.

A database is a list of rows. `HOSTILE` has the rows of one person for each way to stand out; `PLACES` puts a database
where a curator can read it; `transcript` is all that an analyst sees of it, with the noisy numbers masked.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.catalogue import declarations
from discreet.catalogue.schema import Catalogue, Csv, Table
from discreet.core.coins import SYSTEM, Coins
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.mechanism import Then
from discreet.core.reach import Reach
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.files import open_path
from discreet.engines.duckdb.frames import open_frame
from discreet.kernel.plan import ExactResult
from discreet.ledger.facts import Charge
from discreet.matrix.mechanism import Combined
from discreet.plan.plan import Plan
from discreet.plan.pricing import plans_for
from support.engines import aggregate, curator_of, unjudged
from support.kit import Script

Row = dict[str, Any]
Rows = list[Row]

COUNT = "SELECT COUNT(*) AS n FROM data"
BY_LEVEL = "SELECT level, COUNT(*) AS n, AVG(cost) AS c FROM data GROUP BY level"

STORED = pa.schema(
    [
        ("id", pa.string()),
        ("sex", pa.string()),
        ("ward", pa.string()),
        ("level", pa.int64()),
        ("age", pa.int64()),
        ("cost", pa.float64()),
        ("gain", pa.float64()),
        ("big", pa.int64()),
        ("note", pa.string()),
        ("day", pa.date32()),
        ("seen", pa.timestamp("us")),
    ]
)
DECLARED: dict[str, Any] = {
    "sex": ["F", "M"],
    "ward": str,
    "level": [1, 2, 3],
    "age": (0, 120),
    "cost": {"min": 0, "max": 1000, "step": "0.01"},
    "gain": (-50, 50),
    "big": {},
    "note": str,
    "day": ("2024-01-01", "2024-03-31"),
    "seen": dt.datetime,
}
UNIQUE = "zz only one is here"
BUDGET = dp.Budget(epsilon=10**4, delta="1e-3")
SALT = 8  # bytes of coins for the choice of groups


def person(name: str | None = "zz", **said: Any) -> Row:
    """A row like any other, but for what is said."""
    plain = {"id": name, "sex": "F", "ward": "north", "level": 1, "age": 40, "cost": 100.0, "gain": 1.5}
    return plain | {"big": 7, "note": "a", "day": dt.date(2024, 1, 31), "seen": dt.datetime(2024, 1, 31, 10)} | said


PEOPLE: Rows = [
    person(
        f"p{n % 90}",
        sex="FM"[n % 2],
        ward=("north", "south", "west")[n % 3],
        level=1 + n * 7 % 3,
        age=n * 13 % 100,
        cost=float(n * 37 % 900) + 0.25,
        gain=float(n * 11 % 80) - 40.5,
        big=n % 4,
        note=("a", "ok so", None, "3.5")[n % 4],
        day=dt.date(2024, 1 + n % 3, 1 + n % 28),
        seen=dt.datetime(2024, 1 + n % 3, 1, 10),
    )
    for n in range(225)
]

EVERYWHERE = [
    person(sex=sex, ward=ward, level=level)
    for sex in ("F", "M")
    for ward in ("north", "south", "west")
    for level in (1, 2, 3)
]
TEXTS = ["it's", 'a "b" c', "one\ntwo", "a,b,c", "n\0ul", "\\", "%_%", "é漢😀\u202e", "'; DROP TABLE data; --", " ", ""]
STRANGE = [*TEXTS, "nan", "inf", "1e400", "-0", "true", "NULL", "x" * 5000]

HOSTILE: dict[str, Rows] = {
    "private key": [person(ward=UNIQUE, note=UNIQUE, big=987654321)],
    "declared key": [person(sex=UNIQUE, level=99, age=-5)],
    "500 rows": [person() for _ in range(500)],
    "500 keys": [person(ward=f"{UNIQUE} {n}", big=10**9 + n, age=n) for n in range(500)],
    "huge": [person(cost=1e9, gain=1e9, age=10**9, level=10**9)],
    "NaN": [person(cost=math.nan, gain=math.nan)],
    "infinity": [person(cost=math.inf, gain=math.inf)],
    "minus infinity": [person(cost=-math.inf, gain=-math.inf)],
    "minus zero": [person(cost=-0.0, gain=-0.0, age=0, big=0)],
    "1e308": [person(cost=1e308, gain=-1e308), person(cost=5e-324, gain=-5e-324)],
    "whole numbers": [
        person(age=big, big=big, level=big) for big in (2**63 - 1, -(2**63), 2**53 + 1, 2**62, -1, 0, 10**15)
    ],
    "NULLs": [dict.fromkeys(STORED.names) | {"id": "zz"}],
    "dates": [
        person(day=day, seen=dt.datetime.combine(day, dt.time.max))
        for day in (dt.date.min, dt.date.max, dt.date(2023, 12, 31), dt.date(2024, 2, 29), dt.date(1969, 12, 31))
    ],
    "nobody": [person(None, ward=UNIQUE), dict.fromkeys(STORED.names)],
    "texts": [person(ward=text, note=text, sex=text) for text in STRANGE],
    "named by text": [person(text) for text in TEXTS[1:2]],
    "everywhere": EVERYWHERE * 3,
}
HOSTILE["all of it"] = [
    row for name, rows in HOSTILE.items() if name not in ("nobody", "named by text") for row in rows
]


# ── where databases are ──────────────────────────────────────────────────────────────────────────────────────────


def arrow(rows: Rows) -> pa.Table:
    return pa.Table.from_pylist(rows, STORED)


def _arrow(rows: Rows, folder: Path) -> DuckDBSource:
    return open_frame(arrow(rows), "data", STORED.names)


def _pandas(rows: Rows, folder: Path) -> DuckDBSource:
    kinds = {pa.int64(): pd.Int64Dtype(), pa.string(): pd.StringDtype()}
    return open_frame(arrow(rows).to_pandas(types_mapper=kinds.get), "data", STORED.names)


def _objects(rows: Rows, folder: Path) -> DuckDBSource:
    """Texts as Python has them."""
    frame = arrow(rows).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    texts = [field.name for field in STORED if field.type == pa.string()]
    return open_frame(frame.astype(dict.fromkeys(texts, object)), "data", STORED.names)


def _polars(rows: Rows, folder: Path) -> DuckDBSource:
    return open_frame(pl.from_arrow(arrow(rows)), "data", STORED.names)


def _parquet(rows: Rows, folder: Path) -> DuckDBSource:
    pq.write_table(arrow(rows), folder / "data.parquet", row_group_size=64)
    return open_path(folder / "data.parquet", ["data"])


def _duckdb(rows: Rows, folder: Path) -> DuckDBSource:
    path = folder / "data.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        connection.register("rows", arrow(rows))
        connection.execute("CREATE TABLE data AS SELECT * FROM rows")
    return open_path(path, ["data"])


def csv_text(rows: Rows) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, STORED.names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _csv(rows: Rows, folder: Path) -> DuckDBSource:
    """Written by a program that quotes line breaks and doubles quotes."""
    (folder / "data.csv").write_text(csv_text(rows), newline="")
    return open_path(folder / "data.csv", ["data"], csv={"data": Csv(newlines=True)})


PLACES: dict[str, Callable[[Rows, Path], DuckDBSource]] = {
    "arrow": _arrow,
    "pandas": _pandas,
    "objects": _objects,
    "polars": _polars,
    "parquet": _parquet,
    "duckdb": _duckdb,
    "csv": _csv,
}


@dataclass(frozen=True, kw_only=True)
class Clinic:
    """Everything about a curator but the rows."""

    folder: Path
    place: str = "arrow"
    unit: str | None = "id"
    neighbours: Any = "add-remove"
    rows_per_unit: int = 5
    groups_per_unit: int = 3
    budget: dp.Budget = BUDGET
    ledger: Any = None

    def curator(self, rows: Rows, coins: Coins = SYSTEM) -> dp.Curator:
        caps = {"rows_per_unit": self.rows_per_unit, "groups_per_unit": self.groups_per_unit} if self.unit else {}
        declared = DECLARED | ({"level": ["1", "2", "3"]} if self.place == "csv" else {})
        columns = tuple(declarations.column(name, said) for name, said in declared.items())
        table = Table(name="data", columns=columns, unit=self.unit, **caps)
        catalogue = Catalogue(name="clinic", budget=self.budget, tables=(table,), neighbours=self.neighbours)
        ledger = dp.Ledger(self.ledger, dataset="clinic", budget=self.budget, neighbours=self.neighbours, unit="person")
        return curator_of(catalogue, PLACES[self.place](rows, self.folder), ledger, coins=coins)

    def exact(self, rows: Rows, plans: Sequence[Plan], coins: Callable[[], Coins]) -> list[ExactResult]:
        """The exact sums of these plans, with the same coins for each."""
        with self.curator(rows) as curator:
            return [look(curator, plan, coins()) for plan in plans]

    def neighbour(self, rows: Rows, hostile: Rows) -> Rows:
        """The same people, and one more; or one of them replaced."""
        if self.neighbours == "add-remove":
            return rows + hostile
        gone = [0] if self.unit is None else [n for n, row in enumerate(rows) if row["id"] == rows[0]["id"]]
        return [row for n, row in enumerate(rows) if n not in gone] + hostile


def look(curator: dp.Curator, plan: Plan, coins: Coins) -> ExactResult:
    """What the engine returns for a plan that was paid for."""
    version = curator.engine.snapshot().version
    receipt = curator.ledger.spend(unjudged(plan), version=version)
    return aggregate(curator, plan, receipt, coins)


def noised(mechanism: Any, change: Any) -> tuple[list[int], Reach]:
    """What the noise of a measure is added to, for a change of its exact data, and how far that may go."""
    if isinstance(mechanism, Then) and isinstance(mechanism.mechanism, Combined):
        (strategy,), (part,) = mechanism.mechanism.strategies, mechanism.mechanism.parts
        dense = strategy.dense().astype(object)
        return [int(x) for x in dense @ change.ravel()], part.reach
    return [int(x) for x in change.flat], mechanism.reach


def plan_of(curator: dp.Curator, sql: str, epsilon: Any = 1) -> Plan:
    return curator.explain(sql, epsilon=epsilon).plan


def plans_of(curator: dp.Curator, sql: str) -> list[Plan]:
    """The plans of a question: its own, or those of the answers that it is made of; none, where it reads no people."""
    told, question = curator.explain(sql, epsilon=1), curator.worked(sql, None)[0]
    if question.composite is None:
        return [told.plan]
    return [plans_for(each, Fraction(1), Fraction(1, 10**7))[0] for each in question.inner]


def exact(clinic: Clinic, rows: Rows, sql: str, salt: bytes = bytes(16)) -> ExactResult:
    with clinic.curator(rows) as curator:
        return look(curator, plan_of(curator, sql), Script(salt))


def total(clinic: Clinic, rows: Rows, sql: str) -> list[int]:
    """All exact sums of a question, one after the other."""
    return [int(x) for part in exact(clinic, rows, sql).sums for x in part.flat]


def bytes_of(answer: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, answer.to_arrow().schema) as writer:
        writer.write_table(answer.to_arrow())
    said = [line for line in repr(answer).splitlines() if not line.startswith("Cost:")]
    return sink.getvalue().to_pybytes() + "\n".join(said).encode()


def charges(ledger: dp.Ledger) -> int:
    return sum(isinstance(entry.fact, Charge) for entry in ledger)


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Asked:
    """A question, and how many of its first columns are keys; private ones are named by chance."""

    sql: str
    keys: int = 0
    private: bool = False
    options: tuple[tuple[str, Any], ...] = (("epsilon", 1),)


SUMS = [  # everything about the people is declared
    Asked("SELECT COUNT(*) AS n FROM data"),
    Asked("SELECT COUNT(DISTINCT id) AS n FROM data"),
    Asked("SELECT COUNT(cost), COUNT(*) FROM data"),
    Asked("SELECT COUNT(note) FROM data WHERE note IS NOT NULL OR sex = 'F'"),
    Asked("SELECT SUM(cost) FROM data"),
    Asked("SELECT SUM(gain) FROM data WHERE NOT sex = 'M'"),
    Asked("SELECT SUM(age), AVG(age), COUNT(*), COUNT(age) FROM data"),
    Asked("SELECT AVG(gain), SUM(LEAST(gain, 0)) FROM data"),
    Asked("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", 1),
    Asked("SELECT level, SUM(gain) AS s, COUNT(DISTINCT id) FROM data GROUP BY level", 1),
    Asked("SELECT sex, level, COUNT(*) AS n, AVG(cost) FROM data GROUP BY sex, level", 2),
    Asked("SELECT FLOOR(age / 10) AS decade, COUNT(*) FROM data GROUP BY decade", 1),
    Asked("SELECT CASE WHEN age > 65 THEN 'old' ELSE 'young' END AS g, COUNT(*), SUM(cost) FROM data GROUP BY g", 1),
    Asked("SELECT age > 50 AS above, AVG(cost / (1 + age)) FROM data GROUP BY above", 1),
    Asked("SELECT SUM(CASE WHEN cost / level > 10 THEN 1 ELSE 0 END), SUM(CASE WHEN gain > 0 THEN cost END) FROM data"),
    Asked("SELECT SUM(LEAST(GREATEST(cost / age, 0), 100)), AVG(cost * gain - age) FROM data"),
    Asked("SELECT SUM(LEAST(GREATEST(CAST(note AS DOUBLE), 0), 10)), COUNT(CAST(note AS INT)) FROM data"),
    Asked("SELECT COUNT(*) FROM data WHERE note LIKE '%a%' OR ward ILIKE 'N_r%'"),
    Asked("SELECT COUNT(*) FROM data WHERE CAST(big AS BIGINT) % 7 = 3 OR 1 / (CAST(big AS INT) - 2) > 0"),
    Asked("SELECT AVG(POWER(gain, 2)), SUM(LEAST(GREATEST(POWER(cost, gain), 0), 9)) FROM data"),
    Asked("SELECT SUM(LEAST(GREATEST(LN(cost), 0), 10)), SUM(LEAST(GREATEST(EXP(gain), 0), 10)) FROM data"),
    Asked("SELECT SUM(SQRT(age)), SUM(SIGN(gain)), SUM(ROUND(cost, 1)), SUM(CEIL(gain)), SUM(-age % 7) FROM data"),
    Asked("SELECT SUM(COALESCE(NULLIF(age, 0), 5)), COUNT(COALESCE(note, ward)) FROM data"),
    Asked(
        "SELECT COUNT(*) FROM data WHERE LENGTH(note || ward) > 7 AND UPPER(SUBSTRING(CONCAT(note, sex), 1, 2)) <> ''"
    ),
    Asked("SELECT COUNT(*) FROM data WHERE age BETWEEN 10 AND 60 AND level IN (1, 3) AND TRIM(LOWER(sex)) = 'f'"),
    Asked("SELECT VAR_SAMP(cost), STDDEV(gain), AVG(cost), COUNT(*) FROM data"),
    Asked("SELECT level, STDDEV_POP(gain * age) AS s, SUM(age) FROM data GROUP BY level", 1),
    Asked("SELECT COVAR_SAMP(age, gain), CORR(cost, gain), REGR_SLOPE(age, cost), COUNT(*) FROM data"),
    Asked("SELECT sex, CORR(age > 50, gain) AS r, VAR_POP(level) FROM data GROUP BY sex", 1),
    Asked("SELECT COUNT(DISTINCT note), COUNT(DISTINCT cost), COUNT(DISTINCT -gain / age) FROM data"),
    Asked("SELECT level, COUNT(DISTINCT CAST(big AS INT)), COUNT(DISTINCT ward || note) FROM data GROUP BY level", 1),
]
CHOSEN = [  # quantiles, extremes and commonest values
    Asked("SELECT MEDIAN(cost) FROM data"),
    Asked("SELECT QUANTILE(gain, 0.1), MEDIAN(gain), QUANTILE(gain, 0.9), COUNT(*) FROM data WHERE NOT sex = 'M'"),
    Asked("SELECT MIN(age), MAX(gain), MEDIAN(LEAST(GREATEST(cost / age, 0), 100)) FROM data"),
    Asked("SELECT level, MEDIAN(age), MAX(cost) FROM data GROUP BY level", 1),
    Asked("SELECT sex, level, QUANTILE(cost, 0.75) AS q, AVG(cost) FROM data GROUP BY sex, level", 2),
    Asked("SELECT MODE(level), MODE(age) FROM data"),
    Asked("SELECT sex, MODE(level), COUNT(DISTINCT cost) FROM data GROUP BY sex", 1),
    Asked("SELECT MEDIAN(day), MIN(day), QUANTILE_HIGH(day, 0.9) FROM data"),
    Asked(
        "SELECT level, QUANTILE_LOW(gain, 0.3), QUANTILE(gain, 0.3), QUANTILE_HIGH(gain, 0.3) FROM data GROUP BY level",
        1,
    ),
]
BY_KEY = [
    Asked("SELECT ward, MEDIAN(cost), MIN(gain), MODE(level) FROM data GROUP BY ward", 1, private=True),
    Asked(
        "SELECT CAST(big AS INT) AS b, QUANTILE(gain, 0.4), QUANTILE(gain, 0.6) FROM data GROUP BY b", 1, private=True
    ),
]
SUMS += [
    Asked("SELECT DATE_TRUNC('month', day) AS m, COUNT(*), SUM(day - DATE '2024-01-01') FROM data GROUP BY m", 1),
    Asked("SELECT MONTH(seen) AS m, COUNT(*) FILTER (WHERE day + INTERVAL 1 MONTH > seen) FROM data GROUP BY m", 1),
    Asked("SELECT DAYNAME(day) AS d, LEFT(sex, 1) AS s, COUNT(*) FROM data WHERE seen > '2024-01-15' GROUP BY d, s", 2),
    Asked("SELECT day - 7 AS w, COUNT(DISTINCT id) FROM data WHERE DATE_DIFF('hour', seen, day) < 5 GROUP BY w", 1),
    Asked("SELECT COUNT(*) FROM data WHERE day + big > seen OR CAST(note AS DATE) - INTERVAL 900 YEAR < LAST_DAY(day)"),
]
AFTER = [  # and then something is done with the answer, in which the noise cannot matter
    Asked("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex HAVING n > -100000000 ORDER BY sex DESC LIMIT 1", 1),
    Asked("SELECT level, RANK() OVER (ORDER BY level), SUM(COUNT(*)) OVER (ORDER BY level) FROM data GROUP BY 1", 2),
    Asked("SELECT COUNT(*) AS groups, SUM(n) FROM (SELECT sex, COUNT(*) AS n FROM data GROUP BY sex) AS t", 1),
    Asked("SELECT 100 * AVG(age) / NULLIF(SUM(age), 0) + 1 AS x FROM data"),
    Asked("SELECT COUNT(*) FROM data", options=(("within", 25),)),
    Asked("WITH t AS (SELECT level, AVG(age) AS a FROM data GROUP BY 1) SELECT level, a FROM t WHERE level > 1", 1),
]  # fmt: skip
PRIVATE = [
    Asked("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", 1, private=True),
    Asked("SELECT ward, sex, SUM(cost), COUNT(DISTINCT id) FROM data GROUP BY ward, sex", 2, private=True),
    Asked("SELECT DISTINCT ward FROM data", 1, private=True),
    Asked("SELECT UPPER(note) AS t, AVG(age) FROM data GROUP BY t", 1, private=True),
    Asked("SELECT CAST(big AS BIGINT) AS b, COUNT(*) FROM data GROUP BY b", 1, private=True),
    Asked("SELECT ward, STDDEV(cost), COUNT(DISTINCT note) FROM data GROUP BY ward", 1, private=True),
    Asked("SELECT seen, COUNT(*) AS n FROM data GROUP BY seen", 1, private=True),
    Asked("SELECT YEAR(seen) AS y, DATE_TRUNC('week', seen) AS w, COUNT(*) FROM data GROUP BY y, w", 2, private=True),
]
REFUSED = [
    Asked(sql)
    for sql in (
        "SELECT * FROM data",
        "SELECT ward FROM data",
        "SELECT MODE(ward) FROM data",
        "SELECT SUM(CAST(big AS DOUBLE)) FROM data",
        "SELECT SUM(cost / gain) FROM data",
        "SELECT id, COUNT(*) FROM data GROUP BY id",
        "SELECT UPPER(id) AS x, COUNT(*) FROM data GROUP BY x",
        "SELECT cost, COUNT(*) FROM data GROUP BY cost",
        "SELECT COUNT(*) FROM nothing",
        "SELECT COUNT(secret) FROM data",
        "SELECT COUNT(*) FROM data; DROP TABLE data",
        "DELETE FROM data",
        "SELECT COUNT(*) FROM data AS a JOIN data AS b ON a.id = b.id",
        "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
        "SELECT COUNT(*) OVER (PARTITION BY ward) FROM data",
        "SELECT error(ward) FROM data",
        "SELECT COUNT(*) FROM data WHERE age > 'a'",
        "nonsense",
    )
] + [Asked("SELECT COUNT(*) FROM data", options=(("epsilon", 10**9),)), Asked("SELECT COUNT(*) FROM data", options=())]
ROUNDS = [
    Asked("SELECT COUNT(*) FROM data WHERE age > (SELECT AVG(age) FROM data)"),
    Asked("SELECT COUNT(*) FROM data WHERE sex IN (SELECT sex FROM data GROUP BY sex HAVING COUNT(*) > -1000)"),
]  # what is compared with is an answer, which a remark shows
QUESTIONS = [*SUMS, *AFTER, *PRIVATE, *REFUSED, *ROUNDS]
RARE = "1e-13"  # the δ for naming private keys here: no test fails by chance more often


# ── what an analyst sees ─────────────────────────────────────────────────────────────────────────────────────────


def masked(text: str) -> str:
    """A text without its numbers, or what stands for none, and its spaces, which depend on the width of the numbers."""
    text = re.sub(r"[-−]?\d[\d,.]*(e[+-]?\d+)?|∞|–", "#", text)
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def seen(curator: dp.Curator, asked: Asked) -> list[object]:
    """All that comes back but noisy numbers: status, text, columns, kinds, keys, cost, what is left."""
    options = dict(asked.options) | ({"delta": RARE} if asked.private else {})
    try:
        answer = curator.ask(asked.sql, **options)
    except (dp.Refusal, dp.Broken) as no:
        return [type(no).__name__, str(no), str(curator.left)]
    found: list[object] = ["answer", answer.columns, answer.kinds, repr(answer.cost), answer.left, answer.bill.entry]
    arrow = answer.to_arrow()
    remarks = [masked(line) if line.startswith("A subquery was asked first") else line for line in answer.bill.remarks]
    found += [str(arrow.schema), str(curator.left), remarks]
    if asked.private:
        keys = [key for row in answer for key in row[: asked.keys]]
        assert UNIQUE not in str(keys)
        assert 987654321 not in keys
        return found
    found += [len(answer), [list(answer.data.columns[n]) for n in range(asked.keys)]]
    found += [masked(repr(answer))]
    for n, (name, values) in enumerate(zip(answer.columns, answer.data.columns, strict=True)):
        key = n < asked.keys or name in DECLARED
        known = [each for each in values if each is not None] if key else values
        assert all(value is not None and str(value) != "nan" for value in known), (asked.sql, name)
    return found


def transcript(curator: dp.Curator, asked: Sequence[Asked], *, explain: bool) -> Iterator[tuple[str, list[object]]]:
    """Every question, asked, and before that perhaps explained."""
    for each in asked:
        if explain:
            yield each.sql, explained(curator, each)
        yield each.sql, seen(curator, each)
    yield "the curator", [repr(curator), [type(entry.fact).__name__ for entry in curator.ledger]]


def explained(curator: dp.Curator, asked: Asked) -> list[object]:
    try:
        said = curator.explain(asked.sql, **dict(asked.options))
    except dp.Refusal as no:
        return [type(no).__name__, str(no)]
    try:
        plan = repr(said.plan)
    except dp.Refusal:  # a question of several has several
        plan = said.facts.key
    return [str(said), repr(said.cost), said.margins(), said.margins(simultaneous=True), plan]


# ── what happens inside ──────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Call:
    """One use of a mechanism or a law: which, on what shape, how many coins it took; and what came of it."""

    who: str
    what: str
    shape: tuple[int, ...]
    coins: int
    came: Any = None

    @property
    def outside(self) -> Call:
        return replace(self, came=None)


@contextmanager
def recorded(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Call]]:
    """Every release and every draw, in order."""
    calls: list[Call] = []

    def watch(kind: type, method: str) -> None:
        plain = getattr(kind, method)

        def wrapped(self: Any, given: Any, coins: Any = SYSTEM) -> Any:
            before = getattr(coins, "used", 0)
            came = plain(self, given, coins)
            shape = (int(given),) if method == "draw" else np.shape(given)
            calls.append(Call(f"{kind.__name__}.{method}", repr(self), shape, getattr(coins, "used", 0) - before, came))
            return came

        monkeypatch.setattr(kind, method, wrapped)

    with monkeypatch.context() as patch:
        monkeypatch = patch
        for kind in (dp.Noise, dp.Threshold, dp.GaussianThreshold):
            watch(kind, "release")
        for law in (DiscreteLaplace, DiscreteGaussian):
            watch(law, "draw")
        yield calls


# ── in a process of its own ──────────────────────────────────────────────────────────────────────────────────────


def ask_twelve(folder: Path, marks: str, said: Path) -> None:
    """Twelve questions, and what came back."""
    declared = {name: said for name, said in DECLARED.items() if name != "note"}
    columns: dict[str, Any] = {"columns": declared, "rows_per_unit": 5, "groups_per_unit": 3}
    curator = dp.open(
        folder / "data.parquet", budget=BUDGET, unit="id", ledger=folder / "clinic.ledger", marks=marks, **columns
    )
    found: dict[str, list[Any]] = {"bytes": [], "paid": []}
    for n in range(12):
        answer = curator.ask(f"SELECT level, COUNT(*), AVG(cost) FROM data WHERE age > {n} GROUP BY level", epsilon=1)
        found["bytes"].append(str(list(answer)))
        found["paid"].append(int(answer.cost.pure or 0))
    said.write_text(json.dumps(found))
