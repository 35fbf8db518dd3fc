"""PipelineDP on its local backend; its rows are Python tuples in memory, and making them is not counted."""

from __future__ import annotations

import operator
from typing import Any

import pipeline_dp as pdp
import pyarrow.parquet as pq
from measured import GROUPS, GROUPS_PER_UNIT, HIGH, LOW, ROWS_PER_GROUP, asked, report

path, people = asked()
table = pq.read_table(path)
values = table["value"].to_pylist()
if people:
    rows = list(zip(table["person"].to_pylist(), table["place"].to_pylist(), values, strict=True))
else:
    rows = [(n, 0, value) for n, value in enumerate(values)]


def aggregate(*metrics: Any) -> list[Any]:
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    result = engine.aggregate(
        rows,
        pdp.AggregateParams(
            noise_kind=pdp.NoiseKind.LAPLACE,
            metrics=list(metrics),
            max_partitions_contributed=GROUPS_PER_UNIT if people else 1,
            max_contributions_per_partition=ROWS_PER_GROUP if people else 1,
            min_value=LOW,
            max_value=HIGH,
        ),
        pdp.DataExtractors(
            privacy_id_extractor=operator.itemgetter(0),
            partition_extractor=operator.itemgetter(1),
            value_extractor=operator.itemgetter(2),
        ),
        public_partitions=list(range(GROUPS if people else 1)),
    )
    accountant.compute_budgets()
    return list(result)


if people:
    report({"groups": lambda: aggregate(pdp.Metrics.COUNT, pdp.Metrics.SUM)})
else:
    report({
        "COUNT": lambda: aggregate(pdp.Metrics.COUNT),
        "SUM": lambda: aggregate(pdp.Metrics.SUM),
        "MEAN": lambda: aggregate(pdp.Metrics.MEAN),
    })  # fmt: skip
