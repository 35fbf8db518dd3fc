"""All classes of measures there are: whoever reads a plan on record must know them."""

from __future__ import annotations

from discreet.plan.batch import Batch
from discreet.plan.cells import Cells
from discreet.plan.distinct import Distinct, Owners
from discreet.plan.edges import Ends, EndsAt
from discreet.plan.foremost import Foremost
from discreet.plan.measure import Measure
from discreet.plan.moments import Moments
from discreet.plan.ranks import Ceilings, Extremes, Mode, Ranks
from discreet.plan.sums import Sums
from discreet.plan.totals import Totals

__all__ = ["KINDS"]

KINDS: tuple[type[Measure], ...] = (
    Batch,
    Ceilings,
    Cells,
    Distinct,
    Ends,
    EndsAt,
    Extremes,
    Foremost,
    Mode,
    Moments,
    Owners,
    Ranks,
    Sums,
    Totals,
)
