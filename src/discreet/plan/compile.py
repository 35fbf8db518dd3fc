"""From a question to a plan: who is protected, what is summed, in which groups, with which noise, at what cost.

Nothing here sees data. What is refused is refused for every database with the same catalogue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.plan.days import consecutive
from discreet.plan.expression import Apply, Field, Typed, fields
from discreet.plan.kept import LARGEST
from discreet.plan.kinds import typed
from discreet.plan.measure import MOST_STEPS, Caps, Measure
from discreet.plan.plan import MOST_CELLS, Key
from discreet.plan.reading import Reading
from discreet.plan.schema import Catalogue, Table
from discreet.plan.split import Question, split
from discreet.sql import query as q

__all__ = ["Draft", "compile"]

DIGITS = 20  # of a sum with its noise, on record
BOUNDED = {
    **dict.fromkeys(("integer", "real"), "{} = {{ min = 0, max = 100 }}"),
    **dict.fromkeys(("date", "timestamp"), "{} = {{ min = 2024-01-01, max = 2024-12-31 }}"),
}  # how bounds are declared
FINE = 9  # decimal digits between a range and its step, where no step is declared


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
    measures, readings = _measures(question)
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
        name, bounded = _named(what), isinstance(what, q.Name) and found.bounds
        raise NotAllowed(
            "groups of a number with decimals are nearly one for each person.",
            instead=f"group by a range of it: FLOOR({name} / 10)" + (", or declare step = 1" if bounded else ""),
            place=what.place,
        )
    return Key(tree=found.tree, kind=found.kind)


def _declared(found: Typed) -> Key:
    domain = found.domain or ()
    assert found.kind is not None
    first, last = (domain[0], domain[-1]) if domain else (None, None)
    if isinstance(first, int) and isinstance(last, int) and len(domain) > 2 and domain == tuple(range(first, last + 1)):
        return Key(tree=found.tree, kind=found.kind, span=(first, last))
    if found.kind == "date" and (days := consecutive(domain)):
        numbered = Apply(function="day number", arguments=(found.tree,), kind="integer")
        return Key(tree=numbered, kind="date", span=days)
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
        if not aggregate.distinct and table.rows_per_unit is None:
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


# ── measures ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _measures(question: Question) -> tuple[tuple[Measure, ...], tuple[Reading, ...]]:
    """The fewest measures that answer all aggregates, and what each aggregate reads."""
    wanted: list[tuple[str, Typed | None, q.Aggregate]] = []
    for each in question.aggregates:
        wanted.append((*_wanted(each, question), each))
    functions: dict[Typed, set[str]] = {}
    for function, what, _ in wanted:
        if what is not None:
            functions.setdefault(what, set()).add(function)
    rows = any(function == "rows" for function, _, _ in wanted)
    measures: list[Measure] = []
    at: dict[tuple[str, Typed | None], int] = {}
    for what, asked in functions.items():
        place = next(aggregate.place for _, argument, aggregate in wanted if argument == what)
        shared = rows and ("rows", None) not in at
        parts = _parts(asked, rows=shared)
        if shared and "missing" in parts:
            at["rows", None] = len(measures)
        at |= {(function, what): len(measures) for function in asked}
        measures.append(_measure(parts, what, question.table, place))
    for function in ("rows", "units"):
        if any(each == function for each, _, _ in wanted) and (function, None) not in at:
            at[function, None] = len(measures)
            measures.append(Measure(parts=(function,)))
    return tuple(measures), tuple(Reading(function=f, measure=at[f, what]) for f, what, _ in wanted)


def _parts(asked: set[str], *, rows: bool) -> tuple[str, ...]:
    """One sum for one aggregate; a blend where more follow from it."""
    if asked == {"sum"} and not rows:
        return ("sum",)
    if asked == {"present"}:
        return ("present", "missing") if rows else ("present",)
    return ("low", "high", "missing") if rows else ("low", "high")


def _wanted(aggregate: q.Aggregate, question: Question) -> tuple[str, Typed | None]:
    """What an aggregate reads: its function, and the expression it is of."""
    table, argument = question.table, aggregate.argument
    if aggregate.function in ("min", "max"):
        raise NotAllowed(
            f"{aggregate.function.upper()} is one person's value.",
            instead=f"ask for AVG, or for counts by range: GROUP BY FLOOR({_named(argument)} / 10)",
            place=aggregate.place,
        )
    if aggregate.distinct:
        named = isinstance(argument, q.Name) and table.unit is not None and argument.name.lower() == table.unit.lower()
        if aggregate.function != "count" or not named:
            who = table.unit or "the unit"
            raise NotAllowed(
                "DISTINCT values cannot be counted yet, only people.",
                instead=f"COUNT(DISTINCT {who})" if table.unit else "COUNT(*): every row is a person",
                place=aggregate.place,
            )
        return "units", None
    if argument is None:
        return "rows", None
    what = typed(argument, table, question.alias)
    if aggregate.function == "count":
        return ("rows", None) if isinstance(argument, q.Constant) and argument.value is not None else ("present", what)
    if what.kind == "text" and isinstance(what.tree, Field):
        raise NotAllowed(
            f"`{what.tree.name}` is text here, without bounds, so it cannot be added up.",
            instead=f"if it holds numbers, declare it: {what.tree.name} = {{ min = 0, max = 100 }}",
            place=argument.place,
        )
    if what.kind not in ("integer", "real", "boolean"):
        raise NotUnderstood(
            f"{aggregate.function.upper()} adds up numbers.",
            instead="COUNT(…) counts anything"
            + (f"; AVG(DATE_DIFF('day', DATE '2000-01-01', {_named(argument)})) has days" if what.dated else ""),
            place=argument.place,
        )
    return aggregate.function, what


def _named(argument: q.Expression | None) -> str:
    return argument.name if isinstance(argument, q.Name) else "…"


def _measure(parts: tuple[str, ...], what: Typed, table: Table, place: Place) -> Measure:
    if parts[0] == "present":
        return Measure(parts=parts, of=what.tree)
    bounds = (Fraction(0), Fraction(1)) if what.kind == "boolean" else what.bounds
    if bounds is None:
        raise _unbounded(what, table, place)
    step = _step(what, bounds, table)
    low, high = math.floor(bounds[0] / step), math.ceil(bounds[1] / step)
    if low == high:
        low, high = min(low, 0), max(high, 1)
    if max(abs(low), abs(high)) > MOST_STEPS:
        raise NotAllowed(
            "its range has too many steps to be added up exactly.",
            instead="declare a larger step",
            place=place,
        )
    return Measure(parts=parts, of=what.tree, low=low, high=high, step=step)


def _step(what: Typed, bounds: tuple[Fraction, Fraction], table: Table) -> Fraction:
    """As declared for a column; one for whole numbers; else a power of ten far below the range."""
    column = table.column(what.tree.name) if isinstance(what.tree, Field) else None
    if column is not None and column.step is not None:
        return column.step
    if what.kind in ("integer", "boolean"):
        return Fraction(1)
    width = max(abs(bounds[0]), abs(bounds[1]), bounds[1] - bounds[0])
    exponent = math.ceil(math.log10(width.numerator) - math.log10(width.denominator)) if width else 0
    return Fraction(10) ** (exponent - FINE)


def _unbounded(what: Typed, table: Table, place: Place) -> NotAllowed:
    columns = [each for name in sorted(fields(what.tree)) if (each := table.column(name)) is not None]
    free = [each for each in columns if each.bounds is None and each.values is None and each.kind in BOUNDED]
    if free:
        return NotAllowed(
            f"`{free[0].name}` has no declared bounds, so a sum could reveal one person.",
            instead="declare it: " + BOUNDED[free[0].kind or ""].format(free[0].name),
            place=place,
        )
    return NotAllowed(
        "this expression has no bounds, so a sum could reveal one person.",
        instead="bound it: LEAST(GREATEST(…, 0), 100), or divide by what cannot be zero",
        place=place,
    )
