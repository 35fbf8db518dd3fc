"""A function of SQL is one entry: what is written there is parsed, typed, computed, and has a margin."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.kernel.types import SIGNATURES
from discreet.plan.expressions import margins
from discreet.plan.expressions.arithmetic import arithmetic
from discreet.plan.expressions.function import Above, Doc, Function, Spelling
from discreet.plan.expressions.functions import BY_NODE, FUNCTIONS, register

CUBE_ROOT = Function(
    name="cbrt",
    node="Cbrt",
    rule=arithmetic(
        lambda a: (Fraction(math.floor(float(a[0]) ** (1 / 3))), Fraction(math.ceil(float(a[1]) ** (1 / 3)))), "real"
    ),
    spelling=Spelling(text="cbrt({0})", reads="numbers"),
    above=Above(margin=margins.monotone(np.cbrt)),
    doc=Doc("Numbers", "CBRT(x)", "the cube root"),
)


@pytest.fixture
def cube_root(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    register(CUBE_ROOT)
    monkeypatch.setitem(SIGNATURES, "cbrt", SIGNATURES["sqrt"])  # the kernel takes nobody's word for it
    yield
    del FUNCTIONS["cbrt"], BY_NODE["Cbrt"]


@pytest.fixture
def curator() -> dp.Curator:
    data = pa.table({"x": [8] * 1000 + [27] * 1000})
    return dp.open(data, columns={"x": (0, 1000)}, budget=dp.Budget(epsilon=10**9))


@pytest.mark.usefixtures("cube_root")
def test_one_entry_is_all_that_a_function_takes(curator: dp.Curator) -> None:
    asked = curator.ask("SELECT SUM(CBRT(x)) AS s, CBRT(COUNT(*)) AS c FROM data", epsilon=10**6)
    assert asked["s"] == [pytest.approx(5000, abs=1)]
    assert asked["c"] == [pytest.approx(2000 ** (1 / 3), abs=1e-3)]
    low, high = asked.interval()
    assert low["c"][0] <= 2000 ** (1 / 3) <= high["c"][0]
    assert "cbrt(" in str(curator.explain("SELECT SUM(CBRT(x)) FROM data", epsilon=1).sql)


def test_without_its_entry_a_function_is_refused(curator: dp.Curator) -> None:
    with pytest.raises(dp.NotAllowed, match="CBRT"):
        curator.explain("SELECT SUM(CBRT(x)) FROM data", epsilon=1)


def test_no_two_functions_share_a_name_or_a_node() -> None:
    nodes = [each.node for each in FUNCTIONS.values() if each.node]
    assert len(nodes) == len(set(nodes)) == len(BY_NODE)
    assert all(name == each.name for name, each in FUNCTIONS.items())
