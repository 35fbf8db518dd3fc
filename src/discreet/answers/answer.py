"""An answer: numbers with their margins, what they cost, and what is left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.answers.bill import Heard
from discreet.answers.display import page, text
from discreet.answers.frame import Frame
from discreet.core.exact import Number, probability
from discreet.core.loss import Loss
from discreet.plan.draft import Draft
from discreet.plan.estimates.estimator import share_of
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.output import given_by
from discreet.plan.plan import Plan, Released, grouped
from discreet.postprocess.intervals import Box, enclose, flatten, released_names
from discreet.postprocess.query import carry, keeps_rows
from discreet.postprocess.table import ROW, Given, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Answer"]


@dataclass(frozen=True, repr=False, eq=False)
class Answer(Frame):
    """The numbers, each with a margin. `print(answer)` shows both; `answer["n"]` is a column; iterating gives rows."""

    draft: Draft
    plan: Plan
    released: Released
    shown: Released  # the same, or made consistent
    confidence: Fraction
    heard: Heard
    merge: Merge | None = None  # which released groups each row adds up; None: each its own

    @classmethod
    def of(cls, draft: Draft, plan: Plan, released: Released, heard: Heard, *, confidence: Fraction,
           merge: Merge | None = None) -> Answer:  # fmt: skip
        """The answer to a question from what was released for it, or for another one whose groups it adds up."""
        if merge is None and draft.sets:
            merge = grouped(draft.keys, draft.sets)
        draft = draft.measured(plan.measures)
        return cls(_values(draft, plan, released, merge), draft, plan, released, released, confidence, heard, merge)

    @property
    def cost(self) -> Loss:
        """What asking cost; nothing, when the same was asked before."""
        return self.heard.cost

    @property
    def receipt(self) -> Any:
        """The receipt of the ledger: `entry` is where it was charged, or asked again."""
        return self.heard.receipt

    @property
    def left(self) -> Any:
        """What was left of the budget afterwards, to whoever asked."""
        return self.heard.left

    def remarked(self, *remarks: str) -> Answer:
        """The same with more to say beside it."""
        return replace(self, heard=replace(self.heard, remarks=(*self.heard.remarks, *remarks)))

    def margin(self, confidence: Number | None = None, *, simultaneous: bool = False) -> Frame:
        """The same table with margins in place of numbers: each number is off by at most so much, with this confidence.

        With simultaneous=True all of them together are. None where no margin is known (windows, sums over groups).
        """
        low, high = self._ends(confidence, simultaneous=simultaneous)
        ends = zip(self.data.columns, low, high, strict=True)
        return self._beside([None if first is None else _widths(values, first, last) for values, first, last in ends])

    def interval(self, confidence: Number | None = None, *, simultaneous: bool = False) -> tuple[Frame, Frame]:
        """The lower and the upper ends of an interval around each number; for averages they are not symmetric."""
        low, high = self._ends(confidence, simultaneous=simultaneous)
        return self._beside(low), self._beside(high)

    def consistent(self) -> Answer:
        """The same answer without what cannot be: no negative counts, averages within their bounds. Free; biased.

        Counts stay what they are, or become zero; the parts of a measure are the nearest ones that add up to its count.
        Margins reach from there to the ends of what is possible.
        """
        pairs = zip(self.plan.measures, self.released.sums, strict=True)
        shown = Released(keys=self.released.keys, sums=tuple(measure.possible(sums) for measure, sums in pairs))
        return replace(self, data=_values(self.draft, self.plan, shown, self.merge), shown=shown)

    def _beside(self, found: list[Any]) -> Frame:
        """A table of the same shape: keys as they are, and something else for each number, or None where unknown."""
        columns, kinds = [], []
        for index, (values, kind) in enumerate(zip(self.data.columns, self.kinds, strict=True)):
            exact = self.exact(index)
            columns.append(values if exact else found[index] or [None] * len(values))
            kinds.append(kind if exact else "real")
        return Frame(Rows(self.columns, tuple(kinds), tuple(columns)))

    def exact(self, index: int) -> bool:
        """Whether a column says nothing about people: keys and constants."""
        flat = flatten(self.draft.view, self.draft.view.items[index].what)
        return flat is not None and not released_names(flat)

    def _ends(self, confidence: Number | None, *, simultaneous: bool) -> tuple[list[Any], list[Any]]:
        """Lower and upper ends for each column, or None where they are not known."""
        sure = self.confidence if confidence is None else probability(confidence, "confidence")
        view, nothing = self.draft.view, [None] * len(self.columns)
        flat = [flatten(view, item.what) for item in view.items]
        used = [set() if each is None else released_names(each) for each in flat]
        if not keeps_rows(view) or not any(used):
            return list(nothing), list(nothing)
        boxes: dict[int, Box] = {}
        for index, (what, names) in enumerate(zip(flat, used, strict=True)):
            if what is None or not names:
                continue
            several = len(set().union(*used)) if simultaneous else len(names)
            share = 1 - (1 - sure) / several
            cells = len(self._rows.keys) if simultaneous else 1
            each = share_of(share, cells)
            known = {name: self._box(int(name[1:]), each) for name in names}
            if None in known.values():
                continue
            box = enclose(what, self._keys() | {name: found for name, found in known.items() if found is not None})
            if box is not None:
                boxes[index] = box
        return self._carried(boxes)

    def _box(self, number: int, confidence: Fraction) -> Box | None:
        """An interval around each value of a released number; of a quantile the ends that were bought, if they were."""
        reading = self.draft.readings[number]
        if not reading.estimator(self.plan.measures).ranged:
            return reading.bought(self.plan, self._rows, confidence)
        low, high = reading.ends(self.plan, self._rows, confidence, self.merge)
        if self.shown is self.released:
            return low, high
        least, most = reading.estimator(self.plan.measures).possible
        return np.clip(low, least, most), np.clip(high, least, most)

    @property
    def _rows(self) -> Released:
        """What was released, by the rows of the answer."""
        return self.released if self.merge is None else self.released.merged(self.merge)

    def _keys(self) -> dict[str, Box]:
        found, keys = {}, self._rows.keys
        for n, key in enumerate(self.draft.keys):
            if key.kind == "integer" and all(part[n] is not None for part in keys):
                exact = np.array([float(part[n]) for part in keys])  # type: ignore[arg-type]
                found[f"k{n}"] = (exact, exact)
        return found

    def _carried(self, boxes: dict[int, Box]) -> tuple[list[Any], list[Any]]:
        """The ends, filtered and ordered like the rows they belong to."""
        size, hidden = len(self._rows.keys), []
        for index, box in boxes.items():
            for side, name in zip(box, (f"\x01low{index}", f"\x01high{index}"), strict=True):
                hidden.append(Given(name, "real", np.broadcast_to(side, size).astype(float).tolist()))
        given = _columns(self.draft, self.plan, self.shown, self.merge)
        rows = carry(self.draft.view, given + hidden, [ROW, *(each.name for each in hidden)])
        found: tuple[list[Any], list[Any]] = ([None] * len(self.columns), [None] * len(self.columns))
        start = len(self.columns) + 1
        for n, index in enumerate(boxes):
            for end in (0, 1):
                found[end][index] = rows.columns[start + 2 * n + end]
        return found

    def __repr__(self) -> str:
        return text(self)

    def _repr_html_(self) -> str:
        return page(self)

    def plot(self) -> Figure:
        """A matplotlib figure of the numbers with their margins; needs discreet[report]."""
        from discreet.answers.plot import draw  # noqa: PLC0415

        return draw(self)


def _widths(values: list[Any], low: list[Any], high: list[Any]) -> list[float | None]:
    """How far each interval reaches from its value, to twelve digits."""
    ends = zip(values, low, high, strict=True)
    return [None if v is None else float(f"{max(last - v, v - first):.12g}") for v, first, last in ends]


def _columns(draft: Draft, plan: Plan, released: Released, merge: Merge | None) -> list[Given]:
    released = released if merge is None else released.merged(merge)
    keys = [[key[n] for key in released.keys] for n in range(len(draft.keys))]
    numbers = {f"a{n}": reading.values(plan, released, merge) for n, reading in enumerate(draft.readings)}
    return given_by(draft, keys, numbers)


def _values(draft: Draft, plan: Plan, released: Released, merge: Merge | None) -> Rows:
    rows = carry(draft.view, _columns(draft, plan, released, merge), [ROW])
    size = len(draft.view.items)
    return Rows(rows.names[:size], rows.kinds[:size], rows.columns[:size])
