"""Questions in text files, each with the plan it must become or the refusal it must get.

A block of `fixtures/*.txt` is a question, perhaps with lines that say how it is asked, then `----`, then what must come
of it, then `====`:

    # a remark
    SELECT sex, COUNT(*) FROM visits GROUP BY sex
    epsilon 0.5
    neighbours replace
    budget pure
    ----
    …
    ====

To add one, write the question, and an empty second half; DISCREET_WRITE_FIXTURES=1 pytest
tests/plan/compile/test_fixtures.py fills it in. Then read what was written: it is from now on what must be.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import discreet as dp
from discreet.answers.explanation import Explanation
from discreet.catalogue import toml
from discreet.core.mechanism import Then
from discreet.core.reach import Reach
from discreet.core.text import show
from discreet.core.values.dates import Interval
from discreet.curator.curator import Curator
from discreet.curator.history import History
from discreet.engines.duckdb.files import open_path
from discreet.kernel.expressions import Apply, Field, Literal
from discreet.kernel.plan import Key
from discreet.kernel.relations import Join, PerUnit, Projection, UnionAll, UnitLimit, UnitWindow
from discreet.ledger.ledger import Ledger
from discreet.mechanisms.quantiles.extreme import Extreme
from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.selection.mode import Modes
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.mechanisms.threshold import GaussianThreshold
from discreet.plan.draft import Composite, Draft, Staged
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.distinct import Distinct
from discreet.plan.measures.grouping_sets import GroupingSets
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.mode import Mode
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.quantile_interval import QuantileInterval
from discreet.plan.measures.quantiles import Extremes, QuantileMeasure
from discreet.plan.measures.sums import Sums
from discreet.plan.measures.top_k import TopK
from discreet.plan.plan import Plan
from discreet.plan.terms import read_terms
from discreet.postprocess.query import write
from discreet.procedures.batch import explain_drafts
from discreet.sql import query as q
from support.engines import curator_of

FOLDER = Path(__file__).parents[1] / "fixtures"
SAID = re.compile(r"(epsilon|delta|within|confidence|neighbours|budget|params) (.+)")
SPLIT, END = "----", "===="


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Block:
    """One question and what must come of it."""

    file: str
    line: int
    head: str  # as written, with its remarks
    sql: str
    said: dict[str, str]
    expected: str

    @property
    def title(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def answered(self) -> bool:
        """Whether it must not be refused."""
        return not self.expected.startswith("Not")

    @property
    def which(self) -> tuple[str, str]:
        """Of which clinic it is asked: its neighbours and its budget."""
        return self.said.get("neighbours", "add-remove"), self.said.get("budget", "both")

    @property
    def wanted(self) -> dict[str, Any]:
        """How it is asked."""
        wanted: dict[str, Any] = {key: value for key, value in self.said.items() if key not in ("neighbours", "budget")}
        if "params" in wanted:
            wanted["params"] = ast.literal_eval(wanted["params"])
        return wanted if "within" in wanted else {"epsilon": "1"} | wanted


def blocks() -> list[Block]:
    """All of them."""
    return [each for path in sorted(FOLDER.glob("*.txt")) for each in _blocks(path)]


def _blocks(path: Path) -> Iterator[Block]:
    lines, line = path.read_text("utf-8").split("\n"), 1
    while END in lines:
        size = lines.index(END)
        piece, lines = lines[:size], lines[size + 1 :]
        cut = piece.index(SPLIT) if SPLIT in piece else size
        head, expected = piece[:cut], piece[cut + 1 :]
        start = next(i for i, each in enumerate(head) if each and not each.startswith("# "))
        stop = len(head)
        while SAID.fullmatch(head[stop - 1]):
            stop -= 1
        said = dict(SAID.fullmatch(each).groups() for each in head[stop:])
        sql = "\n".join(head[start:stop])
        yield Block(path.name, line + start, "\n".join(head), sql, said, "\n".join(expected))
        line += size + 1


def rewrite(found: dict[str, str]) -> None:
    """Put what came of each question in place of what was expected."""
    for path in sorted(FOLDER.glob("*.txt")):
        text = "".join(
            f"{each.head}\n{SPLIT}\n{found.get(each.title, each.expected)}\n{END}\n" for each in _blocks(path)
        )
        path.write_text(text, "utf-8")


# ── the clinic ───────────────────────────────────────────────────────────────────────────────────────────────────


def make(folder: Path) -> Path:
    """Data for the catalogue, a few rows for each table; returns the folder they are in."""
    data = folder / "data"
    data.mkdir()
    n = range(12)
    tables = {
        "people": {
            "age": [i * 10 for i in n], "sex": ["FMX"[i % 3] for i in n], "smoker": [i % 2 == 0 for i in n],
            "height": [1.5 + i / 50 for i in n], "weight": [60.5 + i for i in n], "income": [1000.0 * i for i in n],
            "zip": [f"1{i % 2}" for i in n], "born": [1950 + i for i in n], "score": [i - 6 for i in n],
            "größe": [1 + i % 5 for i in n],
        },
        "visits": {
            "patient_id": [i // 3 for i in n], "age": [30 + i for i in n], "sex": ["FMX"[i % 3] for i in n],
            "ward": [["W0", "W1", "O'Neill"][i % 3] for i in n], "storey": [[-1, 0, 2][i % 3] for i in n],
            "night": [i % 2 == 0 for i in n], "urgent": [i % 5 == 0 for i in n], "cost": [12.5 * i for i in n],
            "fever": [36.5 + i / 5 for i in n], "balance": [10 * i - 60 for i in n], "fee": [1.5 * i for i in n],
            "nurse": [f"n{i % 2}" for i in n], "code": [i % 2 for i in n], "minutes": [5 + i for i in n],
        },
        "stays": {
            "Person Nr": [i // 2 for i in n], "days": [3 * i for i in n], "kind": [["day", "night"][i % 2] for i in n],
        },
        "labs": {
            "patient_id": [i // 2 for i in n], "level": [i / 8 - 0.75 for i in n], "test": ["ab"[i % 2] for i in n],
        },
        "wards": {"ward": ["W0", "W1"]},
        "patients": {
            "patient_id": list(n), "born": [1950 + i for i in n], "zip": [f"1{i % 2}" for i in n],
        },
        "bills": {
            "bill": [i // 2 for i in n], "patient_id": [i // 4 for i in n], "paid": [i % 2 == 0 for i in n],
        },
        "lines": {
            "bill": [i // 3 for i in n], "amount": [2.5 * i for i in n], "item": [["bed", "drug"][i % 2] for i in n],
        },
        "towns": {
            "zip": ["10", "11", "12"], "town": ["Aa", "Bb", "Cc"], "people": [1000, 500, 20], "region": ["N", "S", "S"],
        },
        "regions": {"region": ["N", "S"], "country": ["X", "X"]},
        "shops": {
            "zip": ["10", "11", "11", "11", None], "kind": ["A", "A", "B", "B", "C"], "size": [1, 2, 3, 4, 5],
        },
        "sales": {
            "patient_id": [i // 4 for i in n], "nr": [i // 2 for i in n], "item": ["ab"[i % 2] for i in n],
            "price": [5 * i for i in n],
        },
        "returns": {
            "nr": [i // 2 for i in n], "item": ["ab"[i % 2] for i in n], "reason": [["late", "torn"][i % 2] for i in n],
        },
        "letters": {"sale": [i // 2 for i in n], "pages": list(n)},
        "tours": {
            "guest": [i // 2 for i in n], "day": [date(2024, 1, 1) + timedelta(days=30 * i) for i in n],
            "born": [date(1950 + i % 2, 5, 17) for i in n], "holiday": [date(2024, 12, 24 + i % 3) for i in n],
            "paid": [datetime(2024, 3, 3, 12 + i) for i in n], "seen": [datetime(2024, 1, 1, 12) for i in n],
            "zone": ["north", "south"] * 6, "note": [f"2024-0{1 + i % 3}-0{1 + i % 2}" for i in n],
            "grade": [["a-1", "b-2", "B-10"][i % 3] for i in n], "price": [7.5 * i for i in n], "n": [i % 5 for i in n],
        },
        "donors": {
            "donor": [i // 3 for i in n], "blood": [["A", "B", "0", None][i % 4] for i in n],
            "age": [[18, None, 20][i % 3] for i in n], "born": [[date(2000, 1, 2), None][i % 2] for i in n],
            "first": [[True, False, None][i % 3] for i in n], "litres": [[0.5, None][i % 2] for i in n],
            "city": [["Aa", "Cc", None][i % 3] for i in n], "door": [i % 4 for i in n],
            "zip": [["10", "11", None][i % 3] for i in n], "kind": [["whole", "plasma"][i % 2] for i in n],
        },
        "trips": {
            "rider": [i // 4 for i in n], "line": [[1, 2, 3, 5][i % 4] for i in n], "place": [f"p{i % 3}" for i in n],
        },
    }  # fmt: skip
    for name, columns in tables.items():
        pyarrow.parquet.write_table(pa.table(columns), data / f"{name}.parquet")
    return data


def clinic(data: Path, neighbours: str = "add-remove", budget: str = "both") -> Curator:
    """The curator of the clinic. A `pure` budget has no δ; an `open` one is larger than any question's cost."""
    said = toml.read(FOLDER / "catalogue.toml")
    amounts = {
        "both": said.budget,
        "pure": dp.Budget(epsilon=said.budget.epsilon),
        "open": dp.Budget(epsilon=10**6, delta="0.5"),
    }
    said = replace(said, neighbours=neighbours, budget=amounts[budget], ledger=None)
    source = open_path(data, [each.name for each in said.tables])
    return curator_of(said, source, _ledger(said))


def unasked(curator: Curator) -> Curator:
    """The curator with a ledger as new, so that no question leaves less room for another."""
    curator.ledger = _ledger(curator.catalogue)
    curator._history = History(curator.ledger, curator.catalogue.name)
    return curator


def _ledger(said: toml.Catalogue) -> Ledger:
    return Ledger(None, dataset=said.name, budget=said.budget, neighbours=said.neighbours, unit=said.unit)


def outcome(curator: Curator, block: Block) -> str:
    """What comes of a question, in words."""
    try:
        explained = curator.explain(block.sql, **block.wanted)
        whole = curator.worked(block.sql, block.wanted.get("params"))[0]
        if whole.staged is not None:
            return staged_text(curator, whole.staged, block.wanted)
        question = whole.composite
        return plan_text(explained) if question is None else composite_text(curator, question, block.wanted)
    except dp.Refusal as refusal:
        return f"{type(refusal).__name__}\n{refusal}"


def composite_text(curator: Curator, question: Composite, wanted: dict[str, Any]) -> str:
    """A question that is made of several: the plan of each, what is read of public tables, and what is above."""
    said = {name: value for name, value in wanted.items() if name != "params"}
    terms = read_terms(**{"epsilon": None, "within": None, "confidence": "0.95", "delta": None, "default": None} | said)
    parts = explain_drafts(question.drafts, terms, curator.session().context())[0]
    lines = [f"r{n}: {plan_text(each)}".replace("\n", "\n  ") for n, each in enumerate(parts)]
    lines += [f"p{n}: {each.sql}" for n, each in enumerate(question.tables)]
    shown = re.sub("\x01|\x02", "§", write(question.view))
    return "\n".join(["nothing is bought" if question.free else f"{len(parts)} questions", *lines, f"above {shown}"])


def staged_text(curator: Curator, question: Staged, wanted: dict[str, Any]) -> str:
    """A question of two rounds: the plans of both, the second with assumed answers of the first."""
    said = {name: value for name, value in wanted.items() if name != "params"}
    terms = read_terms(**{"epsilon": None, "within": None, "confidence": "0.95", "delta": None, "default": None} | said)
    parts = iter(explain_drafts(question.inner, terms, curator.session().context())[0])
    first = [plan_text(next(parts)) for each in question.first for _ in each.inner]
    second = [plan_text(each) for each in parts]
    lines = [
        f"{name}: {each}".replace("\n", "\n  ") for name, some in (("first", first), ("then", second)) for each in some
    ]
    return "\n".join(["two rounds", *lines])


# ── plans in words ───────────────────────────────────────────────────────────────────────────────────────────────


def plan_text(explained: Explanation) -> str:
    """All of a plan: who counts how much, which rows, which groups, which sums with which noise, and what is shown."""
    draft, plan = explained.draft, explained.plan
    lines = [_unit(plan)]
    lines += [] if plan.where is None else [f"where {words(plan.where)}"]
    lines += [f"key {n} {_key(key)}" for n, key in enumerate(plan.keys)]
    if plan.listed is not None:
        groups = ["(" + ", ".join(_number_or_text(each) for each in group) + ")" for group in plan.groups[:6]]
        more = ", …" if len(plan.groups) > len(groups) else ""
        lines.append(f"groups {len(plan.groups)}: {', '.join(groups)}{more}")
    sets = ", ".join(f"({', '.join(map(str, each))})" for each in draft.sets)
    lines += [f"grouped by {sets}"] if draft.sets else []
    lines += [] if plan.naming is None else [f"naming {_naming(plan.naming)}"]
    for n, (measure, noise) in enumerate(zip(plan.measures, plan.mechanisms, strict=True)):
        lines.append(f"measure {n} {_measure(measure)}")
        lines.append(f"  {_noise(noise)}")
    lines += [f"cost {plan.loss}"]
    return "\n".join([*lines, *_view(draft.view, draft)])


def _number_or_text(value: object) -> str:
    return repr(value) if isinstance(value, str) else str(value)


def _unit(plan: Plan) -> str:
    caps = plan.caps
    most = "every row is a unit" if caps.unit is None else f"unit {caps.unit}, rows {caps.rows}, groups {caps.groups}"
    return f"table {relation_words(plan.table)}, {most}"


def relation_words(relation: Any) -> str:
    """Where rows come from."""
    if isinstance(relation, str):
        return relation
    if isinstance(relation, Join):
        return "(" + " ".join(_part(each) for each in relation.parts) + ")"
    if isinstance(relation, UnitLimit):
        return f"({relation.most} rows of each {relation.unit} in {relation_words(relation.source)})"
    if isinstance(relation, UnitWindow):
        made = ", ".join(map(_window, relation.windows))
        return f"({made} over the rows of each {relation.unit} in {relation_words(relation.source)})"
    if isinstance(relation, UnionAll):
        return "(" + " and ".join(relation_words(each) for each in relation.parts) + ")"
    where = "" if relation.where is None else f" where {words(relation.where)}"
    if isinstance(relation, Projection):
        made = ", ".join(f"{each.name} = {words(each.tree)}" for each in relation.columns)
        return f"({made} of {relation.called or 'rows'} = {relation.unit} in {relation_words(relation.source)}{where})"
    assert isinstance(relation, PerUnit)
    keys = "".join(f", {each.name} = {words(each.tree)}" for each in relation.keys)
    found = [f"{each.name} = {each.function}{_within(each)}" for each in relation.totals]
    totals = ", ".join(found) or "nothing"
    return f"({totals} for each {relation.called} = {relation.unit}{keys} in {relation_words(relation.source)}{where})"


def _window(window: Any) -> str:
    value, rows = window.value, ("row_number", "rank", "dense_rank")
    said = f"{value.name} = {value.function}"
    if value.unit_aggregates:
        said += _within(value)
    elif value.function not in rows:
        said += f" of {words(value.of)}" + (f" by {value.offset}" if value.function in ("lag", "lead") else "")
        said += "" if value.default is None else f" or {words(value.default)}"
    said += "".join(f" within {words(each)}" for each in window.by)
    for each in window.order:
        down, first = " descending" * each.descending, ", NULL first" * each.nulls_first
        said += f" by {words(each.by)}{down}{first}"
    if window.frame is not None:
        ends = ["all" if each is None else str(each) for each in window.frame]
        said += f" from {ends[0]} to {ends[1]}"
    return said


def _within(total: Any) -> str:
    of = "" if total.of is None else f" of {words(total.of)}"
    if total.function in ("sum", "avg"):
        of += f" from {_number(total.low * total.step)} to {_number(total.high * total.step)} by {_number(total.step)}"
    return of + ("" if total.most is None else f", {total.most} rows")


def _part(part: Any) -> str:
    said = relation_words(part.source)
    renamed = [f"{name} as {outer}" for name, outer in part.names if name != outer]
    said += f" ({', '.join(renamed)})" if renamed else ""
    said += f", one for each {', '.join(part.single)}," if part.single else ""
    return said if part.on is None else f"{part.how} {said} on {words(part.on)}"


def _key(key: Key) -> str:
    if key.null:
        return _key(replace(key, null=False)) + ", or NULL"
    if key.span is not None:
        return f"{words(key.tree)} from {key.domain[0]} to {key.domain[-1]}"
    if key.values is not None:
        return f"{words(key.tree)} in {', '.join(_constant(each) for each in key.values)}"
    return f"{words(key.tree)}, private {key.kind}"


def _naming(rule: Any) -> str:
    if isinstance(rule, GaussianThreshold):
        return f"by Gaussian noise, ρ = {show(rule.rho)}, δ = {show(rule.delta)}, {rule.keys} keys of a unit"
    return f"by the optimal rule, ε = {show(rule.epsilon)}, δ = {show(rule.delta)}, {rule.keys} keys of a unit"


def _noise(noise: Any) -> str:
    if isinstance(noise, Quantiles):
        ranks = ", ".join(show(each, 6) for each in noise.error.rank())
        return f"by halves, ε = {show(noise.epsilon)}, {noise.records} rows of a unit; ranks within {ranks}"
    if isinstance(noise, QuantileIntervalMechanism):
        within = f"beyond by {noise.error.beyond()}, within {noise.error.within()}"
        return f"shift {noise.shift}, ε = {show(noise.epsilon)}, {noise.records} rows of a unit; {within}"
    if isinstance(noise, Extreme):
        return f"rank {noise.rank}, ε = {show(noise.epsilon)}, {noise.records} rows of a unit"
    if isinstance(noise, (Modes, TopKRanking)):
        kind = type(noise.choose).__name__ + (", monotone" if noise.choose.monotone else "")
        said = f"{kind}, ε = {show(noise.choose.epsilon)}, sensitivity {show(noise.choose.sensitivity)}"
        return said + (f"; gap {show(noise.error.gap(), 6)}" if isinstance(noise, TopKRanking) else "")
    if isinstance(noise, Then):
        return "; ".join(f"reach {_reach(part.reach)}; {part.law}" for part in noise.mechanism.parts)
    return f"reach {_reach(noise.reach)}; {noise.law}"


def _reach(reach: Reach) -> str:
    return f"l1 {show(reach.l1, 12)}, l2² {show(reach.l2_squared, 12)}"


def _measure(measure: Measure) -> str:
    if isinstance(measure, TopK):
        return f"the {'last' if measure.least else 'first'} {measure.k} of {measure.among} by {_measure(measure.score)}"
    if isinstance(measure, GroupingSets):
        tables = ", ".join(
            f"{w} × ({', '.join(map(str, t))})" for t, w in zip(measure.tables, measure.weights, strict=True)
        )
        return f"{_measure(measure.of)}, by {tables}"
    if isinstance(measure, CountBatch):
        rows, cells = measure.strategy.shape[0], measure.strategy.cells
        return f"{rows} combinations of {cells} regions: {', '.join(measure.values)} of {words(measure.of)}"
    said = ", ".join(measure.parts)
    if isinstance(measure, Mode):
        return f"mode of {words(measure.of)} in {', '.join(_constant(each) for each in measure.values)}"
    if isinstance(measure, (QuantileMeasure, Extremes, QuantileInterval)):
        return f"{said} of {words(measure.of)}{_range(measure.low, measure.high, measure.step)}"
    if isinstance(measure, Distinct):
        return f"distinct {words(measure.of)}"
    if isinstance(measure, Moments):
        each = zip(measure.of, measure.low, measure.high, measure.step, strict=True)
        return f"moments {said} of {' and '.join(f'{words(of)}{_range(*ends)}' for of, *ends in each)}"
    assert isinstance(measure, Sums)
    said += "" if measure.of is None else f" of {words(measure.of)}"
    return said + (_range(measure.low, measure.high, measure.step) if measure.summed else "")


def _range(low: int, high: int, step: Fraction) -> str:
    return f" from {_number(low * step)} to {_number(high * step)} by {_number(step)}"


def _view(view: q.Select, draft: Draft) -> list[str]:
    """What is computed from the released numbers, SELECT by SELECT from the inside."""
    lines = _view(view.source, draft) if isinstance(view.source, q.Select) else []
    read = {f"k{n}": f"key {n}" for n in range(len(draft.keys))}
    read |= {f"g{n}": f"grouping({n})" for n in range(len(draft.keys))}
    read |= {f"a{n}": f"{each.statistic} of {each.measure}" for n, each in enumerate(draft.readings)}
    names = {} if isinstance(view.source, q.Select) else read
    shown = "; ".join(f"{item.name} = {words(item.what, names)}" for item in view.items)
    lines.append(f"answer {'distinct ' if view.distinct else ''}{shown}")
    lines += [] if view.where is None else [f"  where {words(view.where, names)}"]
    lines += [f"  group by {', '.join(words(each, names) for each in view.keys)}"] if view.keys else []
    for name, clause in (("having", view.having), ("qualify", view.qualify)):
        lines += [] if clause is None else [f"  {name} {words(clause, names)}"]
    lines += [f"  order by {_order(view.order, names)}"] if view.order else []
    lines += [] if view.limit is None else [f"  limit {view.limit}"]
    return lines + ([] if view.offset is None else [f"  offset {view.offset}"])


def _order(order: tuple[q.Order, ...], names: dict[str, str]) -> str:
    said = [
        words(each.by, names) + (" desc" if each.descending else "") + (" nulls first" if each.nulls_first else "")
        for each in order
    ]
    return ", ".join(said)


def words(what: Any, names: dict[str, str] | None = None) -> str:
    """An expression, below or above the aggregation."""
    if isinstance(what, (Field, q.Name)):
        known = (names or {}).get(what.name)
        return f"({known})" if known else what.name
    if isinstance(what, (Literal, q.Constant)):
        return _constant(what.value)
    if isinstance(what, (Apply, q.Call)):
        said = [words(each, names) for each in what.arguments]
        if isinstance(what, Apply) and what.function == "cast":
            said.append(what.kind)
        return f"({said[0]} {what.function} {said[1]})" if len(said) == 2 and not what.function.isalpha() else (
            f"{what.function}({', '.join(said)})"
        )  # fmt: skip
    if isinstance(what, q.Aggregate):
        inner = "*" if what.argument is None else ", ".join(words(each, names) for each in (what.argument, *what.more))
        return f"{what.function}({'distinct ' if what.distinct else ''}{inner})"
    if isinstance(what, q.Window):
        over = [f"partition by {', '.join(words(each, names) for each in what.partition)}"] if what.partition else []
        over += [f"order by {_order(what.order, names)}"] if what.order else []
        over += [" to ".join(what.frame[1:])] if what.frame else []
        inner = ", ".join(words(each, names) for each in what.arguments)
        return f"{what.function}({inner}) over ({' '.join(over)})"
    raise TypeError(what)


def _constant(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, (date, Interval)):
        return str(value)
    return _number(Fraction(value))


def _number(value: Fraction) -> str:
    """Exact: a whole number, a decimal, or a fraction."""
    value = Fraction(value)
    places = next((n for n in range(25) if (value * 10**n).denominator == 1), None)
    if places is None:
        return str(value)
    digits = str(abs(value.numerator * 10**places // value.denominator)).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
