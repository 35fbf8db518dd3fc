"""A question that is understood and not yet priced."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from discreet.catalogue.schema import Catalogue, Table
from discreet.core.contribution import Caps, Setting
from discreet.plan.expressions.tree import Tree
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.top_k import Foremost
from discreet.plan.plan import Key
from discreet.plan.reading import Reading
from discreet.plan.relation import Relation
from discreet.sql import query as q

__all__ = ["Draft"]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A plan without its noise: all that follows from the question and the catalogue."""

    catalogue: Catalogue
    relation: Relation
    table: Table
    caps: Caps
    where: Tree | None
    keys: tuple[Key, ...]
    sets: tuple[tuple[int, ...], ...]  # which keys each part of the answer is grouped by, when not by all
    names: tuple[str, ...]
    measures: tuple[Measure, ...]
    readings: tuple[Reading, ...]  # of the aggregates a0, a1, …
    titles: tuple[str, ...]  # what the question calls each of them
    view: q.Select
    first: Foremost | None = None  # what may be measured instead, where only the first keys are wanted
    instead: tuple[Measure | None, Measure | None] = (None, None)  # … or what errs less: by Laplace and Gaussian noise
    others: tuple[Reading, ...] = ()  # what the aggregates read of that, when it is not the same

    @property
    def added(self) -> int:
        """How many groups a number of the answer adds up, at most."""
        dropped = [[n for n in range(len(self.keys)) if n not in one] for one in self.sets]
        return max((math.prod(self.keys[n].size for n in each) for each in dropped), default=1)

    @property
    def private(self) -> bool:
        """Whether group keys must be chosen privately."""
        return any(not key.declared for key in self.keys)

    def measured(self, measures: tuple[Measure, ...]) -> Draft:
        """The same question, as it is read when these are measured."""
        if measures == self.measures:
            return self
        return replace(self, measures=measures, readings=self.others or self.readings)

    @property
    def setting(self) -> Setting:
        """Whose data its measures are of."""
        said = self.catalogue
        return Setting(caps=self.caps, neighbours=said.neighbours, unit=said.unit, grouped=bool(self.keys))
