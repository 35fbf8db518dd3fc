"""Records of mechanisms: closed, in one normal form, and readable for good."""

from __future__ import annotations

import importlib
import json
import pkgutil
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.core.record import MAX_RECORD_CHARS, _kinds, read, recorded, write

GOLDEN = (Path(__file__).parents[1] / "records.jsonl").read_text().splitlines()
TENTH = dp.Laplace(epsilon="0.1", sensitivity=1)


@pytest.mark.parametrize("text", GOLDEN)
def test_what_was_written_once_is_read_for_good(text: str) -> None:
    """Lines are added to that file, never changed: ledgers in the world hold them."""
    thing = read(text)
    assert write(thing) == text
    assert isinstance(thing, dp.Mechanism)
    assert thing.loss.rho > 0


def test_every_name_is_in_the_golden_file() -> None:
    for module in pkgutil.walk_packages(dp.__path__, "discreet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    everything = "\n".join(GOLDEN)
    for name in _kinds:
        assert f'"is":"{name}"' in everything, name


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "{",
        "[" * 100_000,
        '{"is":"os.system/1"}',
        '{"is":"laplace law/2","scale":{"q":"10"}}',
        '{"is":["laplace law/1"],"scale":{"q":"10"}}',
        '{"is":"laplace law/1"}',
        '{"is":"laplace law/1","scale":{"q":"10"},"more":1}',
        '{"is":"laplace law/1","scale":{"q":"-10"}}',
        '{"is":"laplace law/1","scale":{"q":"0"}}',
        '{"is":"laplace law/1","scale":{"q":"1/0"}}',
        '{"is":"laplace law/1","scale":{"q":"20/2"}}',
        '{"is":"laplace law/1","scale":{"q":"1e9"}}',
        '{"is":"laplace law/1","scale":{"q":"' + "9" * 5000 + '"}}',
        '{"is":"laplace law/1","scale":{"q":10}}',
        '{"is":"laplace law/1","scale":10}',
        '{"is":"laplace law/1","scale":1.5}',
        '{"is":"laplace law/1","scale":NaN}',
        '{"is":"laplace law/1", "scale":{"q":"10"}}',
        '{"scale":{"q":"10"},"is":"laplace law/1"}',
        '{"is":"laplace law/1","is":"laplace law/1","scale":{"q":"10"}}',
        '{"is":"composition/1","parts":[]}',
        '{"is":"composition/1","parts":[1]}',
        '{"__reduce__":"os.system"}',
        "9" * (MAX_RECORD_CHARS + 1),
    ],
)
def test_nothing_else_is_read(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        read(text)


@given(st.text())
def test_whatever_the_text(text: str) -> None:
    try:
        thing = read(text)
    except ValueError:
        return
    assert write(thing) == text


@given(st.integers(0, len(GOLDEN) - 1), st.integers(0, 10**6), st.characters())
def test_a_changed_letter_is_refused_or_means_what_it_says(line: int, at: int, letter: str) -> None:
    text = GOLDEN[line]
    at %= len(text)
    other = text[:at] + letter + text[at + 1 :]
    try:
        thing = read(other)
    except ValueError:
        return
    assert write(thing) == other


def test_equal_things_have_equal_texts() -> None:
    same = [dp.Laplace(epsilon=e, sensitivity=s) for e, s in (("0.1", 1), (Fraction(1, 10), "1"), (0.1, Fraction(1)))]
    assert len({write(one) for one in same}) == 1
    assert json.loads(write(TENTH))["is"] == "noise/1"


def test_what_has_no_name_is_not_written() -> None:
    for thing in (TENTH.then(abs), object(), 0.5, [1], {"a": 1}, dp.compose(TENTH, TENTH.then(abs))):
        with pytest.raises(dp.NotAllowed, match="cannot be written down"):
            write(thing)
    with pytest.raises(dp.NotAllowed, match="longer"):
        write(dp.compose(*[TENTH] * 10_000))


def test_names_are_given_once() -> None:
    for name, kind in (("laplace law/1", type(TENTH.law)), ("Upper/1", type(TENTH)), ("plain/1", int)):
        with pytest.raises(TypeError):
            recorded(name)(kind)
