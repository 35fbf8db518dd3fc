"""Channels: a randomizer as a table of probabilities, and the exact ε of any table.

A table has a row for each value and a column for each report. All entries are rationals, so the
largest ratio within a column is a rational, too: whatever a randomizer claims can be recomputed from its own table.

    >>> from discreet.local import RandomizedResponse
    >>> from discreet.local.channel import worst_ratio
    >>> coins = RandomizedResponse.fair_coin()
    >>> worst_ratio(coins.table().rows)
    Fraction(3, 1)
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.exact import Number, ball, ceiling, number
from discreet.errors import NotUnderstood
from discreet.local.odds import claims

__all__ = ["CELLS", "Table", "keeps", "table_epsilon", "too_large", "worst_ratio"]

CELLS = 1 << 20  # of a table that is written out

Rows = Sequence[Sequence[Fraction]]


def worst_ratio(rows: Rows) -> Fraction | None:
    """Return the largest ratio of two probabilities of the same report, exactly; None if it is infinite.

    Promise  the least e^ε for which the table is ε-differentially private.
    Because  every event is a union of reports, so the worst event is a single one (lecture notes; Dwork 2006).
    """
    _check(rows)
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        least, most = min(column), max(column)
        if most and not least:
            return None
        if most:
            worst = max(worst, most / least)
    return worst


def table_epsilon(rows: Rows) -> Fraction | None:
    """Return the ε of a table, rounded up by less than one part in 2^60; None if it is infinite."""
    ratio = worst_ratio(rows)
    return None if ratio is None else Fraction(0) if ratio == 1 else ceiling(lambda: ball(ratio).log())


def keeps(rows: Rows, epsilon: Number) -> bool:
    """Return True if a table is ε-differentially private: an exact comparison, with no tolerance."""
    ratio, claimed = worst_ratio(rows), number(epsilon, "epsilon")
    return ratio is not None and claimed >= 0 and claims(claimed, ratio)


def _check(rows: Rows) -> None:
    if not len(rows) or len({len(row) for row in rows}) > 1:
        raise NotUnderstood(
            "a table has rows of one length, one for each value.",
            code="wrong-argument",
            instead="[[3/4, 1/4], [1/4, 3/4]]",
        )
    for row in rows:
        if any(not isinstance(p, (int, Fraction)) or p < 0 for p in row) or sum(row) != 1:
            raise NotUnderstood(
                "a row of a table holds probabilities: rationals, none negative, that add up to one exactly.",
                code="wrong-argument",
                instead='write Fraction("0.75"), not 0.75',
            )


@dataclass(frozen=True)
class Table:
    """P(report | value): `rows[i][j]` is the probability of `reports[j]` from `values[i]`."""

    values: tuple[Hashable, ...]
    reports: tuple[Hashable, ...]
    rows: tuple[tuple[Fraction, ...], ...]

    @property
    def worst_ratio(self) -> Fraction | None:
        """The least e^ε for which the table is private; None if there is none."""
        return worst_ratio(self.rows)

    @property
    def epsilon(self) -> Fraction | None:
        """The least ε for which the table is private, rounded up; None if there is none."""
        return table_epsilon(self.rows)

    def keeps(self, epsilon: Number) -> bool:
        """Return True if the table is ε-differentially private."""
        return keeps(self.rows, epsilon)


def too_large(cells: int) -> None:
    """Refuse to write out a table of more than a million cells."""
    if cells > CELLS:
        raise NotUnderstood(
            "the table would have more than a million cells.",
            code="wrong-argument",
            instead="look at the same randomizer with a smaller k; its probabilities are .hit, .miss and .odds",
        )
