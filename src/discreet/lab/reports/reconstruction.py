"""Report on reconstruction: the worked examples, defences compared, and databases behind SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number, positive_integer
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.lab.attacks import reconstruct
from discreet.lab.attacks.defences import Bounded, Defence, Exact, Lying, Rounding, Sampling, Sticky, TotalLaplace
from discreet.lab.attacks.naive_server import Naive
from discreet.lab.attacks.targets import People, Progress, Target, Web
from discreet.lab.attacks.trials import (
    BLATANTLY,
    Outcome,
    attack_defence,
    attack_target,
    curator_of,
    expected_success,
    fair_bits,
    landscape,
    one_by_one,
    outcome_of,
    people_behind,
    people_table,
)
from discreet.lab.meaning import game
from discreet.lab.report import Finding, Report, ReportTable

__all__ = ["outside", "report"]

PEOPLE_ASKED = 2000  # people whom one question with groups is about
TITLE = "Reconstruction: everybody's secret from answers about many"


def report(
    *,
    n: int = 64,
    m: int | None = None,
    epsilon: Number = 1,
    runs: int = 10,
    coins: Coins = SYSTEM,
    progress: Progress | None = None,
) -> Report:
    """Report reconstruction from the worked examples to this curator, for n people, m queries and a total of ε."""
    n, m, e = _several(n), positive_integer(4 * n if m is None else m, "queries"), number(epsilon, "epsilon")
    if m <= n:
        raise NotUnderstood(
            "ask more questions than there are people.", code="wrong-argument", instead=f"for example {4 * n}"
        )
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
    return Report(title=TITLE, findings=tuple(found))


def _several(people: int) -> int:
    if positive_integer(people, "people") < 2:
        raise NotUnderstood(
            "answers about many take at least 2 people.", code="wrong-argument", instead="for example 64"
        )
    return people


def _worked() -> Finding:
    """Report the two exercises of the notes."""
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
        text="Whoever may ask about every subset, and knows that the noise is at most E, keeps the databases that "
        "fit all answers. None of them is wrong in more than 4E positions. Eight answers about three people:",
        tables=(
            ReportTable(heads=("answers with", "databases that fit", "certain", "wrong in at most"), rows=tuple(rows)),
        ),
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
        Lying(rate="0.2"),
        TotalLaplace(epsilon=epsilon),
    ]
    outcomes = [attack_defence(each, n=n, m=m, runs=runs, coins=coins) for each in kinds]
    return Finding(
        title=f"Seven defences, {n} people, {m} random questions",
        text=f"Fair secret bits, {runs} runs each. Noise well below √n = {math.sqrt(n):.0f} protects nobody once "
        "enough questions are answered; a limit on the total, ε, does.",
        verdict=f"{sum(each.verdict == BLATANTLY for each in outcomes)} of {len(outcomes)} are {BLATANTLY}",
        good=False,
        tables=(_table(outcomes),),
        facts={
            each.what: {"fraction": each.fraction, "foretold": each.foretold, "verdict": each.verdict}
            for each in outcomes
        },
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
        tables=(ReportTable(heads=("σ", *lines), rows=rows, right=",".join(("σ", *lines))),),
        pictures=(picture,),
    )


def _through_sql(n: int, m: int, epsilon: Number, coins: Coins) -> Finding:
    """Report the same attack through real SQL: a naive server over HTTP, then this curator."""
    e, secret, crowd = number(epsilon, "epsilon"), fair_bits(n, coins), fair_bits(PEOPLE_ASKED, coins)
    with Naive(people_table(secret)) as server:
        target = People(host=Web(server.url), n=n)
        guess = attack_target(target, m=2 * n, coins=coins)
    outcomes = [outcome_of(f"exact server over HTTP, {2 * n} questions", [(guess, secret)], queries=2 * n)]
    with curator_of(secret, epsilon=e) as curator:
        guess = attack_target(people_behind(curator, n, e / (2 * n)), m=2 * n, noise="laplace", coins=coins)
        left = str(curator.left)
    ceiling, twice = 1 - game.error(epsilon=e), 1 - game.error(epsilon=2 * e)
    outcomes.append(outcome_of(f"discreet, {2 * n} questions", [(guess, secret)], queries=2 * n, ceiling=ceiling))
    ways: list[tuple[str, str, bool, float]] = [
        ("discreet, all with the bit BY id", "replace", False, ceiling),
        ("discreet, all BY id, bit", "replace", True, ceiling),
        ("same, protecting presence", "add-remove", False, ceiling),
        ("same, protecting presence, BY id, bit", "add-remove", True, twice),
    ]
    for name, neighbours, both, most in ways:
        with curator_of(crowd, epsilon=e, neighbours=neighbours) as curator:
            guess = one_by_one(people_behind(curator, PEOPLE_ASKED, e), both=both)
        told = expected_success(e, neighbours)
        outcomes.append(outcome_of(name, [(guess, crowd)], queries=1, foretold=told, ceiling=most))
    kept = all(each.good for each in outcomes[1:])
    return Finding(
        title=f"Through SQL, total ε = {show(e)}",
        text="SELECT COUNT(*) … WHERE secret = 1 AND id IN (…), again and again. The naive server tells everything. "
        f"This curator answers as many questions and then has nothing left ({left}). A better attack takes one "
        f"question, with everybody in a group of their own, about {PEOPLE_ASKED:,} people. No attack gets more than "
        f"e^ε/(1+e^ε) = {ceiling:.3f} of the bits.\n\n"
        'That is for neighbours="replace", which protects what a record says. The default, "add-remove", protects '
        "whether it is there; changing what it says is a removal and an addition, so the last attack may get "
        f"e^2ε/(1+e^2ε) = {twice:.3f}.",
        verdict="within what ε allows" if kept else "more than ε allows",
        good=kept,
        tables=(_table(outcomes),),
        facts={each.what: {"fraction": each.fraction, "verdict": each.verdict} for each in outcomes},
    )


def _table(outcomes: Sequence[Outcome]) -> ReportTable:
    return ReportTable(
        heads=Outcome.HEADS, rows=tuple(each.row() for each in outcomes), right="foretold,allowed,chance"
    )


# ── an outside server ────────────────────────────────────────────────────────────────────────────────────────────────


def outside(
    target: Target,
    *,
    m: int | None = None,
    noise: str = "none",
    truth: ArrayLike | None = None,
    coins: Coins = SYSTEM,
    progress: Progress | None = None,
) -> Report:
    """Reconstruct the people behind any target; with the truth at hand, report how well that went."""
    n = _several(target.n)
    asked = positive_integer(4 * n if m is None else m, "queries")
    if truth is not None and len(np.asarray(truth)) != target.n:
        raise NotUnderstood(
            "the truth has one bit for each person.", code="wrong-argument", instead=f"{target.n} of them"
        )
    guess = attack_target(target, m=asked, noise=noise, coins=coins, progress=progress)
    outcomes = [] if truth is None else [outcome_of("the server", [(guess, truth)], queries=asked)]
    method = reconstruct.by(noise).__name__.replace("_", " ")
    found = Finding(
        title=f"{target.n} people, {asked} random questions",
        text=f"{int(guess.sum())} of {target.n} have the secret, by {method}."
        + ("" if outcomes else " Whether that is right nobody here knows: give the truth to find out."),
        verdict=outcomes[0].verdict if outcomes else "",
        good=outcomes[0].good if outcomes else None,
        tables=(_table(outcomes),) if outcomes else (),
        facts={"bits": guess, "fraction": outcomes[0].fraction if outcomes else None},
    )
    return Report(title=TITLE, findings=(found,))
