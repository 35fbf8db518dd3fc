"""The curator: five lines between analysts and people.

query   = parse(sql)                            may refuse, sees no data
draft   = compile(query, catalogue)             may refuse, sees no data
receipt = ledger.spend(plan)                    may refuse; durable before it returns
exact   = engine.aggregate(plan, receipt)       sees data, cannot refuse
plan.release(exact)                             adds noise, cannot refuse
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number
from discreet.core.loss import Budget, Loss
from discreet.core.reach import Neighbours, neighbourhood
from discreet.engines.duck import DuckDB
from discreet.engines.source import Source, open_frame, open_path
from discreet.errors import BudgetExceeded, NotUnderstood
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt
from discreet.ledger.state import Left
from discreet.plan import automatic, schema
from discreet.plan import catalogue as catalogues
from discreet.plan.answer import Answer, Heard, rehearse
from discreet.plan.compile import Draft, compile
from discreet.plan.explain import Explanation
from discreet.plan.kept import kept, read
from discreet.plan.margin import enough, next_cost
from discreet.plan.plan import Plan, Released
from discreet.plan.price import Want, least_cost, plans_for, reachable, want
from discreet.plan.schema import Catalogue, Table
from discreet.sql.parse import parse

__all__ = ["Curator", "open"]

Progress = Callable[[int, int], None]
REMEMBERED = 200  # questions whose meaning is remembered


class Curator:
    """Holds data about people, and answers questions about them so that no answer depends much on any one."""

    def __init__(self, catalogue: Catalogue, source: Source, ledger: Ledger, *, coins: Coins = SYSTEM) -> None:
        self.engine = DuckDB(source, catalogue.name)
        self.ledger, self._coins = ledger, coins
        tables = tuple(each.stored(source.stored[each.name]) for each in catalogue.tables)
        self.catalogue = replace(catalogue, tables=tables)
        self._assumed = automatic.assumed(self.catalogue)
        self._drafts: dict[str, Draft] = {}

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        marks: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        reading: Progress | None = None,
    ) -> Curator:
        """The curator of a catalogue file: its tables, its budget, its analysts, its ledger.

        `progress` is told how many entries of the ledger are read, `reading` how many bytes of a CSV file.
        """
        read = catalogues.Reader(Path(path))
        catalogue = read.catalogue()
        with read.at("dataset", "source"):
            source = open_path(_path(catalogue), [each.name for each in catalogue.tables], reading)
        catalogue = read.fitted(catalogue, source.stored)
        return cls(catalogue, source, _ledger(catalogue, marks=marks, progress=progress))

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        analyst: str = "",
    ) -> Answer:
        """Answer a question, for a cost `epsilon` or at the least cost for a margin `within`; the same again is free.

        `within=25` means ±25 for every number, `within="2%"` relative to it, at this confidence; then `epsilon` is the
        most that may be spent. `delta` is what naming private keys may cost, by default the same share of the budget's
        as of its ε.
        """
        wanted = want(epsilon=epsilon, within=within, confidence=confidence, delta=delta, default=None)
        draft = self._draft(sql)
        reachable(draft, wanted)
        if automatic.wanted_bounds(draft):
            return self._with_bounds(sql, draft, wanted, analyst)
        if wanted.within is None or not _depends(draft, wanted):
            return self._answer(draft, self._plans(draft, wanted), wanted, analyst)
        return self._closer(draft, wanted, analyst)

    def explain(
        self,
        sql: str,
        *,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        analyst: str = "",
    ) -> Explanation:
        """What asking would cost and how exact the answer would be. Free, and the same for any data.

        Without a cost or a margin, for a tenth of the budget.
        """
        tenth = self.catalogue.budget.epsilon / 10
        wanted = want(epsilon=epsilon, within=within, confidence=confidence, delta=delta, default=tenth)
        draft = self._draft(sql)
        reachable(draft, wanted)
        remarks: tuple[str, ...] = ()
        if automatic.wanted_bounds(draft):
            part, wanted = automatic.divided(draft, wanted)
            remarks = automatic.foretold(draft, part)
        if wanted.within is not None and _depends(draft, wanted):
            remarks = (
                "The margin depends on the data: asking starts with this cost, and spends more until it is reached.",
            )
            plans = plans_for(draft, self._first(wanted), wanted.delta)
        else:
            plans = self._plans(draft, wanted)
        left = self.ledger.left_to(analyst)
        plan = next((each for each in plans if _fits(each.loss, left)), plans[0])
        if plan.loss.pure is None:
            remarks += ("It buys Gaussian noise: from then on ρ counts, and what is left of ε does not.",)
        return Explanation(
            draft, plan, wanted.confidence, str(left), self.engine.sql(plan), _fits(plan.loss, left), remarks
        )

    def _draft(self, sql: str) -> Draft:
        """What a text asks; the last few are remembered."""
        draft = self._drafts.get(sql) if isinstance(sql, str) else None
        if draft is None:
            draft = compile(parse(sql), self._assumed)
            rehearse(draft)
            if len(self._drafts) >= REMEMBERED:
                self._drafts.clear()
            self._drafts[sql] = draft
        return draft

    def _plans(self, draft: Draft, wanted: Want) -> tuple[Plan, ...]:
        if wanted.within is not None:
            cost = least_cost(draft, wanted)
            if wanted.epsilon is not None and cost > wanted.epsilon:
                raise NotUnderstood(
                    f"that margin costs ε = {float(cost):g}, more than was allowed.",
                    instead="allow more, or a wider one",
                )
            return plans_for(draft, cost, wanted.delta)
        assert wanted.epsilon is not None
        return plans_for(draft, wanted.epsilon, wanted.delta)

    def _answer(self, draft: Draft, plans: tuple[Plan, ...], wanted: Want, analyst: str) -> Answer:
        """What was released for the first plan that fits, as an answer."""
        plan, receipt, released = self._released(plans, analyst)
        remarks = () if self.ledger.durable else ("The ledger is in memory only: it is gone with this process.",)
        heard = Heard(receipt.cost, self.ledger.left_to(analyst), receipt, remarks)
        return Answer.of(draft, plan, released, wanted.confidence, heard)

    def _released(self, plans: tuple[Plan, ...], analyst: str) -> tuple[Plan, Receipt, Released]:
        """Spend, then look; what was released is kept before it is shown. The first plan that fits is run."""
        self.engine.check(plans[0])
        version = self.engine.version()
        plan, receipt = self._spend(plans, version, analyst)

        def look() -> bytes:
            paid, exact = self.engine.aggregate(plan, receipt, version, self._coins)
            return kept(paid.release(exact, self._coins))

        return plan, receipt, read(self.ledger.answer(receipt, look))

    def _with_bounds(self, sql: str, draft: Draft, wanted: Want, analyst: str) -> Answer:
        """Find upper bounds first, each for its part of the cost, then ask with them for the rest."""
        columns, catalogue, spent, said = automatic.wanted_bounds(draft), self._assumed, Loss.ZERO, list[str]()
        part, rest = automatic.divided(draft, wanted)
        for column in columns:
            plan, receipt, released = self._released((automatic.plan_of(draft, column, part),), analyst)
            high = automatic.bound_of(plan, released)
            catalogue = automatic.bounded(catalogue, draft.table.name, column.name, high)
            spent, said = spent + receipt.cost, [*said, automatic.found_said(column, high, part)]
        draft = compile(parse(sql), catalogue)
        rehearse(draft)
        answer = self._answer(draft, self._plans(draft, rest), rest, analyst)
        heard = replace(answer.heard, cost=spent + answer.cost, remarks=(*said, *answer.heard.remarks))
        return replace(answer, heard=heard)

    def _spend(self, plans: tuple[Plan, ...], version: str, analyst: str) -> tuple[Plan, Receipt]:
        refused: BudgetExceeded | None = None
        for plan in plans:
            try:
                return plan, self.ledger.spend(plan, analyst=analyst, key=plan.key, version=version)
            except BudgetExceeded as refusal:
                refused = refused or refusal
        assert refused is not None
        raise refused

    def _closer(self, draft: Draft, wanted: Want, analyst: str) -> Answer:
        """Ask ever more exactly until the margin is reached, each time for what the last answer says it takes.

        Because  each cost is computed from released numbers, so choosing it is free; what was spent on the way counts.
        """
        cost = self._first(wanted)
        answer = self._answer(draft, plans_for(draft, cost, wanted.delta), wanted, analyst)
        spent, remark = answer.cost, ""
        while not enough(answer, wanted):
            cost = next_cost(answer, cost, wanted)
            if wanted.epsilon is not None and cost > wanted.epsilon:
                remark = "The margin is not reached: that would cost more than was allowed."
                break
            try:
                answer = self._answer(draft, plans_for(draft, cost, wanted.delta), wanted, analyst)
            except BudgetExceeded:
                remark = "The margin is not reached: that would cost more than is left."
                break
            spent = spent + answer.cost
        heard = answer.heard
        return replace(
            answer, heard=replace(heard, cost=spent, remarks=(*heard.remarks, *([remark] if remark else [])))
        )

    def _first(self, wanted: Want) -> Fraction:
        """The cost of a first, rough answer, where the data decide how much it takes."""
        first = self.catalogue.budget.epsilon / 100
        return first if wanted.epsilon is None else min(first, wanted.epsilon)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def left(self) -> Left:
        """What remains of the budget."""
        return self.ledger.left

    @property
    def budget(self) -> Budget:
        """The most that may ever be spent."""
        return self.catalogue.budget

    def close(self) -> None:
        """Let go of the data and the ledger."""
        self.engine.close()
        self.ledger.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        tables = ", ".join(each.name for each in self.catalogue.tables)
        kept_in = self.ledger.where if self.ledger.durable else "memory only: it is gone with this process"
        return f"<{self.catalogue.name}: {tables}; budget {self.budget}; left {self.left}; ledger in {kept_in}>"


def _path(catalogue: Catalogue) -> Path:
    """Where a catalogue's data are."""
    if catalogue.source is None:
        raise NotUnderstood("the catalogue names no source.", instead='source = "clinic.duckdb"')
    if "://" in catalogue.source:
        raise NotUnderstood(
            "data are read from files.", instead='source = "clinic.duckdb", or .parquet, .csv, a folder'
        )
    if not catalogue.tables:
        raise NotUnderstood("the catalogue declares no table.", instead="[tables.visits]")
    return Path(catalogue.source)


def _depends(draft: Draft, wanted: Want) -> bool:
    """Whether the cost of a margin depends on the data."""
    return wanted.relative or not all(each.view(draft.measures).steady for each in draft.readings)


def _fits(loss: Loss, left: Left) -> bool:
    """Whether a loss is within what is left."""
    pure = loss.pure is not None and left.pure is not None and loss.pure <= left.pure
    return Budget.admits(pure=pure, rho=loss.rho <= left.rho, events=loss.event <= left.events)


def open(
    source: Any,
    *,
    budget: Budget,
    unit: str | None = None,
    columns: Mapping[str, Any] | None = None,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
    neighbours: Neighbours = "add-remove",
    name: str | None = None,
    ledger: str | os.PathLike[str] | None = None,
    marks: str | os.PathLike[str] | None = None,
) -> Curator:
    """A curator for one table: a .parquet or .csv file, a .duckdb file with one table, a pandas, polars or Arrow frame.

    `unit` is the column that says whose row it is; without it every row is a person. `columns` declares what may be
    asked about: (0, 120) are bounds, ["F", "M"] all values, str anything. At most `rows_per_unit` rows in
    `groups_per_unit` groups count for one unit. The ledger is a file beside the source, or the one named; a frame
    without a name has its ledger in memory only, and every answer says so.
    """
    if not isinstance(budget, Budget):
        raise NotUnderstood("a budget is a Budget.", instead='budget=dp.Budget(epsilon=3, delta="1e-6")')
    if columns is not None and not isinstance(columns, Mapping):
        raise NotUnderstood("columns are declared by name.", instead='columns={"age": (0, 120)}')
    declared = tuple(schema.column(each, said) for each, said in (columns or {}).items())
    path = Path(source) if isinstance(source, (str, os.PathLike)) else None
    if name is not None:
        schema.name(name, "a data set")
    if unit is not None:
        schema.name(unit, "a unit")
    if isinstance(source, str) and "://" in source:
        raise NotUnderstood("data are read from files and frames.", instead="name a .parquet, .csv or .duckdb file")
    reached = _reached(source, path, name, [*(each.name for each in declared), *([unit] if unit else [])])
    if len(reached.tables) != 1:
        raise NotUnderstood(
            f"there are {len(reached.tables)} tables in it: {', '.join(reached.tables[:12])}.",
            instead="write a catalogue and use dp.Curator.load, or name one: name=…",
        )
    table = Table(
        name=reached.tables[0],
        columns=declared,
        unit=unit,
        rows_per_unit=schema.cap(rows_per_unit, "rows_per_unit"),
        groups_per_unit=schema.cap(groups_per_unit, "groups_per_unit"),
    )
    beside = f"{path}.ledger" if path is not None else None if name is None else f"{name}.ledger"
    place = beside if ledger is None else os.fspath(ledger)
    catalogue = Catalogue(
        name=name or (path.stem if path else "data"),
        budget=budget,
        tables=(table,),
        ledger=place,
        neighbours=neighbourhood(neighbours),
    )
    table.stored(reached.stored[table.name])  # refuse what does not fit before a ledger is made
    return Curator(catalogue, reached, _ledger(catalogue, marks=marks))


def _reached(source: Any, path: Path | None, name: str | None, columns: list[str]) -> Source:
    if path is None:
        return open_frame(source, name or "data", columns)
    file = path.suffix.lower() in (".parquet", ".csv")
    return open_path(path, [name] if name is not None and (file or path.is_file()) else None)


def _ledger(
    catalogue: Catalogue, *, marks: str | os.PathLike[str] | None = None, progress: Progress | None = None
) -> Ledger:
    return Ledger(
        catalogue.ledger,
        dataset=catalogue.name,
        budget=catalogue.budget,
        analysts=catalogue.analysts,
        families=catalogue.families,
        neighbours=catalogue.neighbours,
        unit=catalogue.unit,
        marks=marks,
        progress=progress,
    )
