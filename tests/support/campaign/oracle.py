"""The judge: one question on both neighbours, under the same salts.

- exact data within the reach that was paid for, whatever kind of exact data a measure takes (`too_far`);
- the exact data of all people is the sum of what each gives alone (`lineage`), so a plan that mixes rows of several
  people is noticed also where a pair of neighbours hides it;
- plain DuckDB, given the question's own text and one person's rows, counts for that person what the engine counts;
- whatever an analyst sees but noisy numbers is equal (`transcript`), and the engine never fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import sqlglot
from sqlglot import exp

import discreet as dp
from discreet.core.mechanism import Then
from discreet.kernel.exact_data import DistinctCount, RowSums, UnitCount
from discreet.kernel.plan import ExactResult
from discreet.kernel.relations import (
    Join,
    JoinInput,
    PerUnit,
    Projection,
    UnionAll,
    UnitAggregate,
    UnitLimit,
    UnitWindow,
    Windowed,
    tables_of,
)
from discreet.kernel.verdict import Rejected
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.plan.plan import Plan
from support import hostile as h
from support.campaign.questions import Question
from support.campaign.worlds import SHAPES, Held, Pair, Person
from support.lineage import exact

REFUSED, ANSWERED = "refused", "answered"


class Found(AssertionError):
    """More moved than was paid for, or something was seen that depends on the data."""


# ── reach ────────────────────────────────────────────────────────────────────────────────────────────────────────


def cells(plan: Plan, found: ExactResult, n: int) -> dict[Any, int]:
    """The exact data of a measure as numbers, by group and part, under names that both neighbours share."""
    keys: Any = found.keys if plan.naming is not None else None
    data = found.sums[n]
    if isinstance(data, Histogram):
        triples = zip(data.group.tolist(), data.value.tolist(), data.count.tolist(), strict=True)
        return {(keys[group] if keys else group, value): count for group, value, count in triples if count}
    table = np.asarray(data)
    return {
        (keys[column] if keys else column, row): int(table[row, column])
        for row in range(table.shape[0])
        for column in range(table.shape[1])
        if table[row, column]
    }


def change(before: dict[Any, int], after: dict[Any, int]) -> dict[Any, int]:
    found = {key: after.get(key, 0) - before.get(key, 0) for key in {**before, **after}}
    return {key: each for key, each in found.items() if each}


def too_far(plan: Plan, before: ExactResult, after: ExactResult) -> str | None:
    """What moved further than the plan pays for, if anything did.

    A key that only one of the two has, has one unit, so it is named with a probability that δ pays for.
    What others have in it is seen with that probability only; where that is counted apart from the units of the key
    (different values, ranks), it is there although those others are no units of the key, and it is no movement.
    """
    if plan.naming is not None:
        named = [dict(zip(each.keys, map(int, each.units), strict=True)) for each in (before, after)]
        units = change(*named)
        ends = 1 if plan.neighbours == "add-remove" else 2
        if max(map(abs, units.values()), default=0) > 1:
            return f"a unit counts for several in a group: {units}"
        if sum(map(abs, units.values())) > ends * plan.caps.most_groups:
            return f"a unit is in {len(units)} groups, paid for {plan.caps.most_groups}"
    for n, (measure, mechanism) in enumerate(zip(plan.measures, plan.mechanisms, strict=True)):
        moved = change(cells(plan, before, n), cells(plan, after, n))
        if plan.naming is not None and not isinstance(measure.exact, RowSums | UnitCount):
            moved = {key: far for key, far in moved.items() if key[0] in before.keys and key[0] in after.keys}
        far = _beyond(plan, mechanism, moved, before.sums[n], after.sums[n])
        if far is not None:
            return f"{type(measure).__name__} {far}"
    return None


def _beyond(plan: Plan, mechanism: Any, moved: dict[Any, int], before: Any, after: Any) -> str | None:
    if isinstance(mechanism, TopKRanking):  # choices among groups
        most, far = mechanism.choose.sensitivity, max(map(abs, moved.values()), default=0)
        return f"moved a score by {far}, paid for {most}" if far > most else None
    if not hasattr(mechanism, "reach") and not isinstance(mechanism, Then):  # choices among values: rows that count
        gained, lost = sum(x for x in moved.values() if x > 0), -sum(x for x in moved.values() if x < 0)
        most = plan.caps.most_rows
        both = gained + lost if plan.neighbours == "add-remove" else max(gained, lost)
        return f"moved {gained} and {-lost} rows, paid for {most}" if both > most else None
    if isinstance(mechanism, Then):
        return _combined(mechanism.mechanism, np.asarray(after).astype(object) - np.asarray(before).astype(object))
    return _over(list(moved.values()), mechanism.reach)


def _combined(mechanism: Any, counts: Any) -> str | None:
    """Several combinations of the same counts, each with a reach of its own."""
    for strategy, part in zip(mechanism.strategies, mechanism.parts, strict=True):
        empty = np.zeros(strategy.cells - counts.size, object)
        far = _over([int(x) for x in strategy.measure(np.concatenate([counts.ravel(), empty])).flat], part.reach)
        if far is not None:
            return far
    return None


def _over(moved: list[int], reach: Any) -> str | None:
    l1, squared = sum(map(abs, moved)), sum(x * x for x in moved)
    if l1 > reach.l1 or squared > reach.l2_squared:
        return f"moved {l1} (squared {squared}), paid for {reach.l1} ({reach.l2_squared})"
    return None


# ── who is counted ───────────────────────────────────────────────────────────────────────────────────────────────


def mixes(plan: Plan, whole: ExactResult, parts: list[ExactResult]) -> str | None:
    """Where the exact data of all is not the sum of what each person gives alone.

    Values that differ are not the sum over people, but at least what one person has and at most what all have.
    """
    for n, measure in enumerate(plan.measures):
        if plan.naming is not None and not isinstance(measure.exact, RowSums | UnitCount):
            continue  # a key that a person alone does not name has no place for what the person has in it
        there, alone = cells(plan, whole, n), [cells(plan, each, n) for each in parts]
        summed: dict[Any, int] = {}
        for each in alone:
            for key, value in each.items():
                summed[key] = summed.get(key, 0) + value
        slack = len(parts) + 1 if getattr(measure, "grain", 1) != 1 else 0
        for key in {**there, **summed}:
            one, total = there.get(key, 0), summed.get(key, 0)
            if isinstance(measure.exact, DistinctCount):
                if not max(each.get(key, 0) for each in alone) <= one <= total:
                    return f"{key}: {one} different values of all, {total} of each alone"
            elif abs(one - total) > slack:
                return f"{type(measure).__name__} {key}: {one} of all, {total} of each alone"
    if plan.naming is not None:
        for key, units in zip(whole.keys, whole.units, strict=True):
            alone_units = sum(int(each.units[each.keys.index(key)]) for each in parts if key in each.keys)
            if int(units) != alone_units:
                return f"{key}: {units} units of all, {alone_units} of each alone"
    return None


@dataclass
class Alone:
    """One person's rows, under a curator and in plain DuckDB."""

    person: Person
    curator: dp.Curator
    plain: duckdb.DuckDBPyConnection

    def counted(self, asked: Question) -> int | None:
        """What DuckDB itself counts of this person's rows; None where it cannot run the text."""
        return _counted(self.plain, asked)

    def in_doubles(self, pair: Pair, asked: Question) -> int | None:
        """What DuckDB counts where whole numbers that are no unit are doubles, as computed ones are to a curator."""
        with _plainly(pair, self.person.held, doubles=True) as connection:
            return _counted(connection, asked)


def _counted(connection: duckdb.DuckDBPyConnection, asked: Question) -> int | None:
    with suppress(duckdb.Error):
        return int(connection.execute(asked.sql).fetchall()[0][0])
    return None


def _plainly(pair: Pair, held: Held, *, doubles: bool = False) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    frames = pair.world.frames(held)
    for role, name in pair.world.tables.items():
        connection.register("\x01given", frames[name])
        whole = [each for each in ("loose", "number") if doubles and each in SHAPES[role]]
        named = [f'CAST("{n}" AS DOUBLE) AS "{n}"' for n in (pair.world.names[role][each] for each in whole)]
        shown = f"* REPLACE ({', '.join(named)})" if named else "*"
        connection.execute(f'CREATE TABLE "{name}" AS SELECT {shown} FROM "\x01given"')
        connection.unregister("\x01given")
    return connection


MOST_ROWS = 1000  # more than a plain person has, in any table or subquery


def uncut(part: Any) -> Any:
    """A relation, or a part of one, in which no count and no sum within a unit is cut off at a cap, and as many rows of
    a unit meet others as a person has here, though a table declares fewer.
    """
    if isinstance(part, UnitAggregate):
        return replace(part, most=None)
    if isinstance(part, tuple):
        return tuple(uncut(each) for each in part)
    if not isinstance(part, (Join, JoinInput, Projection, PerUnit, UnionAll, UnitLimit, UnitWindow, Windowed)):
        return part
    whole = replace(part, **{each.name: uncut(getattr(part, each.name)) for each in fields(part)})
    return replace(whole, most=max(whole.most, MOST_ROWS)) if isinstance(whole, UnitLimit) else whole


# ── the court ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Court:
    """Pairs of neighbours of one world, opened once for many questions."""

    pairs: list[Pair]
    folder: Path
    sides: list[tuple[dp.Curator, dp.Curator]] = field(default_factory=list)
    people: list[Alone] = field(default_factory=list)
    staff: list[dp.Curator] = field(default_factory=list)
    ran: int = 0
    checked: dict[str, int] = field(default_factory=dict)

    def __enter__(self) -> Court:
        self.open = ExitStack()
        for n, pair in enumerate(self.pairs):
            two = [self._opened(pair, pair.held(which), f"{n}.{which}") for which in (0, 1)]
            self.sides.append((two[0], two[1]))
        first = self.pairs[0]
        for n, person in enumerate(first.people[0]):
            alone = Alone(person, self._opened(first, person.held, f"alone {n}"), _plainly(first, person.held))
            self.open.callback(alone.plain.close)
            self.people.append(alone)
        rows = next((each.nobody["staff"] for each in self.pairs if not each.people[0][-1].values), [])
        self.staff = [self._opened(first, {"staff": [row]}, f"row {n}") for n, row in enumerate(rows)]
        return self

    def _opened(self, pair: Pair, held: Held, name: str) -> dp.Curator:
        folder = self.folder / name
        folder.mkdir(parents=True)
        return self.open.enter_context(pair.world.open(held, folder))

    def __exit__(self, *_: object) -> None:
        self.open.close()

    def of(self, *, row: bool) -> Iterator[tuple[dp.Curator, dp.Curator]]:
        """The pairs that differ in a row, where every row is a unit; or in a person."""
        for pair, side in zip(self.pairs, self.sides, strict=True):
            if bool(pair.people[0][-1].values) != row:
                yield side

    def _row(self, plan: Plan) -> bool:
        """Whether every row is a unit."""
        return self.pairs[0].world.tables["staff"] in tables_of(plan.table)

    def judge(self, asked: Question, salt: int, *, heard: bool = False, lineage: bool = False) -> str:
        """Ask a question of all pairs: refused or answered. Raises `Found` on anything that must not be."""
        first = next(self.of(row=asked.row))
        if heard:
            self._count("heard")
            same(*(transcript(curator, asked.sql) for curator in first))
        try:
            plans = h.plans_of(first[0], asked.sql)
        except Rejected as no:
            raise Found(f"rejected: {no.rule}") from no
        except (dp.NotAllowed, dp.NotUnderstood):
            return REFUSED
        except Exception as problem:
            raise Found(f"explaining fails: {type(problem).__name__}") from problem
        for plan in plans:
            row = self._row(plan)
            for one, other in self.of(row=row):
                self.ran += 1
                far = too_far(plan, looked(one, plan, salt), looked(other, plan, salt))
                if far is not None:
                    raise Found(far)
            if lineage:
                self._lineage(asked, plan, next(self.of(row=row))[row], salt)
        return ANSWERED

    def _lineage(self, asked: Question, plan: Plan, whole: dp.Curator, salt: int) -> None:
        self._count("lineage")
        if self._row(plan):
            if self.pairs[0].world.neighbours == "replace":
                return
            parts = [looked(each, plan, salt) for each in self.staff]
        else:
            parts = [looked(each.curator, plan, salt) for each in self.people]
        mixed = mixes(plan, looked(whole, plan, salt), parts)
        if mixed is not None:
            raise Found(f"rows of several people meet: {mixed}")
        world = self.pairs[0].world  # rows of those whose names are long meet nobody (`docs/sql.md`)
        if asked.plain and not asked.row and world.place != "csv" and world.form != "long":
            self._opinion(asked, plan, parts, salt)

    def _opinion(self, asked: Question, plan: Plan, parts: list[ExactResult], salt: int) -> None:
        """A second opinion on plain people, for questions that count rows or units."""
        most = plan.caps.most_rows if asked.counts == "rows" else 1
        for alone, part in list(zip(self.people, parts, strict=True))[:-1]:
            there = alone.counted(asked)
            if there is None:
                self._count("no opinion")
                return
            counted = sum(cells(plan, part, 0).values())
            if counted != min(there, most) and self._meant(alone, asked, plan, salt, most):
                self._count("other numbers")
                continue
            self._count("opinion")
            if counted != min(there, most):
                raise Found(
                    f"of one person {counted} count, and DuckDB counts {there}, of which {min(there, most)} may"
                )

    def _meant(self, alone: Alone, asked: Question, plan: Plan, salt: int, most: int) -> bool:
        """Whether two opinions are of the same rows: computed numbers are doubles, and what a unit adds up, or joins,
        ends at its cap. Where both count with doubles, and nothing is cut off, they must agree.
        """
        whole, doubles = alone.counted(asked), alone.in_doubles(self.pairs[0], asked)
        free = replace(plan, table=uncut(plan.table))
        counts = [sum(cells(each, looked(alone.curator, each, salt), 0).values()) for each in (plan, free)]
        return any(count == min(each, most) for count in counts for each in (whole, doubles) if each is not None)

    def _count(self, what: str) -> None:
        self.checked[what] = self.checked.get(what, 0) + 1


def looked(curator: dp.Curator, plan: Plan, salt: int) -> ExactResult:
    """The exact data; an engine that fails has told something."""
    try:
        return exact(curator, plan, salt)
    except dp.Broken as no:
        raise Found("the engine fails") from no


# ── what an analyst sees ─────────────────────────────────────────────────────────────────────────────────────────

AFTERWARDS = re.compile(r"\b(HAVING|LIMIT|QUALIFY|ORDER|SELECT DISTINCT)\b")
COMPARED = re.compile(r"\b(EXCEPT|EXISTS)\b")  # of answers: by their noisy numbers


def transcript(curator: dp.Curator, sql: str, **options: Any) -> dict[str, Any]:
    """Everything that comes back but the noisy numbers."""
    try:
        answer = curator.ask(sql, **({"epsilon": 1} | options))
    except (dp.Refusal, dp.Broken) as no:
        return {"status": type(no).__name__, "text": str(no), "left": str(curator.left)}
    except Exception as problem:
        raise Found(f"asking fails: {type(problem).__name__}") from problem
    seen: dict[str, Any] = {
        "status": "answer", "columns": answer.columns, "kinds": answer.kinds, "cost": repr(answer.cost),
        "left": str(curator.left), "shown left": str(answer.left), "entry": answer.bill.entry,
        "remarks": answer.bill.remarks, "names": answer.to_arrow().column_names,
    }  # fmt: skip
    drafts = curator.worked(sql, None)[0].inner
    named = not all(key.declared for each in drafts for key in each.keys)
    if not named and not (AFTERWARDS.search(sql) or (len(drafts) > 1 and COMPARED.search(sql))):
        seen["rows"] = len(answer)
        seen["numbers"] = [[type(each).__name__ == "NoneType" for each in column] for column in answer.data.columns]
    return seen


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Two transcripts, byte by byte."""
    if "Broken" in (one["status"], other["status"]):
        raise Found("the engine fails")
    for part in {**one, **other}:
        if one.get(part) != other.get(part):
            raise Found(f"{part} depends on the data: {one.get(part)!r} or {other.get(part)!r}")


# ── shorter questions ────────────────────────────────────────────────────────────────────────────────────────────


def shorter(sql: str, fails: Callable[[str], bool], tries: int = 150) -> str:
    """A shorter question that fails in the same way: parts of its tree are left out, one after the other."""
    best, left = sql, tries
    while True:
        for candidate in _smaller(best):
            left -= 1
            if left < 0:
                return best
            if fails(candidate):
                best = candidate
                break
        else:
            return best


def _smaller(sql: str) -> Iterator[str]:
    """The question with one node of its tree left out, or replaced by one of those below; large ones first."""
    try:
        many = len(list(sqlglot.parse_one(sql, dialect="duckdb").walk()))
    except sqlglot.errors.SqlglotError:
        return
    for n in range(1, many):
        for way in range(3):
            tree = sqlglot.parse_one(sql, dialect="duckdb")
            node = list(tree.walk(bfs=True))[n]
            with suppress(Exception):  # a tree that is none cannot be written
                text = tree.sql(dialect="duckdb") if _cut(node, way) else sql
                if len(text) < len(sql):
                    yield text


def _cut(node: exp.Expression, way: int) -> bool:
    if way == 0:
        if isinstance(node, (exp.Identifier, exp.Literal)) or node.parent is None:
            return False
        node.pop()
        return True
    below = [each for each in node.args.values() if isinstance(each, exp.Expression)]
    if isinstance(node, (exp.Column, exp.Identifier, exp.Table, exp.Subquery)) or len(below) < way:
        return False
    node.replace(below[way - 1].copy())
    return True
