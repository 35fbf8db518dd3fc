"""The quick part of the tests: one case of each function, without those on record as slow, which there are."""

from __future__ import annotations

import ast
from pathlib import Path

from mutants.mutant import file_of_test
from quick import RECORD, chosen

TESTS = Path(__file__).parent


def test_the_first_case_of_each_that_is_not_slow() -> None:
    asked = {
        "tests/test_a.py::test_one[1]": True,
        "tests/test_a.py::test_one[2]": False,
        "tests/plan/test_b.py::test_one[x::y]": True,
        "tests/plan/test_b.py::test_slow[1]": False,
        "tests/plan/test_b.py::test_slow[2]": False,
        "tests/plan/test_b.py::test_two": True,
    }
    assert chosen(list(asked), ["test_b.py::test_slow"]) == list(asked.values())


def test_what_is_on_record_as_slow_is_there() -> None:
    recorded = RECORD.read_text().split()
    assert recorded == sorted(set(recorded))
    for file in {each.partition("::")[0] for each in recorded}:
        nodes = ast.parse(file_of_test(file, TESTS).read_text()).body
        there = {f"{file}::{node.name}" for node in nodes if isinstance(node, ast.FunctionDef)}
        assert {each for each in recorded if each.partition("::")[0] == file} <= there
