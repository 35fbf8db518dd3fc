"""Every file has its folder because of what it may import: CONTRIBUTING.md says what, and these tests read it."""

from __future__ import annotations

import ast
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from discreet import errors
from discreet.errors import CODES, Refusal
from support.kit import said_by

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "discreet"
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
EVERYWHERE = {"errors", "numerals"}
ROW = re.compile(r"^\| `([\w/]+)` \| .* \|([\w/, ]*)\|$", re.M)
MAY_IMPORT = {
    folder: {each.strip() for each in named.split(",") if each.strip()} for folder, named in ROW.findall(GUIDE)
}
ALONE = {"__init__": None, "__main__": {"cli"}, "errors": set(), "numerals": set()}  # files that are in no folder
OUTSIDE = {"numpy", "cryptography", "flint"}
EXTRAS = {  # imported where they are needed
    "ledger": {"psycopg", "matplotlib"},
    "accounting": {"dp_accounting"},
    "sql": {"sqlglot"},
    "answers": {"pyarrow", "pandas", "polars", "matplotlib"},
    "postprocess": {"duckdb"},
    "learn": {"sklearn", "matplotlib"},
    "matrix": {"threadpoolctl"},
    "engines": {"duckdb", "pyarrow"},
    "curator": {"pyarrow"},
    "lab": {"scipy", "matplotlib", "duckdb", "pyarrow"},
    "local": {"matplotlib"},
}
FILES = sorted(SOURCE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """Whole names of what is imported, wherever: `discreet.plan.plan` of `from discreet.plan import plan`."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def folder_of(path: Path) -> str:
    """The folder of a file, or the name of one that is in none."""
    inside = path.relative_to(SOURCE)
    return inside.parent.as_posix() if len(inside.parts) > 1 else inside.stem


def target(name: str) -> str:
    """The folder that a whole name is in."""
    parts = name.split(".")[1:]
    for end in range(len(parts), 0, -1):
        path = SOURCE.joinpath(*parts[:end])
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.exists():
                return folder_of(file)
    raise AssertionError(f"{name} is nowhere")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_arrow_points_up(path: Path) -> None:
    folder = folder_of(path)
    may = ALONE[folder] if folder in ALONE else MAY_IMPORT[folder] | {folder} | EVERYWHERE
    for name in imports(path):
        top = name.partition(".")[0]
        if top == "discreet":
            assert "." in name, f"{path} imports the whole package"
            assert may is None or target(name) in may, f"{folder} must not import {name}"
        else:
            allowed = OUTSIDE | EXTRAS.get(folder.partition("/")[0], set()) | set(sys.stdlib_module_names)
            assert top in allowed, f"{path} imports {name}"


def test_the_table_is_of_folders_that_exist_and_arrows_that_are_needed() -> None:
    needed: dict[str, set[str]] = {}
    for path in FILES:
        ours = {target(name) for name in imports(path) if name.startswith("discreet.")}
        needed.setdefault(folder_of(path), set()).update(ours)
    assert set(MAY_IMPORT) == set(needed) - set(ALONE)
    for folder, named in MAY_IMPORT.items():
        assert named == needed[folder] - {folder} - EVERYWHERE, folder


def test_folders_have_an_order() -> None:
    """No cycle, but for packages that show what is in the folders within."""
    below: dict[str, set[str]] = {}
    for path in FILES:
        if path.name != "__init__.py":
            ours = {target(name) for name in imports(path) if name.startswith("discreet.")}
            below.setdefault(folder_of(path), set()).update(ours - {folder_of(path)})
    assert len(list(TopologicalSorter(below).static_order())) >= len(MAY_IMPORT)


def test_folders_stay_small() -> None:
    for folder in MAY_IMPORT:
        files = [path for path in (SOURCE / folder).glob("*.py") if path.name not in ("__init__.py", "__main__.py")]
        assert len(files) <= 14, folder


def test_places_in_the_guide_exist() -> None:
    for place in re.findall(r"`((?:src|tests|docs|scripts|[a-z_]+/)[\w/.]*\.(?:py|md|txt))`", GUIDE):
        assert (SOURCE / place).exists() or (ROOT / place).exists(), place
    for place in re.findall(r"`((?:[a-z_]+/)+)`", GUIDE):
        assert (SOURCE / place).is_dir() or (ROOT / place).is_dir(), place


def test_who_is_meant_has_a_type() -> None:
    """No `Any` in the place of a curator, a ledger or an engine."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            named = [node] if isinstance(node, ast.arg) else []
            name = (
                named[0].arg
                if named
                else node.target.id
                if (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name))
                else ""
            )
            if name in ("curator", "ledger", "engine") and node.annotation is not None:
                assert ast.unparse(node.annotation) != "Any", f"{path}: {name}"


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


def test_every_refusal_has_a_code_that_is_listed() -> None:
    """Wherever one is made, by its class or by the parser's `refuse`: a constant of `CODES`. None is listed in vain."""
    refusals = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, Refusal)}
    used = set[str]()
    for path in FILES:
        for call in ast.walk(ast.parse(path.read_text())):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "id", getattr(call.func, "attr", ""))
            if name == "__init__":  # of a class of refusals that has one code
                name = getattr(getattr(call.func, "value", None), "id", "")
            if name in refusals | {"NotPoints", "refuse"}:
                codes = [each.value for each in call.keywords if each.arg == "code"]
                assert len(codes) == 1, f"{path}:{call.lineno} has no code"
                assert isinstance(codes[0], ast.Constant), f"{path}:{call.lineno}"
                used.add(str(codes[0].value))
    assert used == set(CODES)
