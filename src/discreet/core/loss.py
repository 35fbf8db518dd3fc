"""Losses add, budgets contain.

A `Loss` bounds what a mechanism can reveal about one privacy unit, as statements that are all true at once. It is a
value: adding two losses is running two mechanisms, also when the second was chosen after seeing the first one's answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.core.conversion import (
    delta_of_pure,
    delta_of_zcdp,
    epsilon_of_pure,
    epsilon_of_zcdp,
    group_delta,
    zcdp_of,
)
from discreet.core.exact import Number, number, positive_integer, price, probability
from discreet.core.once import once
from discreet.core.text import show
from discreet.errors import NotAllowed, NotUnderstood

__all__ = ["Budget", "Loss", "Remaining"]

ONE = Fraction(1)


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The privacy loss of a release about one unit, outside one event of probability `event`.

    `pure` says: the release is ε-differentially private, with this ε; None says nothing. `rho` says: the release is
    ρ-zCDP. Left out, it is what the pure statement implies: ε²/2 (Bun and Steinke 2016). `approximate` says, on its own
    and of the whole release: it is (ε, δ)-private. This point comes from an exact curve, such as a Gaussian's, and is
    often better than what ρ converts to.
    """

    pure: Fraction | None = None
    rho: Fraction = None  # type: ignore[assignment]  # never None once made
    event: Fraction = Fraction(0)
    approximate: tuple[Fraction, Fraction] | None = None

    ZERO: ClassVar[Loss]

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            pure: Number | None = None,
            rho: Number | None = None,
            event: Number = 0,
            approximate: tuple[Number, Number] | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        pure = None if self.pure is None else _amount(self.pure, "pure")
        event = min(ONE, _amount(self.event, "event"))
        if self.rho is not None:
            rho = _amount(self.rho, "rho")
        elif pure is not None:
            rho = pure**2 / 2
        else:
            raise NotUnderstood(
                "a loss must state something.",
                code="wrong-argument",
                instead='write Loss(pure="0.5") or Loss(rho="0.125")',
            )
        approximate = self.approximate
        if approximate is not None:
            if not isinstance(approximate, tuple) or len(approximate) != 2:
                raise NotUnderstood(
                    "approximate is a pair.", code="wrong-argument", instead='write approximate=("0.5", "1e-6")'
                )
            approximate = (_amount(approximate[0], "epsilon"), min(ONE, _amount(approximate[1], "delta")))
        elif pure is not None:
            approximate = (pure, event)
        for name, value in {"pure": pure, "rho": rho, "event": event, "approximate": approximate}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(
        cls, pure: Fraction | None, rho: Fraction, event: Fraction, approximate: tuple[Fraction, Fraction] | None = None
    ) -> Loss:
        """Return the loss with these statements, unchecked: they are computed from those of other losses."""
        loss = object.__new__(cls)
        event = min(event, ONE)
        if approximate is not None:
            approximate = (approximate[0], min(approximate[1], ONE))
        elif pure is not None:
            approximate = (pure, event)
        loss.__dict__.update(pure=pure, rho=rho, event=event, approximate=approximate)
        return loss

    # ── composition ──────────────────────────────────────────────────────────────────────────────────────────

    def __add__(self, other: Loss) -> Loss:
        """Return the loss of both mechanisms on the same units, even if the second is chosen after the first."""
        if not isinstance(other, Loss):
            return NotImplemented
        return self._join(other, lambda one, two: one + two)

    def __or__(self, other: Loss) -> Loss:
        """Return the loss of the two mechanisms on disjoint units: each unit is in the data of one of them."""
        if not isinstance(other, Loss):
            return NotImplemented
        return self._join(other, max)

    def __radd__(self, other: int) -> Loss:
        """Return this loss for 0 + loss, so that sum(losses) works."""
        return self if type(other) is int and other == 0 else NotImplemented

    def _join(self, other: Loss, by: Callable[[Fraction, Fraction], Fraction]) -> Loss:
        mine, theirs = self.approximate, other.approximate
        return Loss.of(
            None if self.pure is None or other.pure is None else by(self.pure, other.pure),
            by(self.rho, other.rho),
            by(self.event, other.event),
            mine and theirs and (by(mine[0], theirs[0]), by(mine[1], theirs[1])),
        )

    def __rmul__(self, times: int) -> Loss:
        """Return the loss of running the same mechanism `times` times."""
        if type(times) is int and times == 0:
            return Loss.ZERO
        n = positive_integer(times, "times")
        return Loss(
            pure=None if self.pure is None else n * self.pure,
            rho=n * self.rho,
            event=n * self.event,
            approximate=self.approximate and (n * self.approximate[0], n * self.approximate[1]),
        )

    __mul__ = __rmul__

    def __le__(self, other: Loss) -> bool:
        """Return True if no statement is worse: the product order. Two losses may be incomparable."""
        if not isinstance(other, Loss):
            return NotImplemented
        if other.pure is not None and (self.pure is None or self.pure > other.pure):
            return False
        if other.approximate is not None and self.delta(other.approximate[0]) > other.approximate[1]:
            return False
        return self.rho <= other.rho and self.event <= other.event

    def group(self, size: int) -> Loss:
        """Return the loss of a group of `size` units.

        Promise  kε and k²ρ; at an event of probability δ, kε at δ(e^(kε)-1)/(e^ε-1).
        Because  the first is a walk of k steps; the second is the triangle inequality of Rényi divergences
                 (Bun and Steinke 2016, Proposition 1.9), which needs a zCDP statement without exceptions.
        """
        k = positive_integer(size, "size")
        if self.event == 0:
            pure = None if self.pure is None else k * self.pure
            return Loss(pure=pure, rho=k**2 * self.rho, approximate=self._group_point(k))
        if self.pure is None:
            raise NotAllowed(
                "a zCDP statement that may fail says nothing about groups.",
                code="no-group-privacy",
                instead="convert it first: Loss(pure=loss.epsilon(delta=d), event=d).group(k)",
            )
        event = group_delta(self.pure, self.event, k)
        return Loss(pure=k * self.pure, event=event, approximate=self._group_point(k))

    def _group_point(self, k: int) -> tuple[Fraction, Fraction] | None:
        return self.approximate and (k * self.approximate[0], group_delta(*self.approximate, k))

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def epsilon(self, delta: Number = 0) -> Fraction:
        """Return the least ε such that the release is (ε, δ)-private: the best of the statements, rounded up."""
        at = _amount(delta, "delta")
        if at >= 1:
            raise NotUnderstood("delta must be less than one.", code="out-of-range", instead='for example delta="1e-6"')
        points = [] if self.pure is None else [(self.pure, self.event)]
        points += [] if self.approximate is None else [self.approximate]
        found = [read for point in points if (read := epsilon_of_pure(*point, at)) is not None]
        if at > self.event:
            found.append(epsilon_of_zcdp(self.rho, at - self.event))
        if not found:
            raise NotUnderstood(
                f"this loss has no ε at δ = {show(at)}; it needs a larger δ.",
                code="no-delta",
                instead='ask for example loss.epsilon(delta="1e-6")',
            )
        return min(found)

    def delta(self, epsilon: Number) -> Fraction:
        """Return the least δ such that the release is (ε, δ)-private: the best of the statements, rounded up."""
        at = _amount(epsilon, "epsilon")
        points = [] if self.pure is None else [(self.pure, self.event)]
        points += [] if self.approximate is None else [self.approximate]
        best = min((delta_of_pure(*point, at) for point in points), default=Fraction(1))
        if best <= self.event:
            return best
        return min(best, self.event + delta_of_zcdp(self.rho, at))

    def __str__(self) -> str:
        said = [] if self.pure is None else [f"ε = {show(self.pure)}"]
        if self.approximate is not None and self.pure is None:
            said.append(f"ε = {show(self.approximate[0])} at δ = {show(self.approximate[1])}")
        said.append(f"ρ = {show(self.rho)}")
        return ", ".join(said) + (f", but for an event of probability {show(self.event)}" if self.event else "")


def _amount(value: object, name: str) -> Fraction:
    read = number(value, name)
    if read < 0:
        raise NotUnderstood(f"{name} must not be negative.", code="out-of-range", instead=f'for example {name}="0.5"')
    return read


Loss.ZERO = Loss(pure=Fraction(0))


@dataclass(frozen=True, kw_only=True)
class Budget:
    """The most that may ever be revealed about one unit: (ε, δ), or pure ε when δ is left out.

    δ is divided once, here: `events` of it for releases that fail with small probability (private keys), the rest for
    converting ρ to an ε. By default half and half.

    A budget must hold for any sequence of questions, so it counts ε and ρ, not single points (ε, δ): a
    `Gaussian(epsilon=1, delta="1e-6", …)` on its own is not in a budget of (1, 1e-6). Buy
    `Gaussian(rho=budget.rho, …)`, or a part of that.
    """

    epsilon: Fraction
    delta: Fraction | None = None
    events: Fraction | None = None

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(self, *, epsilon: Number, delta: Number | None = None, events: Number | None = None) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        if self.delta is None:
            if self.events is not None:
                raise NotUnderstood(
                    "events is a part of delta, and there is none.", code="wrong-argument", instead='add delta="1e-6"'
                )
            return
        delta = probability(self.delta, "delta")
        events = delta / 2 if self.events is None else _amount(self.events, "events")
        if events > delta:
            raise NotUnderstood(
                "events is a part of delta.", code="wrong-argument", instead=f"at most events={show(delta)}"
            )
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "events", events)

    @once
    def rho(self) -> Fraction:
        """The largest ρ within this (ε, δ), rounded down; zero for a pure budget."""
        if self.delta is None or self.events is None or self.events == self.delta:
            return Fraction(0)
        return zcdp_of(self.epsilon, self.delta - self.events)

    def __contains__(self, spent: Loss) -> bool:
        """Return True if a history with the loss `spent` keeps to this budget.

        Given    the losses of questions chosen adaptively, added up.
        Promise  a curator that stops before leaving the budget is (ε, δ)-private as a whole.
        Because  a loss passes when its events fit `events` and either Σε <= ε or Σρ converts to ε at δ - events.
                 Outside the events: on transcripts that pass the first way the privacy loss never exceeds ε; the
                 others are transcripts of a zCDP filter, whose hockey-stick mass at ε is at most δ - events. The
                 `approximate` statement takes no part: switching to it on some transcripts would add its δ again.
        """
        if not isinstance(spent, Loss):
            raise NotUnderstood(
                "a budget contains losses.", code="wrong-argument", instead="write mechanism.loss in budget"
            )
        pure = spent.pure is not None and spent.pure <= self.epsilon
        return self.admits(pure=pure, rho=spent.rho <= self.rho, events=spent.event <= (self.events or 0))

    @staticmethod
    def admits(*, pure: bool, rho: bool, events: bool) -> bool:
        """Return True if the three sums, compared one by one, are within a budget by the rule of `__contains__`."""
        return events and (pure or rho)

    def __str__(self) -> str:
        return f"ε = {show(self.epsilon)}" + (f", δ = {show(self.delta)}" if self.delta is not None else "")


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """The remaining budget: `pure` by adding up ε (None when a release without an ε was bought), `rho` by adding up ρ.
    A question fits when either has room. `events` remains for private keys.
    """

    pure: Fraction | None
    rho: Fraction
    events: Fraction

    @classmethod
    def of(cls, budget: Budget, spent: Loss) -> Remaining:
        """Return what the loss `spent` leaves of `budget`."""
        pure = None if spent.pure is None else max(Fraction(0), budget.epsilon - spent.pure)
        rho, events = max(Fraction(0), budget.rho - spent.rho), max(Fraction(0), (budget.events or 0) - spent.event)
        return cls(pure=pure, rho=rho, events=events)

    def __contains__(self, loss: Loss) -> bool:
        """Return True if there is room for `loss`."""
        pure = loss.pure is not None and self.pure is not None and loss.pure <= self.pure
        return Budget.admits(pure=pure, rho=loss.rho <= self.rho, events=loss.event <= self.events)

    def __and__(self, other: Remaining) -> Remaining:
        """Return what remains where both budgets must hold."""
        pure = None if self.pure is None or other.pure is None else min(self.pure, other.pure)
        return Remaining(pure=pure, rho=min(self.rho, other.rho), events=min(self.events, other.events))

    def __str__(self) -> str:
        ways = [] if self.pure is None else [f"ε = {show(self.pure)}"]
        ways += [f"ρ = {show(self.rho)}"] if self.rho or not ways else []
        return " or ".join(ways) + (f", and {show(self.events)} for private keys" if self.events else "")
