"""The reach of a measure, found again by trying every unit of a few rows in a few groups."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest

from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.reach import Neighbours
from discreet.kernel.expressions import Apply, Field, Literal
from discreet.plan.measures import moments
from discreet.plan.measures.distinct import Distinct, UnitsWhere
from discreet.plan.measures.measure import Noised
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.sums import Sums

OF = Field(name="x", kind="integer")
MEASURES = [
    Sums(parts=("rows",)),
    Sums(parts=("units",)),
    Sums(parts=("present",), of=OF),
    Sums(parts=("present", "missing"), of=OF),
    *(
        Sums(parts=parts, of=OF, low=low, high=high)
        for low, high in ((0, 3), (-2, 1), (1, 3), (-3, -1))
        for parts in (("sum",), ("low", "high"), ("low", "high", "missing"))
    ),
]
ONE = Fraction(1)
MOMENTS = [
    *(
        Moments(of=(OF,), low=(low,), high=(high,), step=(ONE,), degree=(2,), missing=missing)
        for low, high in ((0, 1), (0, 3), (-2, 3))
        for missing in (False, True)
    ),
    *(
        Moments(of=(OF, OF), low=(-1, 0), high=(1, 1), step=(ONE, ONE), degree=degree, missing=missing)
        for degree in ((1, 1), (1, 2), (2, 2))
        for missing in (False, True)
    ),
]
CAPS = [(None, None), (2, 1), (2, 2), (3, 2)]  # rows and groups of a unit; none: the unit is the row


def added(measure: Noised, said: tuple[int | None, ...]) -> list[int]:
    """What a row of these values adds to each part, by the forms that an engine computes."""
    known = {(): 1}
    if None not in said:
        above = [value - each.base for value, each in zip(said, measure.exact.values, strict=True)]
        for powers in product(range(3), repeat=len(said)):
            known[powers] = math.prod(value**power for value, power in zip(above, powers, strict=True))
    return [sum(weight * known.get(powers, 0) for powers, weight in form.items()) for form in measure.exact.forms]


def units(measure: Noised, caps: ContributionBounds, groups: int) -> np.ndarray:
    """What each unit within the caps adds to the sums of all groups, one unit in each line."""
    if measure.parts == ("units",):
        chosen = [each for k in range(caps.most_groups + 1) for each in combinations(range(groups), k)]
        return np.array([[int(group in each) for group in range(groups)] for each in chosen])
    ends = [(None, each.low, each.high, (each.low + each.high) // 2) for each in measure.exact.values]
    values = list(product(*ends)) or [()]
    found = set()
    for n in range(caps.most_rows + 1):
        for where, said in product(product(range(groups), repeat=n), product(values, repeat=n)):
            if len(set(where)) > caps.most_groups:
                continue
            parts = np.zeros((len(measure.parts), groups), int)
            for group, row in zip(where, said, strict=True):
                parts[:, group] += added(measure, row)
            found.add(tuple(parts.flatten().tolist()))
    return np.array(sorted(found))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: f"{'-'.join(m.parts)} {m.low} {m.high}")
@pytest.mark.parametrize("cap", CAPS, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_reaches_further_and_one_reaches_as_far(measure: Sums, cap: tuple, neighbours: str) -> None:
    rows, most = cap
    if rows is None and measure.parts == ("units",):
        pytest.skip("there is no unit to count")
    for groups in (1, 4):
        caps = ContributionBounds(unit=rows and "u", rows=rows, groups=rows and (most if groups > 1 else 1))
        furthest(measure, caps, neighbours, units(measure, caps, groups), grouped=groups > 1)


@pytest.mark.parametrize("measure", MOMENTS, ids=lambda m: f"{'-'.join(m.parts)} {m.low} {m.high}")
@pytest.mark.parametrize("cap", [(None, None), (2, 2)], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_nor_moments(measure: Moments, cap: tuple, neighbours: str) -> None:
    rows, most = cap
    for groups in (1, 2):
        caps = ContributionBounds(unit=rows and "u", rows=rows, groups=rows and (most if groups > 1 else 1))
        each = units(measure, caps, groups)
        assert each.min() == 0
        assert each.sum(axis=1).max() == caps.most_rows * measure.whole
        furthest(measure, caps, neighbours, each, grouped=groups > 1)


def furthest(measure: Noised, caps: ContributionBounds, neighbours: str, each: np.ndarray, *, grouped: bool) -> None:
    """Of all these units the furthest, or the furthest two, are as far apart as the reach says."""
    reach = measure.reach(Setting(caps=caps, neighbours=Neighbours(neighbours), unit="person", grouped=grouped))
    others = each if neighbours == "replace" else np.zeros_like(each[:1])
    apart = [each - other for other in others]
    assert max(int(np.abs(change).sum(axis=1).max()) for change in apart) == reach.l1
    assert max(int((change**2).sum(axis=1).max()) for change in apart) == reach.l2_squared


@pytest.mark.parametrize("cap", [(None, None), (1, 1), (2, 1), (2, 2), (3, 2)], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("groups", [1, 2])
def test_nor_different_values(cap: tuple, neighbours: str, groups: int) -> None:
    """Beside others with any values: a unit of up to m values in its groups, or another in its place."""
    caps = ContributionBounds(unit=cap[0] and "u", rows=cap[0], groups=cap[0] and (cap[1] if groups > 1 else 1))
    cells = list(product(range(groups), range(3)))  # values of a group
    one = [set(each) for k in range(caps.most_rows + 1) for each in combinations(cells, k)]
    one = [each for each in one if len({group for group, _ in each}) <= caps.most_groups]
    others = [set(each) for each in chain.from_iterable(combinations(cells, k) for k in range(len(cells) + 1))]

    def counts(there: set[tuple[int, int]]) -> np.ndarray:
        return np.array([sum(group == each for each, _ in there) for group in range(groups)])

    found = []
    for rest in others if groups == 1 else others[:: 1 + len(others) // 12]:
        each = np.array([counts(rest | mine) for mine in one])
        before = each if neighbours == "replace" else [counts(rest)]
        found += [each - other for other in before]
    reach = Distinct(of=OF).reach(
        Setting(caps=caps, neighbours=Neighbours(neighbours), unit="person", grouped=groups > 1)
    )
    assert max(int(np.abs(change).sum(axis=1).max()) for change in found) == reach.l1
    assert max(int((change**2).sum(axis=1).max()) for change in found) == reach.l2_squared


@pytest.mark.parametrize("cap", [(1, 1), (3, 1), (3, 2), (5, 3)], ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("groups", [1, 3])
def test_nor_units_that_have_a_row(cap: tuple, neighbours: str, groups: int) -> None:
    """A unit is there or not in each of its groups, whatever its rows; or another in its place."""
    caps = ContributionBounds(unit="u", rows=cap[0], groups=cap[1] if groups > 1 else 1)
    each = np.array([there for there in product([0, 1], repeat=groups) if sum(there) <= caps.most_groups])
    changes = np.concatenate([each - other for other in (each if neighbours == "replace" else each[:1])])
    of = Apply(function="case", arguments=(Literal(value=True), Field(name="u", kind="text")), kind="text")
    reach = UnitsWhere(of=of).reach(
        Setting(caps=caps, neighbours=Neighbours(neighbours), unit="person", grouped=groups > 1)
    )
    assert int(np.abs(changes).sum(axis=1).max()) <= reach.l1 <= 2 * caps.most_groups
    assert int((changes**2).sum(axis=1).max()) <= reach.l2_squared
    if 2 * caps.most_groups <= groups or neighbours == "add-remove":
        assert int(np.abs(changes).sum(axis=1).max()) == reach.l1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("groups", [1, 2])
def test_nor_when_sums_are_rounded_to_grains(neighbours: str, groups: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With grains of a few, beside any others: no unit reaches further; and rounding does matter."""
    monkeypatch.setattr(moments, "ROW_VALUE_BITS", 1)
    measure = Moments(of=(OF,), low=(0,), high=(5,), step=(ONE,), degree=(2,))
    assert measure.grain == 12
    caps = ContributionBounds(unit="u", rows=2, groups=2 if groups > 1 else 1)
    each = units(measure, caps, groups)
    reach = measure.reach(Setting(caps=caps, neighbours=Neighbours(neighbours), unit="person", grouped=groups > 1))
    further = 0
    for rest in range(measure.grain):
        rounded = (each + rest) // measure.grain
        before = rounded if neighbours == "replace" else np.full_like(each[:1], rest) // measure.grain
        for other in before:
            change = rounded - other
            assert np.abs(change).sum(axis=1).max() <= reach.l1
            assert (change**2).sum(axis=1).max() <= reach.l2_squared
            further += int((np.abs(change).sum(axis=1) > (1 + (neighbours == "replace")) * 2 * measure.row).sum())
    assert further or groups > 1
