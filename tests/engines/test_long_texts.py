"""Long texts and names: what is read of them is bounded, and as different as they are.

One person has a name, or texts, of a megabyte, stored once and meant by thousands of rows. Whatever an engine does row
by row is bounded by what is read of a text, so no question fails for one person.
"""

from __future__ import annotations

import hashlib
import random
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.dialect import Stored
from discreet.engines.sql.expressions import DIGEST, LONG_TEXT, shortened
from discreet.engines.sql.relations import render_from
from discreet.kernel.relations import UnitLimit
from discreet.kernel.types import MAX_LETTERS, MAX_PATTERN, SEARCHED, is_fast_pattern
from discreet.plan.expressions.functions import FUNCTIONS
from support.lineage import asked, stored, table


def form(text: str) -> str:
    """What is read of a text, in Python."""
    if len(text.encode()) < LONG_TEXT:
        return text
    return text[: LONG_TEXT - DIGEST] + hashlib.sha256(text.encode()).hexdigest()


LETTERS = ("a", "é", "\U0001f600")
LONG = [
    letter * n + end for letter in LETTERS for n in (499, 500, 999, 1935, 1936, 1999, 2000, 5000) for end in ("", "z")
]


def test_what_is_read_is_as_different_as_what_is_stored() -> None:
    """Also where somebody is called as another's long name is read."""
    texts = list(dict.fromkeys([*LONG, *map(form, LONG), *(form(form(each)) for each in LONG), "", "a"]))
    rows = duckdb.execute(f"SELECT x, {shortened('x', DUCKDB)} FROM unnest(?) AS t(x)", [texts]).fetchall()
    assert {read for _, read in rows} == {form(each) for each in texts}
    assert len({read for _, read in rows}) == len(texts)
    assert all(len(read.encode()) <= 4 * LONG_TEXT for _, read in rows)
    assert duckdb.execute(f"SELECT {shortened('NULL::VARCHAR', DUCKDB)}").fetchall() == [(None,)]


@pytest.mark.parametrize("letter", LETTERS)
def test_constants_meet_what_is_read_as_they_meet_what_is_stored(letter: str) -> None:
    """Comparisons and beginnings, with constants that are shorter than what is read of a long text."""
    dice = random.Random(letter)
    for _ in range(200):
        text = "".join(dice.choice([letter, "b"]) for _ in range(3)) + letter * dice.choice([5, 1900, 2100, 4000])
        constant = text[: dice.choice([0, 1, 5, 400])] + dice.choice(["", "a", "z"])
        for sign in ("=", "<", ">", "<>", ">=", "<="):
            said = f"SELECT $x {sign} $c, ({shortened('$x', DUCKDB)}) {sign} $c"
            (found,) = duckdb.execute(said, {"x": text, "c": constant}).fetchall()
            assert found[0] == found[1]


TABLES = [
    table("t", "who", columns={"s": {}, "x": (0, 9), "ward": ["u", "v"]}, rows_per_unit=3, groups_per_unit=2),
    table("b", "who", columns={"y": (0, 9)}, rows_per_unit=3),
    table("p", public=True, columns={"z": (0, 9)}),
]
QUESTIONS = [
    "SELECT COUNT(*) FROM t",
    "SELECT COUNT(DISTINCT who) FROM t",
    "SELECT ward, COUNT(*) FROM t GROUP BY ward",
    "SELECT COUNT(DISTINCT s) FROM t",
    "SELECT MEDIAN(x) FROM t",
    "SELECT MODE(ward) FROM t",
    "SELECT SUM(n) FROM (SELECT who, COUNT(*) AS n FROM t GROUP BY who)",
    "SELECT COUNT(DISTINCT who) FROM (SELECT who FROM t UNION ALL SELECT who FROM b)",
    "SELECT COUNT(DISTINCT who) FROM (SELECT who, x FROM t UNION ALL SELECT who, COUNT(*) FROM t GROUP BY who)",
    "SELECT SUM(x) FROM (SELECT who, x FROM t UNION ALL SELECT who, n FROM"
    " (SELECT who, n FROM (SELECT who, COUNT(*) AS n FROM b GROUP BY who)))",
    "SELECT COUNT(*) FROM (SELECT who, x FROM (SELECT who, x, s FROM t WHERE x < 9) WHERE LENGTH(s) > 1)",
]


def people(name: str) -> list[str]:
    """Thirty people, and one of this name; each has more rows than count."""
    return [
        f"CREATE TABLE t AS SELECT CASE i % 31 WHEN 0 THEN {name} ELSE 'p' || i % 31 END AS who, 's' || i AS s,"
        " 1 AS x, ['u', 'v'][1 + i % 2] AS ward FROM range(310) AS r(i)",
        f"CREATE TABLE b AS SELECT {name} AS who, 1 AS y FROM range(5)",
        "CREATE TABLE p AS SELECT i AS z FROM range(10) r(i)",
    ]


def test_whoever_has_a_long_name_is_one_person_on_every_way(tmp_path: Path) -> None:
    """As if the name were short: whether it is read in a table, a SELECT inside or a UNION ALL of both."""
    curators = [
        stored(tmp_path / f"{n}.duckdb", people(name), TABLES) for n, name in enumerate(("'me'", "repeat('n', 3000)"))
    ]
    for sql in [each for each in QUESTIONS if "M" not in each.split("(", maxsplit=1)[0]]:
        first, second = (sum(asked(each, sql)) for each in curators)  # which rows of a unit count is another matter
        assert first == second, sql


def test_one_long_name_and_many_rows_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of some kilobytes, in which a name and a text of a megabyte are written once."""
    monkeypatch.setenv("DISCREET_MEMORY", "300MB")
    monkeypatch.setenv("DISCREET_THREADS", "1")
    one = [pa.array(np.zeros(2000, np.int32)), pa.array(["n" * 1_000_000], pa.large_string())]
    long = pa.DictionaryArray.from_arrays(*one)
    wards = pa.array(["u", "v"] * 1000).dictionary_encode()
    rows = pa.table({"who": long, "s": long, "x": [1] * 2000, "ward": wards})
    pq.write_table(rows, tmp_path / "t.parquet", compression="zstd", dictionary_pagesize_limit=1 << 30)
    said = {"columns": {"s": str, "x": (0, 9), "ward": ["u", "v"]}, "unit": "who", "rows_per_unit": 3}
    with dp.open(tmp_path / "t.parquet", name="t", budget=dp.Budget(epsilon=100), groups_per_unit=2, **said) as curator:
        for sql in [each for each in QUESTIONS if " b" not in each]:
            curator.ask(sql, epsilon=1)
        for function in ("LOWER(s)", "SPLIT_PART(s, 'n', 7)", "REPLACE(s, 'n', 'nnn')", "LPAD(s, 999, 'x')", "s || s"):
            curator.ask(f"SELECT COUNT(*) FROM t WHERE {function} = 'x'", epsilon=1)
            curator.ask(f"SELECT COUNT(DISTINCT {function}) FROM t", epsilon=1)


def test_rows_of_nobody_meet_nothing(tmp_path: Path) -> None:
    """They are left out before a join, and not after it."""
    made = ["CREATE TABLE t AS SELECT CASE WHEN i < 5 THEN i END AS who, i AS x FROM range(1000) AS r(i)"]
    connection = duckdb.connect()
    connection.execute(made[0])
    for kind, source in product(("integer", "real", "text"), ("t", None)):
        tables = {"t": Stored({"who": kind, "x": "integer"}, DUCKDB)}
        connection.execute(f"CREATE OR REPLACE TABLE s AS SELECT who::{TYPES[kind]} AS who, x FROM t")
        relation: Any = "t" if source else UnitLimit(source="t", unit="who", columns=("x",), most=10**6)
        text, _ = render_from(UnitLimit(source=relation, unit="who", columns=("x",), most=10**6), lambda _: "s", tables)
        assert connection.execute(f"SELECT count(*) FROM {text}", {"salt": 1}).fetchall() == [(5,)]


TYPES = {"integer": "BIGINT", "real": "DOUBLE", "text": "VARCHAR"}


# ── patterns ─────────────────────────────────────────────────────────────────────────────────────────────────────


def steps(text: str, pattern: str) -> int:
    """How many letters an engine compares, at most, that tries every place for every %."""
    if not pattern:
        return 1
    if pattern[0] == "%":
        rest = pattern.lstrip("%")
        return 1 if not rest else sum(steps(text[n:], rest) for n in range(len(text) + 1))
    if text and pattern[0] in ("_", text[0]):
        return 1 + steps(text[1:], pattern[1:])
    return 1


def test_patterns_take_few_steps() -> None:
    """Every pattern that is allowed and has _ takes at most as many steps as there are letters, times its own."""
    dice = random.Random(7)
    seen = 0
    for _ in range(3000):
        pattern = "".join(dice.choice("aaaa%_b") for _ in range(dice.randrange(1, 14)))
        if "_" not in pattern or not is_fast_pattern(pattern):
            continue
        seen += 1
        for text in ("a" * 40, "a" * 39 + "b", "ab" * 20):
            assert steps(text, pattern) <= (len(text) + 1) * (len(pattern) + 1)
    assert seen > 300
    slow = "%a%a%a_b"
    assert not is_fast_pattern(slow)
    assert steps("a" * 40, slow) > 40 * 40 * 4  # what is refused does take more
    assert SEARCHED * LONG_TEXT <= 100_000 <= MAX_PATTERN * LONG_TEXT


@pytest.mark.parametrize(("pattern", "allowed"), [
    ("%a_c%", True), ("a_c%", True), ("_%", True), ("%_", True), ("%%a_%%", True), ("a%b%c%d", True),
    ("%a%_%", False), ("a%b_c%d", False), ("%" + "a" * 48 + "_", True), ("%" + "a" * 49 + "_", False),
    ("_" * 200, True),
])  # fmt: skip
def test_which_patterns_are_quick(pattern: str, allowed: bool) -> None:
    assert is_fast_pattern(pattern) is allowed


@pytest.mark.parametrize("how", ["LIKE", "ILIKE"])
def test_texts_are_found_as_before(how: str) -> None:
    """Small letters and capitals, of several alphabets, and what only looks like a pattern."""
    texts = [
        "Straße",
        "STRASSE",
        "İstanbul",
        "istanbul",
        "ΣΊΣΥΦΟΣ",
        "σίσυφος",
        "a%b",
        "a_b",
        "a\\b",
        "A\nB",
        "",
        "É",
        "é",
    ]
    for text, pattern in product(texts, [*texts, "%a%b", "A_B", "%É%", "s%e", "%"]):
        said = str(FUNCTIONS[how.lower()].spelling.text).format("$x", "$p")
        plain = duckdb.execute(f"SELECT $x {how} $p", {"x": text, "p": pattern}).fetchall()
        assert duckdb.execute(f"SELECT {said}", {"x": text, "p": pattern}).fetchall() == plain


def test_so_many_letters_are_made_and_no_more(tmp_path: Path) -> None:
    """Of each row: a function of a column makes as many as are read of it, unless it cuts or fills it up."""
    curator = stored(tmp_path / "d.duckdb", people("'me'"), TABLES)
    most = MAX_LETTERS // 2000
    for many, form in (
        (most, "LOWER(s)"),
        (600, "LEFT(s, {n})"),
        (most // 2, "'x' || UPPER(s)"),
        (600, "LPAD(s, 90, 'é')"),
    ):
        conditions = [f"{form.format(n=n % 50)} = '{n}'" for n in range(many)]
        assert asked(curator, f"SELECT COUNT(*) FROM t WHERE {' OR '.join(conditions)}") == [0]
    wide = [f"CONCAT({', '.join(['LPAD(s, 1000, chr)'.replace('chr', repr('é'))] * 5)}, '{n}') = 'y'" for n in range(7)]
    more = [f"LOWER(s) = '{n}'" for n in range(most + 1)]
    for refused in (
        " OR ".join(more),
        " OR ".join(wide),
        " OR ".join(f"s ILIKE '{n}'" for n in range(most + 1)),
    ):
        with pytest.raises(dp.NotAllowed, match="text functions make up to"):
            curator.explain(f"SELECT COUNT(*) FROM t WHERE {refused}")


SEEN = [  # how many of a hundred notes of 3,000 times the letter g, which no digest has
    ("LENGTH(note) = 1936", 100, True),
    ("note LIKE '%0%' OR note LIKE '%1%' OR note LIKE '%a%' OR note LIKE '%f%'", 0, True),
    ("RIGHT(note, 1) = 'g' AND ENDS_WITH(note, 'gg') AND REVERSE(note) LIKE 'gg%'", 100, True),
    ("CONTAINS(note, 'e') OR STRPOS(note, 'e') > 0", 0, True),
    ("STARTS_WITH(note, 'gg') AND LEFT(note, 3) = 'ggg' AND note LIKE 'g%'", 100, False),
]


@pytest.mark.parametrize(("condition", "truth", "said"), SEEN)
def test_functions_see_letters_of_the_text_alone_and_the_answer_says_which(
    condition: str, truth: int, said: bool
) -> None:
    rows = pa.table({"note": ["g" * 3000] * 100})
    with dp.open(rows, columns={"note": str}, budget=dp.Budget(epsilon=10**6)) as curator:
        answer = curator.ask(f"SELECT COUNT(*) AS n FROM data WHERE {condition}", epsilon=1000)
    assert list(answer) == [(truth,)]  # another number is drawn with a probability below e^-900
    assert ("first 1,936 letters" in str(answer)) == said
