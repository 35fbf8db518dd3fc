"""What is read of public tables for nothing is read of no other table."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import discreet as dp
from discreet.engines.duckdb import public_tables
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.files import open_path
from discreet.engines.duckdb.public_tables import OpenedRows, PublicCounts
from discreet.kernel.expressions import Field
from discreet.kernel.relations import Join, JoinInput, Projection
from support.lineage import stored, table

MADE = ["CREATE TABLE p AS SELECT n AS x FROM range(7) AS r(n)", "CREATE TABLE codes AS FROM p"]
PUBLIC = frozenset({"codes"})
X = Field(name="x", kind="integer")


@pytest.fixture
def source(tmp_path: Path) -> DuckDBSource:
    with duckdb.connect(str(tmp_path / "held.duckdb")) as made:
        for each in MADE:
            made.execute(each)
    return open_path(tmp_path / "held.duckdb", ["p", "codes"])


def test_rows_of_people_are_not_counted(source: DuckDBSource) -> None:
    counts = PublicCounts(source, PUBLIC)
    part = JoinInput(source="codes", how="first", names=(("x", "x"),))
    assert counts.most(part, None, ()) == 7
    inside = Projection(source="p", where=None, columns=(), unit=None, called=None)
    for people in ("p", inside, Join(parts=(part, JoinInput(source="p", how="inner", names=(("x", "y"),), on=X)))):
        assert counts.most(JoinInput(source=people, how="first", names=(("x", "x"),)), None, ()) is None


def test_values_of_people_are_not_listed(source: DuckDBSource) -> None:
    rows = OpenedRows(source, PUBLIC)
    assert rows.size("codes") == 7
    assert rows.size("p") == 1 << 63
    assert sorted(rows.combinations("codes", None, [(X, "integer")], 10) or ()) == [(n,) for n in range(7)]
    assert rows.combinations("p", None, [(X, "integer")], 10) is None


def test_what_nobody_pays_for_ends_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question about public tables alone, and one that would be a constant of another."""
    made = [*MADE, "INSERT INTO codes FROM range(100000)"]
    many = ", ".join(f"codes AS c{n}" for n in range(4))
    long = f"SELECT COUNT(*) FROM {many} WHERE c0.x + c1.x + c2.x + c3.x = 1"
    with stored(
        tmp_path / "held.duckdb", made, [table("p", columns={"x": (0, 9)}), table("codes", public=True)]
    ) as one:
        monkeypatch.setattr(public_tables, "SECONDS", 0.2)
        for sql in (long, f"SELECT COUNT(*) FROM p WHERE x = ({long})"):
            with pytest.raises(dp.NotAllowed, match="too long to compute"):
                one.ask(sql, epsilon=1)
