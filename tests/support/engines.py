"""Curators over sources that a test made, and looks at what their engines find."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

import discreet as dp
from discreet.catalogue.schema import Catalogue
from discreet.core.coins import Coins
from discreet.curator import session
from discreet.curator.opening import engine_of
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.snapshot import DuckDBSnapshot, RunningQuery
from discreet.engines.engine import Cancel
from discreet.kernel.check import Certificate
from discreet.kernel.plan import ExactResult
from discreet.plan.compile import compiler
from discreet.plan.plan import Plan
from discreet.procedures import procedure
from discreet.procedures.procedure import Context, Procedure, Purchase, Sold

Looks = Callable[..., tuple[Plan, ExactResult]]


def curator_of(catalogue: Catalogue, source: DuckDBSource, ledger: dp.Ledger, **given: Any) -> dp.Curator:
    """A curator of these data."""
    return dp.Curator(engine_of(catalogue, source, ledger), ledger, **given)


def aggregate(curator: dp.Curator, plan: Plan, permission: Any, coins: Coins) -> ExactResult:
    """The exact data of a plan, whatever the kernel says of it."""
    held = curator.engine.snapshot()
    return held.aggregate(unjudged(plan, held.catalogue), permission, coins=coins, cancel=Cancel())[1]


def unjudged(plan: Plan, declared: Any = None) -> Certificate:
    """A certificate that nobody has earned; for a ledger it need not say of which declarations."""
    return Certificate(mechanism=plan, added=(), widths=(), loss=plan.loss, facts=declared and declared.facts)


def without_kernel(patch: pytest.MonkeyPatch) -> None:
    """Let every plan pass, to see what the kernel keeps out."""
    patch.setattr(procedure, "check", unjudged)
    patch.setattr(session, "check", unjudged)
    patch.setattr(compiler, "_light", lambda *_: None)


def indexed(curator: dp.Curator, plan: Plan) -> ExactResult | None:
    """The exact data of a plan as the index has them, or None where it does not."""
    snapshot = curator.engine.snapshot()
    assert isinstance(snapshot, DuckDBSnapshot)
    return snapshot.indexed(plan, RunningQuery(0, Cancel(), time.monotonic() + 600))


def between(curator: dp.Curator, through: Callable[[Looks], Looks]) -> None:
    """Put something between the engine of a curator and whoever looks."""
    engine, plain = curator.engine, type(curator.engine).snapshot

    def snapshot() -> Any:
        found = plain(engine)
        return _Seen(found, through(found.aggregate))

    engine.snapshot = snapshot  # type: ignore[method-assign]


class _Seen:
    """A snapshot whose looks go through something else."""

    def __init__(self, snapshot: Any, aggregate: Looks) -> None:
        self._snapshot, self.aggregate = snapshot, aggregate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)


def bought(curator: dp.Curator, *plans: Plan) -> Sold:
    """Buy the first of these plans that fits."""

    def buying(_: Context) -> Procedure[Sold]:
        (sold,) = yield (Purchase(plans),)
        return sold

    return curator.session().run(buying)
