"""The quick part of the tests: one case of each function, without those on record as slow, which there are."""

from __future__ import annotations

import re
from pathlib import Path

from mutants.mutant import file_of_test
from support.quick import chosen, recorded

TESTS = Path(__file__).parent


def test_the_first_case_of_each_that_is_not_slow() -> None:
    asked = {
        "tests/test_a.py::test_one[1]": True,
        "tests/test_a.py::test_one[2]": False,
        "tests/plan/test_b.py::test_one[x::y]": True,
        "tests/plan/test_b.py::test_slow[1]": False,
        "tests/plan/test_b.py::test_slow[2]": False,
        "tests/plan/test_b.py::test_two": True,
        "tests/test_layers.py::test_no_arrow[1]": True,
        "tests/test_layers.py::test_no_arrow[2]": True,
    }
    assert chosen(list(asked), ["test_b.py::test_slow"]) == list(asked.values())


def test_what_is_on_record_as_slow_is_there() -> None:
    slow = recorded()
    assert slow == sorted(set(slow))
    for file in {each.partition("::")[0] for each in slow}:
        there = re.findall(r"^def (test_\w+)", file_of_test(file, TESTS).read_text(), re.M)
        assert {each for each in slow if each.startswith(f"{file}::")} <= {f"{file}::{name}" for name in there}
