"""Parse functions and operators that SQL writes in several ways, each into the one way that is known here."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.core.values.dates import Interval, interval, iso, midnight, whole_day
from discreet.errors import NotUnderstood, Refusal
from discreet.sql import query as q
from discreet.sql.allowlist import INSTEAD, PARTS_OF_DATES
from discreet.sql.multi_column import MAX_LISTED
from discreet.sql.parser.comparisons import COMPARISONS
from discreet.sql.parser.patterns import PATTERNS
from discreet.sql.parser.special import FunctionParser, Special, call, refuse_large, similar_function
from discreet.sql.types import TYPES

__all__ = ["SPECIAL", "filtered"]

MAX_BUCKETS = 10_000
MAX_DECIMAL = 38


def _unit(reader: FunctionParser, node: Any, unit: Any) -> q.Constant:
    """Return a part of a date, or a unit of time, by its internal name."""
    name = unit.name.lower() if isinstance(unit, (exp.Var, exp.Literal, exp.Column, exp.Identifier)) else ""
    name = PARTS_OF_DATES.get(name, PARTS_OF_DATES.get(name.removesuffix("s"), name.removesuffix("s")))
    return q.Constant(value=name, place=reader.place(node))


# ── dates ────────────────────────────────────────────────────────────────────────────────────────────────────────


def cast(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    """Parse CAST, and DATE '2024-01-31', which is one."""
    reader.only(node, "this", "to")
    target = node.args["to"]
    kind = TYPES.get(target.this.name if hasattr(target.this, "name") else "")
    digits = _decimal(reader, node) if target.is_type(exp.DType.DECIMAL) else ()
    kind = "decimal" if digits else kind
    if kind is None or (target.expressions and not digits):
        raise reader.refuse(
            node,
            "this type cannot be cast to.",
            "cast to INT, DOUBLE, DECIMAL(15, 2), TEXT, DATE or TIMESTAMP",
            code="not-answered",
        )
    inner = reader.expression(node.this, depth)
    if kind in ("date", "timestamp") and isinstance(inner.literal, (str, date)):
        value = iso(inner.literal) if isinstance(inner.literal, str) else inner.literal
        if value is None:
            raise reader.refuse(node, "this is no date.", "write DATE '2024-01-31'", NotUnderstood, code="not-a-date")
        return q.Constant(value=whole_day(value) if kind == "date" else midnight(value), place=reader.place(node))
    more = [q.Constant(value=each, place=reader.place(node)) for each in (kind, *digits)]
    return call(reader, node, "cast", inner, *more)


def _decimal(reader: FunctionParser, node: Any) -> tuple[int, int]:
    """Return how many digits DECIMAL(p, s) has in all, and after the point, of which doubles have at most 15."""
    said = [each.this.name for each in node.args["to"].expressions]
    whole, after = (int(each) if each.isdecimal() and len(each) < 3 else -1 for each in (*said, "0", "0")[:2])
    if not 1 <= whole <= MAX_DECIMAL or not 0 <= after <= whole:
        raise reader.refuse(
            node,
            f"DECIMAL(p, s) has p digits, at most {MAX_DECIMAL}, and s of them after the point.",
            "write DECIMAL(15, 2)",
            NotUnderstood,
            code="wrong-expression",
        )
    return whole, min(after, 15)


def _date(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    reader.only(node, "this")
    return cast(reader, exp.Cast(this=node.this, to=exp.DataType.build("DATE")), depth)


def _interval(reader: FunctionParser, node: Any, depth: int) -> q.Constant:
    reader.only(node, "this", "unit")
    amount, unit = node.this, node.args.get("unit")
    sign = -1 if isinstance(amount, exp.Neg) else 1
    amount = amount.this if isinstance(amount, (exp.Neg, exp.Paren)) else amount
    value = None
    if isinstance(amount, exp.Column):  # perhaps a parameter
        whole = reader.expression(amount, depth).literal
        amount = exp.Literal.string(str(whole)) if type(whole) is int else amount
    if isinstance(amount, exp.Literal) and (unit is None or isinstance(unit, exp.Var)):
        value = interval(str(amount.this), None if unit is None else unit.name)
    if value is None:
        raise reader.refuse(
            node,
            "this interval cannot be read.",
            "write INTERVAL 90 DAY, or day + n for n days",
            NotUnderstood,
            code="not-a-date",
        )
    return q.Constant(value=value if sign > 0 else -value, place=reader.place(node))


def _negative(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    reader.only(node, "this")
    inner = reader.expression(node.this, depth)
    if isinstance(inner.literal, Interval):
        return q.Constant(value=-inner.literal, place=reader.place(node))
    return call(reader, node, "negative", inner)


def _extract(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    reader.only(node, "this", "expression")
    part = _unit(reader, node, node.this)
    return call(reader, node, "extract", part, reader.expression(node.expression, depth))


def _part(name: str) -> Special:
    """Return the parser of YEAR(x) and the like, which are EXTRACT(YEAR FROM x)."""

    def read(reader: FunctionParser, node: Any, depth: int) -> q.Call:
        reader.only(node, "this")
        part = q.Constant(value=name, place=reader.place(node))
        return call(reader, node, "extract", part, reader.expression(node.this, depth))

    return read


def _trunc(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    reader.only(node, "this", "unit")
    return call(
        reader, node, "date_trunc", _unit(reader, node, node.args.get("unit")), reader.expression(node.this, depth)
    )


def _diff(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    """Parse DATE_DIFF('day', first, last)."""
    reader.only(node, "this", "expression", "unit", "date_part_boundary")
    first, last = reader.expression(node.expression, depth), reader.expression(node.this, depth)
    return call(reader, node, "date_diff", _unit(reader, node, node.args.get("unit")), first, last)


def _add(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    """Parse DATE_ADD(day, INTERVAL 1 MONTH)."""
    reader.only(node, "this", "expression")
    return call(reader, node, "+", reader.expression(node.this, depth), reader.expression(node.expression, depth))


def _now(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    raise reader.refuse(
        node,
        "the current date is not available: a question must mean the same whenever it is asked.",
        "write the day itself: DATE '2024-01-31'",
        code="not-answered",
    )


# ── texts and numbers ────────────────────────────────────────────────────────────────────────────────────────────


def _trim(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    """Parse TRIM, LTRIM and RTRIM; TRIM(LEADING 'x' FROM …) is one of them."""
    reader.only(node, "this", "expression", "position")
    names = {"LEADING": "ltrim", "TRAILING": "rtrim"}
    parts = [part for part in (node.this, node.args.get("expression")) if part is not None]
    name = names.get(str(node.args.get("position")).upper(), "trim")
    return call(reader, node, name, *(reader.expression(each, depth) for each in parts))


def _pad(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    reader.only(node, "this", "expression", "fill_pattern", "is_left")
    parts = [node.this, node.expression, node.args.get("fill_pattern") or exp.Literal.string(" ")]
    name = "lpad" if node.args.get("is_left") else "rpad"
    return call(reader, node, name, *(reader.expression(each, depth) for each in parts))


def _log(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    """Parse LOG10(x) and LOG2(x); LOG(x) is the former."""
    reader.only(node, "this", "expression")
    base, value = (node.this, node.expression) if node.args.get("expression") is not None else (None, node.this)
    name = {"None": "log10", "10": "log10", "2": "log2"}.get(str(base))
    if name is None:
        raise reader.refuse(
            node, "LOG has the base 10 or 2.", "write LN(x) / LN(3)", NotUnderstood, code="wrong-expression"
        )
    return call(reader, node, name, reader.expression(value, depth))


def _bucket(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    """Parse WIDTH_BUCKET(x, low, high, n): 0 below low, n + 1 from high on, and n steps of one width between them."""
    reader.only(node, "this", "min_value", "max_value", "num_buckets")
    what = reader.expression(node.this, depth)
    parts = [node.args.get(each) for each in ("min_value", "max_value", "num_buckets")]
    ends = [reader.expression(each, depth) for each in parts if each is not None]
    low, high, n = [_number(each) for each in ends] if len(ends) == 3 else [None] * 3
    if low is None or high is None or n is None or not low < high or n.denominator != 1 or not 1 <= n <= MAX_BUCKETS:
        raise reader.refuse(
            node,
            f"WIDTH_BUCKET takes constants: low, a higher one, and at most {MAX_BUCKETS:,} steps.",
            "write WIDTH_BUCKET(cost, 0, 1000, 20)",
            NotUnderstood,
            code="wrong-expression",
        )

    def constant(value: int | Fraction) -> q.Expression:
        return q.Constant(value=value, place=reader.place(node))

    steps = call(reader, node, "/", call(reader, node, "-", what, ends[0]), constant((high - low) / n))
    place = call(reader, node, "+", call(reader, node, "floor", steps), constant(1))
    inside = call(reader, node, "least", call(reader, node, "greatest", place, constant(1)), constant(int(n)))
    below, above = call(reader, node, "<", what, ends[0]), call(reader, node, ">=", what, ends[1])
    between = call(reader, node, "<", what, ends[1])
    found = call(reader, node, "case", below, constant(0), between, inside, above, constant(int(n) + 1))
    refuse_large(reader, node, found)
    return found


def _number(what: q.Expression) -> Fraction | None:
    """Return the value of a constant number, which may have a sign; None for other expressions."""
    if signed := what.operands("negative"):
        inner = _number(signed[0])
        return None if inner is None else -inner
    value = what.literal
    return Fraction(value) if isinstance(value, (int, Fraction)) and not isinstance(value, bool) else None


# ── aggregates ───────────────────────────────────────────────────────────────────────────────────────────────────


def filtered(reader: FunctionParser, node: Any, over: q.Aggregate, depth: int) -> q.Aggregate:
    """Parse AGG(x) FILTER (WHERE c) as AGG(CASE WHEN c THEN x END)."""
    reader.only(node, "this", "expression")
    reader.only(node.expression, "this")
    where = reader.expression(node.expression.this, depth)
    value = over.argument or q.Constant(value=1, place=over.place)
    chosen = q.Call(function="case", arguments=(where, value), place=reader.place(node))
    return replace(over, argument=chosen, place=reader.place(node))


def _count_if(reader: FunctionParser, node: Any, depth: int) -> q.Aggregate:
    """Parse COUNT_IF(c) as COUNT(CASE WHEN c THEN 1 END)."""
    reader.only(node, "this")
    where, place = reader.expression(node.this, depth), reader.place(node)
    chosen = q.Call(function="case", arguments=(where, q.Constant(value=1, place=place)), place=place)
    return q.Aggregate(function="count", argument=chosen, place=place)


def _ignoring_nulls(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    """Parse ANY_VALUE(x), which leaves out NULLs by itself; refuse IGNORE NULLS elsewhere."""
    if isinstance(node.this, exp.AnyValue):
        return reader.expression(node.this, depth)
    raise reader.refuse(node, "IGNORE NULLS is not supported.", "leave it out", code="not-answered")


# ── by their names ───────────────────────────────────────────────────────────────────────────────────────────────


def _anonymous(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    """Parse a function that sqlglot has no node for."""
    read = CALLED.get(str(node.this).upper())
    reader.only(node, "this", "expressions")
    return _unknown(reader, node) if read is None else read(reader, node, depth)


def _unknown(reader: FunctionParser, node: Any) -> q.Expression:
    name = str(node.this)[:40]
    said = f"`{name.upper()}` is not a supported function."
    raise reader.refuse(node, said, INSTEAD.get(name.lower()) or similar_function(name), code="unknown-function")


def _bound(function: str) -> Special:
    """Return the parser of QUANTILE_LOW(x, 0.5) and the like: one end of an interval around a quantile."""

    def read(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
        if len(node.expressions) != 2:
            said = f"write {function.upper()}(x, 0.5)"
            raise reader.refuse(
                node,
                f"{function.upper()} is of a column, and of a quantile.",
                said,
                NotUnderstood,
                code="wrong-expression",
            )
        of, at = node.expressions
        share = reader.share(node, at, descending=False)
        return q.Aggregate(
            function=function, argument=reader.expression(of, depth), more=(share,), place=reader.place(node)
        )

    return read


def _histogram(function: str) -> Special:
    """Return the parser of HISTOGRAM(x) and HISTOGRAM(x, [10, 20]); `multi_column.binned` has a column for each bin."""

    def read(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
        of, *given = node.expressions or [None]
        if of is None or len(given) > 1 or (function == "histogram_exact" and not given):
            raise _no_bins(reader, node, function)
        bins = [end for each in given for end in _ends(reader, node, each, function, depth)]
        return q.Aggregate(
            function=function, argument=reader.expression(of, depth), more=tuple(bins), place=reader.place(node)
        )

    return read


def _no_bins(reader: FunctionParser, node: Any, function: str) -> Refusal:
    said = f"{function.upper()} is of a column, and of a list of 1 to {MAX_LISTED} constants of one kind."
    return reader.refuse(
        node, said, f"write {function.upper()}(x, [10, 20, 50])", NotUnderstood, code="wrong-expression"
    )


def _ends(reader: FunctionParser, node: Any, listed: Any, function: str, depth: int) -> list[q.Constant]:
    """Return the constants of a list, or of RANGE(0, 100, 10), each once, in their order."""
    if isinstance(listed, exp.GenerateSeries):
        reader.only(listed, "start", "end", "step", "is_end_exclusive")
        parts = [listed.args.get(each) for each in ("start", "end", "step")]
        read = [1 if each is None else _number(reader.expression(each, depth)) for each in parts]
        first, last, step = (int(each) if each is not None and each == int(each) else 0 for each in read)
        turns = range(first, last + (not listed.args.get("is_end_exclusive")), max(step, 1))
        values: list[Any] = list(turns[: MAX_LISTED + 1]) if None not in read and step > 0 else []
    else:
        found = [reader.expression(each, depth) for each in getattr(listed, "expressions", ())[: MAX_LISTED + 1]]
        read = [_number(each) for each in found]
        values = [each.literal for each in found]
        values = values if None in read else read
    kinds, moments = {type(each) for each in values}, [iso(each) if isinstance(each, str) else None for each in values]
    known = len(kinds) == 1 and kinds <= {int, Fraction, str, date, datetime}
    if not known or not isinstance(listed, (exp.Array, exp.GenerateSeries)):
        raise _no_bins(reader, listed if isinstance(listed, exp.Array) else node, function)
    if len(values) > MAX_LISTED:
        raise reader.refuse(
            node,
            f"a histogram has at most {MAX_LISTED} bins, and these are more.",
            "write fewer; or SELECT WIDTH_BUCKET(x, 0, 100, 80) AS bin, COUNT(*) … GROUP BY bin",
            NotUnderstood,
            code="too-large",
        )
    by = dict(zip(values, values if None in moments else moments, strict=True))
    return [q.Constant(value=_plain(each), place=reader.place(node)) for each in sorted(by, key=lambda one: by[one])]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def _date_part(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    """Parse DATE_PART('year', x)."""
    if len(node.expressions) != 2:
        raise reader.refuse(
            node, "DATE_PART of what?", "write DATE_PART('year', day)", NotUnderstood, code="wrong-expression"
        )
    return _extract(reader, exp.Extract(this=node.expressions[0], expression=node.expressions[1]), depth)


def _one(name: str) -> Special:
    def read(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
        if len(node.expressions) != 1:
            return _unknown(reader, node)
        part = q.Constant(value=name, place=reader.place(node))
        return call(reader, node, "extract", part, reader.expression(node.expressions[0], depth))

    return read


def _bytes(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    """Parse STRLEN(s), how many bytes a text has."""
    if len(node.expressions) != 1:
        return _unknown(reader, node)
    return call(reader, node, "strlen", reader.expression(node.expressions[0], depth))


CALLED: dict[str, Special] = {
    "QUANTILE_LOW": _bound("quantile_low"),
    "QUANTILE_HIGH": _bound("quantile_high"),
    "HISTOGRAM": _histogram("histogram"),
    "HISTOGRAM_EXACT": _histogram("histogram_exact"),
    "STRLEN": _bytes,
    "DATE_PART": _date_part,
    "DATEPART": _date_part,
    "WEEKDAY": _one("dayofweek"),
    "ISOYEAR": _one("isoyear"),
    "YEARWEEK": _one("yearweek"),
    "DECADE": _one("decade"),
    "NOW": _now,
    "TODAY": _now,
}
SPECIAL: dict[type[exp.Expression], Special] = {
    **PATTERNS,
    **COMPARISONS,
    exp.IgnoreNulls: _ignoring_nulls,
    exp.Cast: cast,
    exp.TryCast: cast,
    exp.Date: _date,
    exp.Interval: _interval,
    exp.Neg: _negative,
    exp.Extract: _extract,
    exp.Year: _part("year"),
    exp.Quarter: _part("quarter"),
    exp.Month: _part("month"),
    exp.Week: _part("week"),
    exp.WeekOfYear: _part("week"),
    exp.Day: _part("day"),
    exp.DayOfMonth: _part("day"),
    exp.DayOfWeek: _part("dayofweek"),
    exp.DayOfWeekIso: _part("isodow"),
    exp.DayOfYear: _part("dayofyear"),
    exp.Hour: _part("hour"),
    exp.Minute: _part("minute"),
    exp.Second: _part("second"),
    exp.TimestampTrunc: _trunc,
    exp.DateTrunc: _trunc,
    exp.DateDiff: _diff,
    exp.DateAdd: _add,
    exp.CurrentDate: _now,
    exp.CurrentTime: _now,
    exp.CurrentTimestamp: _now,
    exp.Trim: _trim,
    exp.Pad: _pad,
    exp.Log: _log,
    exp.WidthBucket: _bucket,
    exp.CountIf: _count_if,
    exp.Anonymous: _anonymous,
}
