"""A plan: everything that one question computes from protected data, as a mechanism on databases.

The record of a plan is what the ledger keeps and what the engine runs: the table, the rows, the contribution bounds,
the groups, and the measures with their laws. The sensitivity of each measure is derived from these fields, never stored
beside them, so the price cannot drift from the goods.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.law import Integers
from discreet.core.loss import Loss
from discreet.core.mechanism import ROWS, Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours, neighbourhood
from discreet.core.record import recorded, write
from discreet.errors import NotUnderstood
from discreet.kernel.expressions import Tree, Value
from discreet.kernel.plan import ExactResult, Key, combinations, places
from discreet.kernel.relations import Relation, origins, owners, tables_of
from discreet.mechanisms.threshold import GaussianThreshold, Threshold
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.measures import KINDS
from discreet.plan.measures.measure import Measure, Measurement, MeasurementOf

__all__ = ["MAX_CELLS", "Plan", "Population", "Released", "grouped"]

MAX_CELLS = 1_000_000  # groups of declared keys

MAX_NAMED = 500_000  # private keys in one answer: the first of those that may be named


class Population(NamedTuple):
    """The data that a plan is of: rows of a relation, how much of each unit, and in which groups."""

    relation: Relation
    caps: ContributionBounds
    where: Tree | None
    keys: tuple[Key, ...]
    listed: tuple[int, ...] | None = None


class Released(NamedTuple):
    """A release: the keys, and for each measure its noisy parts, by group."""

    keys: tuple[tuple[Value, ...], ...]
    sums: tuple[Integers, ...]

    def merged(self, merge: Merge) -> Released:
        """Return the release of rows that add up some of these groups."""
        return Released(merge.keys, tuple(merge.sums(each) for each in self.sums))


@dataclass(frozen=True)
class PlanError:
    """The errors of the measures of a plan."""

    plan: Plan

    def __getitem__(self, index: int) -> Any:
        return self.plan.mechanisms[index].error

    def __len__(self) -> int:
        return len(self.plan.mechanisms)

    def describe(self) -> str:
        parts = [piece.error.describe() for piece in self.plan.pieces]
        return " ".join(dict.fromkeys(parts))


@recorded("plan/1", later=("listed",))
@dataclass(frozen=True, kw_only=True)
class Plan(Mechanism):
    """Noisy measures of groups of rows, under contribution bounds."""

    table: Relation
    caps: ContributionBounds
    where: Tree | None
    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    laws: tuple[Any, ...]  # one for each measure; mostly, that of its noise
    naming: Threshold | GaussianThreshold | None  # selects the private keys that may be named
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"
    listed: tuple[int, ...] | None = None  # of all combinations of keys, the places of those that can be; None: all

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))
        private = any(not key.declared for key in self.keys)
        fits = self.naming is None or (
            self.naming.keys == self.caps.most_groups and self.naming.neighbours == self.neighbours
        )
        if (
            len(self.laws) != len(self.measures)
            or not all(isinstance(each, KINDS) for each in self.measures)
            or not (self.measures or self.naming)
            or private != (self.naming is not None)
            or (private and self.listed is not None)
            or not fits
            or self.cells > MAX_CELLS
            or not all(each.fits(self.cells) for each in self.measures)
            or (self.pooled and (len(self.measures) > 1 or private))
        ):
            raise NotUnderstood("the recorded plan is invalid.", code="not-a-record", instead="ask in SQL")

    @property
    def needs_certificate(self) -> bool:
        return True

    @property
    def population(self) -> Population:
        """Return the rows, contribution bounds and groups that the plan is of."""
        return Population(self.table, self.caps, self.where, self.keys, self.listed)

    @property
    def cells(self) -> int:
        """Return how many groups are released; 1 where keys are private, so that it is not known."""
        if self.listed is not None:
            return len(self.listed)
        return 1 if self.naming is not None else math.prod(key.size for key in self.keys)

    @property
    def pooled(self) -> bool:
        """Return True if what is released is of all groups together, and not one number for each."""
        return not all(each.grouped for each in self.measures)

    @once
    def groups(self) -> tuple[tuple[Value, ...], ...]:
        """Return all declared groups, in a fixed order; one, for a question without groups."""
        return _groups(self.keys, self.listed)

    @property
    def setting(self) -> Setting:
        """Return the contribution bounds, neighbour relation and privacy unit of the measures."""
        return Setting(caps=self.caps, neighbours=self.neighbours, unit=self.unit, grouped=bool(self.keys))

    @once
    def measurements(self) -> tuple[Measurement, ...]:
        """Return each measure with its law."""
        pairs = zip(self.measures, self.laws, strict=True)
        return tuple(MeasurementOf(measure=measure, law=law, setting=self.setting) for measure, law in pairs)

    @once
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return the mechanism of each measure, with the sensitivity that follows from its bounds."""
        return tuple(each.mechanism for each in self.measurements)

    def release(self, exact: ExactResult, coins: Coins = SYSTEM) -> Released:
        """Name the groups that may be named, and release each measure of them, most with noise on their sums.

        Private keys are released in an order of their own, which depends on the named keys only.
        """
        keys, sums = ((),) if self.pooled else self.groups, exact.sums
        if self.naming is not None:
            named = np.flatnonzero(self.naming.release(exact.units, coins))
            ranked = sorted(named.tolist(), key=lambda index: _rank(exact.keys[index]))[:MAX_NAMED]
            keys = tuple(exact.keys[index] for index in ranked)
            sums = tuple(m.only_groups(each, ranked) for m, each in zip(self.measures, exact.sums, strict=True))
        noisy = tuple(m.release(each, coins) for m, each in zip(self.mechanisms, sums, strict=True))
        return Released(keys=keys, sums=noisy)

    @once
    def loss(self) -> Loss:
        """Because  all parts read the same rows: losses add. Sums of private groups are released after the keys."""
        return sum((piece.loss for piece in self.pieces), start=Loss.ZERO)

    @property
    def error(self) -> PlanError:
        return PlanError(self)

    @property
    def pieces(self) -> Sequence[Mechanism]:
        return (*self.mechanisms, *(() if self.naming is None else (self.naming,)))

    def misread_table(self, whose: Mapping[str, str]) -> str | None:
        """Return a table that the plan reads by another unit than `whose` says; see `Mechanism.misread_table`.

        Given    the unit of a plan is a column of its relation, or every row is one.
        Promise  None only if every table is in `whose`, and those that the unit is read from have it for their unit;
                 or, where every row is a unit, all are by row or public.
        Because  a relation says of each column which column of which table it is (`origins`), and of each row what it
                 was added up by (`owners`).
        """
        owner, tables = self.caps.unit, sorted(tables_of(self.table))
        units = owners(self.table) if owner is None else set[tuple[str, str | None]](origins(self.table, owner))
        people = any(column is not None for _, column in units)
        for table, column in sorted(units, key=str):
            said = (ROWS, "public") if column is None else (f"unit {column.lower()}",)
            if whose.get(table.lower()) not in said:
                return table.lower()
        for table in tables:
            whom = whose.get(table.lower())
            if not units or whom is None or (whom == ROWS if people else whom.startswith("unit ")):
                return table.lower()
        return None

    @once
    def key(self) -> str:
        """Return the name of the question: equal for equal plans."""
        return "plan " + hashlib.sha256(write(self).encode()).hexdigest()


@lru_cache(maxsize=16)
def _groups(keys: tuple[Key, ...], listed: tuple[int, ...] | None) -> tuple[tuple[Value, ...], ...]:
    return combinations(keys, listed)


def _rank(key: tuple[Value, ...]) -> list[tuple[int, Any]]:
    """Order keys: numbers by size, then texts by letters, NULL last."""
    return [(2, 0) if part is None else (1, part) if isinstance(part, str) else (0, part) for part in key]


def grouped(keys: Sequence[Key], sets: Sequence[Sequence[int]], listed: Sequence[int] | None = None) -> Merge:
    """Return all groups of each set of keys, in turn and in their order, as sums over the other keys.

    Where groups are `listed`, those of fewer keys are the ones that have a listed group.
    """
    sizes = [key.size for key in keys]
    every = np.indices(sizes).reshape(len(sizes), -1) if sizes and listed is None else np.zeros((0, 1), np.int64)
    there = every if listed is None else np.array(places(keys, listed), np.int64)
    found: list[tuple[Value, ...]] = []
    added: list[tuple[bool, ...]] = []
    groups, rows = [], []
    for kept in sets:
        mine, turn = _turns(there, [sizes[n] for n in kept], kept, every=listed is None)
        groups.append(np.arange(there.shape[1]))
        rows.append(turn + len(found))
        for place in mine:
            at = dict(zip(kept, place, strict=True))
            found.append(tuple(key.domain[at[n]] if n in at else None for n, key in enumerate(keys)))
        added += [tuple(n not in kept for n in range(len(keys)))] * (len(found) - len(added))
    return Merge(tuple(found), np.concatenate(groups), np.concatenate(rows), tuple(added))


def _turns(there: Any, sizes: list[int], kept: Sequence[int], *, every: bool) -> tuple[Iterable[Sequence[int]], Any]:
    """Return the groups of some keys, by the places of their values, and which of them each finer group is part of."""
    if not kept:
        return [()], np.zeros(there.shape[1], np.int64)
    if every:
        return np.ndindex(*sizes), np.ravel_multi_index([there[n] for n in kept], sizes)
    found, turn = np.unique(there[list(kept)], axis=1, return_inverse=True)
    return found.T.tolist(), turn.ravel()
