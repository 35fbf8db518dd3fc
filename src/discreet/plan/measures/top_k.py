"""Top-k: the first few groups in the order of a count or a sum, when only their keys are asked for.

    SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(DISTINCT patient_id) DESC LIMIT 3

Two mechanisms answer it. One adds noise to the numbers of all groups and puts them in order: it costs what one unit
changes in all groups together. The other selects one group after the other privately: it costs what one unit changes in
one group, k times. The one with the smaller predicted gap at the same cost is taken; the gap is how much better than a
group in the answer a group can be that is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.contribution import Setting
from discreet.core.exact import positive_integer
from discreet.core.laws.law import Integers, Spread
from discreet.core.laws.price import Price
from discreet.core.record import recorded
from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import ExactData
from discreet.kernel.expressions import Tree
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.plan.estimates.noise_sums import radius
from discreet.plan.measures.measure import Measurement, MeasureOf
from discreet.plan.measures.quantiles import CHOICES, Choice, SelectedValue
from discreet.plan.measures.statistic import Statistic
from discreet.plan.measures.sums import Sums

__all__ = ["TopK"]

MAX_CHOSEN_GROUPS, MAX_SCORES = 1000, 10_000_000  # groups that are chosen, and scores that are looked at for that

CONFIDENCE = Fraction(95, 100)

BOTH = (Fraction(1), Fraction(1))

WORDS = {"flip": "permute-and-flip", "exponential": "the exponential mechanism"}


@recorded("foremost/1")
@dataclass(frozen=True, kw_only=True)
class TopK(MeasureOf[Choice]):
    """The first `k` of `among` groups in the order of a score. Its law is the name of a selection, and the ε of one."""

    score: Sums
    k: int
    among: int
    least: bool = False

    def __post_init__(self) -> None:
        if (
            len(self.score.parts) != 1
            or not positive_integer(self.k, "k") < self.among
            or self.k * self.among > MAX_SCORES
        ):
            raise NotUnderstood(
                "the recorded plan holds an invalid measure.", code="not-a-record", instead="ask in SQL"
            )

    # ── what is counted: as the score says ───────────────────────────────────────────────────────────────────

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.score.parts

    @property
    def trees(self) -> tuple[Tree, ...]:
        return self.score.trees

    @property
    def exact(self) -> ExactData:
        return self.score.exact

    @property
    def clamped(self) -> tuple[Tree, ...]:
        return self.score.clamped

    def is_additive(self, caps: Any) -> bool:
        return False

    # ── what is released ─────────────────────────────────────────────────────────────────────────────────────

    def most(self, setting: Setting) -> Fraction:
        """Return how far one unit can move the score of one group: as far as that of the only group of a question.

        Because  all rows of a unit that count may be in one group, and it counts there once.
        """
        alone = replace(setting, grouped=False, caps=replace(setting.caps, groups=1 if setting.caps.unit else None))
        return self.score.reach(alone).l1

    def together(self, setting: Setting) -> bool:
        """Return True if a unit that is added moves all scores the same way, as counts and sums without negatives."""
        return setting.neighbours.monotone and (not self.score.summed or self.score.low >= 0)

    def mechanism(self, law: Choice, setting: Setting) -> TopKRanking:
        choose = CHOICES[law[0]](
            epsilon=law[1], sensitivity=self.most(setting), monotone=self.together(setting),
            neighbours=setting.neighbours,
        )  # fmt: skip
        return TopKRanking(choose=choose, k=self.k, among=self.among, least=self.least, unit=setting.unit)

    def law(self, price: Price, setting: Setting) -> Choice:
        return price.choice, (price * Fraction(1, self.k)).exponential()

    # ── how wrong it is ──────────────────────────────────────────────────────────────────────────────────────

    def gap(self, law: Choice, setting: Setting, confidence: Fraction) -> float:
        """Return the gap in steps: with this confidence no group left out is better by that than one in the answer."""
        return self.mechanism(law, setting).error.gap(confidence)

    def noisy_gap(self, noise: Spread, confidence: Fraction) -> Fraction:
        """Return the gap in steps when all scores get this noise and are put in order.

        Because  if a group that is left out is better by that much than one in the answer, then one of the true first k
                 was left out and another is in the answer that is as far behind it. Of such a pair the difference of
                 two noises is the gap or more; there are k·(among - k) pairs, and differences are symmetric.
        """
        return radius(noise, BOTH, self._pair(confidence)) + 1

    def _pair(self, confidence: Fraction) -> Fraction:
        """Return the confidence that the order of each pair of groups needs, so that all pairs have `confidence`."""
        return 1 - min(2 * (1 - confidence) / (self.k * (self.among - self.k)), CONFIDENCE)

    def expected_squared_error(self, law: Choice, setting: Setting) -> float:
        return self.gap(law, setting, CONFIDENCE) ** 2

    def rival_error(self, taken: Measurement) -> float | None:
        """Return the squared gap of noise on all scores, by the continuous law."""
        if taken.measure == self:
            return None
        return float(taken.noise.radii(np.ones((1, 2)), self._pair(CONFIDENCE))[0] - 2) ** 2

    def _estimator(self, statistic: Statistic) -> TopKRank:
        return TopKRank(of=self)

    def order_text(self, taken: Measurement, confidence: Fraction) -> str:
        if taken.measure == self:
            times = "" if self.k == 1 else ", one after the other"
            how, gap = f"by {WORDS[taken.law[0]]}{times}", self.gap(taken.law, taken.setting, confidence)
        else:
            how, gap = "by noise on the numbers of all", float(self.noisy_gap(taken.noise, confidence))
        size = float(f"{gap * float(self.score.step):.3g}")
        off = f"{size:,g}" if self.score.summed else f"{math.ceil(gap):,} {self._counted}"
        first = "the first key was" if self.k == 1 else f"the first {self.k} keys were"
        beyond, them = "is below" if self.least else "exceeds", "it" if self.k == 1 else "one of them"
        return f"{first} found {how}; no other key {beyond} {them} by {off} or more"

    @property
    def _counted(self) -> str:
        return "people" if self.exact.of_units else "rows"


@dataclass(frozen=True, kw_only=True)
class TopKRank(SelectedValue[Choice]):
    """The place of a group in the order: a number by which an answer is only sorted."""

    of: TopK
    kind: Kind = "integer"
    possible: tuple[float, float] = (-math.inf, math.inf)

    @property
    def clamped(self) -> str:  # type: ignore[override]
        return self.of.score.estimator(Statistic(self.of.parts[0])).clamped

    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        return [int(each) for each in parts[0]]

    def noise_text(self, law: Choice) -> str:
        return WORDS[law[0]].removeprefix("the ") + (f", {self.of.k} times" if self.of.k > 1 else "")
