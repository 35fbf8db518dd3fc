"""The exact ε and δ(ε) of a mechanism given as a table of probabilities, inputs by outputs.

    >>> from discreet.lab import channel
    >>> coin = [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> found = channel.epsilon(coin)
    >>> found.ratio, round(found, 6)
    (Fraction(3, 1), 1.098612)
    >>> print(found.describe())
    ε = ln(3) = 1.09861: output 0 has probability 3/4 for input 0 and 1/4 for input 1
    >>> channel.delta(coin, 0).high, float(channel.delta(coin, 2))
    (Fraction(1, 2), 0.0)

The answers are floats that carry their certificate: rationals, and the inputs and outputs that show them. Probabilities
may be ints, Fractions, Decimals or texts; a float is the decimal it prints as. Irrational ones are
enclosed (`enclose`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np

from discreet.core.exact import Ball, Number, ball, ceiling, decide_positive, floor, log, number, precision
from discreet.core.text import show
from discreet.errors import NotUnderstood

__all__ = ["Delta", "Epsilon", "Rho", "Table", "delta", "enclose", "epsilon", "read", "rho"]

ROUNDING = Fraction(1, 10**9)  # allowed distance from one of the sum of a row of floats
BITS = 192  # of an enclosure
ENCLOSURE_TOLERANCE = Fraction(1, 1 << 60)
MAX_RATIO = Fraction(1 << 900)
MAX_EXACT_PAIRS = 64  # pairs of inputs that are all compared exactly
EXAMPLE = "for example [['3/4', '1/4'], ['1/4', '3/4']]"

Row = tuple[Fraction, ...]
Pairs = Iterable[tuple[int, int]] | None


@dataclass(frozen=True)
class Table:
    """For each input (row), lower and upper bounds on the probability of each output (column).

    `beyond` is a bound on the probability of outputs that are not listed.
    """

    low: tuple[Row, ...]
    high: tuple[Row, ...]
    beyond: Fraction = Fraction(0)

    def pairs(self, given: Pairs) -> list[tuple[int, int]]:
        """Return the pairs of inputs to compare, both ways round; all with all unless some are given."""
        count = len(self.low)
        if given is None:
            return list(permutations(range(count), 2))
        found = [(int(a), int(b)) for a, b in given]
        if not all(0 <= a < count and 0 <= b < count and a != b for a, b in found):
            raise NotUnderstood(
                f"neighbours are pairs of two different rows, from 0 to {count - 1}.",
                code="wrong-argument",
                instead="pairs=[(0, 1)]",
            )
        return list(dict.fromkeys(pair for a, b in found for pair in ((a, b), (b, a))))


class Epsilon(float):
    """The least ε, and the output and the two inputs that show it."""

    ratio: Fraction | None  # e^ε, from above; exactly, for a table of rationals. None: no ε is enough
    least: Fraction | None  # e^ε, from below
    rows: tuple[int, int]
    column: int
    chances: tuple[Fraction, Fraction]  # of that output for the two inputs
    beyond: Fraction  # outputs with this much probability are not in the table

    def describe(self) -> str:
        """Return the certificate in one sentence."""
        one, other = (_short(each) for each in self.chances)
        shown = f"output {self.column} has probability {one} for input {self.rows[0]} and {other} for input"
        if self.ratio is None:
            return f"ε = ∞: {shown} {self.rows[1]}"
        exact = f"ln({_short(self.ratio)}) = " if self.ratio == self.least and self.ratio != 1 else ""
        return f"ε = {exact}{show(float(self))}: {shown} {self.rows[1]}"

    def within(self, claim: Number) -> bool:
        """Return True if ε is at most a claimed one: exactly for rational tables, to 2^-60 of e^ε for enclosed ones."""
        top = number(claim, "claim")
        if self.ratio is None or top <= 0:
            return self.ratio == 1 and top == 0
        least = self.ratio / (1 if self.ratio == self.least else 1 + ENCLOSURE_TOLERANCE)
        # they differ: e^ε of a rational ε is not rational
        return decide_positive(lambda: ball(top).exp() - ball(least))


class Delta(float):
    """δ(ε), enclosed by rationals, and the event that shows it."""

    low: Fraction
    high: Fraction
    epsilon: Fraction
    rows: tuple[int, int]
    columns: tuple[int, ...]

    def describe(self) -> str:
        """Return the certificate in one sentence."""
        exact = f"{_short(self.high)} = " if self.low == self.high and self.high.denominator > 1 else ""
        outputs = ", ".join(map(str, self.columns[:8])) + (", …" if len(self.columns) > 8 else "")
        which = f"outputs {{{outputs}}} of input {self.rows[0]} against input {self.rows[1]}"
        return f"δ = {exact}{show(float(self))} at ε = {show(self.epsilon)}" + (f": {which}" if self.columns else "")


class Rho(float):
    """The least ρ that zCDP needs at some order α: D_α/α, rounded down. No smaller ρ is true."""

    order: int
    rows: tuple[int, int]

    def describe(self) -> str:
        """Return the finding in one sentence."""
        one, other = self.rows
        return f"ρ >= {show(float(self))}, by the Rényi divergence of order {self.order} of input {one} from {other}"


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────


def read(table: Any) -> Table:
    """Read a table that a user or a randomizer wrote: rows of probabilities that sum to one."""
    if isinstance(table, Table):
        return table
    table = getattr(table, "rows", table)
    if not isinstance(table, (list, tuple, np.ndarray)) or not all(
        isinstance(row, (list, tuple, np.ndarray)) for row in table
    ):
        raise NotUnderstood("a table is a list of rows, one for each input.", code="wrong-argument", instead=EXAMPLE)
    rows = tuple(tuple(number(each, "a probability") for each in row) for row in table)
    if len(rows) < 2 or not rows[0] or len({len(row) for row in rows}) > 1:
        raise NotUnderstood(
            "a table has two or more rows (inputs), all of the same length (outputs).",
            code="wrong-argument",
            instead=EXAMPLE,
        )
    for n, (given, row) in enumerate(zip(table, rows, strict=True)):
        if min(row) < 0:
            raise NotUnderstood(f"row {n} has a negative probability.", code="wrong-argument", instead=EXAMPLE)
        floats = any(isinstance(each, (float, np.floating)) for each in given)
        if abs(sum(row, Fraction(-1))) > (ROUNDING if floats else Fraction(0)):
            raise NotUnderstood(
                f"the probabilities of row {n} sum to {show(sum(row, Fraction(0)), 12)}, not to one.",
                code="wrong-argument",
                instead="list every output; write thirds as '1/3'",
            )
    return Table(rows, rows)


def enclose(rows: Callable[[], Sequence[Sequence[Ball]]], beyond: Callable[[], Ball] | None = None) -> Table:
    """Return a table of probabilities known as balls; `beyond` encloses a bound on the unlisted probability of any
    row.
    """
    with precision(BITS):
        found = rows()
    low = tuple(tuple(max(Fraction(0), _end(floor, each)) for each in row) for row in found)
    high = tuple(tuple(_end(ceiling, each) for each in row) for row in found)
    return Table(low, high, Fraction(0) if beyond is None else ceiling(beyond))


def _end(side: Callable[[Callable[[], Ball]], Fraction], known: Ball) -> Fraction:
    """Return one end of a ball."""
    return side(lambda: known)


# ── the three readings ───────────────────────────────────────────────────────────────────────────────────────────


def epsilon(table: Any, *, pairs: Pairs = None) -> Epsilon:
    """Return the least ε such that no output is more than e^ε times as likely for one input as for its neighbour.

    Given    rows are inputs, columns are outputs; all inputs are neighbours, or those in `pairs` are.
    Promise  `.ratio` is e^ε, exactly for rational tables; `.rows` and `.column` show it.
    Because  the ratio of two sums of probabilities is at most the largest ratio of two summands, so single outputs do.
    """
    known = read(table)
    best: tuple[Fraction | None, int, int, int] = (Fraction(1), 0, 1, 0)
    for i, j, k in _extremes(known) if pairs is None else _places(known, pairs):
        top, bottom = known.high[i][k], known.low[j][k]
        if best[0] is not None and top > best[0] * bottom:
            best = (None if bottom == 0 else top / bottom, i, j, k)
    ratio, i, j, k = best
    above, below = known.low[i][k], known.high[j][k]
    found = Epsilon("inf" if ratio is None else log(ratio))
    found.ratio, found.least = ratio, above / below if below and ratio != 1 else ratio
    found.rows, found.column, found.chances = (i, j), k, (known.high[i][k], known.low[j][k])
    found.beyond = known.beyond
    return found


def _extremes(known: Table) -> Iterator[tuple[int, int, int]]:
    """Yield for each column the input where it is likeliest, and that where it is rarest: no other two can be worse."""
    for k in range(len(known.low[0])):
        i = max(range(len(known.high)), key=lambda row: known.high[row][k])
        j = min(range(len(known.low)), key=lambda row: known.low[row][k])
        if i != j:
            yield i, j, k


def _places(known: Table, pairs: Pairs) -> Iterator[tuple[int, int, int]]:
    return ((i, j, k) for i, j in known.pairs(pairs) for k in range(len(known.low[0])))


def delta(table: Any, epsilon: Number, *, pairs: Pairs = None) -> Delta:
    """Return the least δ such that every event is at most e^ε times as likely, plus δ, for one input as for its
    neighbour.

    Promise  `.low` <= δ <= `.high`, both rational, and equal at ε = 0; `.columns` of `.rows` is the event.
    Because  the best event has all outputs y with p(y) > e^ε·q(y), and δ(ε) = Σ max(0, p(y) - e^ε·q(y)). Unlisted
             outputs are counted in `.high` in full.
    """
    known, at = read(table), number(epsilon, "epsilon")
    if at < 0:
        raise NotUnderstood("epsilon must not be negative.", code="wrong-argument", instead='for example epsilon="0.5"')
    down, up = (_exp(at, side) for side in (floor, ceiling))
    best: tuple[Fraction, Fraction, tuple[int, int], tuple[int, ...]] | None = None
    for i, j in _hopeful(known, known.pairs(pairs), float(min(up, MAX_RATIO))):
        most = [p - down * q for p, q in zip(known.high[i], known.low[j], strict=True)]
        columns = tuple(k for k, each in enumerate(most) if each > 0)
        high = sum((most[k] for k in columns), known.beyond)
        if best is None or high > best[1]:
            low = sum((max(Fraction(0), known.low[i][k] - up * known.high[j][k]) for k in columns), Fraction(0))
            best = (low, min(high, Fraction(1)), (i, j), columns)
    assert best is not None
    found = Delta((best[0] + best[1]) / 2)
    found.low, found.high, found.rows, found.columns = best
    found.epsilon = at
    return found


def _hopeful(known: Table, pairs: list[tuple[int, int]], factor: float) -> list[tuple[int, int]]:
    """Return the pairs whose δ may be the largest.

    Floats rule the others out; they err by far less than is allowed here.
    """
    if len(pairs) < MAX_EXACT_PAIRS:
        return pairs
    rows = np.array([[float(each) for each in row] for row in known.high])
    rough = np.array([np.maximum(rows[i] - factor * rows[j], 0).sum() for i, j in pairs])
    allowed = 1e-9 * (1 + factor)
    return [pair for pair, each in zip(pairs, rough, strict=True) if each >= rough.max() - allowed]


def rho(table: Any, *, orders: Sequence[int] = (2, 3, 4, 6, 8, 12, 16), pairs: Pairs = None) -> Rho:
    """Return the least ρ that the Rényi divergences of some integer orders leave possible: D_α <= ρ·α must hold for
    each.

    Because  e^((α-1)·D_α) = Σ p^α/q^(α-1), from below in balls; terms with p = 0 add nothing.
    """
    known = read(table)
    best = (-1.0, 0, (0, 1))
    for i, j in known.pairs(pairs):
        both = [(p, q) for p, q in zip(known.low[i], known.high[j], strict=True) if p > 0]
        for order in orders:
            best = max(best, (_needed(both, order), order, (i, j)))
    found = Rho(best[0])
    found.order, found.rows = best[1:]
    return found


def _needed(both: list[tuple[Fraction, Fraction]], order: int) -> float:
    """Return a lower bound on D_α/α, for α the order."""
    if any(q == 0 for _, q in both):
        return math.inf
    with precision(BITS):
        total = sum((ball(p) ** order / ball(q) ** (order - 1) for p, q in both), ball(0))
        return max(0.0, float((total.log() / ((order - 1) * order)).lower()))


def _exp(at: Fraction, side: Callable[[Callable[[], Ball], int], Fraction]) -> Fraction:
    """Return e^at, rounded down or up."""
    return Fraction(1) if at == 0 else side(lambda: ball(at).exp(), BITS)


def _short(value: Fraction) -> str:
    return str(value) if max(abs(value.numerator), value.denominator) < 10**6 else show(value)
