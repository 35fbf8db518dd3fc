"""Reconstruction tried on defences, functions, curators and servers, and judged against chance and against theory.

>>> from discreet.lab import siege
>>> from discreet.lab.defences import Rounding
>>> outcome = siege.against(Rounding(to=5), n=64, m=256, runs=2)
>>> outcome.verdict
'blatantly non-private'
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number, show, whole
from discreet.core.loss import Budget
from discreet.core.reach import Neighbours
from discreet.curator import Curator
from discreet.curator import open as open_curator
from discreet.errors import NotUnderstood
from discreet.lab import game, reconstruct
from discreet.lab.defences import Bounded, Defence, Exact, Gaussian, Rounding, Sampling, Sticky, TotalLaplace
from discreet.lab.hosts import Curated, People, Progress, Target, Web
from discreet.lab.naive import Naive
from discreet.lab.report import Finding, Picture, Report, Series, Table
from discreet.lab.share import at_least, share

__all__ = ["Outcome", "against", "behind", "besiege", "landscape", "one_by_one", "opened", "people", "report"]

BLATANT = 0.95  # of the bits; the notes say: all but o(n) of them
SURE = "0.999"  # the confidence at which an attack counts as better than chance
CROWD = 2000  # people whom one question with groups is about


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How many bits an attack got right, beside chance, theory, and what a promise allows."""

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
        """Blatantly non-private: nearly everybody's bit is known. The other verdicts say how far from it this was."""
        low = at_least(self.right, self.bits, SURE)
        if self.ceiling is not None:
            return "more than ε allows" if low > self.ceiling else "within what ε allows"
        if self.fraction >= BLATANT:
            return "blatantly non-private"
        return "leaks" if low > self.chance else "no better than chance"

    @property
    def good(self) -> bool:
        """Whether the people of this database are glad."""
        return self.verdict in ("within what ε allows", "no better than chance")

    def row(self) -> tuple[object, ...]:
        """One row of a table; HEADS are above it."""
        low, high = share(self.right, self.bits)
        foretold = "–" if self.foretold is None else f"{self.foretold:.3f}"
        ceiling = "–" if self.ceiling is None else f"{self.ceiling:.3f}"
        measured = f"{self.fraction:.3f} ({low:.3f} to {high:.3f})"
        return (self.what, measured, foretold, ceiling, f"{self.chance:.3f}", self.verdict)

    HEADS = ("defence", "bits right (95 %)", "foretold", "allowed", "chance", "verdict")


def _judged(what: str, pairs: Sequence[tuple[ArrayLike, ArrayLike]], **more: Any) -> Outcome:
    """The outcome of guesses beside the truth, one pair for each run."""
    right = sum(int((np.asarray(guess) == np.asarray(truth)).sum()) for guess, truth in pairs)
    common = sum(max(int(np.sum(truth)), len(np.asarray(truth)) - int(np.sum(truth))) for _, truth in pairs)
    bits = sum(len(np.asarray(truth)) for _, truth in pairs)
    return Outcome(what=what, right=right, bits=bits, chance=common / bits, **more)


# ── attacks ──────────────────────────────────────────────────────────────────────────────────────────────────────


def against(defence: Defence, *, n: int, m: int, runs: int = 10, coins: Coins = SYSTEM) -> Outcome:
    """Attack a defence: fair bits of n people, m random queries, the best method for its kind of noise, some runs."""
    method = reconstruct.by(defence.kind)
    pairs = []
    for _ in range(whole(runs, "runs")):
        secret, queries = _secret(n, coins), reconstruct.random_queries(m, n, coins)
        pairs.append((method(queries, defence.answers(secret, queries, coins)), secret))
    promised = defence.epsilon if isinstance(defence, TotalLaplace) else None
    foretold = reconstruct.expected(n=n, m=m, sigma=defence.sigma(n, m)) if m > n else None
    ceiling = None if promised is None else 1 - game.error(epsilon=promised)
    return _judged(str(defence), pairs, queries=m, foretold=foretold, ceiling=ceiling)


def besiege(
    target: Target, *, m: int, noise: str = "none", coins: Coins = SYSTEM, progress: Progress | None = None
) -> NDArray[np.int64]:
    """The bits of the people behind a target, from m random queries; what it refuses to answer is left out."""
    queries = reconstruct.random_queries(m, target.n, coins)
    return reconstruct.by(noise)(queries, target.answers(queries, progress))


def one_by_one(people: People, *, both: bool = False) -> NDArray[np.int64]:
    """Everybody in a group of their own: the best attack there is on a curator, in one question.

    Because  groups are disjoint, so each person gets the whole ε. A count of one person, with Laplace noise of scale
             1/ε, cut at one half, is wrong with probability 1/(1 + e^ε) exactly, the least that ε allows. With `both`, those
             without the bit are counted as well: where presence is protected, that is a second answer about the bit.
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
        score[int(key)] += count if held else -count
    return (score > 0).astype(np.int64)


# ── people ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _secret(n: int, coins: Coins) -> NDArray[np.int64]:
    return (coins.flip(whole(n, "n")) & 1).astype(np.int64)


def people(secret: ArrayLike) -> Any:
    """An Arrow table of people 0, 1, … and their secret bits."""
    import pyarrow as pa  # noqa: PLC0415

    bits = np.asarray(secret, np.int64)
    return pa.table({"id": np.arange(len(bits)), "secret": bits})


def opened(secret: ArrayLike, *, epsilon: Number, neighbours: Neighbours = "replace") -> Curator:
    """A real curator of such people, with this budget in all; it protects what records say."""
    n = len(np.asarray(secret))
    columns = {"id": {"min": 0, "max": n - 1, "step": 1}, "secret": {"min": 0, "max": 1, "step": 1}}
    return open_curator(people(secret), columns=columns, budget=Budget(epsilon=epsilon), neighbours=neighbours)


def behind(curator: Curator, n: int, epsilon: Number) -> People:
    """The people behind such a curator, asked at this cost each time."""
    return People(host=Curated(curator, epsilon=epsilon), n=n, table="data")


# ── the report ───────────────────────────────────────────────────────────────────────────────────────────────────


def report(
    *,
    n: int = 64,
    m: int | None = None,
    epsilon: Number = 1,
    runs: int = 10,
    coins: Coins = SYSTEM,
    progress: Progress | None = None,
) -> Report:
    """Reconstruction from the worked examples to this curator, for n people, m queries and a total of ε."""
    n, m, e = whole(n, "n"), whole(4 * n if m is None else m, "queries"), number(epsilon, "epsilon")
    if m <= n:
        raise NotUnderstood("ask more questions than there are people.", instead=f"for example {4 * n}")
    steps: list[Callable[[], Finding]] = [
        _worked,
        lambda: _defences(n, m, e, runs, coins),
        lambda: _landscape(n, runs, coins),
        lambda: _through_sql(n, m, e, coins),
    ]
    found = []
    for i, step in enumerate(steps):
        found.append(step())
        if progress is not None:
            progress(i + 1, len(steps))
    return Report(title="Reconstruction: everybody's secret from answers about many", findings=tuple(found))


def _worked() -> Finding:
    """The two exercises of the notes."""
    exercises = {
        "noise ±0.5": [0.5, 0.5, 0.5, 1.5, 0.5, 1.5, 0.5, 1.5],
        "noise -0.5, 0, +0.5": [0.5, 0.5, 1.0, 1.0, 0.5, 1.5, 1.5, 2.5],
    }
    rows, facts = [], {}
    for name, answers in exercises.items():
        left = reconstruct.exhaustive(answers, bound=0.5)
        words = ["".join(map(str, each)) for each in left]
        certain = ", ".join(f"bit {i + 1} is {bit}" for i, bit in left.certain.items())
        rows.append((name, ", ".join(words), certain, left.wrong_at_most))
        facts[name] = words
    return Finding(
        title="All subsets of three people",
        text="Whoever may ask about every subset, and knows that the noise is at most E, keeps the databases that fit "
        "all answers. None of them is wrong in more than 4E positions. Eight answers about three people:",
        tables=(Table(heads=("answers with", "databases that fit", "certain", "wrong in at most"), rows=tuple(rows)),),
        facts=facts,
    )


def _defences(n: int, m: int, epsilon: Number, runs: int, coins: Coins) -> Finding:
    noisy = max(1, round(math.sqrt(n) / 4))
    kinds: list[Defence] = [
        Exact(),
        Rounding(to=5),
        Bounded(bound=noisy),
        Sticky(bound=noisy),
        Sampling(rate="0.9"),
        TotalLaplace(epsilon=epsilon),
    ]
    outcomes = [against(each, n=n, m=m, runs=runs, coins=coins) for each in kinds]
    worst = max(outcomes, key=lambda each: each.fraction)
    return Finding(
        title=f"Six defences, {n} people, {m} random questions",
        text=f"Fair secret bits, {runs} runs each. Noise far below √n = {math.sqrt(n):.0f} protects nobody once enough "
        "questions are answered; a limit on the total, ε, does.",
        verdict=f"{sum(each.verdict == 'blatantly non-private' for each in outcomes)} of 6 are blatantly non-private",
        good=False,
        tables=(
            Table(heads=Outcome.HEADS, rows=tuple(each.row() for each in outcomes), right="foretold,allowed,chance"),
        ),
        facts={
            "worst": worst.what,
            "outcomes": [
                {"defence": each.what, "fraction": each.fraction, "foretold": each.foretold, "verdict": each.verdict}
                for each in outcomes
            ],
        },
    )


def landscape(
    *,
    n: int,
    ratios: Sequence[float] = (1.5, 2, 4, 8),
    sigmas: Sequence[Number] = (1, 2, 3, 4, 6, 8, 12, 16),
    runs: int = 10,
    coins: Coins = SYSTEM,
) -> Picture:
    """The fraction reconstructed against noise and number of queries: measured points, the formula as lines."""
    series: list[Series] = []
    fine = np.geomspace(float(min(sigmas)) * 0.8, float(max(sigmas)) * 1.2, 60)
    for ratio in ratios:
        m = round(ratio * n)
        outcomes = [against(Gaussian(deviation=sigma), n=n, m=m, runs=runs, coins=coins) for sigma in sigmas]
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


def _landscape(n: int, runs: int, coins: Coins) -> Finding:
    picture = landscape(n=n, runs=runs, coins=coins)
    lines = {each.name: each for each in picture.series if each.name}
    rows = tuple(
        (show(x), *(f"{each.y[i]:.3f}" for each in lines.values())) for i, x in enumerate(next(iter(lines.values())).x)
    )
    return Finding(
        title="How much noise for how many questions",
        text="Gaussian noise on every answer. Four times the questions undo twice the noise: what counts is the total.",
        tables=(Table(heads=("σ", *lines), rows=rows, right=",".join(("σ", *lines))),),
        pictures=(picture,),
    )


def _through_sql(n: int, m: int, epsilon: Number, coins: Coins) -> Finding:
    """The same attack through real SQL: a naive server over HTTP, then this curator."""
    e, secret, crowd = number(epsilon, "epsilon"), _secret(n, coins), _secret(CROWD, coins)
    with Naive(people(secret)) as server:
        target = People(host=Web(server.url), n=n)
        guess = besiege(target, m=2 * n, coins=coins)
    outcomes = [_judged(f"exact server over HTTP, {2 * n} questions", [(guess, secret)], queries=2 * n)]
    with opened(secret, epsilon=e) as curator:
        guess = besiege(behind(curator, n, e / (2 * n)), m=2 * n, noise="laplace", coins=coins)
        left = str(curator.left)
    ceiling, twice = 1 - game.error(epsilon=e), 1 - game.error(epsilon=2 * e)
    outcomes.append(_judged(f"discreet, {2 * n} questions", [(guess, secret)], queries=2 * n, ceiling=ceiling))
    ways: list[tuple[str, Neighbours, bool, float]] = [
        ("discreet, all with the bit BY id", "replace", False, ceiling),
        ("discreet, all BY id, bit", "replace", True, ceiling),
        ("same, protecting presence", "add-remove", False, ceiling),
        ("same, protecting presence, BY id, bit", "add-remove", True, twice),
    ]
    for name, neighbours, both, most in ways:
        with opened(crowd, epsilon=e, neighbours=neighbours) as curator:
            guess = one_by_one(behind(curator, CROWD, e), both=both)
        outcomes.append(_judged(name, [(guess, crowd)], queries=1, ceiling=most))
    kept = all(each.good for each in outcomes[1:])
    return Finding(
        title=f"Through SQL, total ε = {show(e)}",
        text="SELECT COUNT(*) … WHERE secret = 1 AND id IN (…), again and again. The naive server tells everything. "
        f"This curator answers as many questions and then has nothing left ({left}). The best attack on it takes one "
        f"question, with everybody in a group of their own, about {CROWD:,} people. No attack gets more than "
        f"e^ε/(1+e^ε) = {ceiling:.3f} of the bits.\n\n"
        'That is for neighbours="replace", which protects what a record says. The default, "add-remove", protects '
        "whether it is there; changing what it says is a removal and an addition, so the last attack may get "
        f"e^2ε/(1+e^2ε) = {twice:.3f}.",
        verdict="within what ε allows" if kept else "more than ε allows",
        good=kept,
        tables=(_table(outcomes),),
        facts={each.what: {"fraction": each.fraction, "verdict": each.verdict} for each in outcomes},
    )


def _table(outcomes: Sequence[Outcome]) -> Table:
    return Table(heads=Outcome.HEADS, rows=tuple(each.row() for each in outcomes), right="foretold,allowed,chance")
