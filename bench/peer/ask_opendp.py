"""OpenDP, through its Polars front end."""

from __future__ import annotations

from typing import Any

import opendp.prelude as dp
import polars as pl
from measured import GROUPS, GROUPS_PER_UNIT, HIGH, LOW, ROWS_PER_GROUP, asked, report

dp.enable_features("contrib", "honest-but-curious")
path, people = asked()
VALUE = pl.col("value").fill_nan(0.0).fill_null(0.0).dp
BOUNDS = (float(LOW), float(HIGH))
MOST = 20_000_000  # rows, of which the caller must have an upper bound


def by_row(what: Any) -> Any:
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=MOST)],
    )
    return context.query().select(what).release().collect()


def by_group() -> Any:
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=1.0, delta=1e-6),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["place"], max_length=MOST, max_groups=GROUPS)],
    )
    keys = pl.LazyFrame({"place": range(GROUPS)}, schema={"place": pl.Int64})
    query = context.query().truncate_per_group(ROWS_PER_GROUP, by=["place"])
    query = query.truncate_num_groups(GROUPS_PER_UNIT, by=["place"], keep="first").group_by("place")
    return query.agg(dp.len(), VALUE.sum(BOUNDS)).with_keys(keys).release().collect()


if people:
    report({"groups": by_group})
else:
    report({
        "COUNT": lambda: by_row(dp.len()),
        "SUM": lambda: by_row(VALUE.sum(BOUNDS)),
        "MEAN": lambda: by_row(VALUE.mean(BOUNDS)),
    })  # fmt: skip
