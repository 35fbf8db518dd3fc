"""Whatever was asked before, a question means the same: plans of a curator that remembers, and of a new one."""

from __future__ import annotations

import functools
import gc
import random

import discreet as dp
from support import hostile as h
from support.campaign.oracle import Found

EQUAL = [["1", "1.0", "TRUE", "1e0"], ["0", "0.0", "FALSE", "-0.0"], ["2", "2.0", "4 / 2"]]
SHAPES = [
    "SELECT COUNT(*) AS n FROM data WHERE CAST({} AS TEXT) = '1'",
    "SELECT COUNT(*) FROM data WHERE CAST({} AS TEXT) LIKE '%.%'",
    "SELECT COUNT(*) FROM data WHERE note = CAST({} AS TEXT)",
    "SELECT COALESCE(CAST({} AS TEXT), note) AS k, COUNT(*) FROM data GROUP BY k",
    "SELECT SUM(CASE WHEN age > 3 THEN {} ELSE 0 END) FROM data",
    "SELECT COUNT(*) FROM data WHERE age = {}",
    "SELECT COUNT(*) FILTER (WHERE LENGTH(CAST({} AS TEXT)) = 1), COUNT(*) FROM data",
]


def forget() -> None:
    """Empty every cache of the process."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper):
            each.cache_clear()


def planned(curator: dp.Curator, sql: str) -> str:
    try:
        return repr(h.plan_of(curator, sql))
    except dp.Refusal as no:
        return str(no)


def examine(dice: random.Random, curator: dp.Curator, fresh: dp.Curator) -> None:
    """Ask what looks equal to Python, one after the other, and each of it anew."""
    shape, constants = dice.choice(SHAPES), list(dice.choice(EQUAL))
    dice.shuffle(constants)
    texts = [shape.format(each) for each in constants]
    forget()
    warm = [planned(curator, each) for each in texts]
    for sql, remembered in zip(texts, warm, strict=True):
        forget()
        fresh._drafts = type(fresh._drafts)(1)
        if planned(fresh, sql) != remembered:
            raise Found(f"what was asked before decides what is asked: {sql} after {texts}")
