"""The draft of a plan: a question that is compiled and not yet priced; or several, and what is computed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from discreet.catalogue.schema import Catalogue, Table
from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.law import NoiseFamily
from discreet.errors import NotAllowed
from discreet.kernel.expressions import Tree
from discreet.kernel.plan import Key
from discreet.kernel.relations import Relation, trees_of
from discreet.plan.expressions.functions import searched_columns
from discreet.plan.measures.measure import Measure
from discreet.plan.plan import Population, grouped
from discreet.plan.reading import Reading
from discreet.postprocess.public import PublicTable, Reader
from discreet.postprocess.table import Rows
from discreet.sql import query as q

__all__ = ["Alternative", "Beyond", "Composite", "Draft", "Question", "Staged"]


@dataclass(frozen=True, kw_only=True)
class Alternative:
    """A way to answer a question: its measures, what each aggregate reads of them, and the family of the noise."""

    measures: tuple[Measure, ...]
    readings: tuple[Reading, ...]  # of the aggregates a0, a1, …
    family: NoiseFamily | None = None  # None: whichever errs less


class Beyond(NamedTuple):
    """Rows that are in no group: with other values of a key than declared ones, or than follow from these; or with
    none.
    """

    name: str
    how: Literal["declared", "followed", "missing"]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A plan without its noise: all that follows from the question and the catalogue."""

    catalogue: Catalogue
    relation: Relation
    table: Table
    caps: ContributionBounds
    where: Tree | None
    keys: tuple[Key, ...]
    sets: tuple[tuple[int, ...], ...]  # which keys each part of the answer is grouped by, when not by all
    names: tuple[str, ...]
    measures: tuple[Measure, ...]
    readings: tuple[Reading, ...]  # of the aggregates a0, a1, …
    titles: tuple[str, ...]  # what the question calls each aggregate
    view: q.Select
    alternatives: tuple[Alternative, ...] = ()  # what may be measured instead, where that errs less
    listed: tuple[int, ...] | None = None  # the groups that can be, where not all combinations of keys can
    declared: tuple[Key, ...] = ()  # the keys with all their declared values, also those that cannot be
    beyond: tuple[Beyond, ...] = ()  # rows that are in no group, whatever they hold

    @property
    def staged(self) -> None:
        """Return None: this question has one round."""
        return None

    @property
    def composite(self) -> None:
        """Return None: this question is not made of several."""
        return None

    @property
    def inner(self) -> tuple[Draft, ...]:
        """Return the drafts that must be bought: this one. A composite has several, or none."""
        return (self,)

    @property
    def alone(self) -> Draft:
        """Return this draft; a composite, which is no question of its own, is refused."""
        return self

    @property
    def max_added_groups(self) -> int:
        """Return how many groups a number of the answer adds up, at most."""
        if self.listed is not None and self.sets:
            return int(grouped(self.keys, self.sets, self.listed).cells.max())
        dropped = [[n for n in range(len(self.keys)) if n not in one] for one in self.sets]
        return max((math.prod(self.keys[n].size for n in each) for each in dropped), default=1)

    @property
    def crossed(self) -> Draft:
        """Return the question by all combinations of declared values, also those that cannot be."""
        return self._by(self.declared)

    @property
    def of_values(self) -> Draft:
        """Return the question by all combinations of values of its keys, without NULL."""
        without = [name for key, name in zip(self.keys, self.names, strict=True) if key.null]
        beyond = (*self.beyond, *(Beyond(name, "missing") for name in without))
        return replace(self._by(tuple(replace(key, null=False) for key in self.keys)), beyond=beyond)

    def _by(self, keys: tuple[Key, ...]) -> Draft:
        many = math.prod(key.size for key in keys)
        most = self.table.groups_per_unit or self.table.rows_per_unit or many
        caps = self.caps if self.caps.unit is None or not keys else replace(self.caps, groups=min(most, many))
        return replace(self, keys=keys, listed=None, caps=caps)

    @property
    def private(self) -> bool:
        """Return True if group keys must be chosen privately."""
        return any(not key.declared for key in self.keys)

    def measured(self, measures: tuple[Measure, ...]) -> Draft:
        """Return the draft with `measures` in place of its own, and with the readings that fit them."""
        if measures == self.measures:
            return self
        others = (each.readings for each in self.alternatives if each.readings != self.readings)
        return replace(self, measures=measures, readings=next(others, self.readings))

    @property
    def ways(self) -> tuple[Alternative, ...]:
        """Return all ways to answer the question, the ordinary one first."""
        return (Alternative(measures=self.measures, readings=self.readings), *self.alternatives)

    @property
    def recounted(self) -> bool:
        """Return True if some alternative reads the numbers of the question in another way."""
        return any(each.readings != self.readings for each in self.alternatives)

    @property
    def looked_into(self) -> set[str]:
        """Return the text columns without declared values of which the question reads more than the beginning."""
        trees = [self.where, *(key.tree for key in self.keys), *(tree for each in self.measures for tree in each.trees)]
        found = set[str]().union(
            *(searched_columns(each) for each in (*trees, *trees_of(self.relation)) if each is not None)
        )
        declared = {each.name for each in self.table.columns if each.values is not None}
        return found - declared

    @property
    def population(self) -> Population:
        """Return the rows, contribution bounds and groups that the question is about."""
        return Population(self.relation, self.caps, self.where, self.keys, self.listed)

    @property
    def setting(self) -> Setting:
        """Return the contribution bounds, neighbour relation and privacy unit of the measures."""
        said = self.catalogue
        return Setting(caps=self.caps, neighbours=said.neighbours, unit=said.unit, grouped=bool(self.keys))


@dataclass(frozen=True, kw_only=True)
class Composite:
    """A question that is made of several: aggregated answers and public tables, and what is computed of them.

    Each answer is a draft of its own, with its share of the cost. What stands above them (joins, unions, subqueries) is
    the `view`, which reads their releases r0, r1, … and the public tables p0, p1, …, and is free. A question about
    public tables alone has no draft.
    """

    view: q.Select
    drafts: tuple[Draft, ...]  # r0, r1, …
    tables: tuple[PublicTable, ...]  # p0, p1, …
    readings: tuple[str, ...]  # the table that each reading of one is of, such as r0
    selects: tuple[q.Select, ...]  # the questions of the drafts
    computed: frozenset[int] = frozenset()  # of public tables alone: the columns that are no columns of tables

    @property
    def staged(self) -> None:
        """Return None: all answers are bought at once."""
        return None

    @property
    def composite(self) -> Composite:
        """Return this composite."""
        return self

    @property
    def inner(self) -> tuple[Draft, ...]:
        """Return the drafts that must be bought."""
        return self.drafts

    @property
    def alone(self) -> Draft:
        """Refuse to be taken for one draft."""
        raise NotAllowed(
            "this question is made of several, or reads public tables alone.",
            code="not-answered",
            instead="ask one SELECT that aggregates rows of people",
            place=self.view.place,
        )

    @property
    def free(self) -> bool:
        """Return True if no rows of privacy units are read."""
        return not self.drafts

    def read(self, read: Reader) -> tuple[Rows, ...]:
        """Read the rows of public tables, which is free; before anything is paid, as they may be too many."""
        return tuple(each.read(read) for each in self.tables)


@dataclass(frozen=True, kw_only=True)
class Staged:
    """A question of two rounds: questions whose answers its rows are compared with, and what it is with these.

    All of them share its cost. Before their answers are known, the second round is that with `assumed` ones.
    """

    first: tuple[Draft | Composite, ...]
    asked: tuple[q.Select, ...]  # the questions of the first round
    assumed: Draft | Composite
    again: Callable[[Sequence[Rows]], q.Select]
    view: q.Select

    @property
    def staged(self) -> Staged:
        """Return this question."""
        return self

    @property
    def composite(self) -> None:
        """Return None: what is computed of answers is in the second round."""
        return None

    @property
    def inner(self) -> tuple[Draft, ...]:
        """Return the drafts of both rounds, those of the second with assumed answers."""
        return tuple(draft for each in (*self.first, self.assumed) for draft in each.inner)

    @property
    def alone(self) -> Draft:
        """Refuse to be taken for one draft."""
        raise NotAllowed(
            "this question has two rounds: its rows are compared with an answer.",
            code="not-answered",
            instead="ask it on its own, for a cost; or ask for that answer first, and write its value",
            place=self.view.place,
        )


Question = Draft | Composite | Staged
