"""The benchmark of TPC-H, loaded as a module: its questions, its catalogues and its data."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

__all__ = ["REFUSED", "tpch"]

BENCH = Path(__file__).parents[2] / "bench" / "tpch.py"
REFUSED = {("q4", "supplier"): "rows that belong to no unit"}  # as they stand


def _loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tpch", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["tpch"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tpch = _loaded()
