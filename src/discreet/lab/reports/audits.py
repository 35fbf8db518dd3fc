"""Reports of the audits: a table, the mechanisms, the museum, a question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number
from discreet.core.reach import neighbourhood
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.lab.audits import audit, channel, mechanism_tables
from discreet.lab.audits.audit import OneRun
from discreet.lab.audits.replay import Replay
from discreet.lab.audits.subject import Checked
from discreet.lab.museum import Piece, Verdict
from discreet.lab.museum.claims import gaussian_by_its_curve, gaussian_of_the_notes
from discreet.lab.museum.code import histogram_for_one, histogram_for_two
from discreet.lab.report import Finding, Picture, Report, ReportTable, Series
from discreet.mechanisms.noise import Gaussian, Laplace
from discreet.mechanisms.selection.selection import Exponential, PermuteAndFlip

__all__ = ["of_mechanisms", "of_museum", "of_question", "of_table"]

EXACTLY = (
    "Each mechanism on neighbouring secrets as a table of probabilities, and the least ε, or the δ, of that table. A"
    " share of 100 % means that no smaller claim would be true."
)
BY_SAMPLES = (
    "Each mechanism as a black box: a lower bound on ε from what it releases, by an event found in one half of the"
    " releases and counted in the other. A share near 100 % means that the audit notices a little missing noise. If all"
    " of them keep their claims, one is accused with probability {alarm} at most."
)
MUSEUM = (
    "Published failures of differential-privacy software, rebuilt in a few lines. The same audit is given the wrong"
    " code and the right code, and accuses right code with probability at most 1/1000."
)
NEIGHBOURS = (
    "Made-up people, and one person who stands out; coins, control flow, scales, columns, keys, costs and refusals are"
    " compared."
)
MAX_PROBABILITIES = 1 << 20  # probabilities that are compared
GRID = [Fraction(n, 16) for n in range(33)]


# ── a table ──────────────────────────────────────────────────────────────────────────────────────────────────────


def of_table(table: Any, epsilon: Number | None = None) -> Report:
    """Report the certificate of a table: its ε, and its δ at one ε, or at some."""
    known = channel.read(table)
    if len(known.low) ** 2 * len(known.low[0]) > MAX_PROBABILITIES:
        raise NotUnderstood(
            "that table is too large to compare all rows with all.",
            code="wrong-argument",
            instead="give a part of its rows",
        )
    found = channel.epsilon(known)
    top = 2.0 if found.ratio is None else max(float(found), 0.1)
    asked = [Fraction(math.ceil(top * 2500 * n), 10**4) for n in range(5)] if epsilon is None else [epsilon]
    deltas = [channel.delta(known, each) for each in asked]
    rows = tuple(
        (show(each.epsilon), show(float(each)), _names(each.columns), f"{each.rows[0]} / {each.rows[1]}")
        for each in deltas
    )
    at = np.append(np.linspace(0, 1.2 * top, 49), top)
    at.sort()
    picture = Picture(
        title="What probability δ is left at each ε",
        x="ε",
        y="δ(ε)",
        series=(Series(name="this table", x=tuple(at.tolist()), y=_deltas(known, at)),),
    )
    text = (
        f"{found.describe()}.\n\nThis is exact: the ratio is {found.ratio}."
        if found.ratio is not None
        else f"{found.describe()}. Whoever sees that output knows that the other input is not the true one."
    )
    facts = {
        "epsilon": None if found.ratio is None else float(found),
        "ratio": found.ratio,
        "rows": found.rows,
        "column": found.column,
        "delta": [
            {"epsilon": each.epsilon, "low": each.low, "high": each.high, "columns": each.columns} for each in deltas
        ],
    }
    finding = Finding(
        title="ε and δ of a table",
        text=text,
        verdict=f"ε = {'∞' if found.ratio is None else show(float(found))}",
        tables=(ReportTable(heads=("ε", "δ", "outputs", "inputs"), rows=rows, right="ε,δ"),),
        pictures=(picture,),
        facts=facts,
    )
    return Report(title="Audit of a table of probabilities", findings=(finding,))


def _deltas(table: channel.Table, at: NDArray[np.float64]) -> tuple[float, ...]:
    """Return δ at each ε in floats, for a picture."""
    p = np.array([[float(each) for each in row] for row in table.high])
    over = [np.maximum(p[:, None] - math.exp(min(each, 600)) * p[None], 0).sum(axis=2).max() for each in at]
    return tuple(float(each) for each in over)


def _names(columns: Sequence[int]) -> str:
    return ", ".join(map(str, columns[:8])) + (", …" if len(columns) > 8 else "") or "–"


# ── the mechanisms ───────────────────────────────────────────────────────────────────────────────────────────────


def of_mechanisms(checked: Sequence[Checked], alarm: Fraction) -> Report:
    """Report every claim beside the finding; `alarm` is the false-alarm rate of all checks together."""
    parts = []
    for exact, title, text in (
        (True, "Exact tables", EXACTLY),
        (False, "Released numbers", BY_SAMPLES),
    ):
        some = [each for each in checked if each.exact is exact]
        if not some:
            continue
        kept = all(each.kept for each in some)
        rows = tuple(
            (each.name, each.claim, f"{100 * each.share:.1f} %", "kept" if each.kept else "BROKEN") for each in some
        )
        parts.append(
            Finding(
                title=title,
                text=text.format(alarm=show(alarm)),
                verdict="every claim is kept" if kept else "a claim is broken",
                good=kept,
                tables=(ReportTable(heads=("mechanism", "claim", "share", "the claim is"), rows=rows, right="share"),),
                pictures=(_curves(),) if exact else (),
                facts={"checks": [vars(each) for each in some]},
            )
        )
    return Report(title="Audit of every mechanism", findings=tuple(parts))


def _curves() -> Picture:
    """Draw δ(ε) of some mechanisms from their tables."""
    shown = {
        "Laplace, ε = 1": mechanism_tables.noise(Laplace(epsilon=1, sensitivity=1).law, 0, 1),
        "Gaussian, (1, 1e-6)": mechanism_tables.noise(Gaussian(epsilon=1, delta="1e-6", sensitivity=1).law, 0, 1),
        "exponential, ε = 1": mechanism_tables.selection(Exponential(epsilon=1, sensitivity=1), [0, 0], [1, -1]),
        "permute-and-flip, ε = 1": mechanism_tables.selection(
            PermuteAndFlip(epsilon=1, sensitivity=1), [0, 0], [1, -1]
        ),
    }
    return Picture(
        title="δ(ε) from the tables: pure mechanisms reach zero at or before their ε, the Gaussian never does",
        x="ε",
        y="δ(ε)",
        log="y",
        series=tuple(_curve(name, table) for name, table in shown.items()),
    )


def _curve(name: str, table: channel.Table, **how: Any) -> Series:
    points = [(float(at), float(found)) for at in GRID if (found := channel.delta(table, at)) > 1e-9]
    return Series(name=name, x=tuple(x for x, _ in points), y=tuple(y for _, y in points), **how)


# ── the museum ───────────────────────────────────────────────────────────────────────────────────────────────────


def of_museum(examined: Iterable[tuple[Piece, Verdict, Verdict]], coins: Coins = SYSTEM) -> Report:
    """Report every piece: its story, its code, how it was caught, and what the same audit says of the right code."""
    pieces = list(examined)
    caught = sum(wrong.caught and not right.caught for _, wrong, right in pieces)
    rows = tuple(
        (
            str(piece.year),
            piece.name,
            wrong.by,
            "caught" if wrong.caught else "NOT CAUGHT",
            "ACCUSED" if right.caught else "passes",
        )
        for piece, wrong, right in pieces
    )
    overview = Finding(
        title="All pieces",
        text=MUSEUM,
        verdict=f"{caught} of {len(pieces)} caught",
        good=caught == len(pieces),
        tables=(ReportTable(heads=("year", "bug", "caught by", "wrong code", "right code"), rows=rows),),
        pictures=(_how_fast(coins), _notes()),
        facts={"caught": caught, "pieces": len(pieces)},
    )
    return Report(title="A museum of real bugs", findings=(overview, *(_piece(*each) for each in pieces)))


def _piece(piece: Piece, wrong: Verdict, right: Verdict) -> Finding:
    return Finding(
        title=f"{piece.name} ({piece.year})",
        text=f"{piece.story}\n\nSource: {piece.source}. Claimed: {piece.claim}.\n\nWrong code: {wrong.evidence}.\n\n"
        f"Right code: {right.evidence}.",
        verdict="caught" if wrong.caught else "not caught",
        good=wrong.caught and not right.caught,
        codes=(("wrong", piece.code(piece.wrong)), ("right", piece.code(piece.right))),
        facts={"by": wrong.by, "caught": wrong.caught, "right accused": right.caught},
    )


def _how_fast(coins: Coins) -> Picture:
    """Draw the lower bound of one piece against the number of releases."""
    counts = [500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000, 200_000]

    def bounds(code: Callable[..., Any]) -> tuple[float, ...]:
        one, other = (code(cells, counts[-1], coins) for cells in ((1, 0), (0, 1)))
        return tuple(audit.searched(one[:n], other[:n]).epsilon for n in counts)

    x = tuple(map(float, counts))
    return Picture(
        title="Replace-one off by two: the lower bound on ε grows with the number of releases",
        x="releases on each of two neighbours",
        y="ε is at least",
        log="x",
        series=(
            Series(name="wrong code", x=x, y=bounds(histogram_for_one)),
            Series(name="right code", x=x, y=bounds(histogram_for_two)),
        ),
        levels=(("claimed", 1.0),),
    )


def _notes() -> Picture:
    return Picture(
        title="The Gaussian constant of the notes: δ(ε) lies above the claim at ε = 1",
        x="ε",
        y="δ(ε)",
        log="y",
        series=(
            _curve("constant of the notes", gaussian_of_the_notes()),
            _curve("by the exact curve", gaussian_by_its_curve()),
        ),
        levels=(("claimed: 1e-6", 1e-6),),
    )


# ── a question ───────────────────────────────────────────────────────────────────────────────────────────────────


def of_question(
    sql: str,
    replays: Sequence[tuple[str, Replay]],
    runs: Sequence[tuple[str, OneRun]],
    epsilon: Number,
    neighbours: str = "add-remove",
) -> Report:
    """Report what replays of a question on synthetic neighbours show, and what canaries show of the engine."""
    same = all(each.same for _, each in replays)
    rows = tuple((name, "nothing" if each.same else each.describe()) for name, each in replays)
    replayed = Finding(
        title="The same coins on neighbours",
        text=f"{sql}\n\n{NEIGHBOURS}",
        verdict="nothing differs but noisy numbers" if same else "something differs",
        good=same,
        tables=(ReportTable(heads=("one person is", "what differs"), rows=rows),),
        facts={"same": same, "differences": {name: each.differences for name, each in replays}},
    )
    return Report(title="Audit of a question", findings=(replayed, _canaries(runs, epsilon, neighbours)))


def _canaries(runs: Sequence[tuple[str, OneRun]], epsilon: Number, neighbours: str) -> Finding:
    kept = not any(each.refutes(epsilon) for _, each in runs)
    alarm = sum((each.alarm for _, each in runs), Fraction(0))
    moved = "is in one of two groups of their own" if neighbourhood(neighbours).changes > 1 else "is in the data or not"
    return Finding(
        title="The engine, by canaries",
        text="This is not about your question, but about the engine that answers it, on other data with the same"
        f' neighbours ("{neighbours}"): each of many people {moved}, by a coin; a question by groups is asked for'
        f" ε = {epsilon}, and which it was is guessed from its answer. If the claim is kept, it is called broken with"
        f" probability {show(alarm)} at most.",
        verdict="the claim is kept" if kept else "the claim is broken",
        good=kept,
        tables=(
            ReportTable(
                heads=("aggregate", "canaries", "guesses", "right", "ε is at least"),
                rows=tuple(
                    (name, f"{r.canaries:,}", f"{r.guesses:,}", f"{r.right:,}", f"{r.epsilon:.3f}") for name, r in runs
                ),
                right="canaries,guesses,right,ε is at least",
            ),
        ),
        pictures=(_guesses(runs, epsilon),),
        facts={"kept": kept, "alarm": alarm, "runs": {name: vars(each) for name, each in runs}},
    )


def _guesses(runs: Sequence[tuple[str, OneRun]], epsilon: Number) -> Picture:
    """Draw how many of the surest guesses are right."""
    series = tuple(
        Series(
            name=name,
            x=tuple(float(n) for n, _ in run.surest),
            y=tuple(right / n for n, right in run.surest),
        )
        for name, run in runs
    )
    ceiling = 1 / (1 + math.exp(-float(number(epsilon, "epsilon"))))
    return Picture(
        title="Right guesses among the surest: with ε no attacker expects more than e^ε/(1 + e^ε)",
        x="guesses, the surest first",
        y="share that is right",
        log="x",
        series=series,
        levels=(("the ceiling", ceiling), ("tossing a coin", 0.5)),
    )
