"""Which centre a row is nearest to, in SQL: a CASE of comparisons, as flat and as short as it can be.

    >>> import numpy as np
    >>> from discreet.learn.nearer import Written, nearest_sql
    >>> nearest_sql(np.array([[2.0], [6.0], [4.0]]), ["x"], ["0", "1", "2"], Written(decimals=1, width=4))
    'CASE WHEN x <= ( 3.0) THEN 0 WHEN x <= ( 5.0) THEN 2 ELSE 1 END'

Numbers are padded, so that a question is as long whatever the centres are: one that may be asked of some of them may be
asked of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import NotUnderstood
from discreet.learn.box import Box, Floats

__all__ = ["Written", "few_enough", "nearest_sql", "short_enough"]

MOST_WORK = 600  # of `work`, so that an engine plans a question in seconds
MOST_LETTERS = 20_000  # of a question


@dataclass(frozen=True, kw_only=True)
class Written:
    """How numbers are written: lengths to a tenth of a step or finer, in so many characters."""

    decimals: int
    width: int

    @classmethod
    def of(cls, box: Box) -> Written:
        """For a box: as wide as the sum of its bounds, which no threshold exceeds."""
        decimals = max(0, math.ceil(1 - math.log10(box.step)))
        most = float(sum(max(abs(low), abs(high)) for low, high in box.sides))
        return cls(decimals=decimals, width=len(f"{-most:.{decimals}f}"))

    def length(self, value: float) -> str:
        """A length or a position."""
        return f"({value:{self.width}.{self.decimals}f})"

    @staticmethod
    def share(value: float) -> str:
        """A number from minus one to one."""
        return f"({value:9.6f})"


def nearest_sql(at: Floats, names: Sequence[str], results: Sequence[str], written: Written) -> str:
    """One of several expressions: that of the nearest centre.

    Because  the first centre that is nearer than all later ones is the nearest: each one before it was beaten by one
             that comes later. In one dimension, from the least on, the next one speaks for all later ones.
    """
    order = np.argsort(at[:, 0], kind="stable") if len(names) == 1 else np.arange(len(at))
    tests = []
    for n, j in enumerate(order[:-1]):
        rivals = order[n + 1 : n + 2] if len(names) == 1 else order[n + 1 :]
        closer = " AND ".join(_closer(at[j], at[b], names, written) for b in rivals)
        tests.append(f"WHEN {closer} THEN {results[j]}")
    otherwise = results[order[-1]]
    return f"CASE {' '.join(tests or [f'WHEN TRUE THEN {otherwise}'])} ELSE {otherwise} END"


def _closer(a: Floats, b: Floats, names: Sequence[str], written: Written) -> str:
    """Where x is nearer to a than to b; of two that are the same, below them.

    Because  x·(a - b) >= m·(a - b) there, m being the middle of a and b. Divided by the greatest difference one product
             is spared, and all factors are shares.
    """
    apart, middle = a - b, (a + b) / 2
    first = int(np.argmax(np.abs(apart)))
    shares = apart / apart[first] if apart[first] else np.eye(len(a))[first]
    terms = [
        name if i == first else f"{written.share(shares[i])} * {name}" for i, name in enumerate(names)
    ]  # the rounded shares are about as good as the exact ones
    sign = ">=" if apart[first] > 0 else "<="
    return f"{_sum(terms)} {sign} {written.length(float(shares @ middle))}"


def _sum(terms: Sequence[str]) -> str:
    """In pairs of pairs: for an engine that writes out each sum twice, depth is what costs."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return f"({_sum(terms[:half])} + {_sum(terms[half:])})"


def work(clusters: int, features: int) -> int:
    """About how many columns an engine reads in the plan of one question: of each comparison, in each of its sums."""
    return clusters * (clusters - 1) // 2 * (features + 1) * features << math.ceil(math.log2(features))


def few_enough(clusters: int, features: int) -> None:
    """Refuse more clusters of several columns than a question can tell apart in reasonable time."""
    if features == 1:  # each is compared with the next alone
        return
    most = 1
    while work(most + 1, features) <= MOST_WORK:
        most += 1
    if clusters > most:
        raise NotUnderstood(
            f"{features} columns of a table can have at most {most} clusters: a question compares each with each.",
            instead=f"n_clusters={most} or fewer, or fewer columns; KMeans.fit has no such limit",
        )


def short_enough(sql: str) -> None:
    """Refuse more clusters than a question can name."""
    if len(sql) > MOST_LETTERS:
        raise NotUnderstood(
            f"to name so many clusters takes more than the {MOST_LETTERS:,} letters that a question may have.",
            instead="a smaller n_clusters, or columns with shorter names; KMeans.fit has no such limit",
        )
