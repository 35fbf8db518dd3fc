"""Widths: every whole number that SQL computes fits its type, on data that meet the last condition and on data that do
not, for any number of conditions, at every bound and beyond. What comes out is what Python's whole numbers say.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.core.contribution import ContributionBounds
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.engines.duckdb import connection as source
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.sums import capped_totals, plain_totals, repeated, row_totals
from discreet.kernel.check import check
from discreet.kernel.exact_data import CODE_WORD, CODED, RowSums
from discreet.kernel.expressions import Apply, Field, Literal, Tree
from discreet.kernel.ranges import LARGEST, running_totals
from discreet.kernel.types import ROWS
from discreet.kernel.verdict import Rejected
from discreet.matrix.strategy import Identity, Strategy
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.measure import MAX_STEPS
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.sums import Sums
from discreet.plan.plan import Plan
from discreet.plan.regions import regions
from support import hostile as h
from support.lineage import asked, exact, stored, table

SOAK = bool(os.environ.get("DISCREET_SOAK"))
BUDGET = dp.Budget(epsilon=10**9, delta="1e-6")
MANY = [1, 2, 32, 50, 51, 62, 63, 64, 65, 66, 100, 101, 126, 127, 128, 129, 130, 151, 400]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(source.SETTINGS, "threads", 1)


# ── conditions ───────────────────────────────────────────────────────────────────────────────────────────────────


def seen(salaries: list[float], conditions: int) -> list[object]:
    """What comes back of so many questions at once, but for the numbers."""
    data = pa.table({"salary": pa.array(salaries, pa.float64())})
    questions = [f"SELECT COUNT(*) AS n FROM data WHERE salary >= {1000 + n}" for n in range(conditions)]
    with dp.open(data, columns={"salary": (0, 10**6)}, budget=BUDGET) as curator:
        try:
            answers = curator.ask_many(questions, epsilon=1000)
        except (dp.Refusal, dp.Broken) as no:
            return [type(no).__name__, str(no)]
        return [(each.columns, each.kinds, len(each), repr(each.cost), each.bill.remarks) for each in answers]


@pytest.mark.parametrize("conditions", [127, 128])
def test_the_last_condition_is_no_oracle(conditions: int) -> None:
    """The finding: whether somebody meets the 128th condition decided whether there was an answer."""
    nobody, somebody = (seen([1.0, 2.0, last], conditions) for last in (3.0, 999.0 + conditions))
    assert nobody == somebody
    assert nobody[0] != "Broken"


def below(n: int) -> Tree:
    return Apply(function=">=", arguments=(Field(name="x", kind="integer"), Literal(value=n)), kind="boolean")


def batch(conditions: int, *, every: bool = False) -> CountBatch:
    """Counts of rows that are at least 1, 2, …; with `every`, of all rows, too."""
    trees: list[Tree | None] = [*([None] if every else []), *(below(n + 1) for n in range(conditions - every))]
    found = regions(trees)
    assert found is not None
    return CountBatch(of=found.code, values=found.codes, strategy=Strategy((Identity(len(found.codes)),)))


def planned(curator: dp.Curator, sql: str, measure: Any) -> Plan:
    plan = h.plan_of(curator, sql)
    return replace(plan, measures=(measure,), laws=(DiscreteLaplace(Fraction(1)),), naming=None)


@pytest.fixture(scope="module")
def ladders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dp.Curator]]:
    """Rows with x from 0 to 400, each once; the same without those that are 1 or more; and both by unit."""
    folder, found = tmp_path_factory.mktemp("ladders"), {}
    for name, most in (("met", 401), ("not met", 1)):
        made = [f"CREATE TABLE a AS SELECT n AS x, n % 7 AS who, n % 2 AS k FROM range({most}) AS r(n)"]
        columns = {"x": (0, 400), "k": [0, 1]}
        for unit, caps in ((None, {}), ("who", {"rows_per_unit": 5, "groups_per_unit": 1})):
            tables = [table("a", unit, columns=columns, **caps)]
            found[f"{name} {unit}"] = stored(folder / f"{name} {unit}.duckdb", made, tables)
    yield found
    for each in found.values():
        each.close()


@pytest.mark.parametrize("conditions", range(1, 401) if SOAK else MANY)
def test_any_number_of_conditions_is_counted_exactly(ladders: dict[str, dp.Curator], conditions: int) -> None:
    for every in (False, True) if SOAK else (conditions % 2 == 0,):
        measure = batch(conditions, every=every)
        wanted = [0] * len(measure.values)
        for x in range(401):
            code = "".join(["1"] * every + ["1" if x > n else "0" for n in range(conditions - every)])
            if "1" in code:
                wanted[measure.values.index(code)] += 1
        for grouped in ("", ", k") if SOAK or conditions in (1, 64, 127, 128) else ("",):
            sql = f"SELECT COUNT(*){grouped} FROM a{' GROUP BY k' if grouped else ''}"
            by_row, by_unit = (planned(ladders[f"met {unit}"], sql, measure) for unit in (None, "who"))
            found = exact(ladders["met None"], by_row).sums[0]
            assert found.sum(axis=1).tolist() == wanted
            capped = exact(ladders["met who"], by_unit).sums[0]
            assert capped.min() >= 0
            assert capped.sum() == 7 * 5
            nothing = exact(ladders["not met None"], by_row).sums[0]
            assert nothing.sum() == every
            assert exact(ladders["not met who"], by_unit).sums[0].sum() == every


def test_all_bits_of_a_row_at_once() -> None:
    """The largest number that a row can have, for each number of conditions: all are true."""
    curator = dp.open(pa.table({"x": [10**6]}), columns={"x": (0, 400)}, budget=BUDGET)
    for conditions in MANY if SOAK else (1, 50, 51, 64, 100, 101, 127, 128):
        plan = planned(curator, "SELECT COUNT(*) FROM data", batch(conditions))
        assert exact(curator, plan).sums[0].sum() == 1
        there = [each.most for each in check(plan, curator.catalogue).widths if each.what.startswith("the code of")]
        assert there[0] == 2 ** (conditions if conditions <= CODED else CODE_WORD) - 1
        assert len(there) == (1 if conditions <= CODED else -(-conditions // CODE_WORD))
    assert 2**CODED < LARGEST[128] == 10**38 - 1 < 2**127  # Arrow has 38 digits
    assert 2**CODE_WORD < LARGEST[64] == 2**63 - 1


# ── sums ─────────────────────────────────────────────────────────────────────────────────────────────────────────

FAR = 1 << 48
STEPS = [(0, 1), (-1, 1), (0, 2**15 - 1), (0, 2**15), (-(2**15), 2**15 - 1), (0, 2**31), (-(2**31) - 1, 5),
         (0, 2**32 - 1), (0, 2**32), (FAR - 7, FAR), (-FAR // 2, FAR // 2), (-FAR, 1 - FAR)]  # fmt: skip
TYPES = ["TINYINT", "UTINYINT", "SMALLINT", "INTEGER", "UINTEGER", "BIGINT", "UBIGINT", "HUGEINT", "DOUBLE", "FLOAT"]
ENDS = {"TINYINT": (-128, 127), "UTINYINT": (0, 255), "SMALLINT": (-(2**15), 2**15 - 1),
        "INTEGER": (-(2**31), 2**31 - 1), "UINTEGER": (0, 2**32 - 1), "BIGINT": (-(2**63), 2**63 - 1),
        "UBIGINT": (0, 2**64 - 1), "HUGEINT": (-(2**127), 2**127 - 1), "DOUBLE": (-1e308, 1e308),
        "FLOAT": (-3e38, 3e38)}  # fmt: skip


def rows_at(kind: str, low: int, high: int) -> list[Any]:
    """Values at the ends of a type and of the bounds, and beside them."""
    least, most = ENDS[kind]
    near = [n + d for n in (low, high, 0, 2**31, 2**53) for d in (-1, 0, 1)]
    exactly = {float(n): n for n in near} if kind in ("DOUBLE", "FLOAT") else {n: n for n in near}
    precise = 2**24 if kind == "FLOAT" else 2**53
    if kind in ("DOUBLE", "FLOAT"):
        exactly = {each: n for each, n in exactly.items() if abs(n) <= precise}
    kept = [n for n in exactly.values() if least <= n <= most]
    return [*sorted(set(kept)), least, most]


def clamped(value: Any, low: int, high: int) -> int:
    return low if value < low else high if value > high else int(value)


@pytest.mark.parametrize("kind", TYPES)
def test_sums_at_every_bound_of_every_type(tmp_path: Path, kind: str) -> None:
    """SUM, AVG and COUNT of values at the ends of their type and of their bounds, with and without a cap."""
    for number, (low, high) in enumerate(STEPS):
        if not SOAK and (number + TYPES.index(kind)) % 3:
            continue
        values = rows_at(kind, low, high)
        spelled = ", ".join(f"('{each}'::{kind})" for each in values)
        made = [f"CREATE TABLE a AS SELECT x, row_number() OVER () % 2 AS who FROM (VALUES {spelled}) AS r(x)"]
        columns = {"x": {"min": low, "max": high, "step": 1}}
        by_row, by_unit = (
            stored(tmp_path / f"{number} {unit}.duckdb", made, [table("a", unit, columns=columns, **caps)])
            for unit, caps in ((None, {}), ("who", {"rows_per_unit": 3}))
        )
        with by_row, by_unit:
            whole = [clamped(each, low, high) for each in values if abs(each) < 2**200]
            if kind in ("DOUBLE", "FLOAT"):  # not a whole number that BIGINT holds, and so no value
                whole = [clamped(each, low, high) for each in values[:-2]]
            assert asked(by_row, "SELECT SUM(x) FROM a") == [sum(whole)]
            found = asked(by_row, "SELECT AVG(x), COUNT(x) FROM a")
            assert found == [sum(high - each for each in whole), sum(each - low for each in whole)]
            people = by_unit.engine.latest.source.cursor().execute("SELECT who, x FROM data.main.a").fetchall()
            plan = h.plan_of(by_unit, "SELECT SUM(x), COUNT(*), VARIANCE(x) FROM a")
            for measure, sums in zip(plan.measures, exact(by_unit, plan).sums, strict=True):
                assert isinstance(measure.exact, RowSums)
                lost = kind in ("DOUBLE", "FLOAT")
                given = [(who, None if lost and abs(x) >= 2**63 else x) for who, x in people]
                assert [int(each) for each in sums.flat] == in_python(measure.exact, given, 3)
            assert all(each.fits for each in check(plan, by_unit.catalogue).widths)


def in_python(measure: RowSums, rows: Iterable[tuple[int, Any]], cap: int) -> list[int]:
    """The parts of a measure, of units that count with so many rows in proportion."""
    found = [0] * len(measure.forms)
    people: dict[int, list[Any]] = {}
    for who, x in rows:
        people.setdefault(who, []).append(x)
    for own in people.values():
        for n, form in enumerate(running_totals(measure)):
            total = sum(of_row(measure, form, x) for x in own)
            if len(own) > cap:
                total = abs(total) * cap // len(own) * (1 if total >= 0 else -1)
            found[n] += total
    return [(b - a) // measure.grain for a, b in itertools.pairwise([0, *found])]


def of_row(measure: RowSums, form: Any, x: Any) -> int:
    """What a row adds to a weighted sum."""
    total = 0
    for powers, weight in form.items():
        if powers and x is None:
            continue
        product = 1
        for power, value in zip(powers, measure.values, strict=False):
            steps = 1 if value.step is None else stepped(x, value) - value.base
            product *= steps**power
        total += weight * product
    return total


def stepped(x: Any, value: Any) -> int:
    """The nearest step, clamped: halves to the even one, as doubles are rounded."""
    if value.step == 1 and not isinstance(x, float):
        return clamped(x, value.low, value.high)
    return clamped(round(Fraction(float(x) / float(value.step))), value.low, value.high)


# ── as many rows as there can be ─────────────────────────────────────────────────────────────────────────────────

X, Y = Field(name="x", kind="integer"), Field(name="y", kind="integer")
ONE = Fraction(1)
WIDEST: list[Sums | Moments] = [
    Sums(parts=("rows",)),
    Sums(parts=("present", "missing"), of=X),
    Sums(parts=("sum",), of=X, low=-MAX_STEPS, high=MAX_STEPS),
    Sums(parts=("low", "high", "missing"), of=X, low=-MAX_STEPS, high=MAX_STEPS),
    Moments(of=(X,), low=(-7,), high=(2**31 - 7,), step=(ONE,), degree=(2,), missing=True),
    Moments(of=(X, Y), low=(0, 0), high=(2**31, 2**31), step=(ONE, ONE), degree=(1, 1)),
    Moments(of=(X, Y), low=(5, 0), high=(2**20 + 5, 2**20), step=(ONE, ONE), degree=(1, 2), missing=True),
    Moments(of=(X, Y), low=(-(2**15), 0), high=(0, 2**15), step=(ONE, ONE), degree=(2, 2), missing=True),
]


@pytest.mark.parametrize("measure", WIDEST, ids=str)
@pytest.mark.parametrize("cap", [1, 10, 1 << 20, 1 << 32])
def test_a_unit_with_all_rows_that_there_can_be(measure: Sums | Moments, cap: int) -> None:
    """The SQL that cuts a unit short, evaluated at ROWS rows with values at both ends: as Python computes it."""
    exact = measure.exact
    assert isinstance(exact, RowSums)
    if ROWS * exact.most_added * cap > LARGEST[128]:
        return  # such a plan is refused
    names = [each.rsplit(" AS ", 1)[1] for each in row_totals([measure], DUCKDB)]
    powers = dict.fromkeys(powers for form in exact.forms for powers in form if powers)
    with duckdb.connect() as connection:
        for ends in itertools.product(*((value.low - value.base, value.high - value.base) for value in exact.values)):
            for r in (ROWS, ROWS - 1, cap + 1, cap):
                row = {each: r * int(np.prod([int(e) ** p for e, p in zip(ends, each, strict=True)], dtype=object))
                       for each in powers}  # fmt: skip
                kinds = ["BIGINT" if not sum(each) else "HUGEINT" for each in powers]
                given = [f"({value})::{kind} AS {name}" for (value, kind, name) in
                         zip(row.values(), kinds, names, strict=True)]  # fmt: skip
                rows = ", ".join([*given, f"{r}::BIGINT AS r"])
                source = f"SELECT {rows}"
                if repeated([measure]):
                    source = f"SELECT r, {', '.join(plain_totals([measure], DUCKDB, named=True))} FROM ({source})"
                text = f"SELECT {', '.join(capped_totals([measure], str(cap), cap, DUCKDB))} FROM ({source})"
                found = connection.execute(text).fetchall()[0]
                for form, value in zip(running_totals(exact), found, strict=True):
                    total = sum(weight * (row[each] if each else r) for each, weight in form.items())
                    assert abs(total) <= ROWS * exact.most_added
                    cut = total if r <= cap else abs(total) * cap // r * (1 if total >= 0 else -1)
                    assert value == cut


@pytest.mark.parametrize("parts", ["sum", "low high", "low high missing"])
def test_no_row_moves_a_running_total_further_than_is_said(parts: str) -> None:
    small = [Sums(parts=tuple(parts.split()), of=X, low=low, high=high) for low, high in ((-3, 4), (0, 5), (-6, -2))]
    small += [
        Moments(of=(X,), low=(low,), high=(low + 5,), step=(ONE,), degree=(2,), missing=True) for low in (-2, 0, 3)
    ]
    for measure in (each.exact for each in small):
        assert isinstance(measure, RowSums)
        value = measure.values[0]
        moves = [
            of_row(measure, form, x)
            for form in running_totals(measure)
            for x in (*range(value.low, value.high + 1), None)
        ]
        assert max(map(abs, moves)) == measure.most_added


def test_a_plan_that_could_be_too_wide_is_refused_before_it_is_paid() -> None:
    """Only a union or a join of many rows can be: what is declared of one table is at most 2^20 rows."""
    far = {"x": (0, 2**31 - 3)}
    data = pa.table({"x": [1], "who": [1]})
    curator = dp.open(data, columns=far, unit="who", rows_per_unit=1 << 20, budget=BUDGET)
    rows = " UNION ALL ".join(["SELECT x FROM data"] * 16)
    accepted = curator.explain(f"SELECT STDDEV(x) FROM ({rows})", epsilon=1).plan
    with pytest.raises(dp.NotAllowed, match="larger steps") as told:
        curator.explain(f"SELECT STDDEV(x) FROM (SELECT x FROM ({rows}) UNION ALL SELECT x FROM ({rows}))", epsilon=1)
    assert told.value.code == "too-wide"
    wider = replace(accepted, caps=ContributionBounds(unit="who", rows=1 << 32, groups=1))
    with pytest.raises(Rejected):
        check(wider, curator.catalogue)
    check(replace(wider, measures=(WIDEST[3],)), curator.catalogue)


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────

PLACES = [0, 2**31, 2**53, 2**62, 2**63, 2**64, -(2**31), -(2**53), -(2**63)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["BIGINT", "UBIGINT", "HUGEINT"])
def test_keys_at_the_ends_of_types(tmp_path: Path, place: int, kind: str) -> None:
    """Declared as a list or as a span; on data that have them, and on data that do not; every row a unit, or not."""
    least, most = ENDS[kind]
    near = [place + n for n in range(-3, 4)]
    there = [each for each in near if least <= each <= most]
    held = ", ".join(f"(({each})::{kind})" for each in there)
    ways = list(itertools.product(((near[1], near[-2]), near[1:-1]), (None, "who")))
    for declared, unit in ways if SOAK else ways[:: 3 if PLACES.index(place) % 2 else 2]:
        caps = {"rows_per_unit": 2, "groups_per_unit": 2} if unit else {}
        tables = [table("a", unit, columns={"k": declared, "x": (0, 9)}, filled=True, **caps)]
        for empty in (False, True):
            rows = f"(VALUES {held}) AS r(k)" if there else f"(SELECT NULL::{kind} AS k) AS r"
            made = [f"CREATE TABLE a AS SELECT k, k AS who, 1 AS x FROM {rows} WHERE {not empty}"]
            with stored(tmp_path / "held.duckdb", made, tables) as curator:
                found = asked(curator, "SELECT k, COUNT(*) FROM a GROUP BY k")
                assert len(found) == 5
                known = [each in there and not empty and -(2**63) <= each < 2**63 for each in near[1:-1]]
                assert found == [int(each) for each in known]
                assert len(asked(curator, "SELECT k, SUM(x), COUNT(DISTINCT x) FROM a GROUP BY k")) == 10
                assert asked(curator, f"SELECT COUNT(*) FROM a WHERE k >= {place}") == [
                    0 if empty else sum(each >= place for each in there)
                ]


# ── within one unit ──────────────────────────────────────────────────────────────────────────────────────────────


def test_caps_whose_product_no_type_holds_are_refused_and_others_cut_nothing_off(tmp_path: Path) -> None:
    """Seven tables of a million rows of each unit would be 2^140 rows; seven of seven rows are below 10^6."""
    a, few = (
        table(name, "who", rows_per_unit=rows, columns={"x": (0, 9)}) for name, rows in (("a", 1 << 20), ("few", 7))
    )
    made = [f"CREATE TABLE {name} AS SELECT n % 3 AS who, n AS x FROM range(4) AS r(n)" for name in ("a", "few")]
    with stored(tmp_path / "held.duckdb", made, [a, few]) as curator:
        for total, wanted in (("COUNT(*)", [128, 1, 1]), ("SUM(a.x)", [192, 1, 2]), ("COUNT(DISTINCT a.x)", [2, 1, 1])):
            for name in ("a", "few"):
                joins = "".join(f" JOIN {name} AS b{n} ON a.who = b{n}.who" for n in range(6))
                inside = f"SELECT a.who AS who, {total} AS n FROM {name} AS a{joins} GROUP BY a.who"
                sql = f"SELECT COUNT(*) FROM ({inside}) WHERE n >= "
                if name == "a":
                    with pytest.raises(dp.NotAllowed, match="joined rows here"):
                        curator.explain(f"{sql} 1")
                    continue
                for value in (0, 1, 2, 64, 128, 191, 192):
                    assert asked(curator, f"{sql} {value}") == [sum(each >= value for each in wanted)], sql
                assert not re.findall(r"\d{39,}", curator.engine.latest.sql(h.plan_of(curator, f"{sql} 1")))


def test_steps_at_their_largest_within_one_unit(tmp_path: Path) -> None:
    a = table("a", "who", rows_per_unit=1 << 20, columns={"x": {"min": -FAR, "max": FAR, "step": 1}})
    made = [f"CREATE TABLE a AS SELECT n % 2 AS who, {2**63 - 1} - n AS x FROM range(1000) AS r(n)"]
    with stored(tmp_path / "held.duckdb", made, [a]) as curator:
        inside = "SELECT who, SUM(x) AS s, AVG(x) AS m FROM a GROUP BY who"
        assert asked(curator, f"SELECT COUNT(*) FROM ({inside}) WHERE s = {500 * FAR} AND m = {FAR}") == [2]
