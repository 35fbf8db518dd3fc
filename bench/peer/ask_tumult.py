"""Tumult Analytics, on a local Spark; it needs Java. Its COUNT and SUM by group are two questions."""

from __future__ import annotations

import os
import sys
from typing import Any

from measured import GROUPS, GROUPS_PER_UNIT, HIGH, LOW, ROWS_PER_GROUP, asked, report

os.environ["PYSPARK_PYTHON"] = sys.executable  # else its workers take whatever python3 there is

from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    Session,
)

path, people = asked()
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.memory", "8g")
    .config("spark.sql.shuffle.partitions", "4")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
session = Session.from_dataframe(
    ApproxDPBudget(float("inf"), 1e-3),
    "visits",
    spark.read.parquet(path),
    protected_change=AddRowsWithID("person") if people else AddOneRow(),
)
ONE = ApproxDPBudget(1, 1e-6)


def evaluate(query: Any) -> Any:
    return session.evaluate(query, ONE).collect()


if people:
    bounded = QueryBuilder("visits").enforce(MaxGroupsPerID("place", GROUPS_PER_UNIT))
    bounded = bounded.enforce(MaxRowsPerGroupPerID("place", ROWS_PER_GROUP))
    grouped = bounded.groupby(KeySet.from_dict({"place": list(range(GROUPS))}))
    report({"groups": lambda: (evaluate(grouped.count("n")), evaluate(grouped.sum("value", LOW, HIGH)))})
else:
    visits = QueryBuilder("visits")
    report({
        "COUNT": lambda: evaluate(visits.count()),
        "SUM": lambda: evaluate(visits.sum("value", LOW, HIGH)),
        "MEAN": lambda: evaluate(visits.average("value", LOW, HIGH)),
    })  # fmt: skip
