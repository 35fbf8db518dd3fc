"""The mechanism of a workload: many linear queries answered together, its loss, and the error of each answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import Number, probability
from discreet.core.laws.gaussian import GAUSSIAN
from discreet.core.laws.law import Law
from discreet.core.laws.price import Price
from discreet.core.laws.sum_quantiles import normal_quantile
from discreet.core.mechanism import Then
from discreet.core.once import once
from discreet.core.reach import Neighbours
from discreet.core.text import show, table
from discreet.errors import NotAllowed, Refusal
from discreet.matrix.designs import Design, Estimate
from discreet.matrix.families import MAX_LISTED, Floats, Queries
from discreet.matrix.gaussian_optimal import Certificate
from discreet.matrix.mechanism import Combined, laws_for
from discreet.plan.estimates.discrete_tails import margins
from discreet.plan.terms import search

__all__ = [
    "Answers", "KnownError", "WorkloadError", "WorkloadMechanism", "cheapest", "design_error", "error_text",
    "margins_by_variance", "margins_by_weights", "workload_mechanism",
]  # fmt: skip

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Answers:
    """All answers, each with a margin; `cells` are the counts from which they were computed, if the design estimates
    counts.

    Answers are computed when they are read. A paid release is never lost, even if its answers are too many to list.
    """

    estimate: Estimate
    error: KnownError

    @property
    def cells(self) -> Floats | None:
        """The estimated counts of all cells; None if the design does not estimate them."""
        return self.estimate.cells

    @once
    def values(self) -> Floats:
        """All answers in the order of the queries; refused if they are too many to list."""
        return self.estimate.answers

    def margin(self, confidence: Number = "0.95") -> Floats:
        """Return the margin of each answer, with this confidence."""
        return self.error.radius(confidence)

    def __len__(self) -> int:
        return self.error.queries.size

    def __getitem__(self, index: Any) -> Any:
        return self.values[index]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answers):
            return False
        return self is other or np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.cells if self.cells is not None else self.values).tobytes())

    def __repr__(self) -> str:
        some = [] if len(self) > MAX_LISTED else [f"{each:.1f}" for each in self.values[:6]]
        shown = ", ".join([*some, *(["…"] if len(self) > 6 else [])])
        return f"<{len(self):,} answers: {shown}; root mean squared error {math.sqrt(self.error.mean):.4g}>"


class MarginBasis(NamedTuple):
    """The data of margins: weights of draws from one law, or the variance of each answer; neither for very many
    answers.
    """

    law: Law | None = None
    inverse: Floats | None = None  # row-major, maps the release to counts; None: the identity
    variance: Floats | None = None


class KnownError(Protocol):
    """The error of the answers to some queries."""

    @property
    def queries(self) -> Queries:
        """The queries."""

    @property
    def name(self) -> str:
        """The name of the design that was measured."""

    @property
    def mean(self) -> float:
        """The mean squared error of the answers."""

    def radius(self, confidence: Number = "0.95") -> Floats:
        """Return the margin of each answer, with this confidence."""

    def describe(self) -> str:
        """Return the error in words."""

    @property
    def heavy(self) -> bool:
        """True if some of the noise has the tails of Laplace laws."""

    @property
    def footing(self) -> MarginBasis:
        """The data from which margins are computed."""


@dataclass(frozen=True)
class WorkloadError:
    """The error of the answers, known before anything is spent."""

    design: Design
    laws: tuple[Law, ...]

    @property
    def queries(self) -> Queries:
        """The queries that the design answers."""
        return self.design.queries

    @property
    def name(self) -> str:
        """The name of the design."""
        return self.design.name

    @property
    def noise(self) -> tuple[float, ...]:
        """The variance of the noise on each strategy."""
        return tuple(max(each.variance, 1e-200) for each in self.laws)  # never zero, to divide by

    @once
    def mean(self) -> float:
        """The mean squared error of the answers."""
        return float(self.design.mean(self.noise))

    @once
    def variance(self) -> Floats:
        """The expected squared error of each answer."""
        return np.maximum(self.design.variances(self.noise), 0.0)

    def radius(self, confidence: Number = "0.95") -> Floats:
        """Return the margin of each answer, with this confidence.

        Because  an answer is a weighted sum of draws from one law; see `margins`. Where the weights are too many to
                 write out, or there are several laws: a sum of Laplace draws has a lighter tail than one draw of its
                 variance, or a normal one where that is heavier, and one step of the lattice is added.
        """
        sure = probability(confidence, "confidence")
        weights = self.design.weights if len(self.laws) == 1 else None
        return (
            margins_by_weights(self.laws[0], weights, sure)
            if weights is not None
            else margins_by_variance(self.variance, self.heavy, sure)
        )

    @property
    def heavy(self) -> bool:
        """True if some of the noise has the tails of Laplace laws."""
        return any(each.family.heavy for each in self.laws)

    @property
    def footing(self) -> MarginBasis:
        design = self.design
        axis = design.axis
        if len(self.laws) == 1 and design.weights is not None and axis is not None:
            same = axis.queries.cells == design.weights.shape[1] and np.array_equal(
                axis.inverse, np.eye(len(axis.inverse))
            )
            return MarginBasis(law=self.laws[0], inverse=None if same else axis.inverse.ravel())
        return MarginBasis(variance=None if self.queries.size > MAX_LISTED else self.variance)

    def describe(self) -> str:
        return error_text(self)


def error_text(error: KnownError) -> str:
    """Return the error of the answers in words."""
    off = show(math.sqrt(error.mean), 4)
    return f"{error.queries.size:,} answers are off by {off} in the root mean square ({error.name})."


def margins_by_weights(law: Law, weights: Floats, confidence: Fraction) -> Floats:
    """Return the margins of answers that are weighted sums of draws from one law; see `margins`."""
    return np.concatenate([margins(law, part, confidence) for part in _pages(weights)])


def margins_by_variance(variance: Floats, heavy: bool, confidence: Fraction) -> Floats:
    """Return the margins of answers with these variances; see `WorkloadError.radius`."""
    missed = float(1 - confidence)
    found = normal_quantile(missed)
    if heavy:
        found = max(found, -math.log(missed) / math.sqrt(2))
    return np.asarray(found * np.sqrt(variance) + 1)


def _pages(weights: Floats) -> list[Floats]:
    return np.array_split(weights, max(1, weights.size // 1_000_000))


@dataclass(frozen=True)
class Reconstruction:
    """Compute all answers from the released numbers."""

    error: WorkloadError

    def __call__(self, released: Sequence[NDArray[Any]]) -> Answers:
        found: Estimate = self.error.design.estimate(released, self.error.noise)
        return Answers(found, self.error)


@dataclass(frozen=True, kw_only=True)
class WorkloadMechanism(Then):
    """Many linear queries, answered together from one release of other linear combinations of the counts.

    `mechanism` is what a ledger charges for. `release(counts)` takes the exact counts of all cells, in any shape, and
    returns all answers.
    """

    mechanism: Combined
    function: Reconstruction
    compared: tuple[tuple[str, float], ...]  # the designs that were considered, with their expected errors

    @property
    def error(self) -> WorkloadError:
        return self.function.error

    @property
    def expected_error(self) -> float:
        """The mean squared error per query."""
        return self.error.mean

    @property
    def strategy(self) -> str:
        """The name of the design that was chosen."""
        return self.error.design.name

    @property
    def certificate(self) -> Certificate | None:
        """For Gaussian noise, the proof of how close the strategy is to the best one."""
        return self.error.design.certificate

    @property
    def gap(self) -> float | None:
        """An upper bound on the relative excess of the error over that of the best Gaussian strategy: 0.001 is one in a
        thousand.
        """
        proven = self.certificate
        if proven is None or self.mechanism.laws[0].family is not GAUSSIAN:
            return None
        unit = [strategy.l2_squared / float(share) for strategy, share in
                zip(self.mechanism.strategies, self.error.design.shares, strict=True)]  # fmt: skip
        return self.error.design.mean(unit) * self.error.design.queries.size / proven.bound - 1

    def __repr__(self) -> str:
        rows = [(name, f"{error:.6g}", "chosen" if n == 0 else "") for n, (name, error) in enumerate(self.compared)]
        return f"{self.describe()}\n\n{table(['strategy', 'expected squared error', ''], rows)}"


def workload_mechanism(
    found: Sequence[Design], price: Price, *, cells: int, rows: int,
    neighbours: Neighbours, chosen: Design | None = None, unit: str = "person",
) -> WorkloadMechanism:  # fmt: skip
    """Return the mechanism of the chosen design; by default that of the least expected error at this price."""
    errors = [design_error(each, price, rows=rows, neighbours=neighbours, unit=unit) for each in found]
    errors.sort(key=lambda each: (chosen is not None and each.design is not chosen, each.mean))
    best = errors[0]
    mechanism = Combined(
        cells=cells, strategies=best.design.strategies, laws=best.laws, rows=rows, neighbours=neighbours, unit=unit
    )
    compared = tuple((each.design.name, each.mean) for each in errors)
    return WorkloadMechanism(mechanism=mechanism, function=Reconstruction(best), compared=compared)


def design_error(
    design: Design, price: Price, *, rows: int, neighbours: Neighbours, unit: str = "person"
) -> WorkloadError:
    """Return the error of a design with the noise that `price` buys."""
    laws = laws_for(design.strategies, design.shares, price, rows=rows, neighbours=neighbours, unit=unit)
    return WorkloadError(design, laws)


def cheapest(
    found: Sequence[T], margin: Fraction, confidence: Fraction, noised: Callable[[T, Fraction], WorkloadError]
) -> tuple[Fraction, T]:
    """Return the least ε for which every answer of some design is within `margin`, and that design; or refuse.

    `design_error` returns the error of a design for an ε.

    Because  the margin of one design falls with ε, so each is searched on its own; that of whichever errs least in the
             mean need not fall, as another one may have taken its place.
    """
    best: tuple[Fraction, T] | None = None
    refused: Refusal | None = None
    for design in found:

        def enough(cost: Fraction, design: T = design) -> bool:
            return float(noised(design, cost).radius(confidence).max()) <= margin

        if best is not None and not enough(best[0]):
            continue
        try:
            cost = search(enough, margin)
        except NotAllowed as refusal:
            refused = refusal
            continue
        if best is None or cost < best[0]:
            best = cost, design
    if best is None:
        assert refused is not None
        raise refused
    return best
