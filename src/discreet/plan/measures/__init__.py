"""Measures: `KINDS` are all their classes, which must be known wherever a recorded plan is read."""

from __future__ import annotations

from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.distinct import Distinct, UnitsWhere
from discreet.plan.measures.grouping_sets import GroupingSets
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.mode import Mode
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.quantile_interval import QuantileInterval, QuantileIntervalAt
from discreet.plan.measures.quantiles import Extremes, QuantileMeasure
from discreet.plan.measures.sums import Sums
from discreet.plan.measures.top_k import TopK
from discreet.plan.measures.upper_bound import UpperBound
from discreet.plan.measures.workload_cells import WorkloadCells

__all__ = ["KINDS"]

KINDS: tuple[type[Measure], ...] = (
    CountBatch,
    UpperBound,
    WorkloadCells,
    Distinct,
    QuantileInterval,
    QuantileIntervalAt,
    Extremes,
    TopK,
    Mode,
    Moments,
    UnitsWhere,
    QuantileMeasure,
    Sums,
    GroupingSets,
)
