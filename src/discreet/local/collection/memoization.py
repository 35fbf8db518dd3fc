"""Memoization for repeated questions: the noisy value is kept, so that many reports reveal no more than that value
does.

A respondent who randomises afresh every day reveals the truth in the long run: the noise averages away. So the value is
randomised once and kept, and every report is randomised from that (Erlingsson, Pihur and Korolova 2014, for k values).
Two losses are stated: that of one report, and that of all reports there will ever be.

>>> from discreet.local import Memoised
>>> mood = Memoised(k=2, forever=2, each=1)
>>> kept = mood.remember(1)                       # once; see `Respondent`, which keeps it in a file
>>> reports = [mood.report(kept) for _ in range(30)]
>>> [float(mood.loss(reports=days).pure) for days in (1, 2, 30)], float(mood.loss().pure)
([1.0, 1.6416635493096783, 2.0], 2.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, ball, ceiling, positive_integer, price
from discreet.core.loss import Loss
from discreet.core.once import once
from discreet.errors import NotUnderstood
from discreet.local.channel import Table, too_large
from discreet.local.estimate import Shares
from discreet.local.frequency.kary import KaryResponse
from discreet.local.odds import odds_of

__all__ = ["Memoised"]

MAX_EXACT = 1000  # reports whose loss is computed; that of more is all but that of all


@dataclass(frozen=True, kw_only=True)
class Memoised:
    """One of k values: kept after one k-ary response, reported after another.

    Given    one value for each question, kept from the first report on; a value that changes is a new question.
    Promise  one report is `each`-private; all of them together, however many, are `forever`-private.
    Because  every report is made from the kept value alone. One report is k-ary response after k-ary response: with
             odds a and b that is k-ary response with odds (a·b + k - 1)/(a + b + k - 2), which `daily` solves for b.
    """

    k: int
    forever: Fraction
    each: Fraction

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(self, *, k: int, forever: Number, each: Number) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "forever", price(self.forever, "forever"))
        object.__setattr__(self, "each", price(self.each, "each"))
        if self.each >= self.forever:
            raise NotUnderstood(
                "one report must tell less than all of them.",
                code="wrong-argument",
                instead="for example forever=2, each=1",
            )
        object.__setattr__(self, "k", self.permanent.k)
        _ = self.daily  # refuses `each` that is too close to `forever`

    @once
    def permanent(self) -> KaryResponse:
        """The randomizer of the value, applied once."""
        return KaryResponse(k=self.k, epsilon=self.forever)

    @once
    def single(self) -> KaryResponse:
        """The k-ary response to the value itself that has the law of one report on its own."""
        return KaryResponse(k=self.k, epsilon=self.each)

    @once
    def daily(self) -> KaryResponse:
        """The randomizer of the kept value, applied for every report."""
        a, both = odds_of(self.forever), odds_of(self.each)
        if a == both:
            raise NotUnderstood(
                "one report must tell less than all of them.",
                code="wrong-argument",
                instead="for example forever=2, each=1",
            )
        return KaryResponse(k=self.k, odds=(both * (a + self.k - 2) - (self.k - 1)) / (a - both))

    def remember(self, value: Any, coins: Coins = SYSTEM) -> Any:
        """Return the noisy value to be kept; for several respondents, one for each.

        Call it once for each respondent.
        """
        return self.permanent.randomize(value, coins)

    def report(self, kept: Any, coins: Coins = SYSTEM) -> Any:
        """Return today's report from the kept value."""
        return self.daily.randomize(kept, coins)

    def estimate(self, reports: Any, *, sampling: bool = False) -> Shares:
        """Estimate the share of each value, from one report of each respondent.

        Averaging the estimates of several days removes the noise of the days, never that of the kept value.
        """
        return self.single.estimate(reports, sampling=sampling)

    def loss(self, reports: int | None = None) -> Loss:
        """Return the loss of `reports` reports of one respondent; without `reports`, of all reports there will ever be.

        Given    odds a of the kept value and b of each report of it.
        Promise  r reports have odds of at most (a·bʳ + k - 1)/(a + bʳ + k - 2), which is exact, and less than a. It may
                 be more than r times `each`: the reports share what is kept, so they are not independent.
        Because  with nⱼ reports of j, a value v has a probability proportional to (a - 1)·b^(n_v) + Σⱼ b^(nⱼ). The
                 quotient of two values v and w rises with b^(n_v) and falls with all other terms, so it is largest
                 where all reports are v.
        """
        times = None if reports is None else positive_integer(reports, "reports")
        if times is None or times > MAX_EXACT:
            return Loss(pure=self.forever)
        if times == 1:
            return Loss(pure=self.each)
        a, b = self.permanent.odds, self.daily.odds**times
        odds = (a * b + self.k - 1) / (a + b + self.k - 2)
        return Loss(pure=min(self.forever, ceiling(lambda: ball(odds).log())))

    def table(self, reports: int = 1) -> Table:
        """Return P(all of `reports` reports | value), exactly."""
        days = positive_integer(reports, "reports")
        too_large(self.k ** (days + 1))
        kept, daily = self.permanent.table().rows, self.daily.table().rows
        columns = list(product(range(self.k), repeat=days))
        chance = [[_all(daily[memo], seen) for seen in columns] for memo in range(self.k)]
        rows = tuple(
            tuple(sum((p * chance[memo][j] for memo, p in enumerate(row)), Fraction(0)) for j in range(len(columns)))
            for row in kept
        )
        return Table(tuple(range(self.k)), tuple(columns), rows)


def _all(row: tuple[Fraction, ...], seen: tuple[int, ...]) -> Fraction:
    out = Fraction(1)
    for report in seen:
        out *= row[report]
    return out
