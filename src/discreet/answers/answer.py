"""An answer: noisy numbers with their margins, their cost, and the remaining budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from discreet.answers.bill import Bill, ReceiptFacts
from discreet.answers.display import bounds_text, page, remarks_text, text
from discreet.answers.estimates import Estimate, ExactValue, Noises, RatioEstimate, ReleasedInterval, SumEstimate
from discreet.answers.frame import Frame
from discreet.core.exact import Number, probability
from discreet.core.loss import Loss, Remaining
from discreet.core.once import once
from discreet.plan.draft import Draft
from discreet.plan.estimates.estimator import share_of
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.output import released_table
from discreet.plan.plan import Plan, Released, grouped
from discreet.postprocess.intervals import Box, interval_of, over_released, released_names
from discreet.postprocess.query import keeps_rows, run_view
from discreet.postprocess.table import ROW, Given, Rows
from discreet.sql import query as q

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.figure import Figure

__all__ = ["Answer", "Formula", "Origin", "Purchase", "Sheet"]

SAMPLE: Box = (np.array(1.0), np.array(2.0))


@dataclass(frozen=True, kw_only=True)
class Formula:
    """The formula of a column: the expression `what` over estimates, None if it has no interval; or `exact`."""

    exact: bool = False
    what: q.Expression | None = None


@dataclass(frozen=True, eq=False)
class Sheet:
    """The rows of an answer, and their estimates by name: a0, a1, … for aggregates, k0, … for keys."""

    data: Rows
    estimates: Mapping[str, Estimate]


class Origin(Protocol):
    """The source of an answer: a purchase, or a document that was sent."""

    @property
    def plan(self) -> Plan:
        """The plan that was run; refused where it is not known."""

    @property
    def released(self) -> Released:
        """The release of the plan; refused where it is not known."""

    @property
    def purchase(self) -> Purchase:
        """The purchase; refused where it is not known, or there are several."""

    def beside(self, confidence: Fraction) -> tuple[str, ...]:
        """Return the remarks on numbers that have no margin."""

    def caps(self) -> tuple[str, ...]:
        """Return the remarks on contribution bounds, where they leave anything out."""

    def consistent(self) -> Sheet:
        """Return the rows with impossible values corrected, such as negative counts."""


@dataclass(frozen=True, repr=False, eq=False)
class Answer(Frame):
    """The numbers, each with a margin. `print(answer)` shows both; `answer["n"]` is a column; iterating gives rows.

    An answer is a value: it can be pickled, written as JSON (`to_dict`) and read elsewhere (`from_dict`), without the
    data and the ledger, with margins at any confidence.
    """

    formulas: tuple[Formula, ...]
    estimates: Mapping[str, Estimate]
    groups: int  # released rows, including those that are not shown
    numbers: int  # aggregates that its columns read
    confidence: Fraction
    bill: Bill
    origin: Origin

    @classmethod
    def of(cls, draft: Draft, plan: Plan, released: Released, heard: Bill, *, confidence: Fraction,
           merge: Merge | None = None) -> Answer:  # fmt: skip
        """Return the answer to a question from what was released for it, or for another one whose groups it adds up."""
        if merge is None and draft.sets:
            merge = grouped(draft.keys, draft.sets, draft.listed)
        bought = Purchase(draft.measured(plan.measures), plan, released, merge)
        formulas, numbers = bought.formulas()
        sheet = bought.sheet(formulas, released)
        return cls(sheet.data, formulas, sheet.estimates, bought.groups, numbers, confidence, heard, bought)

    @property
    def cost(self) -> Loss:
        """The cost of asking; zero if the same was asked before."""
        return self.bill.cost

    @property
    def receipt(self) -> ReceiptFacts | None:
        """The facts of the ledger's receipt: `entry` is where the question was charged, or asked again.

        None if public tables alone answer the question; of several inner questions, that of the first.
        """
        return self.bill.receipt

    @property
    def left(self) -> Remaining:
        """The remaining budget of the analyst after the question."""
        return self.bill.left

    @property
    def plan(self) -> Plan:
        """The plan that was run; it stays with the curator."""
        return self.origin.plan

    @property
    def released(self) -> Released:
        """The release of the plan; it stays with the curator."""
        return self.origin.released

    def to_arrow(self, *, margins: bool = False) -> pyarrow.Table:
        """Return an Arrow table, with `margins` each noisy number's margin beside it, as NAME_margin."""
        return self._margined(margins).to_arrow()

    def to_pandas(self, *, margins: bool = False) -> pandas.DataFrame:
        """Return a pandas frame, with `margins` each noisy number's margin beside it; needs pandas."""
        return self._margined(margins).to_pandas()

    def to_polars(self, *, margins: bool = False) -> polars.DataFrame:
        """Return a polars frame, with `margins` each noisy number's margin beside it; needs polars."""
        return self._margined(margins).to_polars()

    def _margined(self, margins: bool) -> Frame:
        from discreet.answers.formats import with_margins  # noqa: PLC0415

        return with_margins(self, simultaneous=False) if margins else Frame(self.data)

    def remarked(self, *remarks: str) -> Answer:
        """Return the answer with more remarks."""
        return replace(self, bill=replace(self.bill, remarks=(*self.bill.remarks, *remarks)))

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain values that JSON has; `from_dict` reads them anywhere."""
        from discreet.answers.sent import answer_sent  # noqa: PLC0415

        return answer_sent(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Answer:
        """Return the answer that `to_dict` wrote; refuse any other document. Nothing in it is executed."""
        from discreet.answers.sent import answer_read  # noqa: PLC0415

        return answer_read(document)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return Answer.from_dict, (self.to_dict(),)

    def margin(self, confidence: Number | None = None, *, simultaneous: bool = False) -> Frame:
        """Return the table with margins in place of numbers: each is off by at most its margin, with this confidence.

        With simultaneous=True the confidence is that of all numbers together. None where no margin is known (windows,
        sums over groups).
        """
        low, high = self._ends(confidence, simultaneous=simultaneous)
        ends = zip(self.data.columns, low, high, strict=True)
        return self._beside([None if first is None else _widths(values, first, last) for values, first, last in ends])

    def interval(self, confidence: Number | None = None, *, simultaneous: bool = False) -> tuple[Frame, Frame]:
        """Return the lower and the upper ends of an interval around each number; averages have asymmetric ones."""
        low, high = self._ends(confidence, simultaneous=simultaneous)
        return self._beside(low), self._beside(high)

    def consistent(self) -> Answer:
        """Return the answer with impossible values corrected: no negative counts, averages within bounds. Free; biased.

        Counts stay what they are, or become zero; the parts of a measure are the nearest ones that add up to its count.
        Margins reach from there to the ends of what is possible.
        """
        sheet = self.origin.consistent()
        return replace(self, data=sheet.data, estimates=sheet.estimates)

    def _beside(self, found: list[Any]) -> Frame:
        """Return a table of the same shape: keys as they are, and `found` for each number, or None where unknown."""
        columns, kinds = [], []
        for index, (values, kind) in enumerate(zip(self.data.columns, self.kinds, strict=True)):
            exact = self.exact(index)
            columns.append(values if exact else found[index] or [None] * len(values))
            kinds.append(kind if exact else "real")
        return Frame(Rows(self.columns, tuple(kinds), tuple(columns)))

    def exact(self, index: int) -> bool:
        """Return True if a column has no noise: keys and constants."""
        return self.formulas[index].exact

    def _ends(self, confidence: Number | None, *, simultaneous: bool) -> tuple[list[Any], list[Any]]:
        """Return lower and upper ends for each column, or None where they are not known."""
        sure = self.confidence if confidence is None else probability(confidence, "confidence")
        found: tuple[list[Any], list[Any]] = ([None] * len(self.columns), [None] * len(self.columns))
        for index, formula in enumerate(self.formulas):
            if formula.what is None:
                continue
            names = released_names(formula.what)
            share = 1 - (1 - sure) / (self.numbers if simultaneous else len(names))
            each = share_of(share, self.groups if simultaneous else 1)
            known = {
                name: one.interval(each) for name, one in self.estimates.items() if name in names or name[0] == "k"
            }
            box = interval_of(formula.what, {name: one for name, one in known.items() if one is not None})
            if box is not None:
                for end, side in zip(found, box, strict=True):
                    end[index] = np.broadcast_to(side, len(self)).astype(float).tolist()
        return found

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return page(self)

    def plot(self) -> Figure:
        """Return a matplotlib figure of the numbers with their margins; needs discreet[report]."""
        from discreet.answers.plot import draw  # noqa: PLC0415

        return draw(self)


@dataclass(frozen=True, eq=False)
class Purchase:
    """The release for a question, in the process of the curator: it is never sent."""

    draft: Draft
    plan: Plan
    released: Released
    merge: Merge | None  # which released groups each row adds up; None: each its own

    @property
    def groups(self) -> int:
        """The number of rows of the released table."""
        return len(self.released.keys if self.merge is None else self.merge.keys)

    def formulas(self) -> tuple[tuple[Formula, ...], int]:
        """Return the formula of each column over the released numbers, and how many aggregates the columns read."""
        view, used, found = self.draft.view, set[str](), list[Formula]()
        flat = [over_released(view, item.what) for item in view.items]
        samples = dict.fromkeys(self.known(), SAMPLE) if keeps_rows(view) else {}
        for what in flat:
            names = set() if what is None else released_names(what)
            used |= names
            exact = what is not None and not names
            enclosed = what is not None and bool(names) and interval_of(what, samples) is not None
            found.append(Formula(exact=exact, what=what if enclosed else None))
        return tuple(found), len(used)

    @property
    def purchase(self) -> Purchase:
        """This purchase."""
        return self

    def known(self) -> set[str]:
        """Return the aggregates and keys that have intervals."""
        plan, readings = self.plan, self.draft.readings
        keys = {n: key for n, key in enumerate(self.draft.keys) if key.kind == "integer"}
        whole = {f"k{n}" for n in keys if all(each[n] is not None for each in self._rows.keys)}
        return whole | {
            f"a{n}"
            for n, reading in enumerate(readings)
            if reading.estimator(plan.measures).has_interval or reading.released_interval(plan, self._rows) is not None
        }

    @once
    def _rows(self) -> Released:
        """The release, by the rows of the answer."""
        return self._merged(self.released)

    def _merged(self, released: Released) -> Released:
        return released if self.merge is None else released.merged(self.merge)

    def table(self, shown: Released) -> list[Given]:
        """Return the released table, with the numbers `shown`."""
        given = self._rows if shown is self.released else self._merged(shown)
        return _columns(self.draft, self.plan, given, self.merge)

    def sheet(self, formulas: tuple[Formula, ...], shown: Released) -> Sheet:
        """Return the rows of the answer with the numbers `shown`; estimates are of the numbers that were released."""
        columns = self.table(shown)
        rows, size = run_view(self.draft.view, columns, [ROW]), len(self.draft.view.items)
        data = Rows(rows.names[:size], rows.kinds[:size], rows.columns[:size])
        read = {name for each in formulas if each.what is not None for name in each.what.columns}
        if not read:
            return Sheet(data, {})
        if shown is not self.released:
            columns = self.table(self.released)
        there, places = {each.name: each.values for each in columns}, np.array(rows.columns[size], np.int64)
        return Sheet(data, {name: self.estimate(name, there[name], places) for name in sorted(read)})

    def estimate(self, name: str, values: list[Any], places: Any) -> Estimate:
        """Return the estimate of an aggregate or a key that has intervals, in the rows at `places`."""
        shown = tuple([values[place] for place in places.tolist()])
        if name[0] == "k":
            return ExactValue(values=shown)
        reading, plan = self.draft.readings[int(name[1:])], self.plan
        view, parts = reading.estimator(plan.measures), self._rows.sums[reading.measure]
        if not view.has_interval:
            bought = reading.released_interval(plan, self._rows)
            assert bought is not None
            return ReleasedInterval(low=bought.low[places], high=bought.high[places], level=bought.level)
        noises = Noises.of(reading.by_noise(plan, parts.shape[1], self.merge), parts.shape[1], places)
        if isinstance(view, LinearEstimator):
            return SumEstimate(values=shown, view=view, noises=noises)
        return RatioEstimate(view=view, parts=parts[:, places], noises=noises)

    def beside(self, confidence: Fraction) -> tuple[str, ...]:
        return tuple(remarks_text(self.draft, self.plan, confidence))

    def caps(self) -> tuple[str, ...]:
        return tuple(bounds_text(self.draft, self.plan.keys))

    def consistent(self) -> Sheet:
        sheet = self.sheet(self.formulas()[0], self.feasible())
        return Sheet(sheet.data, {name: self.limited(name, each) for name, each in sheet.estimates.items()})

    def feasible(self) -> Released:
        """Return the release with impossible values corrected."""
        pairs = zip(self.plan.measures, self.released.sums, strict=True)
        return Released(keys=self.released.keys, sums=tuple(measure.feasible(sums) for measure, sums in pairs))

    def limited(self, name: str, estimate: Estimate) -> Estimate:
        """Return the estimate of a released number with the limits of what is possible, if it has noise."""
        if not estimate.noisy:
            return estimate
        return replace(estimate, limits=self.draft.readings[int(name[1:])].estimator(self.plan.measures).possible)


def _widths(values: list[Any], low: list[Any], high: list[Any]) -> list[float | None]:
    """Return how far each interval reaches from its value, to twelve digits."""
    ends = zip(values, low, high, strict=True)
    return [None if v is None else float(f"{max(last - v, v - first):.12g}") for v, first, last in ends]


def _columns(draft: Draft, plan: Plan, rows: Released, merge: Merge | None = None) -> list[Given]:
    """Return the released table: the keys of its rows, and each number that is read from the release."""
    keys = [[key[n] for key in rows.keys] for n in range(len(draft.keys))]
    numbers = {f"a{n}": reading.values(plan, rows, merge) for n, reading in enumerate(draft.readings)}
    return released_table(draft, keys, numbers, merge)
