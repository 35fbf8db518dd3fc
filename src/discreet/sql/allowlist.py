"""The allow-list: every operator, function and type that a question may use, and our own name for it.

What is not here is refused. Each has one meaning that can fail on no data; an engine spells it out in its own SQL.
"""

from __future__ import annotations

from sqlglot import exp

__all__ = [
    "AGGREGATES",
    "CALLS",
    "FLAGS",
    "INSTEAD",
    "OTHERS",
    "PARTS",
    "PARTS_OF_DATES",
    "QUANTILES",
    "TWO",
    "WINDOWS",
]

UNARY, BINARY, MANY = ("this",), ("this", "expression"), ("this", "expressions")

CALLS: dict[type[exp.Expression], tuple[str, tuple[str, ...]]] = {  # sqlglot's node: our name, and its arguments
    exp.Add: ("+", BINARY),
    exp.Sub: ("-", BINARY),
    exp.Mul: ("*", BINARY),
    exp.Div: ("/", BINARY),
    exp.Mod: ("%", BINARY),
    exp.IntDiv: ("//", BINARY),
    exp.EQ: ("=", BINARY),
    exp.NEQ: ("<>", BINARY),
    exp.LT: ("<", BINARY),
    exp.LTE: ("<=", BINARY),
    exp.GT: (">", BINARY),
    exp.GTE: (">=", BINARY),
    exp.And: ("and", BINARY),
    exp.Or: ("or", BINARY),
    exp.Not: ("not", UNARY),
    exp.Is: ("is", BINARY),
    exp.In: ("in", MANY),
    exp.Between: ("between", ("this", "low", "high")),
    exp.Like: ("like", BINARY),
    exp.ILike: ("ilike", BINARY),
    exp.If: ("case", ("this", "true", "false")),
    exp.Abs: ("abs", UNARY),
    exp.Sign: ("sign", UNARY),
    exp.Floor: ("floor", UNARY),
    exp.Ceil: ("ceil", UNARY),
    exp.Round: ("round", ("this", "decimals")),
    exp.Trunc: ("trunc", ("this", "decimals")),
    exp.Sqrt: ("sqrt", UNARY),
    exp.Ln: ("ln", UNARY),
    exp.Exp: ("exp", UNARY),
    exp.Pow: ("power", BINARY),
    exp.Coalesce: ("coalesce", MANY),
    exp.Nullif: ("nullif", BINARY),
    exp.Least: ("least", MANY),
    exp.Greatest: ("greatest", MANY),
    exp.Lower: ("lower", UNARY),
    exp.Upper: ("upper", UNARY),
    exp.Length: ("length", UNARY),
    exp.Reverse: ("reverse", UNARY),
    exp.Left: ("left", BINARY),
    exp.Right: ("right", BINARY),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.SplitPart: ("split_part", ("this", "delimiter", "part_index")),
    exp.StartsWith: ("starts_with", BINARY),
    exp.EndsWith: ("ends_with", BINARY),
    exp.Contains: ("contains", BINARY),
    exp.StrPosition: ("strpos", ("this", "substr")),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Concat: ("concat", ("expressions",)),
    exp.DPipe: ("||", BINARY),
    exp.Grouping: ("grouping", ("expressions",)),
    exp.LastDay: ("last_day", UNARY),
    exp.Monthname: ("monthname", UNARY),
    exp.Dayname: ("dayname", UNARY),
}

OTHERS = ("negative", "cast", "extract", "date_trunc", "date_diff", "trim", "ltrim", "rtrim", "lpad", "rpad",
             "log10", "log2")  # read by `functions`  # fmt: skip

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
    "db": "a name of a schema",
    "decimals": "a number of digits",
    "direction": "`FETCH`",
    "expression": "a second argument",
    "expressions": "a second argument",
    "field": "`IN` without a list",
    "limit_options": "a percentage",
    "locks": "`FOR UPDATE`",
    "null_on_zero_variance": "a third argument",
    "nulls": "`NULLS`",
    "position": "an end to trim",
    "query": "a SELECT inside an expression",
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
    exp.CovarSamp: "covar_samp",
    exp.CovarPop: "covar_pop",
    exp.Corr: "corr",
    exp.RegrSlope: "regr_slope",
    exp.RegrCount: "regr_count",
    exp.Median: "median",
    exp.Mode: "mode",
    exp.PercentileCont: "quantile_cont",
    exp.PercentileDisc: "quantile_disc",
    exp.Quantile: "quantile_disc",
    exp.ApproxQuantile: "quantile_cont",
}

QUANTILES = {"quantile_cont", "quantile_disc"}  # aggregates of an expression, and of a number between 0 and 1

TWO = {"covar_samp", "covar_pop", "corr", "regr_slope", "regr_count"}  # aggregates of two expressions

INSTEAD: dict[str, str] = {  # what people ask for under other names, and how it is asked here
    "any_value": "MODE(x) is the commonest of declared values",
    "approx_count_distinct": "write COUNT(DISTINCT x)",
    "approx_top_k": "write SELECT x, COUNT(*) AS n … GROUP BY x ORDER BY n DESC LIMIT 3",
    "array_agg": "ask for aggregates: COUNT(*), SUM(x), MEDIAN(x)",
    "bool_and": "write COUNT(*) FILTER (WHERE NOT …)",
    "bool_or": "write COUNT(*) FILTER (WHERE …)",
    "count_if": "write COUNT(*) FILTER (WHERE …)",
    "countif": "write COUNT(*) FILTER (WHERE …)",
    "first": "write MIN(x), or MODE(x) of declared values",
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
