"""Questions that are larger than they look: texts that grow, numbers of many digits, conditions and columns by the
hundred. Each is refused before anything is paid, or answered soon, with texts no longer than was promised.
"""

from __future__ import annotations

import random
import time
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.postprocess.sizes import MAX_TEXT_CHARS
from support.campaign.oracle import Found
from support.lineage import curator, table

SECONDS = 8.0  # of a processor, for what takes a tenth of that
GROWS = ["@ || @", "CONCAT(@, @, @)", "REPLACE(@, 'a', 'aaaaaaaaaa')", "CASE WHEN n > 0 THEN @ ELSE @ || 'b' END",
         "COALESCE(@, 'x') || UPPER(@)", "LPAD(@, 900, 'x')", "REVERSE(@)", "CAST(@ AS TEXT) || n"]  # fmt: skip
LAYER = ["a || a", "a || k", "CONCAT(a, a, a)", "a || a || a || a", "REPLACE(a, 'a', 'aaa')"]
INNER = "(SELECT k, COUNT(*) AS n FROM data GROUP BY k) AS d"


def _nested(dice: random.Random, leaf: str, most: int) -> str:
    """A text of texts; all parts of one level are the same, so that it grows as fast as it can."""
    text = leaf
    for _ in range(dice.randint(1, 9)):
        way = dice.choice(GROWS)
        if len(text) * way.count("@") > most:
            break
        text = way.replace("@", text)
    return text


def _text(dice: random.Random) -> str:
    leaf = dice.choice(["k", "'" + "a" * dice.choice([1, 10, 400]) + "'", "CAST(n AS TEXT)"])
    return f"SELECT {_nested(dice, leaf, 18_000)} AS t FROM {INNER}"


def _layers(dice: random.Random) -> str:
    """By names, layer after layer."""
    below = f"(SELECT '{'a' * dice.choice([1, 10, 400])}' AS a, k, n FROM {INNER}) AS l"
    for n in range(dice.randint(1, 7)):
        below = f"(SELECT {dice.choice(LAYER)} AS a, k, n FROM {below}) AS l{n}"
    return f"SELECT a FROM {below}"


def _number(dice: random.Random) -> str:
    digits = dice.choice([3, 30, 400, 5000])
    number = dice.choice(["1e-{}", "1E+{}", "0.{}", "{}", "-{}.5e-7"]).format(dice.choice(["9", "3"]) * digits)
    many = dice.choice(["1e-300000", "1e2000000", "-1e-1000000", "1e309", number])
    return dice.choice(["SELECT COUNT(*) FROM data WHERE x > {}", "SELECT SUM(x * {}) FROM data",
                        "SELECT n * {} FROM (SELECT COUNT(*) AS n FROM data) AS d"]).format(many)  # fmt: skip


def _many(dice: random.Random) -> str:
    n = dice.choice([2, 40, 120, 300])
    return dice.choice([
        "SELECT " + ", ".join(f"COUNT(*) FILTER (WHERE x % {m + 2} > {m % 7})" for m in range(n)) + " FROM data",
        f"SELECT COUNT(*) FROM data WHERE x IN ({', '.join(str(m) for m in range(10 * n))})",
        f"SELECT COUNT(*) FROM data WHERE {'NOT ' * n} x > 3",
        f"SELECT COUNT(*) FROM data WHERE {' OR '.join(f'(x = {m} AND k = {chr(39)}x{chr(39)})' for m in range(n))}",
        "SELECT COUNT(*) FROM data GROUP BY CUBE (" + ", ".join(f"x > {m}" for m in range(min(n, 12))) + ")",
        f"SELECT {', '.join(['*'] * min(n, 40))} FROM (SELECT * , * FROM (SELECT COUNT(*) AS n FROM data))",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * min(n, 120) + "data" + ")" * min(n, 120),
    ])  # fmt: skip


WAYS = [_text, _text, _layers, _layers, _number, _many]


def opened() -> dp.Curator:
    frame = pa.table({"x": pa.array([1, 2, 3]), "k": ["x", "y", "x"]})
    return curator(
        DuckDBSource(places={"data": '"data"'}, frames={"data": frame}),
        [table("data", columns={"x": (0, 1000), "k": ["x", "y"]})],
    )


def examine(dice: random.Random, held: dp.Curator) -> str:
    """Ask one of them: refused, at no cost, or answered, in little time and little room."""
    sql, left, start = dice.choice(WAYS)(dice), str(held.left), time.process_time()
    came = "answered"
    try:
        answer: Any = held.ask(sql, epsilon=1)
        texts = [each for column in answer.data.columns for each in column if isinstance(each, str)]
        longest = max(map(len, texts), default=0)
        if longest > MAX_TEXT_CHARS:
            raise Found(f"a text of {longest} letters: {sql[:200]}")
    except dp.Refusal:
        came = "refused"
        if str(held.left) != left:
            raise Found(f"a refusal is paid: {sql[:200]}") from None
    except Exception as problem:
        if isinstance(problem, Found):
            raise
        raise Found(f"asking fails: {type(problem).__name__}: {sql[:200]}") from problem
    if time.process_time() - start > SECONDS:
        raise Found(f"it takes {time.process_time() - start:.1f} s: {sql[:200]}")
    return came
