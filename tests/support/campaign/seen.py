"""All that an analyst can reach, in random worlds whose neighbours are the same to every sum: then, under the same
entropy and the same clock, nothing at all may differ, neither in what is said nor in the names and sizes of files.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.core.coins import SYSTEM
from discreet.ledger import journal
from discreet.ledger.facts import Version
from support.campaign.oracle import Found
from support.campaign.worlds import WHOLES, Held, World

BEYOND = [10, *(each for each in WHOLES if each > 9)]  # all of them are 9 to a sum
ASKED = [
    "SELECT COUNT(*) AS n FROM {visits}", "SELECT SUM({number}), COUNT(*) FROM {visits}",
    "SELECT {key}, AVG({number}) AS a FROM {visits} GROUP BY {key}", "SELECT COUNT(DISTINCT {unit}) FROM {visits}",
    "SELECT {flag}, COUNT(*), SUM({number}) FROM {visits} GROUP BY {flag} ORDER BY 2 DESC LIMIT 1",
    "SELECT {text}, COUNT(DISTINCT {unit}) FROM {visits} GROUP BY {text}", "SELECT MEDIAN({number}) FROM {visits}",
    "SELECT COUNT(*) FILTER (WHERE {number} > 3), COUNT(*) FILTER (WHERE {number} > 5) FROM {visits}",
    "SELECT SUM({number}) / 0 FROM {visits}", "SELECT nobody FROM {visits}", "SELECT VAR_SAMP({number}) FROM {visits}",
]  # fmt: skip


@contextmanager
def pinned(patched: pytest.MonkeyPatch) -> Iterator[None]:
    """The same entropy and the same clock for whoever comes: then whatever differs is a function of the data."""
    count = itertools.count()

    def entropy(size: int) -> bytes:
        return hashlib.shake_256(next(count).to_bytes(8, "big")).digest(size)

    class Clock(datetime):
        ticks = itertools.count()

        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=next(cls.ticks))

    with patched.context() as patch:
        patch.setattr(os, "urandom", entropy)
        patch.setattr(journal, "datetime", Clock)
        SYSTEM._born()
        yield
    SYSTEM._born()


PLACE = re.compile(r"[0-9a-f]{32}-(?=[0-9a-f]{32}\.place)")  # a digest of where a ledger is


def masked(texts: list[str], ledger: dp.Ledger) -> list[str]:
    """The same without keyed tags and without the hashes of entries, which hold them."""
    for entry in list(ledger):
        tags = [entry.fact.tag] if isinstance(entry.fact, Version) else []
        for each in (*tags, entry.hash, entry.hash[:16]):
            texts = [text.replace(each, "…") for text in texts]
    return texts


def neighbours(dice: random.Random, world: World) -> tuple[Held, Held]:
    """Two databases that are the same to every sum: numbers beyond their bound are others beyond it."""
    pair = world.pair(dice)
    one = pair.held(0)
    two = {role: [dict(row) for row in rows] for role, rows in one.items()}
    for row in two["visits"]:
        if row["number"] is not None and row["number"] > 9:
            row["number"] = dice.choice([each for each in BEYOND if each != row["number"]])
    extra = dice.choice(one["visits"]) | {"number": 10}  # in any case there is one
    return one | {"visits": [*one["visits"], extra]}, two | {"visits": [*two["visits"], extra | {"number": 2**40}]}


def everything(curator: dp.Curator, texts: list[str], folder: Path, *, index: bool) -> Iterator[str]:
    """Whatever comes back, in every form; and what can be listed beside the data."""
    for sql in texts:
        for act in (curator.explain, curator.ask):
            try:
                found: Any = act(sql, epsilon="0.5")
            except (dp.Refusal, dp.Broken) as no:
                yield f"{type(no).__name__} {no}"
                continue
            yield from (str(found), repr(found), repr(found.plan))
            if act == curator.ask:
                yield from (found._repr_html_(), repr(found.bill.left), repr(found.released), repr(found.to_dict()))
                yield f"{found.receipt!r} {found.receipt and vars(found.receipt)} {found.bill.remarks}"
        yield f"{curator.left} {curator!r}"
    if index:  # which rows it holds is chosen by all that they hold: its answers may differ, and nothing else
        curator.index()
        yield from (str(curator.explain(sql, epsilon="0.5")) for sql in texts if "nobody" not in sql)
    yield str(curator.explain_many(texts[:2], epsilon=1) if "nobody" not in "".join(texts[:2]) else "")
    yield from (entry.body for entry in curator.ledger)
    yield "\n".join(map(str, curator.ledger.balances))
    for name, each in sorted(
        (PLACE.sub("place-of-", str(each.relative_to(folder))), each) for each in folder.rglob("*")
    ):
        if "held" not in each.relative_to(folder).parts[0]:
            size = "" if each.suffix == ".duckdb" else each.stat().st_size  # in a folder that nobody else can list
            yield f"{name} {size}"


def examine(dice: random.Random, folder: Path) -> int:
    """Compare all that is seen of two neighbours; returns how much that is."""
    world = World.random(dice, place=dice.choice(["parquet", "csv", "frames", "duckdb"]))
    named = {role: f'"{name}"' for role, name in world.names["visits"].items()}
    texts = [sql.format(**named, visits=f'"{world.tables["visits"]}"') for sql in dice.sample(ASKED, 5)]
    index, seen = dice.random() < 0.5, list[list[str]]()
    for n, held in enumerate(neighbours(dice, world)):
        (own := folder / f"{n}").mkdir()
        with pytest.MonkeyPatch.context() as patched, pinned(patched), world.kept(held, own) as curator:
            found = [each.replace(str(own), "HERE") for each in everything(curator, texts, own, index=index)]
            seen.append(masked(found, curator.ledger))
    for one, other in zip(*seen, strict=True):
        if one != other:
            at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
            told = [each[max(0, at - 60) : at + 60] for each in (one, other)]
            raise Found(f"it depends on the data: …{told[0]}… or …{told[1]}…")
    return len(seen[0])
