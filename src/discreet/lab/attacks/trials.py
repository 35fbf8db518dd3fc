"""Try reconstruction on defences, functions, curators and servers, and compare it with chance and with theory.

>>> from discreet.lab.attacks import trials
>>> from discreet.lab.attacks.defences import Rounding
>>> outcome = trials.attack_defence(Rounding(to=5), n=64, m=256, runs=2)
>>> outcome.verdict
'blatantly non-private'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, positive_integer, price
from discreet.core.loss import Budget
from discreet.core.reach import neighbourhood
from discreet.curator.curator import Curator
from discreet.curator.curator import open as open_curator
from discreet.lab.attacks import reconstruct
from discreet.lab.attacks.defences import Defence, Gaussian
from discreet.lab.attacks.targets import Curated, People, Progress, Target
from discreet.lab.meaning import game
from discreet.lab.proportions import at_least, share
from discreet.lab.report import Picture, Series

__all__ = [
    "BLATANTLY",
    "Outcome",
    "attack_defence",
    "attack_target",
    "curator_of",
    "expected_success",
    "fair_bits",
    "landscape",
    "one_by_one",
    "outcome_of",
    "people_behind",
    "people_table",
]

BLATANT = 0.95  # of the bits; the definition says: all but o(n) of them
BLATANTLY = "blatantly non-private"
CONFIDENCE = "0.999"  # the confidence at which an attack counts as better than chance


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The number of bits an attack got right, beside chance, theory, and what a promise allows."""

    what: str
    right: int
    bits: int
    chance: float  # guessing the more common bit
    queries: int = 0
    foretold: float | None = None
    ceiling: float | None = None  # e^ε/(1 + e^ε) where ε was promised

    @property
    def fraction(self) -> float:
        """The measured fraction."""
        return self.right / self.bits

    @property
    def verdict(self) -> str:
        """The verdict in words; “blatantly non-private” means that nearly everybody's bit is known."""
        low = at_least(self.right, self.bits, CONFIDENCE)
        if self.ceiling is not None:
            return "more than ε allows" if low > self.ceiling else "within what ε allows"
        if self.fraction >= BLATANT:
            return BLATANTLY
        return "leaks" if low > self.chance else "no better than chance"

    @property
    def good(self) -> bool:
        """True if the attack learned no more than ε allows, or no more than chance."""
        return self.verdict in ("within what ε allows", "no better than chance")

    def row(self) -> tuple[object, ...]:
        """Return one row of a table whose heads are HEADS."""
        low, high = share(self.right, self.bits)
        foretold = "–" if self.foretold is None else f"{self.foretold:.3f}"
        ceiling = "–" if self.ceiling is None else f"{self.ceiling:.3f}"
        measured = f"{self.fraction:.3f} ({low:.3f} to {high:.3f})"
        return (self.what, measured, foretold, ceiling, f"{self.chance:.3f}", self.verdict)

    HEADS = ("defence", "bits right (95 %)", "foretold", "allowed", "chance", "verdict")


def outcome_of(what: str, pairs: Sequence[tuple[ArrayLike, ArrayLike]], **more: Any) -> Outcome:
    """Return the outcome of guesses compared with the truth, one pair for each run."""
    right = sum(int((np.asarray(guess) == np.asarray(truth)).sum()) for guess, truth in pairs)
    common = sum(max(int(np.sum(truth)), len(np.asarray(truth)) - int(np.sum(truth))) for _, truth in pairs)
    bits = sum(len(np.asarray(truth)) for _, truth in pairs)
    return Outcome(what=what, right=right, bits=bits, chance=common / bits, **more)


# ── attacks ──────────────────────────────────────────────────────────────────────────────────────────────────────


def attack_defence(defence: Defence, *, n: int, m: int, runs: int = 10, coins: Coins = SYSTEM) -> Outcome:
    """Attack a defence: fair bits of n people, m random queries, the best method for its kind of noise, some runs."""
    method = reconstruct.by(defence.kind)
    pairs = []
    for _ in range(positive_integer(runs, "runs")):
        secret, queries = fair_bits(n, coins), reconstruct.random_queries(m, n, coins)
        pairs.append((method(queries, defence.answers(secret, queries, coins)), secret))
    sigma = defence.sigma(n, m)
    foretold = reconstruct.expected(n=n, m=m, sigma=sigma) if m > n and sigma is not None else None
    ceiling = None if defence.promised is None else 1 - game.error(epsilon=defence.promised)
    return outcome_of(str(defence), pairs, queries=m, foretold=foretold, ceiling=ceiling)


def attack_target(
    target: Target, *, m: int, noise: str = "none", coins: Coins = SYSTEM, progress: Progress | None = None
) -> NDArray[np.int64]:
    """Return the bits of the people behind a target, from m random queries; refused queries are left out."""
    queries = reconstruct.random_queries(m, target.n, coins)
    return reconstruct.by(noise)(queries, target.answers(queries, progress))


def one_by_one(people: People, *, both: bool = False) -> NDArray[np.int64]:
    """Attack with one question that has everybody in a group of their own; return the likelier bit of each.

    Because  groups are disjoint, so each person gets the whole ε; `expected_success` says how often this is right.
             Where presence is protected, a count of those with the bit is right as often as ε allows. Where records are
             replaced, it is right less often: a question about one person alone would have half of its noise. With
             `both`, those without the bit are counted too, and the larger count is the likelier one.
    """
    if both:
        sql = (
            f"SELECT {people.key}, {people.secret}, COUNT(*) FROM {people.table} GROUP BY {people.key}, {people.secret}"
        )
        rows = people.host.ask(sql)
    else:
        sql = f"SELECT {people.key}, COUNT(*) FROM {people.table} WHERE {people.secret} GROUP BY {people.key}"
        rows = [(key, True, count - 0.5) for key, count in people.host.ask(sql)]
    score = np.zeros(people.n)
    for key, held, count in rows:
        if key is not None:
            score[int(key)] += count if held else -count
    return (score > 0).astype(np.int64)


def expected_success(epsilon: Number, neighbours: str) -> float:
    """Return how often `one_by_one` is right, for people with fair bits.

    Because  noise of scale b is zero or more with probability a = 1/(1 + e^(-1/b)), and a count of one person, cut at
             one half, is right when it is. Of two counts, the larger is right when both are right, with probability
             a², and half of the time when one is, 2a(1 - a): that is a again. Adding or removing a person changes one
             group by one, so b = 1/ε; replacing one changes two, so b = 2/ε.
    """
    e = price(epsilon, "epsilon")
    return 1 - game.error(epsilon=e / neighbourhood(neighbours).changes)


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def fair_bits(n: int, coins: Coins = SYSTEM) -> NDArray[np.int64]:
    """Return secrets of n people, each by a fair coin."""
    return (coins.flip(positive_integer(n, "n")) & 1).astype(np.int64)


def people_table(secret: ArrayLike) -> Any:
    """Return an Arrow table of people 0, 1, … and their secret bits."""
    import pyarrow as pa  # noqa: PLC0415

    bits = np.asarray(secret, np.int64)
    return pa.table({"id": np.arange(len(bits)), "secret": bits})


def curator_of(secret: ArrayLike, *, epsilon: Number, neighbours: str = "replace") -> Curator:
    """Open a real curator of such people, with this total budget; by default it protects the contents of records."""
    n = len(np.asarray(secret))
    whole = {"min": 0, "step": 1, "required": True}
    columns = {"id": whole | {"max": n - 1}, "secret": whole | {"max": 1}}
    return open_curator(people_table(secret), columns=columns, budget=Budget(epsilon=epsilon), neighbours=neighbours)


def people_behind(curator: Curator, n: int, epsilon: Number) -> People:
    """Return the people behind such a curator, asked at this cost each time."""
    return People(host=Curated(curator, epsilon=epsilon), n=n, table="data")


# ── noise and questions ──────────────────────────────────────────────────────────────────────────────────────────


def landscape(
    *,
    n: int,
    ratios: Sequence[float] = (1.5, 2, 4, 8),
    sigmas: Sequence[Number] = (1, 2, 3, 4, 6, 8, 12, 16),
    runs: int = 10,
    coins: Coins = SYSTEM,
) -> Picture:
    """Draw the fraction reconstructed against noise and number of queries: measured points, the formula as lines."""
    series: list[Series] = []
    fine = np.geomspace(float(min(sigmas)) * 0.8, float(max(sigmas)) * 1.2, 60)
    for ratio in ratios:
        m = round(ratio * n)
        outcomes = [attack_defence(Gaussian(deviation=sigma), n=n, m=m, runs=runs, coins=coins) for sigma in sigmas]
        ends = [share(each.right, each.bits) for each in outcomes]
        series.append(
            Series(
                name=f"{m:,} questions",
                x=tuple(float(each) for each in sigmas),
                y=tuple(each.fraction for each in outcomes),
                low=tuple(low for low, _ in ends),
                high=tuple(high for _, high in ends),
                kind="points",
            )
        )
        theory = tuple(reconstruct.expected(n=n, m=m, sigma=float(sigma)) for sigma in fine)
        series.append(Series(name="", x=tuple(map(float, fine)), y=theory, same=True))
    return Picture(
        title=f"Least squares on {n} people: measured (dots, 95 %) and Φ(√(m-n)/4σ) (lines)",
        x="standard deviation of the noise on each answer, σ",
        y="fraction of bits right",
        series=tuple(series),
        levels=(("chance", 0.5),),
        log="x",
    )
