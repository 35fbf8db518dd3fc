"""Every mutant fits the present source and names tests that there are; `make mutants` sees whether they notice it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from mutants import MUTANTS
from mutants.mutant import Edit, Mutant, Stale, file_of_test

TESTS = Path(__file__).parents[1]
SOURCE = TESTS.parent / "src"


@cache
def functions(file: Path) -> frozenset[str]:
    """The test functions of a file."""
    names = (node.name for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef))
    return frozenset(name for name in names if name.startswith("test_"))


def check(mutant: Mutant, source: Path = SOURCE) -> None:
    """Refuse one that is stale."""
    assert mutant.edits
    assert mutant.tests
    for path, text in mutant.changed(source).items():
        assert text != path.read_text()
        ast.parse(text)
    for test in mutant.tests:
        file, function = file_of_test(test, TESTS), test.partition("::")[2].partition("[")[0]
        if function and function not in functions(file):
            raise Stale(f"there is no {test}")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_is_not_stale(mutant: Mutant) -> None:
    check(mutant)


def test_the_cases_of_tests_that_are_named_are_there() -> None:
    """A list of cases may have become shorter, so those that a mutant names are collected."""
    named = {each for mutant in MUTANTS for each in mutant.arguments(TESTS) if each.endswith("]")}
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *sorted(named)]
    done = subprocess.run(words, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def test_names_are_unique() -> None:
    assert [name for name, times in Counter(each.name for each in MUTANTS).items() if times > 1] == []


GOOD = Edit("discreet.some:Class.method", "return 1", "return 2")
HERE = "test_mutants.py::test_names_are_unique"
STALE = {
    "there is no module discreet.other": (Edit("discreet.other:f", "a", "b"), HERE),
    "there is no discreet.some:Class.other": (Edit("discreet.some:Class.other", "a", "b"), HERE),
    "discreet.some has this 2 times: return 1": (Edit("discreet.some", "return 1", "return 2"), HERE),
    "discreet.some:VALUE has this 0 times: return 1": (Edit("discreet.some:VALUE", "return 1", ""), HERE),
    "0 files of tests are named test_nothing.py": (GOOD, "test_nothing.py::test_names_are_unique"),
    "0 files of tests are named other/test_mutants.py": (GOOD, "other/test_mutants.py"),
    "there is no test_mutants.py::test_nothing[1]": (GOOD, "test_mutants.py::test_nothing[1]"),
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    text = (
        "VALUE = 1\n\ndef f():\n    return 1\n\nclass Class:\n    @property\n    def method(self):\n        return 1\n"
    )
    (tmp_path / "discreet").mkdir()
    (tmp_path / "discreet" / "some.py").write_text(text)
    return tmp_path


@pytest.mark.parametrize("why", STALE)
def test_a_stale_one_is_refused(why: str, source: Path) -> None:
    edit, test = STALE[why]
    check(Mutant("good", [GOOD], [HERE]), source)
    with pytest.raises(Stale) as refused:
        check(Mutant("stale", [edit], [test]), source)
    assert str(refused.value) == why


def test_one_that_cannot_be_read_is_refused(source: Path) -> None:
    with pytest.raises(SyntaxError):
        check(Mutant("clumsy", [Edit("discreet.some:f", "return 1", "return (")], [HERE]), source)


@pytest.mark.parametrize("where", ["discreet.some:Class.method", "discreet.some:Class"])
def test_one_definition_is_changed(where: str, source: Path) -> None:
    (changed,) = Mutant("one", [Edit(where, "return 1", "return 2")], [HERE]).changed(source).values()
    assert changed.count("return 1") == changed.count("return 2") == 1
    assert changed.index("return 1") < changed.index("class")
