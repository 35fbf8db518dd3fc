"""Whatever one analyst gives up, others go on: bounds that were paid for and never found, looks at the unit index."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb.snapshot import DuckDBSnapshot, RunningQuery
from discreet.errors import Interrupted

CATALOGUE = """\
[dataset]
name = "t"
source = "t.parquet"
budget = { epsilon = "100", delta = "1e-6" }
ledger = "t.ledger"

[tables.t]
unit = "id"
rows_per_unit = 2
columns.w = { values = ["a", "b"], required = true }
columns.c = { min = 0, max = "auto" }
"""
WAITS = 30  # how often a question may be begun


def opened(folder: Path) -> dp.Curator:
    n = range(4000)
    rows = pa.table({"id": [k // 2 for k in n], "w": ["ab"[k % 2] for k in n], "c": [k % 50 for k in n]})
    pq.write_table(rows, folder / "t.parquet")
    (folder / "t.toml").write_text(CATALOGUE)
    return dp.Curator.load(folder / "t.toml")


def test_a_bound_that_was_never_found_keeps_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as curator:

        def interrupted(*_: object) -> None:
            raise Interrupted("given up")

        with monkeypatch.context() as patch:
            patch.setattr(DuckDBSnapshot, "aggregate", lambda *_, **__: interrupted())
            for _ in range(WAITS + 1):
                with pytest.raises((Interrupted, dp.Stopped)):
                    curator.ask("SELECT SUM(c) FROM t", epsilon="2")
        with pytest.raises(dp.Stopped, match="waits for the owner"):
            curator.ask("SELECT SUM(c) FROM t", epsilon="2")
        for epsilon in ("0.5", "1"):
            assert curator.ask("SELECT SUM(c) FROM t", epsilon=epsilon).cost != dp.Loss.ZERO


def test_a_look_that_is_given_up_leaves_the_index_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as curator:
        curator.index()
        plain = DuckDBSnapshot._found

        def late(self: DuckDBSnapshot, plan: object, texts: object, look: RunningQuery, index: object = None) -> object:
            if index is not None:
                look.cancel()
                raise TimeoutError("it took too long")
            return plain(self, plan, texts, look, index)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(DuckDBSnapshot, "_found", late)
            with pytest.raises(Interrupted):
                curator.ask("SELECT w, COUNT(*) FROM t GROUP BY w", epsilon="1")
        index = curator.engine.latest.index_store.current(curator.engine.latest.version)
        assert index.trusted
