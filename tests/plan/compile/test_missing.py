"""Rows without a value, and with values that are not declared: a group of their own, or none, as the answer says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from support.clinic import clinic
from support.kit import required

SEX = ["F", "M", "?", None, "F", "M", "F"]
LEVEL = [1, 2, None, 4, 5, 99, -3]
DAYS = ["2024-01-01", "2024-01-02", None, "2030-01-01"]
ROWS = 840
COLUMNS: dict[str, Any] = {
    "sex": {"values": ["F", "M"], "other": True}, "level": (0, 5), "flag": {}, "sort": ["a", "b"],
    "door": {"values": [1, 2], "other": -1}, "ward": required({"w": ["x", "y"]})["w"] | {"other": "elsewhere"},
}  # fmt: skip
LABEL = "CASE WHEN {0} IN ('{1}', '{2}') OR {0} IS NULL THEN {0} ELSE '{3}' END"
PLAIN = {  # what a key that is a column means
    "sex": LABEL.format("sex", "F", "M", "other"),
    "ward": LABEL.format("ward", "x", "y", "elsewhere"),
    "door": "CASE WHEN door IN (1, 2) OR door IS NULL THEN door ELSE -1 END",
    "level": "level",
    "flag": "flag",
}
KEYS = ["sex", "ward", "door", "level", "flag", "sex, flag", "door, level", "level > 2", "flag, ward, sex"]
WHERE = ["", "sex <> 'F'", "sex IS NOT NULL", "sex IN ('F', '?')", "sex IS DISTINCT FROM 'M'", "door <> 1 OR flag",
         "flag IS NULL", "level BETWEEN 1 AND 4", "sex = 'F' OR ward = 'z'", "door > 1 AND level > door",
         "ward LIKE 'x%' OR level IS NULL", "NOT (sex = 'F' OR flag)", "COALESCE(sex, 'F') = 'F'"]  # fmt: skip


def people() -> pa.Table:
    n = range(ROWS)
    return pa.table({
        "who": [i // 3 for i in n], "sex": [SEX[i % 7] for i in n], "level": [LEVEL[i * 3 % 7] for i in n],
        "flag": [[True, False, None][i % 3] for i in n], "door": [[1, 2, 3, 4, None][i % 5] for i in n],
        "ward": ["xyz"[i % 3] for i in n], "sort": ["abc"[i % 3] for i in n],
    })  # fmt: skip


@pytest.fixture(scope="module", params=[None, "who"])
def asked(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dp.Curator]:
    said: dict[str, Any] = {"unit": "who", "rows_per_unit": 9, "groups_per_unit": 9} if request.param else {}
    folder = tmp_path_factory.mktemp("missing")
    with clinic(folder, people(), columns=COLUMNS, budget=dp.Budget(epsilon=10**12), **said) as curator:
        yield curator


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("keys", KEYS)
def test_groups_are_those_of_duckdb(asked: dp.Curator, keys: str, where: str) -> None:
    """With so large a cost that there is no noise; levels that are not declared are in no group."""
    visits = people()  # noqa: F841
    test = f" WHERE {where}" if where else ""
    answer = asked.ask(f"SELECT {keys}, COUNT(*) FROM visits{test} GROUP BY {keys}", epsilon=10**6)
    plain = ", ".join(PLAIN.get(each, each) for each in keys.split(", "))
    declared = "(level IS NULL OR level BETWEEN 0 AND 5)" if "level" in keys and ">" not in keys else "TRUE"
    both = f"WHERE {declared}" + (f" AND ({where})" if where else "")
    expected = {tuple(row[:-1]): row[-1] for row in duckdb.sql(
        f"SELECT {plain}, COUNT(*) FROM visits {both} GROUP BY ALL").fetchall()}  # fmt: skip
    found = {tuple(row)[:-1]: tuple(row)[-1] for row in answer}
    assert {key: n for key, n in found.items() if n} == expected
    assert len(found) == len(list(answer))


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT level, COUNT(*) FROM visits GROUP BY level",
         "Values of `level` other than those declared are in no group."),
        ("SELECT level, sort, COUNT(*) FROM visits GROUP BY ALL",
         "Values of `level` and `sort` other than those declared are in no group."),
        ("SELECT level // 2 AS half, COUNT(*) FROM visits GROUP BY half",
         "Values of `half` that do not follow from those declared are in no group."),
        ("SELECT k, COUNT(*) FROM (SELECT sort AS k FROM visits) GROUP BY k",
         "Values of `k` other than those declared are in no group."),
        ("SELECT sex, COUNT(*) FROM visits GROUP BY sex", None),
        ("SELECT flag, COUNT(*) FROM visits GROUP BY flag", None),
        ("SELECT level > 2 AS high, COUNT(*) FROM visits GROUP BY high", None),
        ("SELECT level % 2 AS odd, COUNT(*) FROM visits GROUP BY odd",  # -1 of less than zero
         "Values of `odd` that do not follow from those declared are in no group."),
        ("SELECT CASE WHEN level = 1 THEN 'a' ELSE 'b' END AS c, COUNT(*) FROM visits GROUP BY c", None),
        ("SELECT level, COUNT(*) FROM visits WHERE level IN (1, 2) GROUP BY level", None),
        ("SELECT level, COUNT(*) FROM visits WHERE level BETWEEN 1 AND 2 GROUP BY level", None),
        ("SELECT sort, COUNT(*) FROM visits WHERE sort = 'a' GROUP BY sort", None),
        ("SELECT sort, COUNT(*) FROM visits WHERE sort <> 'a' GROUP BY sort",
         "Values of `sort` other than those declared are in no group."),
        ("SELECT k, COUNT(*) FROM (SELECT who, MAX(sort) AS k FROM visits GROUP BY who) GROUP BY k",
         "Values of `k` other than those declared are in no group."),
        ("SELECT k, COUNT(*) FROM (SELECT who, MAX(level) AS k FROM visits GROUP BY who) GROUP BY k", None),
        ("SELECT k, COUNT(*) FROM (SELECT who, COUNT(*) AS k FROM visits GROUP BY who) GROUP BY k", None),
        ("SELECT k, COUNT(*) FROM (SELECT LAG(level) OVER (PARTITION BY who ORDER BY door) AS k FROM visits)"
         " GROUP BY k",
         "Values of `k` other than those declared are in no group."),
        ("SELECT COUNT(*) FROM visits", None),
    ],
)  # fmt: skip
def test_an_answer_says_which_values_are_in_no_group(asked: dp.Curator, sql: str, said: str | None) -> None:
    """Whether there are such values or not: it follows from the question and the declarations."""
    if "who" in sql and asked.catalogue.tables[0].unit is None:
        return
    for text in (repr(asked.ask(sql, epsilon=10**6)), str(asked.explain(sql, epsilon=1))):
        lines = [line for line in text.splitlines() if "in no group" in line]
        assert lines == ([] if said is None else [said])


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"min": 0, "max": 9, "other": True}, "has no values"),
        ({"other": True}, "has no values"),
        ({"values": [True, False], "other": True}, "has no values"),
        ({"values": [1, 2], "other": True}, "one of the same kind"),
        ({"values": [1, 2], "other": "x"}, "one of the same kind"),
        ({"values": [1, 2], "other": 2}, "one of the same kind"),
        ({"values": ["a", "other"], "other": True}, "one of the same kind"),
        ({"values": ["a"], "other": 1}, "one of the same kind"),
        ({"values": ["a"], "other": "x" * 2000}, "one of the same kind"),
        ({"values": ["a"], "other": None}, "one of the same kind"),
    ],
)
def test_what_cannot_stand_for_others(tmp_path: Path, said: Any, why: str) -> None:
    with pytest.raises(dp.NotUnderstood, match=why):
        clinic(tmp_path, people(), columns={"level": said})


def test_no_text_stands_for_a_date(tmp_path: Path) -> None:
    rows = pa.table({"day": pa.array([19000, 19001], pa.int32()).cast(pa.date32())})
    with pytest.raises(dp.NotUnderstood, match="holds dates"):
        clinic(tmp_path, rows, columns={"day": {"values": ["2022-01-08", "2022-01-09"], "other": True}})


def test_others_are_counted_for_each_unit_and_read_from_an_index(tmp_path: Path) -> None:
    said: dict[str, Any] = {"unit": "who", "rows_per_unit": 9, "groups_per_unit": 9, "ledger": tmp_path / "l"}
    sql = "SELECT ward, COUNT(DISTINCT who) AS n FROM visits GROUP BY ward"
    with clinic(tmp_path, people(), columns=COLUMNS, budget=dp.Budget(epsilon=10**9), **said) as curator:
        before = list(curator.ask(sql, epsilon=10**6))
        curator.index()
        assert "reads the index" in str(curator.explain(sql, epsilon=10**5))
        assert (
            list(curator.ask(sql, epsilon=10**5)) == before == [(each, ROWS // 3) for each in ("x", "y", "elsewhere")]
        )
