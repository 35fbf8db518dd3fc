"""The reach of a measure, found again by trying every unit of a few rows in a few groups."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from discreet.plan.expression import Field
from discreet.plan.measure import Caps, Noised, Setting
from discreet.plan.sums import Sums

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
CAPS = [(None, None), (2, 1), (2, 2), (3, 2)]  # rows and groups of a unit; none: the unit is the row


def added(measure: Noised, value: int | None) -> list[int]:
    """What a row of this value adds to each part, by the forms that an engine computes."""
    known = {(): 1} | ({} if value is None else {(power,): value**power for power in range(3)})
    return [sum(weight * known.get(powers, 0) for powers, weight in form.items()) for form in measure.forms]


def units(measure: Noised, caps: Caps, groups: int) -> np.ndarray:
    """What each unit within the caps adds to the sums of all groups, one unit in each line."""
    if measure.parts == ("units",):
        chosen = [each for k in range(caps.most_groups + 1) for each in combinations(range(groups), k)]
        return np.array([[int(group in each) for group in range(groups)] for each in chosen])
    values = (None, measure.low, measure.high) if measure.summed else (None, 1)
    found = set()
    for n in range(caps.most_rows + 1):
        for where, said in product(product(range(groups), repeat=n), product(values, repeat=n)):
            if len(set(where)) > caps.most_groups:
                continue
            parts = np.zeros((len(measure.parts), groups), int)
            for group, value in zip(where, said, strict=True):
                parts[:, group] += added(measure, value)
            found.add(tuple(parts.flatten().tolist()))
    return np.array(sorted(found))


@pytest.mark.parametrize("measure", MEASURES, ids=lambda m: f"{'-'.join(m.parts)} {m.low} {m.high}")
@pytest.mark.parametrize("cap", CAPS, ids=str)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_no_unit_reaches_further_and_one_reaches_as_far(measure: Noised, cap: tuple, neighbours: str) -> None:
    rows, most = cap
    if rows is None and measure.parts == ("units",):
        pytest.skip("there is no unit to count")
    for groups in (1, 4):
        caps = Caps(unit=rows and "u", rows=rows, groups=rows and (most if groups > 1 else 1))
        each = units(measure, caps, groups)
        apart = each[:, None, :] - (each[None, :, :] if neighbours == "replace" else 0)
        reach = measure.reach(Setting(caps=caps, neighbours=neighbours, unit="person", grouped=groups > 1))
        assert np.abs(apart).sum(axis=2).max() == reach.l1
        assert (apart**2).sum(axis=2).max() == reach.l2_squared
