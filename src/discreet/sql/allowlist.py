"""The allow-list: every aggregate and window that a question may use, and our own name for it.

What is not here is refused. Scalar functions and operators have a table of their own (`plan/expressions/functions`).
"""

from __future__ import annotations

from sqlglot import exp

__all__ = [
    "AGGREGATES",
    "FLAGS",
    "INSTEAD",
    "ORDERED",
    "PARTS",
    "PARTS_OF_DATES",
    "PICKED",
    "QUANTILES",
    "TWO",
    "WINDOWS",
]

UNARY = ("this",)

PARTS_OF_DATES = {"dow": "dayofweek", "weekday": "dayofweek", "doy": "dayofyear", "weekofyear": "week",
                  "dayofmonth": "day"}  # other names for some  # fmt: skip

FLAGS = {
    "big_int",
    "coalesce",
    "ignore_nulls",
    "safe",
    "typed",
    "over",
}  # sqlglot's remarks on dialects: no meaning here

PARTS: dict[str, str] = {  # what a question calls the parts that sqlglot has other names for
    "catalog": "a name of a database",
    "columns": "a list of names",
    "count": "a third argument",
    "db": "a name of a schema",
    "decimals": "a number of digits",
    "direction": "`FETCH`",
    "expression": "a second argument",
    "expressions": "a second argument",
    "field": "`IN` without a list",
    "flag": "an option",
    "limit_options": "a percentage",
    "locks": "`FOR UPDATE`",
    "null_on_zero_variance": "a third argument",
    "modifiers": "an option",
    "nulls": "`NULLS`",
    "position": "an end to trim",
    "pivots": "`PIVOT`",
    "query": "a SELECT inside an expression",
    "recursive": "a recursive `WITH`",
    "sample": "`TABLESAMPLE`",
    "unnest": "`UNNEST`",
    "windows": "`WINDOW`",
}

AGGREGATES: dict[type[exp.Expression], str] = {
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Skewness: "skewness",
    exp.Kurtosis: "kurtosis",
    exp.CovarSamp: "covar_samp",
    exp.CovarPop: "covar_pop",
    exp.Corr: "corr",
    exp.RegrSlope: "regr_slope",
    exp.RegrCount: "regr_count",
    exp.Median: "median",
    exp.Mode: "mode",
    exp.ArgMax: "max_by",
    exp.ArgMin: "min_by",
    exp.First: "first",
    exp.Last: "last",
    exp.AnyValue: "any_value",
    exp.PercentileCont: "quantile_cont",
    exp.PercentileDisc: "quantile_disc",
    exp.Quantile: "quantile_disc",
    exp.ApproxQuantile: "quantile_cont",
}

QUANTILES = {"quantile_cont", "quantile_disc"}  # aggregates of an expression, and of a number between 0 and 1

TWO = {"covar_samp", "covar_pop", "corr", "regr_slope", "regr_count", "max_by", "min_by"}  # of two expressions

ORDERED = {"first", "last", "any_value"}  # aggregates that take an ORDER BY

PICKED = ORDERED | {"max_by", "min_by"}  # aggregates that are a value of one row

INSTEAD: dict[str, str] = {  # what people ask for under other names, and how it is asked here
    "approx_count_distinct": "write COUNT(DISTINCT x)",
    "approx_top_k": "write SELECT x, COUNT(*) AS n … GROUP BY x ORDER BY n DESC LIMIT 3",
    "array_agg": "ask for aggregates: COUNT(*), SUM(x), MEDIAN(x)",
    "bool_and": "write COUNT(*) FILTER (WHERE NOT …)",
    "bool_or": "write COUNT(*) FILTER (WHERE …)",
    "list": "ask for aggregates: COUNT(*), SUM(x), MEDIAN(x)",
    "mean": "write AVG(x)",
    "regr_avgx": "write AVG(x) FILTER (WHERE y IS NOT NULL)",
    "regr_avgy": "write AVG(y) FILTER (WHERE x IS NOT NULL)",
    "regr_intercept": "write AVG(y) - REGR_SLOPE(y, x) * AVG(x)",
    "regr_r2": "write POWER(CORR(y, x), 2)",
    "string_agg": "ask for aggregates: COUNT(*), or MODE(x) of declared values",
}

WINDOWS: dict[type[exp.Expression], tuple[str, tuple[str, ...]]] = {  # only over the rows of an answer
    exp.RowNumber: ("row_number", ()),
    exp.Rank: ("rank", ()),
    exp.DenseRank: ("dense_rank", ()),
    exp.PercentRank: ("percent_rank", ()),
    exp.CumeDist: ("cume_dist", ()),
    exp.Ntile: ("ntile", UNARY),
    exp.Lag: ("lag", ("this", "offset", "default")),
    exp.Lead: ("lead", ("this", "offset", "default")),
    exp.FirstValue: ("first_value", UNARY),
    exp.LastValue: ("last_value", UNARY),
}
