"""Every file has its folder because of what it may import."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from support.kit import said_by

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "discreet"
MAY_IMPORT = {
    "errors": set(),
    "layout": set(),
    "numerals": set(),
    "core": {"errors", "numerals", "core"},
    "accounting": {"errors", "core", "accounting"},
    "mechanisms": {"errors", "core", "accounting", "mechanisms"},
    "local": {"errors", "core", "local"},
    "ledger": {"errors", "core", "layout", "accounting", "ledger"},
    "sql": {"errors", "numerals", "sql"},
    "plan": {"errors", "layout", "core", "mechanisms", "accounting", "sql", "plan"},
    "learn": {"errors", "core", "mechanisms", "accounting", "plan", "learn"},
    "workload": {"errors", "layout", "core", "mechanisms", "accounting", "plan", "workload"},
    "engines": {"errors", "core", "plan", "engines"},
    "batching": {"errors", "core", "mechanisms", "sql", "plan", "workload"},
    "many": {"errors", "core", "sql", "plan", "batching"},
    "opening": {"errors", "core", "ledger", "plan", "engines"},
    "curator": {"errors", "core", "ledger", "sql", "plan", "engines", "batching", "many", "opening"},
    "lab": {"errors", "core", "layout", "mechanisms", "local", "curator", "lab"},
    "__main__": {"cli"},
    "cli": {"errors", "core", "layout", "ledger", "sql", "plan", "engines", "curator", "lab", "cli"},
}
OUTSIDE = {"numpy", "cryptography", "flint"}
EXTRAS = {  # imported where they are needed
    "ledger": {"psycopg", "matplotlib"},
    "accounting": {"dp_accounting"},
    "sql": {"sqlglot"},
    "plan": {"duckdb", "pyarrow", "pandas", "polars", "matplotlib"},
    "learn": {"sklearn", "matplotlib"},
    "workload": {"threadpoolctl"},
    "engines": {"duckdb", "pyarrow"},
    "lab": {"scipy", "matplotlib", "duckdb", "pyarrow"},
    "local": {"matplotlib"},
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_arrow_points_up(path: Path) -> None:
    layer = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    if layer == "__init__":
        return
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "discreet":
            assert rest, f"{path} imports the whole package"
            assert rest[0] in MAY_IMPORT[layer], f"{layer} must not import {name}"
        else:
            allowed = OUTSIDE | EXTRAS.get(layer, set()) | set(sys.stdlib_module_names)
            assert top in allowed, f"{path} imports {name}"


def test_nothing_imports_a_test_module() -> None:
    for path in (ROOT / "tests").rglob("*.py"):
        for name in imports(path):
            assert not any(part.startswith("test_") for part in name.split(".")), f"{path} imports {name}"


def test_nothing_draws_from_another_source() -> None:
    for path in SOURCE.rglob("*.py"):
        names = imports(path)
        assert "random" not in names, path
        assert "secrets" not in names, path
        assert "np.random" not in path.read_text(), path


def test_importing_is_light() -> None:
    """Nothing heavy comes along; how long it takes is in the benchmark."""
    code = "import sys, discreet; print(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    heavy = {"scipy", "pandas", "polars", "pyarrow", "duckdb", "sqlglot", "matplotlib", "mpmath", "asyncio", "unittest"}
    heavy |= {"sklearn"}
    assert not heavy & set(said_by(sys.executable, "-c", code).split())


def test_functions_stay_small() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                assert node.end_lineno is not None
                assert node.end_lineno - node.lineno <= 60, f"{path}: {node.name}"
