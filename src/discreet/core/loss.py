"""Losses add, budgets contain.

A `Loss` bounds what a mechanism can reveal about one privacy unit, as statements that are all true at once. It is a
value: adding two losses is running two mechanisms, also when the second was chosen after seeing the first one's answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from discreet.core.conversion import (
    delta_of_pure,
    delta_of_zcdp,
    epsilon_of_pure,
    epsilon_of_zcdp,
    group_delta,
    order_for,
    renyi_of,
    root_floor,
    rounded_down,
    zcdp_of,
)
from discreet.core.exact import Number, number, positive_integer, price, probability
from discreet.core.once import once
from discreet.core.text import show
from discreet.errors import NotAllowed, NotUnderstood

__all__ = ["Budget", "Loss", "Remaining"]

ONE, ZERO = Fraction(1), Fraction(0)
MAX_CLASS = 64  # of losses whose ε is beyond 2^63 times their ρ, or is none
RENYI_SHARE = Fraction(1, 10_000)  # of a budget's δ: what the account of one Rényi order may fail by

Classes = Mapping[int, tuple[Fraction, Fraction]]


def ratio_class(pure: Fraction | None, rho: Fraction) -> int:
    """Return the least whole j >= 0 with pure <= 2^j·rho; MAX_CLASS beyond, and without a pure statement."""
    if pure is None or not rho:
        return 0 if pure == 0 else MAX_CLASS
    ratio = pure / rho
    return min(MAX_CLASS, max(0, -(-ratio.numerator // ratio.denominator) - 1).bit_length())


def renyi_of_classes(classes: Mapping[int, tuple[Fraction, Fraction]], order: int) -> Fraction:
    """Bound the divergence of an order, from sums by class; see `Loss.renyi`."""
    parts = (order * rho if j == MAX_CLASS else min(pure, order * rho) for j, (pure, rho) in classes.items())
    return sum(parts, ZERO)


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
        both = self._join(other, lambda one, two: one + two)
        classes = dict(self.classes)
        for j, (pure, rho) in other.classes.items():
            before = classes.get(j, (ZERO, ZERO))
            classes[j] = before[0] + pure, before[1] + rho
        both.__dict__["classes"] = classes
        return both

    def __or__(self, other: Loss) -> Loss:
        """Return the loss of the two mechanisms on disjoint units: each unit is in the data of one of them."""
        if not isinstance(other, Loss):
            return NotImplemented
        return self._join(other, max)

    def __radd__(self, other: int) -> Loss:
        """Return this loss for 0 + loss, so that sum(losses) works."""
        return self if type(other) is int and other == 0 else NotImplemented

    @once
    def classes(self) -> Classes:
        """The sums (Σε, Σρ) over the mechanisms that were added up, by the size of ε/ρ; see `renyi`."""
        return {ratio_class(self.pure, self.rho): (ZERO if self.pure is None else self.pure, self.rho)}

    def renyi(self, order: int) -> Fraction:
        """Bound the Rényi divergence of a whole `order` > 1, outside the event.

        Promise  the sum over all mechanisms of min(ε, order·ρ), exactly so for orders that are a power of two; a bound
                 on it for others.
        Because  an ε-private mechanism has at most ε at every order, and a ρ-zCDP one at most order·ρ; both add up,
                 also where mechanisms are chosen adaptively. Mechanisms of one class j have 2^(j-1)·ρ < ε <= 2^j·ρ, so
                 at a power of two either all of them are bounded better by ε or all by ρ, and sums of each suffice.
        """
        return renyi_of_classes(self.classes, order)

    @property
    def charged(self) -> Loss:
        """The loss as it is charged: its ε, ρ and event, without the parts that it was added up from."""
        return Loss.of(self.pure, self.rho, self.event)

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
        all_of_them = Loss(
            pure=None if self.pure is None else n * self.pure,
            rho=n * self.rho,
            event=n * self.event,
            approximate=self.approximate and (n * self.approximate[0], n * self.approximate[1]),
        )
        all_of_them.__dict__["classes"] = {j: (n * pure, n * rho) for j, (pure, rho) in self.classes.items()}
        return all_of_them

    __mul__ = __rmul__

    def __le__(self, other: Loss) -> bool:
        """Return True if no field states worse: the product order. Two losses may be incomparable."""
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

    @property
    def short(self) -> str:
        """The loss by its ε alone, where it has one."""
        return str(self) if self.pure is None else f"ε = {show(self.pure)}"

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

    δ is divided once, here: `events` of it for releases that fail with small probability (private keys), by default
    half; of the rest one part in ten thousand for the account of one Rényi order, and what remains for converting ρ to
    an ε.

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
        return zcdp_of(self.epsilon, self.converted * (1 - RENYI_SHARE)) if self.converted else ZERO

    @property
    def converted(self) -> Fraction:
        """The part of δ by which other statements than pure ones are converted to an ε."""
        return ZERO if self.delta is None or self.events is None else self.delta - self.events

    @once
    def order(self) -> int:
        """The Rényi order of the third account, a power of two; zero for a pure budget.

        It is so high that pure questions have nearly all of ε there. It follows from ε and δ, and from no question.
        """
        return order_for(self.epsilon, self.converted * RENYI_SHARE) if self.converted else 0

    @once
    def renyi(self) -> Fraction:
        """The largest divergence of the order `order` within this (ε, δ), rounded down; zero for a pure budget."""
        return renyi_of(self.epsilon, self.converted * RENYI_SHARE, self.order) if self.converted else ZERO

    def __contains__(self, spent: Loss) -> bool:
        """Return True if a history with the loss `spent` keeps to this budget.

        Given    the losses of questions chosen adaptively, added up.
        Promise  a curator that stops before leaving the budget is (ε, δ)-private as a whole.
        Because  a loss passes when its events fit `events` and one of three accounts has room: Σε <= ε; Σρ converts to
                 ε at (1 - η)(δ - events); or the divergence of one order, fixed with the budget, converts to ε at
                 η(δ - events), where η is RENYI_SHARE. All three sums only grow, so a transcript that ends within an
                 account was within it at every step, and is as likely as with a curator that refuses what has no room
                 in that account: a filter for one statement alone (what a curator refuses for want of room in any
                 account, the filter refuses, too). Outside the events, and divided by the first account that they end
                 within, transcripts have hockey-stick masses at ε of at most 0, (1 - η)(δ - events) and η(δ - events),
                 by the filters for pure losses, for zCDP and for a fixed Rényi order (Feldman and Zrnic 2021;
                 Whitehouse, Ramdas, Rogers and Wu 2023); the order may not depend on answers, and follows from the
                 budget. The events add up to `events` once, and not once for each account: a transcript is divided off
                 by the first of them, before it is divided by accounts. The `approximate` statement takes no part:
                 switching to it on some transcripts would add its δ again.
        """
        if not isinstance(spent, Loss):
            raise NotUnderstood(
                "a budget contains losses.", code="wrong-argument", instead="write mechanism.loss in budget"
            )
        if spent.event > (self.events or 0):
            return False
        pure = spent.pure is not None and spent.pure <= self.epsilon
        return pure or spent.rho <= self.rho or (self.order > 0 and spent.renyi(self.order) <= self.renyi)

    def __str__(self) -> str:
        return f"ε = {show(self.epsilon)}" + (f", δ = {show(self.delta)}" if self.delta is not None else "")


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """The remaining budget of each account: `pure` by adding up ε (None when a release without an ε was bought), `rho`
    by adding up ρ, `renyi` by adding up the divergence of an `order`. A question fits when one has room. `events`
    remains for private keys. Where several budgets must hold, `parts` has what remains of each, and the fields above
    the least of each account.
    """

    pure: Fraction | None
    rho: Fraction
    events: Fraction
    renyi: Fraction = ZERO
    order: int = 0
    budget: Fraction | None = None  # the ε of which this is left
    parts: tuple[Remaining, ...] | None = None  # of several budgets

    @classmethod
    def of(cls, budget: Budget, spent: Loss) -> Remaining:
        """Return what the loss `spent` leaves of `budget`."""
        pure = None if spent.pure is None else max(ZERO, budget.epsilon - spent.pure)
        rho, events = max(ZERO, budget.rho - spent.rho), max(ZERO, (budget.events or ZERO) - spent.event)
        renyi = max(ZERO, budget.renyi - spent.renyi(budget.order)) if budget.order else ZERO
        return cls(pure=pure, rho=rho, events=events, renyi=renyi, order=budget.order, budget=budget.epsilon)

    @property
    def epsilon(self) -> Fraction:
        """The largest ε of one more pure question that fits, rounded down to six digits where it is irrational.

        Because  it costs ε, ρ = ε²/2, and a divergence of the order α of min(ε, αε²/2).
        """
        if self.parts is not None:
            return min(each.epsilon for each in self.parts)
        ways = [self.pure or ZERO, root_floor(2 * self.rho)]
        if self.order:
            ways += [rounded_down(self.renyi), root_floor(2 * self.renyi / self.order)]
        return max(ways)

    def __contains__(self, loss: Loss) -> bool:
        """Return True if there is room for `loss`."""
        if self.parts is not None:
            return all(loss in each for each in self.parts)
        if loss.event > self.events:
            return False
        pure = loss.pure is not None and self.pure is not None and loss.pure <= self.pure
        return pure or loss.rho <= self.rho or (self.order > 0 and loss.renyi(self.order) <= self.renyi)

    def __and__(self, other: Remaining) -> Remaining:
        """Return what remains where both budgets must hold: exactly what fits both fits it.

        Because  a question may fit one budget by one account and the other by another: after Gaussian noise was bought
                 of the first, a pure question fits it by ρ, and the second by ε.
        """
        pure = None if self.pure is None or other.pure is None else min(self.pure, other.pure)
        order = max(self.order, other.order) if self.order and other.order else 0
        return Remaining(
            pure=pure,
            rho=min(self.rho, other.rho),
            events=min(self.events, other.events),
            renyi=min(self.renyi, other.renyi) if order else ZERO,
            order=order,
            budget=min((each for each in (self.budget, other.budget) if each is not None), default=None),
            parts=(self.parts or (self,)) + (other.parts or (other,)),
        )

    def times(self, loss: Loss) -> int | None:
        """Return how many more releases of a loss fit, one after the other; None for any number."""
        if self.parts is not None:
            counts = (each.times(loss) for each in self.parts)
            return min((each for each in counts if each is not None), default=None)
        spent = [(loss.rho, self.rho)]
        if loss.pure is not None and self.pure is not None:
            spent.append((loss.pure, self.pure))
        if self.order:
            spent.append((loss.renyi(self.order), self.renyi))
        if any(not cost for cost, _ in spent):
            return None if not loss.event else int(self.events // loss.event)
        many = max(int(left // cost) for cost, left in spent)
        return min(many, int(self.events // loss.event)) if loss.event else many

    @property
    def details(self) -> str:
        """The room of each account in words, for who keeps the books."""
        ways = [] if self.pure is None else [f"ε = {show(self.pure)}"]
        ways += [f"ρ = {show(self.rho)}"] if self.rho or not ways else []
        ways += [f"{show(self.renyi)} at order {self.order}"] if self.order else []
        return " or ".join(ways) + (f", and δ = {show(self.events)} for group names" if self.events else "")

    def __str__(self) -> str:
        of = "" if self.budget is None or self.epsilon == self.budget else f" of {show(self.budget)}"
        return f"ε = {show(self.epsilon)}{of}"
