"""Releases: which mechanism may publish which exact data, and what it must have been told about one unit.

Mechanisms are trusted to release with the loss that they state, given what they are told: a sensitivity, or a number of
records of one unit. Whether they were told the truth is decided here, against the derived `Contribution`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.core.contribution import ContributionBounds
from discreet.core.mechanism import Mechanism, Then
from discreet.core.reach import Neighbours
from discreet.kernel.contribution import Combinations, Contribution
from discreet.kernel.exact_data import (
    DistinctCount,
    ExactData,
    Ladder,
    RegionCounts,
    RowSums,
    UnitCount,
    ValueCounts,
    ValueHistogram,
)
from discreet.kernel.verdict import Rejected
from discreet.matrix.mechanism import Combined
from discreet.mechanisms.grid import WHOLE
from discreet.mechanisms.noise import Noise
from discreet.mechanisms.quantiles.extreme import Extreme
from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.quantiles.upper_bound import UpperBoundMechanism
from discreet.mechanisms.selection.mode import Modes
from discreet.mechanisms.selection.selection import Exponential, PermuteAndFlip, Selection
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.mechanisms.threshold import GaussianThreshold, Threshold

__all__ = ["Given", "naming", "released"]


@dataclass(frozen=True, kw_only=True)
class Given:
    """What a release rule may rely on: the exact data, what one unit can add to them, and who the neighbours are."""

    exact: ExactData
    added: Contribution
    neighbours: Neighbours
    grouped: bool
    groups: int | None  # None where keys are private

    def need(self, holds: bool, rule: str) -> None:
        """Reject the plan unless a rule holds."""
        if not holds:
            raise Rejected(rule)

    def need_groups(self, cells: int) -> None:
        """Reject a release of so many numbers unless there is one for each declared group.

        Because  a mechanism that takes another number of them fails, and so would one of as many as data have groups.
        """
        single = self.exact.sums is None or len(self.exact.sums.forms) == 1
        self.need(single and cells == self.groups, "a release is of other groups than the plan has")


def released(mechanism: Mechanism, given: Given) -> None:
    """Reject a mechanism that may not publish these exact data, or was told less than one unit can do."""
    if type(mechanism) is Then:  # a function of what is released reveals nothing more
        return released(mechanism.mechanism, given)
    pair = type(mechanism), type(given.exact)
    given.need(pair in RULES, f"{pair[0].__name__} does not release {pair[1].__name__}")
    given.need(mechanism.neighbours is given.neighbours, "a release is priced for other neighbours")
    return RULES[pair](mechanism, given)


def naming(threshold: Threshold | GaussianThreshold, caps: ContributionBounds, neighbours: Neighbours) -> None:
    """Reject a threshold for private keys that was told of fewer groups of one unit than count.

    Because  a unit adds one to the number of units of at most g groups, and a threshold is private for `keys` of them.
             What is released of the named groups has to be private only where both neighbours can name them. Where one
             has no unit in a group, it never names it, so all that the other releases with that name, whatever it is,
             lies within the δ of the names: of P' <= e^ε·P + excess over all names, whose sum of excesses is at most
             δ, these have P = 0 and count in full (`tests/kernel/test_private_keys.py` adds it up).
    """
    known = type(threshold) in (Threshold, GaussianThreshold)
    if not known or threshold.keys < caps.most_groups or threshold.neighbours is not neighbours:
        raise Rejected("private keys are named for fewer groups of a unit than count")


def _noise(mechanism: Noise, given: Given) -> None:
    """Noise on whole numbers. Because  its loss is that of its law at the stated distance, which grows with it."""
    l1, squared = given.added.reach(given.neighbours)
    stated = mechanism.reach
    given.need(mechanism.grid == WHOLE, "noise is on a grid")
    given.need(stated.l1 >= l1 and stated.l2_squared >= squared, "one unit reaches further than noise was priced for")


def _combined(mechanism: Combined, given: Given) -> None:
    """Noise on combinations of the numbers of all groups.

    Because  `Combinations.reach` is what the mechanism derives for each strategy, given that a unit adds at most `rows`
             in ℓ1, of one sign where units are replaced. Strategies are matrices of whole numbers over all groups.
    """
    added = given.added
    given.need_groups(mechanism.cells)
    given.need(mechanism.rows >= added.total, "one unit adds more than combinations were priced for")
    given.need(added.one_sign or given.neighbours is Neighbours.ADD_REMOVE, "a replaced unit adds with both signs")
    for strategy, part in zip(mechanism.strategies, mechanism.parts, strict=True):
        whole = Combinations(
            total=added.total, low=added.low, high=added.high, strategy=strategy, grouped=False
        )  # fmt: skip
        l1, squared = whole.reach(given.neighbours)
        covered = part.reach.l1 >= l1 and part.reach.l2_squared >= squared
        given.need(covered, "one unit reaches further than combinations were priced for")


def _records(mechanism: Quantiles | Extreme | QuantileIntervalMechanism, given: Given) -> None:
    """A choice of grid points by ranks. Because  it is private for units of at most `records` rows, in any groups."""
    given.need(mechanism.records >= given.added.total, "one unit has more rows than a choice was priced for")
    given.need(mechanism.grouped or not given.grouped, "a choice for one group is made for several")


def _ceiling(mechanism: UpperBoundMechanism, given: Given) -> None:
    """A choice of one upper bound for all rows together. Because  a unit moves each score by at most its rows."""
    given.need(mechanism.records >= given.added.total, "one unit has more rows than a choice was priced for")
    given.need(not given.grouped, "a choice for one group is made for several")


def _selection(choose: Selection, given: Given) -> None:
    known = type(choose) in (Exponential, PermuteAndFlip)
    given.need(known and choose.neighbours is given.neighbours, "a choice is not one of those that are known")


def _modes(mechanism: Modes, given: Given) -> None:
    """One choice in each group by counts. Because  the m rows of a unit, in all groups together, cost one choice."""
    _selection(mechanism.choose, given)
    given.need(mechanism.choose.sensitivity >= given.added.total, "one unit has more rows than a choice was priced for")


def _places(mechanism: TopKRanking, given: Given) -> None:
    """The first groups by their scores. Because  each choice is private if no unit moves one score further than stated,
    and, where all scores are said to move the same way, they do.
    """
    choose, far = mechanism.choose, given.added.furthest(given.neighbours)
    _selection(choose, given)
    given.need_groups(mechanism.among)
    given.need(choose.sensitivity >= far, "one unit moves a score further than a choice was priced for")
    together = given.added.one_sign and given.neighbours is Neighbours.ADD_REMOVE
    given.need(together or not choose.monotone, "scores that may move apart are said to move together")


RULES: dict[tuple[type[Mechanism], type[ExactData]], Callable[[Any, Given], None]] = {
    **{(Noise, each): _noise for each in (RowSums, UnitCount, DistinctCount, RegionCounts)},
    **{(Combined, each): _combined for each in (RowSums, UnitCount)},
    **{(each, ValueHistogram): _records for each in (Quantiles, Extreme, QuantileIntervalMechanism)},
    (UpperBoundMechanism, Ladder): _ceiling,
    (Modes, ValueCounts): _modes,
    **{(TopKRanking, each): _places for each in (RowSums, UnitCount)},
}
