"""k-means on a table that a curator holds, by questions alone.

The questions are: the number of rows, the rows in each cell of a grid, then for each cluster the count and the sums of
clipped offsets. Any analyst may ask these. So the unit, its contribution bounds, the ledger and the noise are the
curator's, and nothing here sees a row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import pairwise

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.catalogue.schema import Catalogue, Column, Table
from discreet.core import record
from discreet.core.coins import SYSTEM
from discreet.core.loss import Loss
from discreet.core.text import show
from discreet.errors import BudgetExceeded, NotAllowed, NotUnderstood
from discreet.learn.domain import Box, Floats
from discreet.learn.grid import MAX_DIMENSIONS, MAX_SIDE, Partition, partition_for
from discreet.learn.method import Clustering, inside
from discreet.learn.nearest_center import Centres
from discreet.learn.noisy_histogram import Outline, outline
from discreet.learn.summary import Summary
from discreet.plan.terms import Terms, read_terms
from discreet.procedures.procedure import Context, Procedure
from discreet.procedures.single import ask, explain
from discreet.sql import build
from discreet.sql.query import Expression, Select

__all__ = ["find_in_table"]

DIGITS = 12  # of a bound in a question
# characters of a question on record; half, as centres may have more digits
MAX_QUESTION_CHARS = record.MAX_RECORD_CHARS // 2
ROWS, CELLS = Fraction(1, 50), Fraction(24, 50)  # of ε; half of it is for the rounds
NARROW, WIDE = 1.0, 3.0  # root-mean-square radii along a column, between which offsets are clipped


def find_in_table(
    method: Summary, context: Context, table: str, columns: Sequence[str]
) -> Procedure[tuple[Clustering, Box, Loss]]:
    """Return the centres of some columns of a table, for ε in all; their box; and the loss that was paid.

    Given    a curator drives this procedure: each question is charged before the data are looked at.
    Promise  what the curator promises: the loss of all questions together, for each unit, is at most ε, or the ρ that
             they buy.
    """
    asked = _Asking(method, context, table, columns)
    cells = CELLS * method.epsilon
    people = yield from asked.rows(ROWS * method.epsilon)
    scale = asked.scale(cells)
    partition = partition_for(asked.box, people, scale, method.clusters, asked.coins)
    counts = yield from asked.cells(partition, cells)
    known = outline(partition, counts, scale=scale, people=people, clusters=method.clusters, coins=asked.coins)
    found = yield from _refine(method, asked, known)
    return found, asked.box, asked.cost


def _refine(method: Summary, asked: _Asking, known: Outline) -> Procedure[Clustering]:
    """Run rounds of Lloyd's algorithm.

    Each coordinate of an offset is clipped on its own, because each has its own sum.
    """
    box, d, centres = asked.box, len(asked.box), np.rint(known.centres)
    sizes, noise = known.sizes(centres), np.full(method.clusters, np.inf)
    early, last = method.shares
    for turn in range(method.rounds):
        part = method.epsilon * (last if turn == method.rounds - 1 else early)
        clip = _clip(asked.noise(method.clusters, part) * method.clusters / known.people) * known.radius / d
        sizes, sums, margins = yield from asked.moves(centres, clip, part)
        off = margins / 2 / np.maximum(sizes, 1)  # of each coordinate, about one standard deviation
        sure = (sizes > 1) & (off * math.sqrt(d) < clip / 2)
        moved = inside(box, centres + sums / np.maximum(sizes, 1)[:, None])
        centres = np.where(sure[:, None], moved, centres)
        noise = np.where(sure, off * float(box.step), np.inf)
    return Clustering(box.values(centres), sizes, noise)


def _clip(noise: float) -> float:
    """Return the width to which offsets are clipped, in root-mean-square radii; `noise` is relative to a cluster's
    count.

    Because  a centre's noise is noise·width, and what is cut off takes it astray: of clusters that fall off on one side
             as e^-x does, by 0.24·e^(-2.25·width) of the variance (by simulation). The sum of squares is least near
             0.72·ln(0.6/noise); the radius is that of clusters blurred by cells, so it is a third of that.
    """
    return min(max(0.72 * math.log(0.2 / noise), NARROW), WIDE)


class _Asking:
    """Questions about some columns of one table."""

    def __init__(self, method: Summary, context: Context, table: str, columns: Sequence[str]) -> None:
        self.context = context
        self.coins, self.cost = SYSTEM, Loss.ZERO
        declared = _table(context.catalogue, table)
        if isinstance(columns, str):
            raise NotUnderstood("columns are a list of names.", code="wrong-argument", instead=f'columns=["{columns}"]')
        self.columns = [_column(declared, name) for name in columns]
        if not 1 <= len(self.columns) <= MAX_DIMENSIONS or len({each.name for each in self.columns}) < len(columns):
            raise NotUnderstood(
                f"name 1 to {MAX_DIMENSIONS} columns, each once.",
                code="wrong-argument",
                instead='columns=["age", "cost"]',
            )
        self.box = Box.of([each.bounds for each in self.columns], len(self.columns))
        self.table = build.table(declared.name)
        self.there = build.conjunction([_is_there(each.name) for each in self.columns])
        self._refuse_early(method)

    def _refuse_early(self, method: Summary) -> None:
        """Refuse, before the first question is paid for, whatever a later question would be refused for.

        Because  the questions are these: what they say of numbers that are not known yet is as long for all of them,
                 the grid is the largest that there is, and what they cost does not depend on what they find.
        """
        largest = partition_for(self.box, math.inf, 1.0, method.clusters, self.coins)
        moves, (early, last) = self._tried_at_all(method), method.shares
        wanted = [(self._rows(), ROWS, 1), (self._cells(largest.sides), CELLS, 1),
                  (moves, early, method.rounds - 1), (moves, last, 1)]  # fmt: skip
        cost = Loss.ZERO
        for query, part, times in wanted:
            if times:
                cost = sum([self._cost(query, part * method.epsilon)] * times, cost)
        left = self.context.left()
        if cost not in left:
            raise BudgetExceeded(
                f"the budget has no room for it: this costs ε = {show(method.epsilon)}.",
                code="budget-exceeded",
                instead=f"{left} is left",
            )

    def _tried_at_all(self, method: Summary) -> Select:
        """Return the question about the clusters; refuse if there are too many clusters for one question."""
        self._cost(self._tried(1), method.epsilon)
        tried = self._tried(method.clusters)
        try:
            self._cost(tried, method.epsilon)
        except NotAllowed:
            raise NotUnderstood(
                f"{method.clusters} clusters of {len(self.box)} columns are more than one question can name.",
                code="too-large",
                instead="fewer clusters, or fewer columns; KMeans.fit has no such limit",
            ) from None
        return tried

    def _cost(self, query: Select, epsilon: Fraction) -> Loss:
        """Return the loss of a question; refuse if its record would be too long, whatever is found."""
        plan = self._explain(query, epsilon).plan
        if len(record.write(plan)) > MAX_QUESTION_CHARS:
            raise NotAllowed("this question is too large.", code="too-large", instead="write it with fewer parts")
        return plan.loss.charged

    def _ask(self, query: Select, epsilon: Fraction) -> Procedure[Answer]:
        answer = yield from ask(query, None, _for(epsilon), self.context)
        self.cost = self.cost + answer.cost
        return answer

    def _explain(self, query: Select, epsilon: Fraction) -> Explanation:
        return explain(self.context.draft(query), _for(epsilon), self.context)

    def rows(self, epsilon: Fraction) -> Procedure[float]:
        """Return the approximate number of rows."""
        answer = yield from self._ask(self._rows(), epsilon)
        return float(answer.value)

    def _rows(self) -> Select:
        return build.select(self.table, {"n": build.aggregate_of("count")}, where=self.there)

    def scale(self, epsilon: Fraction) -> float:
        """Return the scale of the noise on each cell of a grid, before the grid is known.

        The scale is that of the law, not derived from its variance: small noise rounds to zero on whole numbers.
        """
        two = self._cells((2,) + (1,) * (len(self.box) - 1))
        scale: float = self._explain(two, epsilon).plan.laws[0].laplace_scale
        return scale

    def noise(self, clusters: int, epsilon: Fraction) -> float:
        """Return about one standard deviation of the noise on the count of each cluster."""
        asked = self._explain(self._tried(clusters), epsilon)
        return max(asked.margins()["n"] or 0.0, 1.0) / 2

    def cells(self, partition: Partition, epsilon: Fraction) -> Procedure[Floats]:
        """Return the noisy number of rows in each cell."""
        answer = yield from self._ask(self._cells(partition.sides), epsilon)
        place, counts = np.zeros(partition.cells, np.intp), np.zeros(partition.cells)
        for n, (first, _) in enumerate(_packed(partition.sides)):
            place += np.array(answer[f"c{n}"], np.intp) * math.prod(partition.sides[:first])
        counts[place] = np.array(answer["n"], np.float64)
        return counts

    def _cells(self, sides: Sequence[int]) -> Select:
        """Return the question about the cells.

        The cells along some columns form one key, so that the answer has few columns.
        """
        keys = dict[str, Expression]()
        for n, (first, last) in enumerate(_packed(sides)):
            steps = [build.number(math.prod(sides[first:i])) for i in range(first, last)]
            terms = [build.call("*", step, self._bucket(first + i, sides[first + i])) for i, step in enumerate(steps)]
            keys[f"c{n}"] = reduce(lambda one, two: build.call("+", one, two), terms)
        items = keys | {"n": build.aggregate_of("count")}
        return build.select(self.table, items, where=self.there, keys=list(keys.values()))

    def _bucket(self, index: int, side: int) -> Expression:
        low, high = (_exactly(end) for end in self.box.sides[index])
        bucket = build.width_bucket(build.column(self.columns[index].name), low, high, side)
        within = build.call("least", build.number(side), build.call("greatest", build.number(1), bucket))
        return build.call("-", within, build.number(1))

    def moves(self, centres: Floats, clip: float, epsilon: Fraction) -> Procedure[tuple[Floats, Floats, Floats]]:
        """Return for each cluster the count, the sums of clipped offsets, in steps, and the margins of those sums."""
        step, (k, d) = float(self.box.step), centres.shape
        answer = yield from self._ask(self._moves(self.box.values(centres), clip * step), epsilon)
        index, margin = np.array(answer["j"], np.intp), answer.margin()
        counts, sums, off = np.zeros(k), np.zeros((k, d)), np.zeros(k)
        counts[index] = np.array(answer["n"], np.float64)
        for i in range(d):
            sums[index, i] = np.array(answer[f"s{i}"], np.float64) / step
            off[index] = np.maximum(off[index], np.array(margin[f"s{i}"], np.float64) / step)
        return counts, sums, off

    def _tried(self, clusters: int) -> Select:
        """Return a question about `clusters` clusters that is as long as any, as negative positions have a sign to
        write.
        """
        places = -np.linspace(0, 1, clusters)[:, None] * self.box.halves
        return self._moves(self.box.values(places), float(self.box.halves.max() * self.box.step) / 4)

    def _moves(self, at: Floats, width: float) -> Select:
        centres = Centres(at, self.box)
        columns: dict[str, Expression] = {f"x{i}": build.column(each.name) for i, each in enumerate(self.columns)}
        rows = centres.labelled(build.select(self.table, columns, where=self.there))
        items: dict[str, Expression] = {"j": build.column("j"), "n": build.aggregate_of("count")}
        return build.select(rows, items | centres.sums(width), keys=[build.column("j")])


def _is_there(name: str) -> Expression:
    missing = build.call("is", build.column(name), build.truth(None))
    return build.call("not", missing)


def _packed(sides: Sequence[int]) -> list[tuple[int, int]]:
    """Group adjacent columns, as (first, end) pairs, such that the cells of a group are no more than the values of one
    key.
    """
    found = [0]
    for i in range(1, len(sides)):
        if math.prod(sides[found[-1] : i + 1]) > MAX_SIDE:
            found.append(i)
    return list(pairwise([*found, len(sides)]))


def _for(epsilon: Fraction) -> Terms:
    return read_terms(epsilon=epsilon, within=None, confidence="0.95", delta=None, default=None)


def _table(catalogue: Catalogue, name: str) -> Table:
    found: Table | None = next((each for each in catalogue.tables if each.name == name), None)
    if found is None or found.public:
        known = ", ".join(each.name for each in catalogue.tables if not each.public)
        raise NotUnderstood("there is no such table of people.", code="unknown-table", instead=f"one of {known}")
    return found


def _column(table: Table, name: str) -> Column:
    found = table.column(name) if isinstance(name, str) else None
    if found is None or not _bounded(found):
        known = [each.name for each in table.columns if _bounded(each)]
        said = (
            f"of {table.name} these are: {', '.join(known[:12])}{', …' if len(known) > 12 else ''}; or "
            if known
            else ""
        )
        raise NotAllowed(
            f"k-means takes declared columns of numbers with bounds, and `{name}` is not one.",
            code="no-bounds",
            instead=f"{said}declare it: {name} = {{ min = 0, max = 1000 }}",
        )
    return found


def _bounded(column: Column) -> bool:
    return column.bounds is not None and column.kind in ("integer", "real")


def _exactly(value: Fraction) -> int | Fraction:
    """Round a bound to `DIGITS` digits, as SQL reads it: a whole number has no decimals."""
    text = np.format_float_positional(float(value), precision=DIGITS, fractional=False, trim="-")
    return Fraction(text) if "." in text else int(text)
