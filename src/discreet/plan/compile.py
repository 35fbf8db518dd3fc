"""From a question to a plan: who is protected, what is summed, in which groups, with which noise, at what cost.

Nothing here sees data. What is refused is refused for every database with the same catalogue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan import aggregates
from discreet.plan.expression import Typed
from discreet.plan.kept import LARGEST
from discreet.plan.kinds import typed
from discreet.plan.measure import Caps, Measure, Setting
from discreet.plan.plan import MOST_CELLS, Key
from discreet.plan.reading import Reading
from discreet.plan.schema import Catalogue, Table
from discreet.plan.split import Question, split
from discreet.sql import query as q

__all__ = ["Draft", "compile"]

DIGITS = 20  # of a sum with its noise, on record


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A plan without its noise: all that follows from the question and the catalogue."""

    catalogue: Catalogue
    table: Table
    caps: Caps
    where: Typed | None
    keys: tuple[Key, ...]
    names: tuple[str, ...]
    measures: tuple[Measure, ...]
    readings: tuple[Reading, ...]  # of the aggregates a0, a1, …
    titles: tuple[str, ...]  # what the question calls each of them
    view: q.Select

    @property
    def private(self) -> bool:
        """Whether group keys must be chosen privately."""
        return any(not key.declared for key in self.keys)

    @property
    def setting(self) -> Setting:
        """Whose data its measures are of."""
        said = self.catalogue
        return Setting(caps=self.caps, neighbours=said.neighbours, unit=said.unit, grouped=bool(self.keys))


def compile(select: q.Select, catalogue: Catalogue) -> Draft:
    """What a question asks of a catalogue, or a refusal."""
    question = split(select, catalogue)
    table = question.table
    if table.public:
        raise NotUnderstood(
            f"{table.name} is public: nobody is in it.", instead="read it directly", place=_source(select).place
        )
    where = None
    if question.where is not None:
        where = typed(question.where, table, question.alias)
        if where.kind not in ("boolean", None):
            raise NotUnderstood(
                "WHERE takes a condition.", instead="for example WHERE age > 65", place=question.where.place
            )
    keys = tuple(_key(each, question) for each in question.keys)
    cells = math.prod(key.size for key in keys if key.declared)
    if cells > MOST_CELLS:
        raise NotAllowed(
            f"this would answer {cells:,} groups; at most {MOST_CELLS:,} are answered.",
            instead="group by fewer or coarser columns",
            place=question.keys[0].place,
        )
    measures, readings = aggregates.measures(question)
    if cells * sum(len(each.parts) for each in measures) * DIGITS > LARGEST:
        raise NotAllowed(
            "this answer would be too large to keep.", instead="ask for fewer groups or fewer numbers at once",
            place=question.keys[0].place,
        )  # fmt: skip
    if not measures and all(key.declared for key in keys):
        raise NotUnderstood(
            "these values are declared, so there is nothing to ask.",
            instead="add COUNT(*)",
            place=question.keys[0].place,
        )
    return Draft(
        catalogue=catalogue,
        table=table,
        caps=_caps(question, cells if all(key.declared for key in keys) else None),
        where=where,
        keys=keys,
        names=question.names,
        measures=measures,
        readings=readings,
        titles=tuple(_title(each) for each in question.aggregates),
        view=question.view,
    )


def _source(select: q.Select) -> q.Source:
    while isinstance(select.source, q.Select):
        select = select.source
    return select.source


def _title(aggregate: q.Aggregate) -> str:
    text = aggregate.place.text[aggregate.place.start : aggregate.place.end]
    return " ".join(text.split())


# ── keys and caps ────────────────────────────────────────────────────────────────────────────────────────────────


def _key(what: q.Expression, question: Question) -> Key:
    unit = question.table.unit
    if unit is not None and any(name.lower() == unit.lower() for name in _names(what)):
        raise NotAllowed(
            f"grouping by `{unit}` would make a group of every single one.",
            instead=f"group by something that many share, or count: COUNT(DISTINCT {unit})",
            place=what.place,
        )
    found = typed(what, question.table, question.alias)
    if found.kind is None:
        raise NotUnderstood("NULL is no group.", instead="group by a column", place=what.place)
    if found.domain is not None:
        return _declared(found)
    if found.kind == "real":
        name, bounded = aggregates.named(what), isinstance(what, q.Name) and found.bounds
        raise NotAllowed(
            "groups of a number with decimals are nearly one for each person.",
            instead=f"group by a range of it: FLOOR({name} / 10)" + (", or declare step = 1" if bounded else ""),
            place=what.place,
        )
    return Key(tree=found.tree, kind=found.kind)


def _declared(found: Typed) -> Key:
    domain = found.domain or ()
    assert found.kind is not None
    if found.kind == "integer" and len(domain) > 2 and domain == tuple(range(int(domain[0]), int(domain[-1]) + 1)):
        return Key(tree=found.tree, kind=found.kind, span=(int(domain[0]), int(domain[-1])))
    return Key(tree=found.tree, kind=found.kind, values=tuple(domain))


def _names(what: q.Expression) -> set[str]:
    if isinstance(what, q.Name):
        return {what.name}
    return {name for each in what.arguments for name in _names(each)} if isinstance(what, q.Call) else set()


def _caps(question: Question, cells: int | None) -> Caps:
    """How much of one unit counts; a cap that the question needs and the catalogue lacks is refused.

    Nobody is in more groups than there are.
    """
    table = question.table
    if table.unit is None:
        return Caps(unit=None, rows=None, groups=None)
    for aggregate in question.aggregates:
        if not aggregates.people(aggregate, table) and table.rows_per_unit is None:
            raise NotAllowed(
                f"how many rows of one {table.unit} count is not declared, so one could count without limit.",
                instead="declare rows_per_unit = 10, or ask COUNT(DISTINCT " + table.unit + ")",
                place=aggregate.place,
            )
    known = [each for each in (table.groups_per_unit or table.rows_per_unit, cells) if each is not None]
    if question.keys and not known:
        raise NotAllowed(
            f"in how many groups one {table.unit} counts is not declared.",
            instead="declare groups_per_unit = 3",
            place=question.keys[0].place,
        )
    return Caps(unit=table.unit, rows=table.rows_per_unit, groups=min(known) if question.keys else 1)
