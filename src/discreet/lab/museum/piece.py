"""Pieces of the museum, and the ways in which an audit can catch them."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number
from discreet.lab.audits import audit, channel, replay

__all__ = ["Look", "Piece", "Verdict", "by_replay", "by_rho", "by_samples", "by_table"]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of an audit: whether the claim was refuted, and the evidence."""

    caught: bool
    by: str
    evidence: str


Look = Callable[[Any, Fraction, Coins], Verdict]


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A bug: where it was, what it claimed, the wrong and the right code, and the audit that tells them apart."""

    name: str
    year: int
    source: str
    story: str
    claim: str
    wrong: Callable[..., Any]
    right: Callable[..., Any]
    look: Look

    def examine(self, code: Callable[..., Any], *, alarm: Number = audit.ALARM, coins: Coins = SYSTEM) -> Verdict:
        """Audit `code` against the claim; correct code is accused with probability at most `alarm`."""
        return self.look(code, number(alarm, "alarm"), coins)

    @staticmethod
    def code(function: Callable[..., Any]) -> str:
        """Return the source text of a function."""
        return textwrap.dedent(inspect.getsource(function)).rstrip()


def by_table(epsilon: Number, delta: Number = 0, *, pairs: Sequence[tuple[int, int]] | None = None) -> Look:
    """Compare the exact ε, or δ, of the table that the code returns with the claim. No false alarms."""
    at, most = number(epsilon, "epsilon"), number(delta, "delta")

    def look(code: Callable[[], Any], _: Fraction, __: Coins) -> Verdict:
        table = code()
        if most == 0:
            found = channel.epsilon(table, pairs=pairs)
            return Verdict(caught=not found.within(at), by="exact table", evidence=found.describe())
        event = channel.delta(table, at, pairs=pairs)
        return Verdict(caught=event.low > most, by="exact table", evidence=event.describe())

    return look


def by_rho(code: Callable[[], tuple[Any, Fraction]], _: Fraction, __: Coins) -> Verdict:
    """Compare the ρ that the code returns with the Rényi divergences of its table. No false alarms."""
    table, claim = code()
    found = channel.rho(table)
    return Verdict(caught=found > float(claim), by="exact table", evidence=found.describe())


def by_samples(
    one: Any,
    other: Any,
    *,
    epsilon: Number,
    samples: int = 200_000,
    events: audit.Event | None = None,
) -> Look:
    """Look for an event far likelier on one of two neighbours: found on half of the releases, or named beforehand."""

    def look(code: Callable[[Any, int, Coins], Any], alarm: Fraction, coins: Coins) -> Verdict:
        found = audit.black_box(
            lambda count, coins: code(one, count, coins),
            lambda count, coins: code(other, count, coins),
            samples=samples, events=events, alarm=alarm, coins=coins,
        )  # fmt: skip
        return Verdict(caught=found.refutes(epsilon), by="samples", evidence=found.describe())

    return look


def by_replay(one: Any, other: Any, *, additive: bool = False) -> Look:
    """Run with the same coins on two neighbours and look for differences except in released numbers.

    No false alarms.
    """

    def look(code: Callable[[Any, Coins], Any], _: Fraction, coins: Coins) -> Verdict:
        found = replay.compare(code, one, other, additive=additive, coins=coins)
        return Verdict(caught=not found.same, by="replay", evidence=found.describe())

    return look
