"""A mechanism, read three ways; and how mechanisms make mechanisms.

    release   what do I publish?                            the analyst
    loss      how much can it reveal about one unit?        the ledger, the auditor
    error     how wrong can it be?                          the planner, the user

All three come from the same fields, so they cannot drift apart. Two mechanisms side by side are a mechanism, and so
is anything computed from what one released.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number
from discreet.core.loss import Loss
from discreet.core.reach import Neighbours
from discreet.core.record import recorded
from discreet.errors import NotAllowed, NotUnderstood

__all__ = ["Certified", "Composition", "Error", "Mechanism", "Offered", "Parallel", "Then", "compose", "parallel"]

ROWS = "every row is a unit"


class Error(Protocol):
    """The error of a release. Each kind of mechanism has its own measures of error, and all describe them in words."""

    def describe(self) -> str:
        """Return the error as one plain sentence."""


class Mechanism(ABC):
    """A randomised answer about data, whose loss and error are known before it is given."""

    @abstractmethod
    def release(self, exact: Any, coins: Coins = SYSTEM) -> Any:
        """Return the noisy answer that is published instead of `exact`."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The privacy loss of a release for one unit."""

    @property
    @abstractmethod
    def error(self) -> Any:
        """The error of a release; an `Error`."""

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """The neighbour relation for which the loss is stated."""

    @property
    def unit(self) -> str:
        """The privacy unit, in one word."""
        return "person"

    @property
    def needs_certificate(self) -> bool:
        """True if a ledger charges for it only where a judge has derived its loss."""
        return False

    @property
    def offered(self) -> Offered:
        """What a ledger charges for."""
        return Offered(self, None)

    @property
    def pieces(self) -> Sequence[Mechanism]:
        """The mechanisms that this one runs on the same units; itself, unless it is made of others."""
        return (self,)

    def misread_table(self, whose: Mapping[str, str]) -> str | None:
        """Return a table that `whose` lacks, or that has another unit than `whose` says; None if there is none.

        `whose` has an entry for each table: "unit COLUMN", "unit COLUMN -> TABLE.COLUMN", "public", or `ROWS`.
        """
        return None

    def curve(self, epsilon: Number) -> Fraction:
        """Return the curve δ(ε): the probability, rounded up, that a release reveals more than ε allows."""
        return self.loss.delta(number(epsilon, "epsilon"))

    def then(self, function: Callable[[Any], Any]) -> Then:
        """Return the mechanism followed by `function` of its answer: post-processing, which is free."""
        if not callable(function):
            raise NotUnderstood(
                "what follows an answer is a function of it.",
                code="wrong-argument",
                instead="write .then(lambda answer: …)",
            )
        return Then(mechanism=self, function=function)

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """Return two sentences: the unit that is protected and how well, then the error."""
        who = f"Protects each {self.unit}, comparing data sets in which one {self.unit} is {self.neighbours.change}"
        return f"{who}: {self.loss}. {self.error.describe()}"


class Offered(NamedTuple):
    """What may be paid for: a mechanism, and its loss as a judge derived it; None if none did.

    The record of a mechanism is enough to charge for it, unless it `needs_certificate`.
    """

    mechanism: Mechanism
    loss: Loss | None


@dataclass(frozen=True, kw_only=True)
class Certified:
    """A mechanism, with the loss that a judge derived who took nobody's word for it: not even the mechanism's."""

    mechanism: Any
    loss: Loss

    @property
    def offered(self) -> Offered:
        """What a ledger charges for."""
        return Offered(self.mechanism, self.loss)


@dataclass(frozen=True)
class _Errors:
    """The errors of several releases, one by one."""

    parts: tuple[Any, ...]

    def __getitem__(self, index: int) -> Any:
        return self.parts[index]

    def __len__(self) -> int:
        return len(self.parts)

    def describe(self) -> str:
        said = [part.describe().rstrip(".") for part in self.parts]
        return f"It makes {len(said)} releases: " + "; ".join(each[0].lower() + each[1:] for each in said) + "."


class _Compound(Mechanism):
    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(part, Mechanism) for part in self.parts):
            raise NotUnderstood(
                "only mechanisms can be combined.",
                code="wrong-argument",
                instead="pass them one by one: dp.compose(a, b), or dp.compose(*parts)",
            )
        if not self.parts:
            raise NotUnderstood(
                "there is nothing to combine.", code="wrong-argument", instead="pass at least one mechanism"
            )
        kinds = {(part.neighbours, part.unit) for part in self.parts}
        if len(kinds) > 1:
            raise NotUnderstood(
                "mechanisms can be combined when all protect the same unit and compare the same neighbours.",
                code="other-neighbours",
                instead='build every part with the same neighbours=, for example "add-remove"',
            )

    @property
    def needs_certificate(self) -> bool:
        return any(part.needs_certificate for part in self.parts)

    def release(self, exact: Sequence[Any], coins: Coins = SYSTEM) -> tuple[Any, ...]:
        """Release each part, given one exact answer for each, in order."""
        row = isinstance(exact, (list, tuple)) or (isinstance(exact, np.ndarray) and exact.ndim > 0)
        if not row or len(exact) != len(self.parts):
            raise NotUnderstood(
                f"{len(self.parts)} mechanisms need {len(self.parts)} exact answers, in order.",
                code="wrong-argument",
                instead="pass a list with one exact answer for each part",
            )
        return tuple(part.release(answer, coins) for part, answer in zip(self.parts, exact, strict=True))

    @property
    def error(self) -> _Errors:
        return _Errors(tuple(part.error for part in self.parts))

    @property
    def neighbours(self) -> Neighbours:
        return self.parts[0].neighbours

    @property
    def unit(self) -> str:
        return self.parts[0].unit

    def misread_table(self, whose: Mapping[str, str]) -> str | None:
        found = (part.misread_table(whose) for part in self.parts)
        return next((each for each in found if each is not None), None)


@recorded("composition/1")
@dataclass(frozen=True)
class Composition(_Compound):
    """Several mechanisms on the same units: losses add."""

    parts: tuple[Mechanism, ...]

    @property
    def loss(self) -> Loss:
        """Because  sequential composition; sound also when a part was chosen after seeing earlier releases."""
        return reduce(lambda total, part: total + part.loss, self.parts[1:], self.parts[0].loss)

    @property
    def pieces(self) -> Sequence[Mechanism]:
        return [piece for part in self.parts for piece in part.pieces]


@recorded("parallel/1")
@dataclass(frozen=True)
class Parallel(_Compound):
    """Several mechanisms on disjoint units: each unit is in the data of one of them, so the largest loss counts."""

    parts: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours.changes > 1:
            raise NotAllowed(
                "a person who is replaced can leave one part and appear in another, so two parts would see the change.",
                code="other-neighbours",
                instead='build the parts with neighbours="add-remove", or use compose',
            )

    @property
    def loss(self) -> Loss:
        """Because  parallel composition: adding or removing a unit changes one part's data."""
        return reduce(lambda most, part: most | part.loss, self.parts[1:], self.parts[0].loss)


@dataclass(frozen=True, kw_only=True)
class Then(Mechanism):
    """A mechanism followed by a function that sees nothing but its release: post-processing."""

    mechanism: Mechanism
    function: Callable[[Any], Any]

    @property
    def needs_certificate(self) -> bool:
        return self.mechanism.needs_certificate

    def release(self, exact: Any, coins: Coins = SYSTEM) -> Any:
        return self.function(self.mechanism.release(exact, coins))

    @property
    def loss(self) -> Loss:
        """Because  a function of a release reveals nothing that the release does not."""
        return self.mechanism.loss

    @property
    def error(self) -> Any:
        """The error of the release before the function."""
        return self.mechanism.error

    @property
    def neighbours(self) -> Neighbours:
        return self.mechanism.neighbours

    @property
    def unit(self) -> str:
        return self.mechanism.unit

    def misread_table(self, whose: Mapping[str, str]) -> str | None:
        return self.mechanism.misread_table(whose)

    def curve(self, epsilon: Number) -> Fraction:
        return self.mechanism.curve(epsilon)


def compose(*parts: Mechanism) -> Composition:
    """Return mechanisms on the same units as one mechanism; losses add."""
    return Composition(parts)


def parallel(*parts: Mechanism) -> Parallel:
    """Return mechanisms on disjoint units as one mechanism; the largest loss counts."""
    return Parallel(parts)
