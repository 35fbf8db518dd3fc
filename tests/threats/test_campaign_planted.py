"""The campaign proves its own strength: each of a handful of planted defects is found within a minute."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.engines.duckdb import connection
from support.campaign.planted import PLANTS


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_defect_is_found(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)
    PLANTS[name].put(monkeypatch)
    found = PLANTS[name].hunt(tmp_path)
    assert found is not None
    print(found)
