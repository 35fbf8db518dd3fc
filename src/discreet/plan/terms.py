"""The terms of a question: a cost, or a margin; and the plans that answer the question on these terms."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core.exact import Number, number, price, probability
from discreet.core.text import show
from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan.draft import Alternative, Draft
from discreet.plan.output import output_columns
from discreet.plan.plan import Plan
from discreet.plan.pricing import plans_for, plans_unsorted

__all__ = ["Spend", "Terms", "Within", "read_terms", "search"]


class Terms(ABC):
    """Terms of an answer: a cost, which the methods here assume, or a margin."""

    epsilon: Fraction | None  # the cost, where it was named
    most: Fraction | None  # the most that may be spent, where that was named
    delta: Fraction | None  # for naming private keys, where it is not the budget's share
    confidence: Fraction
    relative = False

    def check_terms(self, draft: Draft) -> Draft:
        """Fix the confidence level of the draft; refuse numbers that cannot be answered on these terms."""
        measures = tuple(each.at_confidence(self.confidence) for each in draft.measures)
        return draft if measures == draft.measures else replace(draft, measures=measures)

    @abstractmethod
    def plans(self, draft: Draft) -> tuple[Plan, ...]:
        """Return the plans on these terms, by their predicted error; for a margin, at the least cost."""

    @abstractmethod
    def least_cost(self, draft: Draft) -> Fraction:
        """Return the least ε, to some digits, that a question costs."""

    def data_dependent_margin(self, draft: Draft) -> Within | None:
        """Return the margin, if its cost depends on the data; None where the cost is known before data are read."""
        return None

    def met(self, numbers: Iterable[tuple[Any, Any]]) -> bool:
        """Return True if these numbers, each with its margin, are as exact as was asked for."""
        return True

    # ── of several questions ─────────────────────────────────────────────────────────────────────────────────────

    def share(self, part: Fraction, delta: Fraction | None = None) -> Terms:
        """Return the terms for a part of the cost, and a part of its `delta`, by default the same; a margin stays."""
        return self

    def can_batch(self, draft: Draft) -> bool:
        """Return True if a question that counts rows may be answered from one release with others."""
        return True

    def at_known_cost(self, draft: Draft, seeks: Callable[[Draft], object]) -> Terms:
        """Return the terms with a question's cost as the most; refuse one that depends on data, as `seeks` may say."""
        return self

    def uncapped(self) -> Terms:
        """Return the terms without a limit on what a margin may cost."""
        return self

    @abstractmethod
    def check_allowed(self, costs: Iterable[Fraction]) -> None:
        """Refuse a margin that costs more than may be spent."""


@dataclass(frozen=True, kw_only=True)
class Spend(Terms):
    """Terms that name a cost: an ε; `delta` is for naming private keys, where it is not the budget's share."""

    epsilon: Fraction
    delta: Fraction | None
    confidence: Fraction

    @property
    def most(self) -> Fraction:  # type: ignore[override]
        return self.epsilon

    def plans(self, draft: Draft) -> tuple[Plan, ...]:
        return plans_for(draft, self.epsilon, self.delta)

    def least_cost(self, draft: Draft) -> Fraction:
        return self.epsilon

    def share(self, part: Fraction, delta: Fraction | None = None) -> Spend:
        events = None if self.delta is None else self.delta * (part if delta is None else delta)
        return replace(self, epsilon=self.epsilon * part, delta=events)

    def check_allowed(self, costs: Iterable[Fraction]) -> None:
        """Refuse nothing: the cost was named."""


@dataclass(frozen=True, kw_only=True)
class Within(Terms):
    """Terms that name a margin: every number is within it, or within a share of itself, for `most` at most."""

    margin: Fraction
    relative: bool
    most: Fraction | None
    delta: Fraction | None
    confidence: Fraction
    epsilon = None

    def check_terms(self, draft: Draft) -> Draft:
        """Fix the confidence level of the draft; refuse it if some number has no error margin, shown or not."""
        views = [reading.estimator(draft.measures) for reading in draft.readings]
        without = [title for title, view in zip(draft.titles, views, strict=True) if not view.has_interval]
        if without:
            raise NotAllowed(
                f"{without[0]} takes no `within=`: the error of a private quantile is known in ranks, not in its"
                " value.",
                code="margin-unknown",
                instead='epsilon="0.1"; explain says within how many ranks it will be, and QUANTILE_LOW(x, 0.5) and'
                " QUANTILE_HIGH(x, 0.5) are the ends of an interval",
                place=draft.view.place,
            )
        if unknown := output_columns(draft).unknown:
            raise NotAllowed(
                f"no error margin can be derived for {', '.join(unknown)}: it combines several rows of the answer, or"
                " uses a function without an error bound.",
                code="margin-unknown",
                instead='ask for a cost, epsilon="0.1", or for the numbers that it is computed from',
                place=draft.view.place,
            )
        draft = super().check_terms(draft)
        return replace(draft, alternatives=tuple(each for each in draft.alternatives if _ranged(each)))

    def plans(self, draft: Draft) -> tuple[Plan, ...]:
        cost, numbers = self.least_cost(draft), output_columns(draft)
        self.check_allowed([cost])
        plans = plans_for(draft, cost, self.delta)
        return tuple(plan for plan in plans if numbers.within(draft, plan, self.confidence, self.margin))

    def least_cost(self, draft: Draft) -> Fraction:
        """Return the least ε, to some digits, for which every number of the answer is within the margin."""
        if not draft.readings:
            raise NotUnderstood(
                "`within=` needs a number, and this question has keys only.",
                code="no-number",
                instead='epsilon="0.1", or add COUNT(*)',
                place=draft.view.place,
            )
        return _least_cost(draft, self.uncapped())

    def data_dependent_margin(self, draft: Draft) -> Within | None:
        numbers = output_columns(draft)
        steady = all(draft.readings[n].estimator(draft.measures).margin_is_known for n in numbers.read)
        return self if self.relative or numbers.computed or not steady else None

    def met(self, numbers: Iterable[tuple[Any, Any]]) -> bool:
        return self.worst(numbers) <= 1

    def worst(self, numbers: Iterable[tuple[Any, Any]]) -> float:
        """Return the largest margin, as a multiple of the one asked for."""
        worst = 0.0
        for value, margin in numbers:
            if value is None or margin is None:
                return math.inf
            most = float(self.margin) * (abs(value) if self.relative else 1)
            worst = max(worst, margin / most if most else math.inf)
        return worst

    def can_batch(self, draft: Draft) -> bool:
        """Return True if all numbers are shown as counted; a margin of numbers computed from counts is known alone."""
        return output_columns(draft).plain

    def at_known_cost(self, draft: Draft, seeks: Callable[[Draft], object]) -> Within:
        draft = self.check_terms(draft)
        if self.data_dependent_margin(draft) or seeks(draft):
            raise NotAllowed(
                "the cost of this margin depends on the data, and several questions need a known cost.",
                code="cost-unknown",
                instead="leave this question out and ask it on its own; or give all of them a cost: epsilon=1",
                place=draft.view.place,
            )
        return replace(self, most=self.least_cost(draft))

    def uncapped(self) -> Within:
        return replace(self, most=None)

    def check_allowed(self, costs: Iterable[Fraction]) -> None:
        if self.most is not None and (cost := sum(costs, start=Fraction(0))) > self.most:
            raise NotUnderstood(
                f"that margin would cost ε = {float(cost):g}, more than was allowed.",
                code="margin-too-dear",
                instead="allow more, or a wider one",
            )


def _ranged(way: Alternative) -> bool:
    """Return True if all numbers of an alternative have an interval around them."""
    return all(reading.estimator(way.measures).has_interval for reading in way.readings)


@lru_cache(maxsize=1024)
def _least_cost(draft: Draft, wanted: Within) -> Fraction:
    """Return the least cost of a margin. Plans are not sorted by their error here, as that takes longer."""
    numbers, margin, wide = output_columns(draft), wanted.margin, Counter[int]()

    def enough(epsilon: Fraction) -> bool:
        plans = plans_unsorted(draft, epsilon, wanted.delta)
        return any(numbers.within(draft, plan, wanted.confidence, margin, wide) for plan in plans)

    return search(enough, margin)


def read_terms(
    *, epsilon: Number | None, within: Number | None, confidence: Number, delta: Number | None, default: Fraction | None
) -> Terms:
    """Read and check what a user asked for."""
    sure = probability(confidence, "confidence")
    keys = None if delta is None else probability(delta, "delta")
    if within is None:
        if epsilon is None and default is None:
            raise NotUnderstood(
                "say what the answer may cost (epsilon), or how exact it must be (within).",
                code="no-terms",
                instead='epsilon="0.1", or within=25 for ±25 at 95 %, or within="2%"',
            )
        cost = price(default if epsilon is None else epsilon, "epsilon")
        return Spend(epsilon=cost, delta=keys, confidence=sure)
    relative = isinstance(within, str) and within.strip().endswith("%")
    margin = number(within.strip().removesuffix("%") if isinstance(within, str) else within, "within")
    if margin <= 0:
        raise NotUnderstood("a margin is greater than zero.", code="out-of-range", instead='within=25, or within="2%"')
    most = None if epsilon is None else price(epsilon, "epsilon")
    share = margin / 100 if relative else margin
    return Within(margin=share, relative=relative, most=most, delta=keys, confidence=sure)


def search(enough: Callable[[Fraction], bool], margin: Fraction) -> Fraction:
    """Return the least number with three digits that is `enough`, as all larger ones are; refuse where none is."""
    most, exponent = Fraction(10**6), 0
    if not enough(most):
        raise NotAllowed(
            f"no cost makes this answer as exact as ±{show(margin)}.",
            code="margin-too-small",
            instead="ask for a wider margin, or by epsilon",
        )
    epsilon = most
    while enough(epsilon / 10) and exponent > -30:
        epsilon, exponent = epsilon / 10, exponent - 1
    unit = epsilon / 1000
    low, high = 99, 1000  # three digits
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(unit * middle) else (middle, high)
    return unit * high
