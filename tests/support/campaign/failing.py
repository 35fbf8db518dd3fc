"""An engine that fails on a question that is paid for, for real: from then on whoever asks anything new, in any way,
hears one sentence and pays nothing, until the owner resumes the data set. Strangers hear another sentence, which is
always the same, too.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
from discreet.learn import KMeans
from support.campaign.oracle import Found
from support.campaign.questions import question
from support.campaign.worlds import Held, World

ANALYSTS = {name: dp.Budget(epsilon=1000, delta="0.01") for name in ("ann", "bob", "o'neil")}
STRANGER = "mallory"
NONSENSE = "SELECT nobody FROM nowhere"

# ── ways to fail ─────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def harmed(path: Path) -> Iterator[None]:
    """The rows of a file cannot be read, and its size and times tell nothing of it."""
    state, good = os.stat(path), path.read_bytes()
    with path.open("r+b") as file:
        file.seek(4)
        file.write(b"\xff" * (len(good) // 2))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    yield
    with path.open("r+b") as file:
        file.write(good)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@contextmanager
def unreadable(folder: Path) -> Iterator[None]:
    with ExitStack() as stack:
        for each in sorted((folder / "held").glob("*.parquet")):
            stack.enter_context(harmed(each))
        yield


@contextmanager
def hurried(_: Path) -> Iterator[None]:
    """An engine that has no time at all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDBSnapshot, "seconds", 0.0)
        yield


WAYS = {"a file that cannot be read": unreadable, "no time": hurried}

# ── ways to ask ──────────────────────────────────────────────────────────────────────────────────────────────────

Act = Callable[[dp.Curator, World, str, str], Any]  # of a curator: a text, and who asks


def _fit(curator: dp.Curator, world: World, sql: str, who: str) -> Any:
    columns = [world.names["visits"]["real"]]
    return KMeans(2, epsilon=3, analyst=who).fit_table(curator, world.tables["visits"], columns)


NEW: dict[str, Act] = {
    "ask": lambda held, _, sql, who: held.ask(sql, epsilon=1, analyst=who),
    "ask for little": lambda held, _, sql, who: held.ask(sql, epsilon="1e-9", analyst=who),
    "ask for more than there is": lambda held, _, sql, who: held.ask(sql, epsilon=10**7, analyst=who),
    "ask several": lambda held, _, sql, who: held.ask_many([sql, sql], epsilon=1, analyst=who),
    "reuse": lambda held, _, sql, who: held.ask(sql, epsilon=2, reuse=True, analyst=who),
    "fit_table": _fit,
}
FREE: dict[str, Act] = {
    "explain": lambda held, _, sql, who: str(held.explain(sql, epsilon=1, analyst=who)),
    "explain several": lambda held, _, sql, who: str(held.explain_many([sql], epsilon=1, analyst=who)),
}


def refusal(act: Act, curator: dp.Curator, world: World, sql: str, who: str) -> str:
    """What is said where nothing may be answered."""
    try:
        act(curator, world, sql, who)
    except dp.Refusal as no:
        return f"{type(no).__name__}: {no}"
    except Exception as problem:
        raise Found(f"asking fails: {type(problem).__name__}") from problem
    return "answered"


# ── the hunt ─────────────────────────────────────────────────────────────────────────────────────────────────────


def opened(world: World, held: Held, folder: Path) -> dp.Curator:
    return world.kept(held, folder, analysts=ANALYSTS)


def answerable(dice: random.Random, world: World, curator: dp.Curator, many: int) -> list[str]:
    """Questions that would be answered, each of them another."""
    found: dict[str, str] = {}
    while len(found) < many:
        sql = question(dice, world).sql
        try:
            plan = curator.explain(sql, epsilon=1, analyst="ann").plan
        except dp.Refusal:
            continue
        if plan.naming is None:
            found.setdefault(plan.key, sql)
    return list(found.values())


def examine(dice: random.Random, folder: Path) -> int:
    """Let one question fail; returns how many were asked of a data set that has stopped."""
    world = World.random(dice, place="parquet")
    held = world.pair(dice).held(0)
    with opened(world, held, folder) as curator:
        old, failing, *new = answerable(dice, world, curator, 4)
        first = curator.ask(old, epsilon=1, analyst="ann")
        with WAYS[dice.choice(list(WAYS))](folder):
            _failed(curator, failing, dice.choice(list(ANALYSTS)))
        left = [str(curator.ledger.left_to(each)) for each in ANALYSTS]
        asked = _stopped(dice, curator, world, [failing, *new])
        with opened(world, held, folder) as other:  # as another process would
            asked += _stopped(dice, other, world, [failing, *new])
            again = other.ask(old, epsilon=1, analyst="ann")
        if again.cost != dp.Loss.ZERO or again.data != first.data:
            raise Found("what was answered before is not what it was")
        explained = [act(curator, world, new[0], "bob") for act in FREE.values()]
        if left != [str(curator.ledger.left_to(each)) for each in ANALYSTS]:
            raise Found("a data set that has stopped is paid")
        curator.ledger.resume(curator.failures)
        if explained != [act(curator, world, new[0], "bob") for act in FREE.values()]:
            raise Found("an explanation depends on whether an engine failed")
        curator.ask(new[0], epsilon=1, analyst="ann")
        curator.ledger.verify()
    return asked


def _failed(curator: dp.Curator, sql: str, who: str) -> None:
    try:
        curator.ask(sql, epsilon=1, analyst=who)
    except dp.Broken:
        return
    raise Found(f"an engine that fails answers: {sql}")


def _stopped(dice: random.Random, curator: dp.Curator, world: World, texts: list[str]) -> int:
    """Every way to ask, for everybody: one sentence; for strangers another."""
    heard = {
        f"{name} for {who}": refusal(act, curator, world, dice.choice(texts), who)
        for name, act in NEW.items()
        for who in ANALYSTS
    }
    if len(set(heard.values())) != 1 or not next(iter(heard.values())).startswith("Stopped"):
        raise Found(f"after a failure not all hear the same: {heard}")
    strange = {
        f"{name} {'nonsense' if sql == NONSENSE else ''}": refusal(act, curator, world, sql, STRANGER)
        for name, act in {**NEW, **FREE}.items()
        for sql in (dice.choice(texts), NONSENSE)
    }
    if len(set(strange.values())) != 1 or not next(iter(strange.values())).startswith("NotYours"):
        raise Found(f"a stranger hears something: {strange}")
    return len(heard) + len(strange)
