"""Attacks on one person: differencing, averaging, trackers, and membership inference.

Each attack takes what an analyst has, a host that answers SQL, and returns an estimate of the secret.

    >>> from discreet.lab import membership
    >>> membership.caught(students=30, sample=3, questions=5)            # the class of the notes
    Fraction(40951, 100000)
    >>> import pyarrow as pa
    >>> from discreet.lab.attacks.targets import People
    >>> from discreet.lab.attacks.naive_server import Naive
    >>> with Naive(pa.table({"id": range(20), "secret": [1, 0] * 10}), smallest=3) as server:
    ...     behind = People(host=server, n=20)
    ...     membership.direct(behind, 4), membership.tracker(behind, 4), membership.tracker(behind, 5)
    (nan, 1.0, 0.0)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import positive_integer
from discreet.errors import NotUnderstood
from discreet.lab.attacks.targets import Host, People
from discreet.lab.sampling import uniform

__all__ = ["Roc", "average", "caught", "classroom", "difference", "direct", "roc", "some", "trace", "tracker"]

Real = NDArray[Any]


# ── somebody's secret ────────────────────────────────────────────────────────────────────────────────────────────


def direct(people: People, person: int) -> float:
    """Ask directly: how many people with this key have the secret?"""
    return people.count(f"{people.secret} AND {people.key} = {person}")


def difference(people: People, person: int) -> float:
    """Subtract the count of all others with the secret from the count of all: two harmless counts."""
    return people.count(people.secret) - people.count(f"{people.secret} AND {people.key} <> {person}")


def average(people: People, person: int, *, times: int, reword: bool = False) -> float:
    """Return the mean of many answers to the same question, or, with `reword`, to as many that mean the same."""
    asked = [
        people.count(f"{people.secret} AND {people.key} = {person}" + (f" AND {people.key} < {people.n + k}" * reword))
        for k in range(positive_integer(times, "times"))
    ]
    heard = [each for each in asked if not np.isnan(each)]
    return float(np.mean(heard)) if heard else float("nan")


def tracker(people: People, person: int) -> float:
    """Compute a count that is refused because too few people are in it from counts of many: a general tracker.

    Because  any half of the people T gives count(C) = count(C or T) + count(C or not T) - count(T) - count(not T)
             (Denning, Denning and Schwartz 1979), and no set here is small.
    """
    them, half = f"({people.secret} AND {people.key} = {person})", f"{people.key} < {people.n // 2}"
    padded = people.count(f"{them} OR {half}") + people.count(f"{them} OR NOT ({half})")
    return padded - people.count(half) - people.count(f"NOT ({half})")


# ── the class of the notes ───────────────────────────────────────────────────────────────────────────────────────


def caught(*, students: int = 30, sample: int = 3, questions: int = 5) -> Fraction:
    """Return the probability that averages of random samples show Alice at least once: 1 - (1 - C(29,2)/C(30,3))^5."""
    n, k, times = (
        positive_integer(students, "students"),
        positive_integer(sample, "sample"),
        positive_integer(questions, "questions"),
    )
    if k > n:
        raise NotUnderstood(
            "a sample is a part of the class.", code="wrong-argument", instead="for example sample=3 of students=30"
        )
    return 1 - (1 - Fraction(comb(n - 1, k - 1), comb(n, k))) ** times


def some(count: int, of: int, coins: Coins = SYSTEM) -> list[int]:
    """Return `count` different numbers below `of`, all subsets equally likely."""
    chosen: list[int] = np.argsort(uniform(of, coins))[:count].tolist()
    return chosen


def classroom(
    ask: Callable[[Sequence[int]], float],
    *,
    students: int = 30,
    sample: int = 3,
    questions: int = 5,
    coins: Coins = SYSTEM,
) -> list[float]:
    """Return the answers about random samples of the class: `ask` gives the average of the students at these places."""
    return [ask(some(sample, students, coins)) for _ in range(positive_integer(questions, "questions"))]


# ── who is in the data ───────────────────────────────────────────────────────────────────────────────────────────


def trace(records: ArrayLike, published: ArrayLike, reference: ArrayLike) -> Real:
    """Score how much each record resembles published means more than it resembles the population.

    Because  a member moves every mean a little towards its own record; over many columns that adds up (Homer and others
             2008; Dwork, Smith, Steinke, Ullman and Vadhan 2015).
    """
    x, q, p = (np.asarray(each, float) for each in (records, published, reference))
    if x.ndim != 2 or q.shape != p.shape or x.shape[1:] != q.shape:
        raise NotUnderstood(
            "a record has one value for each published mean.", code="wrong-argument", instead="one row for each record"
        )
    scores: Real = (x - p) @ (q - p)
    return scores


@dataclass(frozen=True)
class Roc:
    """Scores of members beside scores of strangers, as rates of a test at every threshold."""

    alarms: Real
    hits: Real

    @property
    def area(self) -> float:
        """The probability that a member scores higher than a stranger: one half is chance."""
        return float(np.trapezoid(self.hits, self.alarms))

    def hit(self, alarm: float) -> float:
        """Return the share of members found by the test that accuses at most this share of strangers."""
        return float(self.hits[self.alarms <= alarm].max())


def roc(members: ArrayLike, strangers: ArrayLike) -> Roc:
    """Return the ROC curve of a test by its scores."""
    m, s = np.asarray(members, float), np.asarray(strangers, float)
    cuts = np.concatenate([[np.inf], np.unique(np.concatenate([m, s]))[::-1]])
    return Roc(np.array([(s >= cut).mean() for cut in cuts]), np.array([(m >= cut).mean() for cut in cuts]))


def means(host: Host, columns: Sequence[str], *, table: str, size: int, at_once: int = 100) -> Real:
    """Return the means of many columns of zeros and ones, computed from sums, `at_once` columns in each question."""
    told: list[float] = []
    for start in range(0, len(columns), at_once):
        sums = ", ".join(f"SUM({each})" for each in columns[start : start + at_once])
        told += map(float, host.ask(f"SELECT {sums} FROM {table}")[0])
    return np.array(told) / size
