"""Choices of what counts of each unit, and exact data in a form in which engines and `kernel.evaluate` are compared."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from discreet.kernel.meaning.evaluate import Choice, Tables, evaluate
from discreet.kernel.meaning.functions import Moment
from discreet.kernel.plan import ExactResult
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.plan.plan import Plan

EPOCH = 719_163  # the number of the day on which 1970 began
DAY = 24 * 3600 * 10**6
WHOLES = [2**63 - 1, -(2**63), 0, 1, -1, None, 2**53 + 1, 2**53, 50, 7, 3, 120]
REALS = [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e308, -1e308, 5e-324, None, 1.5, 12.25, 36.6]
TEXTS = [
    "",
    "it's",
    "nan",
    "inf",
    None,
    "F",
    "W0",
    "W1",
    "10",
    "11",
    "north",
    "a-1",
    "1e999",
    "\x00",
    "x" * 9000,
]
DAYS = [None, 0, 19783, 19800, -719162, 2932896, 2**31 - 1, -(2**31) + 1, 4_000_000, 20080, 20090]  # from 1970
STAMPS = [None, 0, 1709424000000000, 1709510399999999, 2**63 - 1, 2**62, -(2**62), 253402300800000000]
HOSTILE: dict[Any, list[Any]] = {
    pa.int64(): WHOLES,
    pa.float64(): REALS,
    pa.string(): TEXTS,
    pa.bool_(): [True, False, None],
    pa.date32(): DAYS,
    pa.timestamp("us"): STAMPS,
}


def make_hostile(data: Path, rows: int) -> Tables:
    """Put rows of hostile values into the files of a folder; return the same rows as Python has them."""
    chance, found = random.Random(11), {}
    for path in sorted(data.glob("*.parquet")):
        schema = pq.read_schema(path)
        columns = {each.name: [chance.choice(HOSTILE[each.type]) for _ in range(rows)] for each in schema}
        plain = {pa.date32(): pa.int32(), pa.timestamp("us"): pa.int64()}
        arrays = [pa.array(columns[each.name], plain.get(each.type, each.type)).view(each.type) for each in schema]
        pq.write_table(pa.table(arrays, schema=schema), path)
        said = {each.name: [_moment(each.type, x) for x in columns[each.name]] for each in schema}
        found[path.stem] = [dict(zip(said, row, strict=True)) for row in zip(*said.values(), strict=True)]
    return found


def _moment(kind: Any, stored: Any) -> Any:
    if stored is None or kind not in (pa.date32(), pa.timestamp("us")):
        return stored
    days, micros = (stored, 0) if kind == pa.date32() else divmod(stored, DAY)
    return Moment(EPOCH + days, micros)


class Salted:
    """A choice by a hash under a salt, as engines choose."""

    def __init__(self, salt: int) -> None:
        self.salt = salt

    def rank(self, unit: Any, thing: tuple[Any, ...]) -> int:
        said = repr((self.salt, unit, thing)).encode(errors="surrogatepass")
        return int.from_bytes(hashlib.sha256(said).digest()[:8], "big")

    def start(self, unit: Any, group: tuple[Any, ...], rows: int) -> int:
        return self.rank(unit, (*group, "start")) % rows


class Written:
    """A choice that is written down: the order of the things of each unit, and where rounding starts."""

    def __init__(self, order: dict[Any, int], starts: dict[Any, int]) -> None:
        self.order, self.starts = order, starts

    def rank(self, unit: Any, thing: tuple[Any, ...]) -> int:
        return self.order.get((unit, thing), -1)

    def start(self, unit: Any, group: tuple[Any, ...], rows: int) -> int:
        return self.starts[unit, group]


class Noted(Salted):
    """A choice that notes what it is asked."""

    def __init__(self) -> None:
        super().__init__(0)
        self.things: dict[Any, dict[tuple[Any, ...], None]] = {}
        self.starts: dict[Any, int] = {}

    def rank(self, unit: Any, thing: tuple[Any, ...]) -> int:
        self.things.setdefault(unit, {})[thing] = None
        return super().rank(unit, thing)

    def start(self, unit: Any, group: tuple[Any, ...], rows: int) -> int:
        self.starts[unit, group] = rows
        return super().start(unit, group, rows)


def every_choice(plan: Plan, tables: Tables) -> Iterator[Choice]:
    """All choices that can matter for a plan on small tables."""
    noted = Noted()
    evaluate(plan, tables, noted)
    several = {unit: list(things) for unit, things in noted.things.items() if len(things) > 1}
    for orders in product(*(permutations(things) for things in several.values())):
        order = {
            (unit, thing): place
            for unit, things in zip(several, orders, strict=True)
            for place, thing in enumerate(things)
        }
        asked = Noted()
        asked.rank = Written(order, {}).rank  # type: ignore[method-assign]
        evaluate(plan, tables, asked)
        for starts in product(*map(range, asked.starts.values())):
            yield Written(order, dict(zip(asked.starts, starts, strict=True)))


def plainly(plan: Plan, found: ExactResult) -> Any:
    """Exact data as plain tuples, private keys in an order."""
    places = list(range(len(found.units)))
    if plan.naming is not None:
        places.sort(key=lambda place: repr(found.keys[place]))
    sums = []
    for each in found.sums:
        if isinstance(each, Histogram):
            at = {place: n for n, place in enumerate(places)}
            triples = zip(each.group.tolist(), each.value.tolist(), each.count.tolist(), strict=True)
            sums.append(tuple(sorted((at[group], x, many) for group, x, many in triples)))
        else:
            sums.append(tuple(tuple(int(x) for x in part) for part in np.asarray(each)[:, places]))
    keys = tuple(found.keys[place] for place in places) if plan.naming is not None else ()
    return keys, tuple(int(found.units[place]) for place in places), tuple(sums)
