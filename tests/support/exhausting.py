# ruff: noqa: E501, PLR0915  (a table, one line for each)
"""Texts that try to exhaust whoever reads them, and a process that reads each within limits.

Run as a program, `exhausting.py FOLDER SECONDS MEGABYTES [WORD]` opens the clinic over the data in the folder, then
forks for each case of `CASES`, limits what the child may use, lets it explain or ask, and writes one line of JSON: what
came of it, how many seconds of processors it took, and by how many megabytes it grew.
"""

from __future__ import annotations

import gc
import json
import os
import random
import resource
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import discreet as dp
from discreet.curator.curator import Curator
from support.fixtures import clinic, unasked

SOAK = bool(os.environ.get("DISCREET_SOAK"))
MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Case:
    """A question, how it is asked, and whether it is asked or explained."""

    name: str
    sql: Any
    how: dict[str, Any] = field(default_factory=dict)
    by: str = "explain"


def above(expression: str) -> str:
    """A question that computes something of a count."""
    return f"SELECT {expression} AS x FROM people"


def where(condition: str, table: str = "people") -> str:
    """A question about some rows."""
    return f"SELECT COUNT(*) FROM {table} WHERE {condition}"


def nested(template: str, inner: str, times: int) -> str:
    """A template in itself, so many times."""
    for _ in range(times):
        inner = template.replace("@", inner)
    return inner


def filters(count: int, condition: str = "age > {n}") -> str:
    """A question with many conditions of its own."""
    parts = (f"COUNT(*) FILTER (WHERE {condition.format(n=n)}) AS c{n}" for n in range(count))
    return f"SELECT {', '.join(parts)} FROM people"


def chain(count: int, step: str, last: str) -> str:
    """Names after WITH, each made of the one before it."""
    named = ", ".join(f"t{n} AS ({step.replace('@', f't{n - 1}' if n else 'people')})" for n in range(count))
    return f"WITH {named} {last.replace('@', f't{count - 1}')}"


DOUBLED = "'0123456789'"
GUARDED = {"log": "LOG2(@)", "root": "SQRT(@ + 1)", "quotient": "(age / @)", "rest": "(age % @)", "whole": "(age // @)",
           "rounded": "ROUND(@ / 3, 2)", "none": "NULLIF(@, 3)", "text": "CAST(CAST(@ AS TEXT) AS INT)",
           "sign": "SIGN(@ - 1.5)", "case": "CASE WHEN @ > 1 THEN 3.5 ELSE age END", "truncated": "TRUNC(@ / 3)",
           "exponent": "EXP(@)", "greatest": "GREATEST(@ + 1.5, age)", "bucket": "WIDTH_BUCKET(@, 0, 100, 10)"}  # fmt: skip
SETS = "age % 2, sex, age % 3, age % 5, smoker, age % 7"
SIX = "sex, ward, night, storey, age % 2, age % 3"


def _texts() -> Iterator[tuple[str, str]]:
    """Texts and numbers that grow above the aggregation."""
    yield "lpad", above("LPAD('x', 100000000, 'y') || COUNT(*)")
    yield "rpad", above("RPAD('x', 2000000000, 'yz') || COUNT(*)")
    yield "lpad of a count", above("LPAD('x', COUNT(*) * 1000000000, 'y')")
    yield "lpad of a column", "SELECT LPAD('x', n * 100000000, 'y') FROM (SELECT COUNT(*) AS n FROM people)"
    yield "lpad inside", "SELECT LENGTH(a || a) FROM (SELECT LPAD('x', 300000000, 'y') || COUNT(*) AS a FROM people)"
    yield "replace", above(nested("REPLACE(@, '0', '0000000000')", "CAST(COUNT(*) AS TEXT)", 9))
    yield "replace of texts", above(nested(f"REPLACE(@, '1', {DOUBLED} || {DOUBLED})", "'1' || COUNT(*)", 12))
    yield "replace by itself", chain(
        6, "SELECT * FROM @", "SELECT REPLACE(REPLACE(b, 'a', b), 'a', b) FROM (SELECT REPLACE(a, 'a', a) AS b FROM"
        " (SELECT RPAD('a', 900, 'a') || COUNT(*) AS a FROM @))")  # fmt: skip
    yield "concat", above("CONCAT(" + ", ".join(["LPAD('x', 9000000, 'y')"] * 50) + ", COUNT(*))")
    yield "doubling", "SELECT " + nested("(@)", "a || a", 1) + " FROM " + nested(
        "(SELECT a || a AS a FROM @)", "(SELECT COUNT(*) || 'abcdefghij' AS a FROM people)", 7)  # fmt: skip
    yield "doubling by names", "SELECT " + ", ".join(
        [f"a{n - 1} || a{n - 1} AS a{n}" if n else "'abc' || COUNT(*) AS a0" for n in range(40)]) + " FROM people"  # fmt: skip
    yield "lag of long texts", "SELECT LAG(a, 1, REPEAT('x', 100000000)) OVER (ORDER BY a) FROM people"
    yield "repeat", above("REPEAT('x', 1000000000) || COUNT(*)")
    yield "string_agg", "SELECT STRING_AGG(a, a) FROM (SELECT LPAD('x', 100000, 'y') || COUNT(*) AS a FROM people)"
    yield "format", above("FORMAT('{:1000000000d}', COUNT(*))")
    yield "printf", above("PRINTF('%1000000000d', COUNT(*))")
    yield "range", above("LEN(RANGE(COUNT(*) + 1000000000))")
    yield "round above", above("ROUND(COUNT(*), 1000000000)")
    yield "round of a power", above("ROUND(POWER(COUNT(*), 1e30), -400)")
    yield "power above", above(nested("POWER(@, 99999999999)", "COUNT(*)", 40))
    yield "like above", above("CAST(COUNT(*) AS TEXT) LIKE '" + "%a" * 400 + "'")
    yield "like of like", above("LPAD(COUNT(*) || '', 1000, 'a') LIKE '" + "%a%b_" * 150 + "'")
    yield "matching", above("REGEXP_MATCHES(COUNT(*) || 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '(a+)+$')")
    yield "similar", above("COUNT(*) || 'a' SIMILAR TO '" + "(a|a?)" * 200 + "'")
    yield "counted repetition", above("REGEXP_MATCHES(COUNT(*) || 'a', '((a{1,99}){1,99}){1,99}')")
    yield "case above", above("CASE " + " ".join(f"WHEN COUNT(*) = {n} THEN {n}" for n in range(400)) + " END")
    yield "case of case", above(nested("CASE WHEN COUNT(*) > 1 THEN @ ELSE @ END", "1", 9))
    yield "sums above", above(" + ".join(["COUNT(*)"] * 1500))
    yield "trim above", above("TRIM(LPAD('', 100000000, ' ') || COUNT(*))")
    yield "split above", above("SPLIT_PART(LPAD('', 100000000, ',') || COUNT(*), ',', 2)")
    yield "reverse above", above(nested("REVERSE(@)", "LPAD('x', 200000000, 'yz') || COUNT(*)", 5))
    yield "having", "SELECT sex FROM people GROUP BY sex HAVING LENGTH(LPAD('x', 400000000, 'y') || COUNT(*)) > 3"
    yield "order by", "SELECT sex FROM people GROUP BY sex ORDER BY LENGTH(LPAD('x', 400000000, 'y') || COUNT(*))"
    yield "partition", "SELECT COUNT(*), RANK() OVER (PARTITION BY LPAD('x', 400000000, 'y') || COUNT(*)) FROM people"
    yield "dates above", above("DATE '9999-12-31' + INTERVAL 999999999999 YEAR + COUNT(*)")
    yield "a date of counts", above("DATE '2024-01-01' + COUNT(*) * 100000000000")
    yield "left of long", above("LEFT(LPAD('x', 500000000, 'y') || COUNT(*), 3)")


def _numbers() -> Iterator[tuple[str, str]]:
    """Numbers that are larger than they look."""
    yield "small exponent", where("age = 1e-9999999")
    yield "large exponent", where("age = 1e9999999")
    yield "quantile", "SELECT QUANTILE(age, 1e-99999999) FROM people"
    yield "quantiles", "SELECT QUANTILE(age, [1e-99999999, 0.5]) FROM people"
    yield "percentile", "SELECT PERCENTILE_CONT(1e-99999999) WITHIN GROUP (ORDER BY age) FROM people"
    yield "between", where("age BETWEEN 1e-99999999 AND 1e99999999")
    yield "in", where("age IN (1e-99999999, 1e-88888888)")
    yield "limit", "SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 1e99999999"
    yield "offset", "SELECT sex, COUNT(*) FROM people GROUP BY sex LIMIT 999999999 OFFSET 999999999"
    yield "bucket", "SELECT WIDTH_BUCKET(age, 0, 1e-99999999, 10) AS b, COUNT(*) FROM people GROUP BY b"
    yield "buckets", "SELECT WIDTH_BUCKET(age, 0, 100, 1000000000) AS b, COUNT(*) FROM people GROUP BY b"
    yield "many buckets", "SELECT WIDTH_BUCKET(income, 0, 100, 10000) AS b, COUNT(*) FROM people GROUP BY b"
    yield "histogram", "SELECT HISTOGRAM(age, [1e-99999999, 1, 2]) FROM people"
    yield "above", above("COUNT(*) * 1e-99999999")
    yield "rounded", where("ROUND(age, 1e99999999) = 3")
    yield "round", where("ROUND(height, 1000000000) = 3")
    yield "negative", where("age > -1e-99999999")
    yield "digits", where("age = " + "9" * 15000)
    yield "decimals", where("age = 0." + "9" * 15000)
    yield "underscores", where("age = " + "1_" * 7000 + "1")
    yield "hexadecimal", where("age = 0x" + "f" * 15000)
    yield "other digits", where("age = ١٢٣٤e-٩٩٩٩٩٩٩")
    yield (
        "rows of a frame",
        "SELECT SUM(COUNT(*)) OVER (ORDER BY sex ROWS 1e99999999 PRECEDING) FROM people GROUP BY sex",
    )
    yield "ordered by", "SELECT COUNT(*) FROM people ORDER BY 99999999999999999999999999"
    yield "grouped by", "SELECT COUNT(*) FROM people GROUP BY 1e-99999999"
    yield "interval", where("day > DATE '2024-01-01' + INTERVAL 999999999999 YEAR", "tours")
    yield "interval of digits", where("day > DATE '2024-01-01' + INTERVAL '" + "9" * 9000 + "' DAY", "tours")
    yield "interval of pieces", where("day > DATE '2024-01-01' + INTERVAL '" + "1 day " * 2500 + "'", "tours")
    yield "cast", where("CAST('1e-99999999' AS DOUBLE) = age")
    yield "cast of digits", where("CAST('" + "9" * 15000 + "' AS INT) = age")
    yield "power", where("POWER(POWER(POWER(age, 99), 99), 99) > 1")
    yield "powers", where(nested("POWER(@, 9999999999)", "age", 30) + " > 1")
    yield "power of fractions", where("POWER(1.0000000001, 9999999999999) > age")
    yield "products", where("*".join(["123456789012345678901234567890"] * 400) + " > age")
    yield (
        "products of fractions",
        "SELECT SUM(" + "*".join(["height * 1.0000000000000000000001"] * 200) + ") FROM people",
    )
    yield "products of columns", "SELECT SUM(" + "*".join(["age"] * 2000) + ") FROM people"
    yield "divided", "SELECT AVG(" + nested("(@ / 3.0000000000000000000000001)", "age", 50) + ") FROM people"
    for name, step in GUARDED.items():
        yield f"guards: {name}", where(nested(step, "age", 30) + " > 1")
        yield f"guards above: {name}", above(nested(step.replace("age", "SUM(age)"), "SUM(age)", 30))
    yield "dates", "SELECT COUNT(*) FROM tours GROUP BY day + INTERVAL 1 DAY * 99999999999"
    yield "exponent of days", where("day + 1e-99999999 > DATE '2024-01-01'", "tours")


def _shapes() -> Iterator[tuple[str, str]]:
    """Questions of many parts."""
    yield "cube", f"SELECT {SETS}, COUNT(*) FROM people GROUP BY CUBE ({SETS})"
    yield "cube of visits", f"SELECT COUNT(*) FROM visits GROUP BY CUBE ({SIX})"
    yield "cube of sums", f"SELECT {SIX}, SUM(cost) FROM visits GROUP BY CUBE ({SIX})"
    yield "cube of ages", "SELECT COUNT(*) FROM people GROUP BY CUBE (age, sex, smoker, age % 2, age % 3, age % 4)"
    yield "cube of all", "SELECT COUNT(*) FROM people GROUP BY CUBE (sex, smoker, age, größe, score)"
    yield (
        "cube of twelve",
        "SELECT COUNT(*) FROM people GROUP BY CUBE (" + ", ".join(f"age % {n}" for n in range(2, 14)) + ")",
    )
    yield "cubes", "SELECT COUNT(*) FROM visits GROUP BY CUBE (sex, ward, night), CUBE (storey, age % 2, age % 3)"
    yield "cubes of cubes", "SELECT COUNT(*) FROM visits GROUP BY " + ", ".join(["CUBE (sex, ward, night)"] * 40)
    yield (
        "rollup",
        "SELECT COUNT(*) FROM people GROUP BY ROLLUP (" + ", ".join(f"age % {n}" for n in range(2, 14)) + ")",
    )
    yield "rollups", "SELECT COUNT(*) FROM visits GROUP BY ROLLUP (sex, ward, night), ROLLUP (storey, age % 2, age % 3)"
    yield (
        "sets",
        f"SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ({', '.join(['(sex, ward)', '(night, sex)'] * 32)})",
    )
    yield "many sets", f"SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ({', '.join(['(sex, ward)'] * 1000)})"
    yield (
        "sets of sets",
        f"SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ({'CUBE (sex, ward), ' * 60} ROLLUP (night))",
    )
    yield "nested sets", "SELECT COUNT(*) FROM visits GROUP BY " + nested("GROUPING SETS (@)", "sex", 300)
    yield "keys", "SELECT COUNT(*) FROM people GROUP BY " + ", ".join(f"age % {n}" for n in range(2, 14))
    yield "keys of ages", "SELECT COUNT(*) FROM people GROUP BY age, score, größe, sex, smoker"
    yield "products of domains", "SELECT age + score * größe + age * 2 AS k, COUNT(*) FROM people GROUP BY k"
    yield "long domains", "SELECT minutes % 9999 AS k, COUNT(*) FROM visits GROUP BY k"
    yield (
        "texts of domains",
        "SELECT " + nested("REPLACE(@, 'W', 'WWWWWWWWWW')", "ward", 5) + " AS k, COUNT(*) FROM visits GROUP BY k",
    )
    yield (
        "padded domains",
        "SELECT LPAD(ward, 1000, 'x') || RPAD(ward, 1000, 'y') AS k, COUNT(*) FROM visits GROUP BY k",
    )
    yield "20 filters", filters(20)
    yield "50 filters", filters(50)
    yield "100 filters", filters(100)
    yield "400 filters", filters(400)
    yield "100 filters by age", filters(100) + " GROUP BY age"
    yield "100 filters by sex", filters(100) + " GROUP BY sex"
    yield "100 equal filters", filters(100, "age = {n}")
    yield "100 far filters", filters(100, "age > {n} OR income > {n} OR height > {n}")
    yield "100 filters of five", filters(100, "age > {n} AND sex = 'F' AND smoker AND größe > 3 AND score < -{n}")
    yield "60 intervals", filters(60, "age BETWEEN {n} AND {n} + 30 AND score > -{n}")
    yield "100 residues", filters(100, "age % ({n} + 2) = 1")
    yield (
        "100 sums",
        "SELECT " + ", ".join(f"SUM(CASE WHEN age > {n} THEN height END)" for n in range(100)) + " FROM people",
    )
    yield "100 averages", "SELECT " + ", ".join(f"AVG(age + {n})" for n in range(100)) + " FROM people"
    yield "100 deviations", "SELECT " + ", ".join(f"STDDEV(height * {n})" for n in range(1, 101)) + " FROM people"
    yield "100 correlations", "SELECT " + ", ".join(f"CORR(height, age + {n})" for n in range(100)) + " FROM people"
    yield "100 quantiles", "SELECT " + ", ".join(f"QUANTILE(age, 0.{n:03d})" for n in range(1, 101)) + " FROM people"
    yield "100 medians", "SELECT " + ", ".join(f"MEDIAN(minutes + {n})" for n in range(100)) + " FROM visits"
    yield (
        "50 quantiles of a list",
        "SELECT QUANTILE(minutes, [" + ", ".join(f"0.{n:02d}" for n in range(1, 51)) + "]) FROM visits",
    )
    yield (
        "quantiles by age",
        "SELECT QUANTILE(minutes, [" + ", ".join(f"0.{n:02d}" for n in range(1, 51)) + "]) FROM visits GROUP BY age",
    )
    yield "50 bins", "SELECT HISTOGRAM(minutes, [" + ", ".join(str(n * 1000) for n in range(50)) + "]) FROM visits"
    yield (
        "bins by age",
        "SELECT HISTOGRAM(minutes, [" + ", ".join(str(n * 1000) for n in range(50)) + "]) FROM visits GROUP BY age",
    )
    yield "histogram of ages", "SELECT HISTOGRAM(age) FROM people GROUP BY score"
    yield "pivot", "PIVOT people ON age USING COUNT(*)"
    yield "20000 columns", "SELECT " + "COUNT(*)," * 2000 + "1 FROM people"
    yield "modes", "SELECT " + ", ".join(f"MODE(age % {n})" for n in range(2, 90)) + " FROM people"
    yield "distinct", "SELECT " + ", ".join(f"COUNT(DISTINCT age % {n})" for n in range(2, 90)) + " FROM people"
    yield "in list", where("age IN (" + ", ".join(str(n) for n in range(4000)) + ")")
    yield "in list of texts", where("zip IN (" + ", ".join(f"'{n}'" for n in range(2500)) + ")")
    yield "in lists", filters(40, "age IN (" + ", ".join(str(n) for n in range(120)) + ", {n})")
    yield "or", where(" OR ".join(f"age = {n}" for n in range(1600)))
    yield "and", where(" AND ".join(f"age <> {n}" for n in range(1500)))
    yield "or of and", where(" OR ".join(f"(age > {n} AND score < {n} AND height > {n})" for n in range(380)))
    yield "not", where("NOT " * 4000 + "smoker")
    yield "minus", where("age = " + "- " * 9000 + "1")
    yield "plus", where(" + ".join(["age"] * 3000) + " > 3")
    yield "times", where(" * ".join(["age"] * 3000) + " > 3")
    yield "case", where("CASE " + " ".join(f"WHEN age = {n} THEN {n}" for n in range(700)) + " END > 3")
    yield (
        "case of a subject",
        where("CASE " + "+".join(["age"] * 60) + " " + " ".join(f"WHEN {n} THEN {n}" for n in range(700)) + " END > 3"),
    )
    yield "nested case", where(nested("CASE WHEN age > 3 THEN @ ELSE age END", "1", 200) + " > 3")
    yield "nested if", where(nested("IF(age > 3, @, @)", "1", 8) + " > 3")
    yield "nested coalesce", where(nested("COALESCE(@, age)", "age", 55) + " > 3")
    yield "nested greatest", where(nested("GREATEST(@, age + 1)", "age", 55) + " > 3")
    yield "long greatest", where("GREATEST(" + ", ".join(["age"] * 4000) + ") > 3")
    yield "mod", where(nested("(@ % 97)", "minutes", 50) + " > 3", "visits")
    yield "like", where("zip LIKE '" + "%a" * 4000 + "'")
    yield "many likes", where(" AND ".join("zip LIKE '%a%b%c%'" for _ in range(700)))
    yield "pattern", where("REGEXP_MATCHES(zip, '" + "(a+)+" * 1000 + "$')")
    yield "lpad below", where("LPAD(zip, 1000000000, 'y') = 'x'")
    yield "lpads below", where(nested("LPAD(@, 1000, 'y')", "zip", 50) + " = 'x'")
    yield "replace below", where(nested("REPLACE(@, 'a', 'aaaaaaaaaa')", "zip", 50) + " = 'x'")
    yield "concat below", where("CONCAT(" + ", ".join(["zip"] * 3000) + ") = 'x'")
    yield (
        "doubling below",
        "SELECT COUNT(*) FROM "
        + nested("(SELECT a || a AS a FROM @)", "(SELECT zip AS a FROM people)", 7)
        + " WHERE a = 'x'",
    )
    yield (
        "doubling of numbers",
        "SELECT SUM(a) FROM " + nested("(SELECT a + a AS a FROM @)", "(SELECT age AS a FROM people)", 7),
    )
    yield (
        "eightfold",
        "SELECT SUM(a) FROM " + nested("(SELECT a*a*a*a*a*a*a*a AS a FROM @)", "(SELECT age AS a FROM people)", 7),
    )
    yield (
        "eightfold above",
        "SELECT a FROM " + nested("(SELECT a+a+a+a+a+a+a+a AS a FROM @)", "(SELECT COUNT(*) AS a FROM people)", 7),
    )
    yield (
        "windows",
        "SELECT "
        + ", ".join(f"SUM(COUNT(*)) OVER (ORDER BY sex ROWS {n} PRECEDING)" for n in range(190))
        + " FROM people GROUP BY sex",
    )
    yield (
        "windows of windows",
        "SELECT a FROM "
        + nested("(SELECT SUM(a) OVER (ORDER BY a) AS a FROM @)", "(SELECT COUNT(*) AS a FROM people GROUP BY age)", 7),
    )
    yield (
        "windows of ages",
        "SELECT "
        + ", ".join(f"LAG(COUNT(*), {n}) OVER (ORDER BY age)" for n in range(1, 190))
        + " FROM people GROUP BY age",
    )
    yield "one name for many", "SELECT " + ", ".join(["COUNT(*) AS a"] * 190) + " FROM people"
    yield (
        "names of names",
        "SELECT COUNT(*) AS a0, " + ", ".join(f"a{n} + a{n} AS a{n + 1}" for n in range(60)) + " FROM people",
    )


WIDE = {  # aggregates of which a SELECT has as many as may be: their table, and how each is written
    "counts": ("people", "COUNT(*) FILTER (WHERE age > {n})"),
    "counts of visits": ("visits", "COUNT(*) FILTER (WHERE age > {n})"),
    "counts of columns": ("people", "COUNT(NULLIF(age, {n}))"),
    "counts of differences": ("people", "COUNT(*) FILTER (WHERE age % 7 = {n} % 7 AND score > -{n} / 2)"),
    "counts of pairs": ("people", "COUNT(*) FILTER (WHERE age BETWEEN {n} AND 120 - {n} OR score = -{n})"),
    "sums": ("people", "SUM(age + {n})"),
    "sums of visits": ("visits", "SUM(cost * {n})"),
    "sums of cases": ("people", "SUM(CASE WHEN age > {n} THEN weight ELSE score END)"),
    "averages": ("people", "AVG(height * {n})"),
    "averages of visits": ("visits", "AVG(fever + {n})"),
    "variances": ("people", "VAR_SAMP(age + {n})"),
    "deviations of visits": ("visits", "STDDEV(balance + {n})"),
    "covariances": ("people", "COVAR_POP(age, weight + {n})"),
    "correlations": ("people", "CORR(height + {n}, weight + {n})"),
    "correlations of visits": ("visits", "CORR(age + {n}, balance - {n})"),
    "slopes": ("visits", "REGR_SLOPE(fever + {n}, age)"),
    "medians": ("people", "MEDIAN(age * {n})"),
    "medians of visits": ("visits", "MEDIAN(cost + {n})"),
    "quantiles": ("visits", "QUANTILE(minutes + {n}, 0.{n:03d})"),
    "ends of quantiles": ("visits", "QUANTILE_LOW(minutes + {n}, 0.5)"),
    "least": ("people", "MIN(age + {n})"),
    "most": ("visits", "MAX(cost + {n})"),
    "modes": ("people", "MODE((age + {n}) % 50)"),
    "values": ("visits", "COUNT(DISTINCT (age + {n}) % 60)"),
    "units": ("visits", "COUNT(DISTINCT patient_id) FILTER (WHERE age > {n})"),
    "histograms": ("people", "HISTOGRAM(age + {n}, [10, 20, 30])"),
    "unknown bounds": ("people", "SUM(income + {n})"),
}


def columns(aggregate: str, count: int = 100) -> str:
    """So many columns of an aggregate, or as many as a text has room for."""
    made = [f"{aggregate.format(n=n)} AS c{n}" for n in range(1, count + 1)]
    while len(", ".join(made)) > 19_800:
        made.pop()
    return ", ".join(made)


def _wide() -> Iterator[Case]:
    """Every aggregate, as often as may be: for a cost, for a margin, by groups that are declared and by others."""
    for name, (table, aggregate) in WIDE.items():
        text = f"SELECT {columns(aggregate)} FROM {table}"
        private = "zip" if table == "people" else "nurse"
        yield Case(name, text)
        yield Case(f"{name}, within", text, {"within": 1000})
        yield Case(f"{name}, by sex", f"{text} GROUP BY sex", {"within": 1000})
        yield Case(f"{name}, by a private key", f"{text} GROUP BY {private}", {"within": 10000})
    keys = ", ".join(f"age % {n}" for n in range(2, 8))
    some = columns("SUM(score + {n})", 20)
    yield Case("many keys", f"SELECT {some} FROM people GROUP BY {keys}", {"within": 1000})
    yield Case("rollup of sums", f"SELECT {some} FROM people GROUP BY ROLLUP ({keys})", {"within": 100000})
    yield Case("cube of sums", f"SELECT {some} FROM visits GROUP BY CUBE ({SIX})".replace("score", "balance"))
    yield Case("sets of a sum", f"SELECT SUM(cost) FROM visits GROUP BY CUBE ({SIX})", {"within": 10**6})
    yield Case(
        "sets",
        f"SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ({', '.join(f'({each})' for each in SIX.split(', '))})",
        {"within": 30},
    )
    bins = ", ".join(str(n) for n in range(1, 50))
    yield Case("bins", f"SELECT HISTOGRAM(age, [{bins}]) FROM people", {"within": 3})
    yield Case("bins by keys", f"SELECT HISTOGRAM(age, [{bins}]) FROM people GROUP BY score, sex", {"within": 100})
    shares = ", ".join(f"0.{n:02d}" for n in range(1, 51))
    yield Case(
        "lists of quantiles",
        "SELECT " + ", ".join(f"QUANTILE(minutes + {n}, [{shares}])" for n in range(2)) + " FROM visits",
    )
    yield Case(
        "ends of lists", f"SELECT QUANTILE_LOW(minutes, [{shares}]), QUANTILE_HIGH(minutes, [{shares}]) FROM visits"
    )
    yield Case(
        "nested sums",
        f"SELECT {columns('SUM(a + {n})')} FROM "
        + nested("(SELECT a + 1 AS a FROM @)", "(SELECT age AS a FROM people)", 20),
        {"within": 10**5},
    )
    tables = "visits v " + " ".join(f"JOIN patients p{n} ON p{n}.patient_id = v.patient_id" for n in range(15))
    yield Case("sums of joins", f"SELECT {columns('SUM(cost + {n})')} FROM {tables}", {"within": 10**9})
    yield Case("correlations of joins", f"SELECT {columns('CORR(v.age + {n}, p0.born)')} FROM {tables}")
    folds = "(SELECT patient_id, SUM(cost) AS a, COUNT(*) AS b FROM visits GROUP BY patient_id)"
    yield Case("correlations of folds", f"SELECT {columns('CORR(a + {n}, b)')} FROM {folds}")
    yield Case("sums of folds", f"SELECT {columns('SUM(a + b + {n})')} FROM {folds}", {"within": 10**9})
    union = " UNION ALL ".join(f"SELECT patient_id, age + {n} AS a FROM visits" for n in range(16))
    yield Case("union", f"SELECT {columns('SUM(a + {n})')} FROM ({union})", {"within": 10**9})
    yield Case("unions", "SELECT COUNT(*) FROM (" + " UNION ALL ".join(["SELECT patient_id FROM visits"] * 100) + ")")
    listed = ", ".join(str(n) for n in range(2500))
    yield Case(
        "in lists",
        f"SELECT {columns('COUNT(*) FILTER (WHERE age > {n})', 60)} FROM people WHERE age IN ({listed})",
        {"within": 50},
    )
    case = nested("CASE WHEN age > 3 THEN @ ELSE age END", "1", 40)
    yield Case(
        "deep cases",
        f"SELECT {', '.join([f'SUM({case})', f'AVG({case})', f'CORR({case}, age)', f'MEDIAN({case})'])} FROM people",
    )
    yield Case("long sums", "SELECT SUM(" + " + ".join(["age * score"] * 300) + ") FROM people", {"within": 10**9})
    yield Case(
        "long answers",
        "SELECT " + " + ".join(f"COUNT(*) FILTER (WHERE age > {n})" for n in range(100)) + " FROM people",
        {"within": 500},
    )
    yield Case(
        "answers of answers",
        "SELECT " + ", ".join(f"SUM(age) + {n} * COUNT(*)" for n in range(190)) + " FROM people",
        {"within": 10**6},
    )
    yield Case(
        "linear answers",
        "SELECT " + ", ".join(f"SUM(age + {n}) - SUM(score + {n})" for n in range(50)) + " FROM people",
        {"within": 10**6},
    )
    yield Case("top", "SELECT age, score, COUNT(*) AS n FROM people GROUP BY age, score ORDER BY n DESC LIMIT 900")
    yield Case(
        "top within",
        "SELECT age, score, COUNT(*) AS n FROM people GROUP BY age, score ORDER BY n DESC LIMIT 900",
        {"within": 30},
    )
    yield Case("unknown bounds within", f"SELECT {columns('AVG(income * {n})', 50)} FROM people", {"within": "5%"})
    yield Case("reused", f"SELECT {columns(WIDE['sums'][1])} FROM people", {"reuse": True}, by="ask")
    yield Case("asked", f"SELECT {columns(WIDE['counts'][1])} FROM people", {"within": 50}, by="ask")
    marks = "SELECT " + ", ".join("COUNT(*) FILTER (WHERE age > ?)" for _ in range(100)) + " FROM people"
    yield Case("parameters", marks, {"params": list(range(100)), "within": 50})
    apart = [f"SELECT COUNT(*) FROM visits WHERE minutes > {n}" for n in range(1000)]
    yield Case("list", apart, {"within": 1000}, by="explain_many")
    yield Case(
        "list of sums",
        [f"SELECT SUM(age + {n}) FROM people" for n in range(1000)],
        {"within": 10000},
        by="explain_many",
    )
    yield Case(
        "list of regions",
        [f"SELECT COUNT(*) FROM people WHERE height > {n}" for n in range(500)],
        {"within": 100},
        by="explain_many",
    )
    yield Case(
        "list of wide texts",
        [f"SELECT {columns(f'SUM(age * {n} + ' + '{n})')} FROM people" for n in range(1, 101)],
        {"within": 10**6},
        by="explain_many",
    )
    yield Case("list to ask", apart, {"epsilon": 1}, by="ask_many")


def _joins() -> Iterator[tuple[str, str]]:
    """Tables side by side, one in another, one after another."""
    equal = "SELECT COUNT(*) FROM visits v0 " + " ".join(
        f"JOIN patients p{n} ON p{n}.patient_id = v0.patient_id" for n in range(50))  # fmt: skip
    yield "50 joins", equal
    yield "15 joins", "SELECT COUNT(*) FROM visits v0 " + " ".join(
        f"JOIN patients p{n} ON p{n}.patient_id = v0.patient_id" for n in range(15))  # fmt: skip
    yield "15 lookups", "SELECT COUNT(*) FROM patients p " + " ".join(
        f"JOIN towns t{n} ON t{n}.zip = p.zip" for n in range(15))  # fmt: skip
    yield "commas", "SELECT COUNT(*) FROM " + ", ".join(f"towns t{n}" for n in range(15))
    yield "cross joins", "SELECT COUNT(*) FROM people " + " ".join(f"CROSS JOIN towns t{n}" for n in range(15))
    yield "join of conditions", "SELECT COUNT(*) FROM visits v JOIN patients p ON " + " AND ".join(
        ["v.patient_id = p.patient_id"] * 500)  # fmt: skip
    yield "doubling names", chain(30, "SELECT a.age FROM @ a, @ b", "SELECT COUNT(*) FROM @")
    yield (
        "doubling joins",
        chain(
            12,
            "SELECT a.patient_id AS patient_id FROM @ a JOIN @ b ON a.patient_id = b.patient_id".replace("@", "@"),
            "SELECT COUNT(*) FROM @",
        ).replace("people", "patients"),
    )
    yield "doubling unions", chain(30, "SELECT age FROM @ UNION ALL SELECT age FROM @", "SELECT COUNT(*) FROM @")
    yield "long names", chain(200, "SELECT * FROM @", "SELECT COUNT(*) FROM @")
    yield "growing names", chain(30, "SELECT *, age + 1 AS age FROM @", "SELECT COUNT(*) FROM @")
    yield (
        "wide names",
        chain(
            7, "SELECT *, " + ", ".join(f"age * age AS c{n}" for n in range(100)) + " FROM @", "SELECT COUNT(*) FROM @"
        ),
    )
    yield "stars", chain(7, "SELECT *, *, * FROM @", "SELECT COUNT(*) FROM @")
    yield (
        "stars of answers",
        chain(7, "SELECT *, *, * FROM @", "SELECT * FROM @").replace(
            "FROM people", "FROM (SELECT COUNT(*) AS n FROM people)"
        ),
    )
    yield (
        "stars of joins",
        "SELECT * FROM (SELECT *, COUNT(*) FROM patients "
        + " ".join(f"JOIN towns t{n} USING (zip)" for n in range(15))
        + ")",
    )
    yield "unions", "SELECT COUNT(*) FROM (" + " UNION ALL ".join(["SELECT age FROM people"] * 300) + ")"
    yield (
        "16 unions",
        "SELECT COUNT(*) FROM ("
        + " UNION ALL ".join([f"SELECT age + {n} AS age FROM people" for n in range(16)])
        + ") GROUP BY age",
    )
    yield "union trees", "SELECT COUNT(*) FROM (" + nested("((@) UNION ALL (@))", "SELECT age FROM people", 7) + ")"
    yield (
        "exists",
        "SELECT COUNT(*) FROM visits v WHERE "
        + " AND ".join(["EXISTS (SELECT * FROM patients p WHERE p.patient_id = v.patient_id)"] * 100),
    )
    yield (
        "30 exists",
        "SELECT COUNT(*) FROM visits v WHERE "
        + " AND ".join(["EXISTS (SELECT * FROM patients p WHERE p.patient_id = v.patient_id)"] * 30),
    )
    yield "nested exists", where(nested("EXISTS (SELECT * FROM people WHERE @)", "smoker", 100))
    yield "nested selects", "SELECT COUNT(*) FROM " + nested("(SELECT * FROM @)", "people", 400)
    yield "deep selects", "SELECT COUNT(*) FROM " + nested("(SELECT * FROM @)", "people", 8)
    yield "in selects", where(" AND ".join("zip IN (SELECT zip FROM towns)" for _ in range(30)), "patients")
    yield "selects of selects", "SELECT " + nested("(SELECT @)", "1", 800) + " FROM people"
    yield "names with", nested("WITH t AS (@) SELECT * FROM t", "SELECT COUNT(*) FROM people", 100)


def _words() -> Iterator[tuple[str, Any]]:
    """Texts that hardly are any."""
    full = 19_900
    yield "parentheses", where("(" * (full // 2) + "age" + ")" * (full // 2))
    yield "open parentheses", where("(" * full)
    yield "closed parentheses", where("age" + ")" * full)
    yield "300 parentheses", where("(" * 300 + "age > 3" + ")" * 300)
    yield "50 parentheses", where("(" * 50 + "age > 3" + ")" * 50)
    yield "brackets", "SELECT " + "[" * full
    yield "braces", "SELECT " + "{" * full
    yield "commas", "SELECT " + "," * full
    yield "items", "SELECT " + "1," * (full // 2) + "1 FROM people"
    yield "dots", "SELECT " + "a." * (full // 2) + "a FROM people"
    yield "casts", "SELECT age" + "::INT" * 3900 + " FROM people"
    yield "indexes", "SELECT age" + "[1]" * 6000 + " FROM people"
    yield "calls", "SELECT " + "ABS(" * 4900 + " FROM people"
    yield "closed calls", "SELECT " + nested("ABS(@)", "age", 1000) + " FROM people"
    yield "lambdas", "SELECT " + "x -> " * 3900 + " 1 FROM people"
    yield "arrows", "SELECT age" + " -> 'a'" * 2800 + " FROM people"
    yield "pipes", "SELECT age" + " || 'a'" * 2800 + " FROM people"
    yield "betweens", where("age" + " BETWEEN 1 AND 2" * 1200)
    yield "comparisons", where("age" + " = 1" * 4900)
    yield "likes", where("zip" + " LIKE 'a'" * 2000)
    yield "is", where("age" + " IS NULL" * 2400)
    yield "not in", where("age" + " NOT IN (1)" * 1700)
    yield "collate", where("zip" + " COLLATE a" * 1900 + " = 'a'")
    yield "at time zone", where("age" + " AT TIME ZONE 'a'" * 1100 + " = 'a'")
    yield "case words", "SELECT " + "CASE " * 3900 + "FROM people"
    yield "case when", "SELECT " + "CASE WHEN " * 1900 + "FROM people"
    yield "selects", "SELECT " * 2800
    yield "select parens", "SELECT (" * 2400
    yield "from parens", "SELECT COUNT(*) FROM " + "(" * full
    yield "joins", "SELECT COUNT(*) FROM people " + "JOIN people " * 1600
    yield "join words", "SELECT COUNT(*) FROM people " + "JOIN " * 3900
    yield "with", "WITH " * 3900
    yield "with recursive", "WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT COUNT(*) FROM t"
    yield "unions", "SELECT 1 UNION ALL " * 1000 + "SELECT 1"
    yield "statements", "SELECT 1;" * 2200
    yield "semicolons", ";" * full
    yield "comments", "SELECT COUNT(*) FROM people " + "/*" * (full // 2)
    yield "closed comments", "SELECT COUNT(*) FROM people " + "/**/" * (full // 4)
    yield "comments inside", "SELECT " + "/*a*/1," * 2800 + "COUNT(*) FROM people"
    yield "nested comments", "SELECT COUNT(*) FROM people " + "/*" * (full // 4) + "*/" * (full // 4)
    yield "line comments", "SELECT COUNT(*) FROM people" + "\n--a" * 4900
    yield "hints", "SELECT /*+ " + "a(" * 9000 + " */ COUNT(*) FROM people"
    yield "quotes", "SELECT COUNT(*) FROM people WHERE zip = '" + "''" * 9900
    yield "closed quotes", "SELECT COUNT(*) FROM people WHERE zip = '" + "''" * 9900 + "'"
    yield "dollars", "SELECT $$" + "$" * full
    yield "dollar tags", "SELECT " + "$a" * 9900
    yield "parameters", "SELECT " + "?," * 9900 + "1 FROM people"
    yield "names of parameters", "SELECT " + ":a " * 6000
    yield "backslashes", "SELECT e'" + "\\" * full
    yield "long name", f"SELECT {'a' * full} FROM people"
    yield "long table", f"SELECT COUNT(*) FROM {'a' * full}"
    yield "quoted name", 'SELECT "' + "a" * full + '" FROM people'
    yield "name of quotes", 'SELECT "' + '""' * 9900 + '" FROM people'
    yield "combining letters", "SELECT COUNT(*) AS a" + "\u0301" * full + " FROM people"
    yield "wide letters", "SELECT COUNT(*) AS " + "😀" * 150 + " FROM people"
    yield "other spaces", "SELECT\u2003COUNT(*)\u3000FROM\u00a0people"
    yield "right to left", "SELECT COUNT(*) AS \u202eabc FROM people"
    yield "letters of no width", "SELECT\u200b COUNT(*)\ufeff FROM people"
    yield "nul", "SELECT COUNT(*) FROM people WHERE zip = 'a\0b'"
    yield "half a letter", "SELECT COUNT(*) FROM people WHERE zip = '\ud800'"
    yield "half a letter as name", 'SELECT COUNT(*) AS "\udfff" FROM people'
    yield "spaces", "SELECT" + " " * full + "COUNT(*) FROM people"
    yield "lines", "SELECT" + "\n" * full + "COUNT(*) FROM people"
    yield "too long", "SELECT COUNT(*) FROM people " + " " * 50_000_000
    yield "empty", ""
    yield "nothing", None
    yield "bytes", b"SELECT COUNT(*) FROM people"
    yield "number", 7
    yield "list", ["SELECT COUNT(*) FROM people"]
    yield "mapping", {"sql": 1}
    yield "tabs", "\t" * full
    yield "stars", "SELECT " + "*" * full
    yield "minuses", "SELECT " + "-" * full
    yield "plusses", "SELECT " + "+" * full + "1 FROM people"
    yield "tildes", "SELECT " + "~" * full + "1 FROM people"
    yield "nots", "SELECT " + "NOT " * 4900
    yield "intervals", "SELECT " + "INTERVAL " * 2100
    yield "casts of words", "SELECT " + "CAST(" * 3900
    yield "types", "SELECT CAST(age AS " + "STRUCT(a " * 2100 + ") FROM people"
    yield "closed types", "SELECT CAST(age AS " + nested("STRUCT(a @)", "INT", 900) + ") FROM people"
    yield "arrays", "SELECT " + nested("[@]", "1", 900) + " FROM people"
    yield "distinct on", "SELECT DISTINCT ON (" * 1000
    yield "windows", "SELECT " + "COUNT(*) OVER (" * 1300
    yield "filter", "SELECT COUNT(*) " + "FILTER (WHERE " * 1300
    yield "within", "SELECT MODE() " + "WITHIN GROUP (ORDER BY " * 850
    yield "exists words", "SELECT COUNT(*) FROM people WHERE " + "EXISTS (" * 2400
    yield "grouping words", "SELECT COUNT(*) FROM people GROUP BY " + "ROLLUP (" * 2400
    yield "limit words", "SELECT COUNT(*) FROM people " + "LIMIT 1 " * 2400
    yield "create", "CREATE TABLE a AS " * 1000
    yield "pivots", "SELECT COUNT(*) FROM people " + "PIVOT (COUNT(*) FOR a IN (1)) " * 600
    yield "values", "SELECT * FROM (VALUES " + "(1)," * 4900 + "(1))"
    yield "lateral", "SELECT COUNT(*) FROM people, " + "LATERAL (" * 2100
    yield "unnest", "SELECT COUNT(*) FROM " + "UNNEST(" * 2800
    yield "json", "SELECT a" + ":a" * 9900 + " FROM people"
    yield "struct", "SELECT {'a': " * 2000
    yield "if", "SELECT " + "IF(" * 6000


def _asked() -> Iterator[Case]:
    """Numbers beside the text, and many texts at once."""
    one = "SELECT COUNT(*) FROM people WHERE age > ?"
    count = "SELECT COUNT(*) FROM people"
    for name, value in {
        "decimal": Decimal("1e-99999999"), "large decimal": Decimal("1e99999999"), "number": 10**100_000,
        "fraction": Fraction(1, 3**50_000), "tiny": 5e-324, "large": 1.7e308, "text": "x" * 10_000_000,
        "text of digits": "9" * 19_000, "infinity": float("inf"), "nan": Decimal("sNaN"), "object": object(),
        "half a letter": "\ud800", "nul": "\0", "complex": 1j, "list": [[1]] * 10, "bytes": b"a" * 10_000_000,
    }.items():  # fmt: skip
        yield Case(f"parameter: {name}", one, {"params": [value]})
    yield Case(
        "parameters: many",
        "SELECT COUNT(*) FROM people WHERE age IN (" + "?," * 1999 + "?)",
        {"params": list(range(2000))},
    )
    yield Case("parameters: too many", one, {"params": list(range(1_000_000))})
    yield Case("parameters: long name", one, {"params": {"a" * 10_000_000: 1}})
    yield Case(
        "parameters: texts", "SELECT COUNT(*) || ?" + " || ?" * 19 + " FROM people", {"params": ["x" * 999] * 20}
    )
    for name in ("epsilon", "within", "confidence", "delta"):
        for said, value in {
            "small": "1e-99999999", "large": "1e99999999", "decimal": Decimal("1e-99999999"), "long": "0." + "3" * 100_000,
            "large decimal": Decimal("1e99999999"), "quotient": "1/" + "3" * 900, "large quotient": "1e999/1e-999",
            "fraction": Fraction(1, 3**200_000), "number": 10**200_000, "percent": "1e-99999999%", "tiny": 5e-324,
            "near": "0." + "9" * 900, "exponents": "1e-9999", "object": object(), "spaces": " " * 10_000_000 + "1",
        }.items():  # fmt: skip
            yield Case(f"{name}: {said}", count, {name: value})
    yield Case("within: private keys", "SELECT zip, COUNT(*) FROM people GROUP BY zip", {"within": "0.001"})
    yield Case("within: relative", "SELECT AVG(age) FROM people", {"within": "0.01%"})
    yield Case("within: many", filters(60), {"within": "0.0001"})
    yield Case("within: quantiles", "SELECT QUANTILE(minutes, [0.1, 0.2, 0.5]) FROM visits", {"within": "1e-30"})
    yield Case("within: cube", f"SELECT COUNT(*) FROM visits GROUP BY CUBE ({SIX})", {"within": 3})
    yield Case("delta: private keys", "SELECT zip, COUNT(*) FROM people GROUP BY zip", {"delta": "1e-600"})
    questions = [f"SELECT COUNT(*) FROM people WHERE age > {n}" for n in range(1000)]
    yield Case("many: 1000", questions, by="explain_many")
    yield Case("many: 100", questions[:100], by="explain_many")
    yield Case("many: sums", [f"SELECT SUM(age + {n}) FROM people" for n in range(300)], by="explain_many")
    yield Case("many: a million", ["SELECT 1"] * 1_000_000, by="explain_many")
    yield Case("many: long", [filters(100)] * 40, by="explain_many")
    yield Case("many: patterns", [count] * 1000, {"params": {"a" * 200: 1}}, by="explain_many")


def hostile(seed: int) -> str:
    """A question of functions in functions, with large constants, above or below the aggregation."""
    chance = random.Random(seed)
    large = ["100000000", "1e-99999999", "999999999999", "'" + "ab" * 400 + "'", "1e30", "0.0000000001", "'%a%a%a'",
             "-2147483648", "9223372036854775807", "DATE '9999-12-31'", "INTERVAL 999999 DAY", "''", "NULL", "TRUE"]  # fmt: skip
    shapes = ["LPAD(@, 99999999, @)", "RPAD(@, 1000, @)", "REPLACE(@, @, @)", "@ || @", "CONCAT(@, @, @)", "POWER(@, @)",
              "ROUND(@, 999999999)", "CAST(@ AS TEXT)", "CAST(@ AS DOUBLE)", "@ * @", "@ / @", "@ + @", "@ % @",
              "CASE WHEN @ > @ THEN @ ELSE @ END", "COALESCE(@, @)", "GREATEST(@, @, @)", "REVERSE(@)", "UPPER(@)",
              "SUBSTRING(@, 1, 100000)", "LEFT(@, 99999999)", "LENGTH(@)", "@ LIKE '%a%b%'", "@ IN (@, @, @)",
              "SPLIT_PART(@, ',', 3)", "EXP(@)", "LN(@)", "DATE_TRUNC('year', @)", "@ BETWEEN @ AND @"]  # fmt: skip
    inside = chance.random() < 0.5
    leaves = (
        ["age", "zip", "height", "smoker", "income"] if inside else ["COUNT(*)", "SUM(age)", "AVG(height)", "MIN(age)"]
    )

    def tree(depth: int) -> str:
        if depth == 0 or chance.random() < 0.1:
            return chance.choice(leaves if chance.random() < 0.6 else large)
        parts = chance.choice(shapes).split("@")
        return (
            "(" + "".join(part + (tree(depth - 1) if n < len(parts) - 1 else "") for n, part in enumerate(parts)) + ")"
        )

    made = tree(chance.randint(2, 6))[:18_000]
    if not inside:
        return f"SELECT {made} FROM people"
    return f"SELECT COUNT(*) FROM people WHERE {made} = {made if chance.random() < 0.3 else 1}"


def cases() -> Iterator[Case]:
    """Every case, by its name."""
    for kind, made in {
        "texts": _texts,
        "numbers": _numbers,
        "shapes": _shapes,
        "joins": _joins,
        "words": _words,
    }.items():
        for name, sql in made():
            yield Case(f"{kind}: {name}", sql)
    yield from _asked()
    for case in _wide():
        yield replace(case, name=f"wide: {case.name}")
    for seed in range(5_000 if SOAK else 150):
        yield Case(f"random: {seed}", hostile(seed))


# ── a process that reads them ────────────────────────────────────────────────────────────────────────────────────


def outcome(curator: Curator, case: Case) -> str:
    """What came of a question: explained, refused, or what must not be."""
    try:
        getattr(unasked(curator), case.by)(case.sql, **case.how)
    except dp.Refusal as refusal:
        str(refusal)
        return f"refused {type(refusal).__name__}: {' '.join(str(refusal).split())[:100]}"
    except BaseException as problem:
        return f"broken {type(problem).__name__}: {str(problem)[:200]}"
    return "explained"


def grown() -> float:
    """The most memory that this process had since `forget`, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def size() -> int:
    """The addresses that this process has, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def alone(work: Callable[[], str], seconds: int, megabytes: int) -> dict[str, Any]:
    """What work says in a child that has only so much time and memory, and what it took."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the most memory is counted from here
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            most = size() + megabytes * MEGABYTE
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            before = grown()
            said = work()
            used = resource.getrusage(resource.RUSAGE_SELF)
            told = {"said": said, "seconds": used.ru_utime + used.ru_stime, "megabytes": grown() - before}
            os.write(writing, json.dumps(told).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read()
    _, status, used = os.wait4(child, 0)
    if said:
        return dict(json.loads(said))
    return {"said": f"broken: ended with {status}", "seconds": used.ru_utime + used.ru_stime, "megabytes": -1.0}


def main() -> None:
    """Read every case, or those with a word in their name."""
    folder, seconds, megabytes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    word = sys.argv[4] if len(sys.argv) > 4 else ""
    curator = clinic(folder)
    for warm in (
        "SELECT COUNT(*) + 1 FROM people",
        f"{filters(3)} GROUP BY sex",
        "SELECT COUNT(*) FROM people GROUP BY CUBE (sex, smoker)",
        "SELECT MEDIAN(age), zip FROM people GROUP BY zip",
    ):  # what is loaded when it is first needed
        curator.explain(warm)
    gc.freeze()
    for case in cases():
        if word in case.name:
            told = alone(lambda case=case: outcome(curator, case), seconds, megabytes)  # type: ignore[misc]
            print(json.dumps({"name": case.name, **told}), flush=True)


if __name__ == "__main__":
    main()
