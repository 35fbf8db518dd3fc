"""The curator: five lines between analysts and people.

query   = parse(sql)                            may refuse, sees no data
draft   = compile(query, catalogue)             may refuse, sees no data
receipt = ledger.spend(plan)                    may refuse; durable before it returns
exact   = engine.aggregate(plan, receipt)       sees data, cannot refuse
plan.release(exact)                             adds noise, cannot refuse
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

from discreet.answers.answer import Answer
from discreet.answers.bill import Heard
from discreet.answers.explanation import Explanation, Explanations
from discreet.catalogue import toml as catalogues
from discreet.catalogue.schema import Catalogue
from discreet.core import work
from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number
from discreet.core.loss import Budget, Loss
from discreet.curator.history import History, Past
from discreet.curator.opening import ledger_of, one_table, path_of, shelf_of
from discreet.engines.duckdb.connection import Source
from discreet.engines.duckdb.engine import DuckDB
from discreet.engines.duckdb.files import open_path
from discreet.engines.duckdb.index import Shelf
from discreet.engines.duckdb.public_tables import read_public
from discreet.errors import NotAllowed, NotUnderstood
from discreet.ledger.balances import Left
from discreet.ledger.failures import Unanswered
from discreet.ledger.ledger import Ledger
from discreet.ledger.receipt import Receipt
from discreet.plan.codec import kept, read
from discreet.plan.compile import ownership
from discreet.plan.compile.alternatives import alternatives
from discreet.plan.compile.compiler import compile
from discreet.plan.draft import Draft
from discreet.plan.output import rehearse
from discreet.plan.plan import Plan, Released
from discreet.plan.pricing import bought, depends, plans_for, reachable
from discreet.plan.reuse import best
from discreet.plan.terms import Want, want
from discreet.procedures import auto_bounds
from discreet.procedures.batch import Division, divided, recalled, several, wanted_once
from discreet.procedures.margin import UNKNOWN, closer, enough, first_cost
from discreet.sql.parameters import Parameters, Params
from discreet.sql.parse import parse

__all__ = ["Curator", "open"]

Progress = Callable[[int, int], None]
Sold = tuple[Plan, Receipt, Released]
REMEMBERED = 200  # questions whose meaning is remembered


class Curator:
    """Holds data about people, and answers questions about them so that no answer depends much on any one."""

    def __init__(self, catalogue: Catalogue, source: Source, ledger: Ledger, *, coins: Coins = SYSTEM) -> None:
        self.ledger, self._coins = ledger, coins
        self.catalogue = read_public(catalogue.stored(source.stored), source)
        self.engine = DuckDB(source, catalogue.name, self._named, shelf_of(self.ledger, self.catalogue))
        self._assumed = auto_bounds.assumed(self.catalogue)
        self._history = History(ledger, catalogue.name)
        self._drafts: dict[Any, tuple[Draft, int]] = {}  # and how much work each was

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
            source = open_path(
                path_of(catalogue),
                [each.name for each in catalogue.tables],
                reading,
                csv={each.name: each.csv for each in catalogue.tables},
                columns=catalogue.read,
                telling=catalogue.telling,
            )
        catalogue = read.fitted(catalogue, source.stored)
        return cls(catalogue, source, ledger_of(catalogue, marks=marks, progress=progress))

    def _named(self, fingerprint: str) -> str:
        """The name of a state of the data; its fingerprint goes no further than the ledger."""
        return self.ledger.version(fingerprint)

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        sql: str,
        *,
        params: Params = None,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        analyst: str = "",
        reuse: bool = False,
    ) -> Answer:
        """Answer a question, for a cost `epsilon` or at the least cost for a margin `within`; the same again is free.

        `params` are the values of `?` and `$1` as a list, or of `$name` and `:name` as a dict.
        `within=25` means ±25 for every number, `within="2%"` relative to it, at this confidence; then `epsilon` is the
        most that may be spent. `delta` is what naming private keys may cost, by default the same share of the budget's
        as of its ε. With `reuse`, an answer that follows from earlier ones costs nothing: a coarser grouping, a part of
        the groups, another number of the same sums.
        """
        self.ledger.admit(analyst)  # before anything else is said
        default = Fraction(1) if reuse else None
        wanted = want(epsilon=epsilon, within=within, confidence=confidence, delta=delta, default=default)
        draft = self.draft(sql, params)
        found = self._reused(draft, wanted, analyst) if reuse else None
        if found is not None and (wanted.within is None or enough(found, wanted)):
            return found
        if reuse and epsilon is None and within is None:
            raise NotAllowed(
                "this does not follow from what was answered so far.",
                instead='ask it for a cost: epsilon="0.1"',
                place=draft.view.place,
            )
        draft = reachable(draft, wanted)
        if auto_bounds.wanted_bounds(draft):
            return self._with_bounds(draft, lambda known: self._compiled(sql, params, known)[0], wanted, analyst)
        if wanted.within is None or not depends(draft, wanted):
            return self._answer(draft, self._plans(draft, wanted), wanted, analyst)
        first = first_cost(self.budget.epsilon, wanted)
        return closer(
            lambda cost: self._answer(draft, plans_for(draft, cost, wanted.delta), wanted, analyst), first, wanted
        )

    def ask_many(self, questions: Iterable[str], *, params: Params = None, epsilon: Number | None = None,
                 within: Number | None = None, confidence: Number = "0.95", analyst: str = "",
                 ) -> list[Answer]:  # fmt: skip
        """Answer several questions, for one cost or with every number within a margin; the same again is free.

        Counts of one table are planned as one and read from one release; others are asked one by one. Each release has
        its share of the cost, by how many questions it answers. `params` are for all questions, or a list of those of
        each.
        """
        self.ledger.admit(analyst)
        wanted, asked = wanted_once(epsilon, within, confidence, None), several(questions, params)
        (found, every), answers = self._divided(asked, wanted, self.ledger.left_to(analyst)), dict[int, Answer]()
        alone = {n: want(**_costs(each)) for n, each in found.alone.items()}
        drafts = {n: reachable(every[n], own) for n, own in alone.items()}
        known = [
            n for n in drafts if not auto_bounds.wanted_bounds(drafts[n])
        ]  # bounds that are sought are bought first
        bought_alone = [self._plans(drafts[n], alone[n]) for n in known]
        bought_all = self.run_all([*(each.plans for _, each in found.joints), *bought_alone], analyst)
        for (places, together), (plan, receipt, released) in zip(found.joints, bought_all, strict=False):
            heard = Heard(receipt.cost, self.ledger.left_to(analyst), receipt, self.remarks())
            for n, draft in zip(places, together.read(plan), strict=True):
                answers[n] = Answer.of(draft, plan, released, heard, confidence=wanted.confidence)
        for n, sold in zip(known, bought_all[len(found.joints) :], strict=True):
            answers[n] = self._told(drafts[n], sold, alone[n], analyst)
        answers |= {n: self.ask(**each, analyst=analyst) for n, each in found.alone.items() if n not in known}
        return [answers[n].remarked(*found.remarks(n)) for n in range(len(answers))]

    def explain_many(self, questions: Iterable[str], *, params: Params = None, epsilon: Number | None = None,
                     within: Number | None = None, confidence: Number = "0.95", analyst: str = "",
                     ) -> Explanations:  # fmt: skip
        """What `ask_many` would cost, and how exact every number would be. Free, and the same for any data."""
        self.ledger.admit(analyst)
        wanted = wanted_once(epsilon, within, confidence, self.budget.epsilon / 10)
        (found, drafts), each = self._divided(several(questions, params), wanted, None), {}
        for places, together in found.joints:
            plan = self._fitting(together.plans, analyst)
            one = self._explained(together.whole, plan, wanted, analyst)
            for n, draft in zip(places, together.read(plan), strict=True):
                each[n] = replace(one, draft=draft.measured(plan.measures))
        each |= {n: self._foretold(drafts[n], want(**_costs(one)), analyst) for n, one in found.alone.items()}
        left, told = self.ledger.left_to(analyst), tuple(each[n] for n in range(len(each)))
        beside = tuple(dict.fromkeys(remark for n in sorted(found.apart) for remark in found.remarks(n)))
        return Explanations(told, found.ways, str(left), Explanations.total(told) in left, beside)

    def _divided(
        self, asked: list[tuple[str, Params]], wanted: Want, left: Left | None
    ) -> tuple[Division, Sequence[Draft]]:
        """Several questions as they are divided, and what each asks; a refusal where all are too much work together."""
        drafts = dict[Any, Draft]()
        with work.counted(work.MOST_WORK_TOGETHER, together=True):
            keys = [(each if isinstance(each, str) else None, Parameters.of(given).key) for each, given in asked]
            for key, each in zip(keys, asked, strict=True):
                work.spend(work.QUESTION)
                if key not in drafts:
                    drafts[key], steps = self._worked(*each)
                    work.spend(steps)
            found = [drafts[key] for key in keys]
            return divided(asked, found, wanted, self.earlier(self.engine.version()), left), found

    def explain(
        self,
        sql: str,
        *,
        params: Params = None,
        epsilon: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        delta: Number | None = None,
        analyst: str = "",
    ) -> Explanation:
        """What asking would cost and how exact the answer would be. Free, and the same for any data.

        Without a cost or a margin, for a tenth of the budget.
        """
        self.ledger.admit(analyst)  # before anything else is said
        tenth = self.catalogue.budget.epsilon / 10
        wanted = want(epsilon=epsilon, within=within, confidence=confidence, delta=delta, default=tenth)
        return self._foretold(self.draft(sql, params), wanted, analyst)

    def _foretold(self, draft: Draft, wanted: Want, analyst: str) -> Explanation:
        """What asking this would cost and how exact the answer would be."""
        draft = reachable(draft, wanted)
        remarks: tuple[str, ...] = ()
        if auto_bounds.wanted_bounds(draft):
            part, wanted = auto_bounds.divided(draft, wanted)
            remarks = auto_bounds.foretold(draft, part)
        if wanted.within is not None and depends(draft, wanted):
            remarks = (UNKNOWN,)
            plans = plans_for(draft, first_cost(self.budget.epsilon, wanted), wanted.delta)
        else:
            plans = self._plans(draft, wanted)
        return self._explained(draft, self._fitting(plans, analyst), wanted, analyst, remarks)

    def _fitting(self, plans: tuple[Plan, ...], analyst: str) -> Plan:
        """The plan that would be run."""
        left = self.ledger.left_to(analyst)
        return next((each for each in plans if each.loss in left), plans[0])

    def _explained(
        self, draft: Draft, plan: Plan, wanted: Want, analyst: str, remarks: tuple[str, ...] = ()
    ) -> Explanation:
        left = self.ledger.left_to(analyst)
        self.engine.check(plan)
        remarks += self.engine.remarks(plan)
        if plan.loss.pure is None:
            remarks += ("It buys Gaussian noise: from then on ρ counts, and what is left of ε does not.",)
        said = draft.measured(plan.measures), plan, wanted.confidence, str(left)
        return Explanation(*said, self.engine.sql(plan), plan.loss in left, remarks)

    def draft(self, sql: str, params: Params = None) -> Draft:
        """What a text asks, with these parameters; the last few are remembered."""
        return self._worked(sql, params)[0]

    def _worked(self, sql: str, params: Params) -> tuple[Draft, int]:
        """What a text asks, and how many steps of work it took to find out, now or when it was asked before."""
        key = (sql, Parameters.of(params).key) if isinstance(sql, str) else None
        found = self._drafts.get(key)
        if found is None:
            found = self._compiled(sql, params, self._assumed)
            if len(self._drafts) >= REMEMBERED:
                self._drafts.clear()
            self._drafts[key] = found
        return found

    @staticmethod
    def _compiled(sql: str, params: Params, catalogue: Catalogue) -> tuple[Draft, int]:
        with work.counted() as steps:
            select = parse(sql, Parameters.of(params))
            work.spend(work.LETTER * len(sql))
            draft = alternatives(compile(select, catalogue))
            work.spend(work.NUMBER * len(draft.readings), draft.view.place)  # it may be asked for within a margin
            rehearse(draft)
        return draft, steps.done

    def _plans(self, draft: Draft, wanted: Want) -> tuple[Plan, ...]:
        plans = bought(draft, wanted)
        return recalled(draft, plans, self.earlier(self.engine.version())) if draft.recounted else plans

    def _answer(self, draft: Draft, plans: tuple[Plan, ...], wanted: Want, analyst: str) -> Answer:
        """What was released for the first plan that fits, as an answer."""
        return self._told(draft, self.run(plans, analyst), wanted, analyst)

    def _told(self, draft: Draft, sold: Sold, wanted: Want, analyst: str) -> Answer:
        plan, receipt, released = sold
        heard = Heard(receipt.cost, self.ledger.left_to(analyst), receipt, self.remarks())
        return Answer.of(draft, plan, released, heard, confidence=wanted.confidence)

    def run(self, plans: tuple[Plan, ...], analyst: str) -> Sold:
        """Spend, then look; what was released is kept before it is shown. The first plan that fits is run."""
        return self.run_all([plans], analyst)[0]

    def run_all(self, choices: Sequence[tuple[Plan, ...]], analyst: str) -> list[Sold]:
        """Spend for all, or for none; then look, for one after the other. The first plan of each that fits is run.

        Promise  each plan that is paid for is one that the engine can run, and is run on the data of the version on its
                 receipt.
        Because  all that may be chosen are checked before; and the data are held from before the charge.
        """
        choices = [self._runnable(plans) for plans in choices]
        source = self.engine.current()
        version = self._named(source.seen)
        paid = [[(plan, plan.key) for plan in plans] for plans in choices]
        receipts = self.ledger.spend_all(paid, analyst=analyst, version=version)
        sold, known = list[Sold](), dict[int, Released]()
        for plans, receipt in zip(choices, receipts, strict=True):
            plan = next(each for each in plans if each.key == receipt.key)
            if receipt.charge not in known:  # two may ask the same
                answer = self.ledger.answer(receipt, self._look(plan, receipt, version, source))
                known[receipt.charge] = read(answer)
            sold.append((plan, receipt, known[receipt.charge]))
        return sold

    def _runnable(self, plans: tuple[Plan, ...]) -> tuple[Plan, ...]:
        """The plans that the engine can run; a refusal where it cannot run the first, or where it is not certain whose
        rows one of them reads.
        """
        for each in plans:
            ownership.check(
                each.table, self.catalogue, caps=each.caps, where=each.where, keys=each.keys, measures=each.measures
            )
        self.engine.check(plans[0])
        found = [plans[0]]
        for each in plans[1:]:
            with suppress(NotAllowed):
                self.engine.check(each)
                found.append(each)
        return tuple(found)

    def _reused(self, draft: Draft, wanted: Want, analyst: str) -> Answer | None:
        """An answer that follows from earlier ones, the most exact of them, if there is one."""
        source = self.engine.current()
        version = self._named(source.seen)
        if (way := best(draft, list(self.earlier(version).near(draft)))) is None:
            return None
        paid = [[(plan, plan.key)] for plan in way.plans]
        receipts = self.ledger.spend_all(paid, analyst=analyst, version=version)
        pairs = zip(way.plans, receipts, strict=True)
        kept = [read(self.ledger.answer(one, self._look(plan, one, version, source))) for plan, one in pairs]
        cost = sum((each.cost for each in receipts), Loss.ZERO)
        heard = Heard(cost, self.ledger.left_to(analyst), receipts[0], (*self.remarks(), *way.said))
        sure = wanted.confidence
        return Answer.of(way.draft, way.plan, way.released(kept), heard, confidence=sure, merge=way.merge)

    def earlier(self, version: str) -> Past:
        """Plans that were paid for, of these data."""
        return self._history.past(version)

    def _look(self, plan: Plan, receipt: Receipt, version: str, source: Source) -> Callable[[], bytes]:
        """Look at the data, once, and make what is kept of it."""

        def look() -> bytes:
            paid, exact = self.engine.aggregate(plan, receipt, version, self._coins, source)
            return kept(paid.release(exact, self._coins))

        return look

    def remarks(self) -> tuple[str, ...]:
        return () if self.ledger.durable else ("The ledger is in memory only: it is gone with this process.",)

    def _with_bounds(self, draft: Draft, again: Callable[[Catalogue], Draft], wanted: Want, analyst: str) -> Answer:
        """Find upper bounds first, each for its part of the cost, then ask with them for the rest.

        What was asked before is asked with the bounds of then, so that it is the same, and free.
        """
        columns, (part, rest) = auto_bounds.wanted_bounds(draft), auto_bounds.divided(draft, wanted)
        paid = self.earlier(self.engine.version())
        choices = auto_bounds.choices([auto_bounds.plan_of(draft, column, part) for column in columns], paid)
        plans = self._plans(draft, rest)
        missing, left = [each for each in choices[-1] if each not in paid], self.ledger.left_to(analyst)
        self._runnable(plans)
        auto_bounds.affordable(missing, plans, left)
        for bounds in choices:
            catalogue, spent, said = self._assumed, Loss.ZERO, list[str]()
            sold = self.run_all([(bound,) for bound in bounds], analyst)
            for column, (plan, receipt, released) in zip(columns, sold, strict=True):
                draft, catalogue, high = auto_bounds.lowered(plan, released, catalogue, column, again)
                spent += receipt.cost
                said.append(auto_bounds.found_said(column, high, plan, before=plan in paid))
            draft = reachable(draft, rest)
            plans = self._plans(draft, rest)
            if any(plan in paid for plan in plans):
                break
        answer = self._answer(draft, plans, rest, analyst)
        heard = replace(answer.heard, cost=spent + answer.cost, remarks=(*said, *answer.heard.remarks))
        return replace(answer, heard=heard)

    # ── the index ────────────────────────────────────────────────────────────────────────────────────────────

    def index(self, *, progress: Progress | None = None) -> Path:
        """Build the index beside the ledger, for the data as they are; returns where it is. It holds data.

        From then on questions about units, without WHERE, by no column or by one whose values are declared, are
        answered about ten times faster. `progress` is told how many steps of how many are done.
        """
        source = self.engine.current()
        return self._indexable().build(source, self._named(source.seen), self._coins, progress)

    def drop_index(self) -> bool:
        """Delete the index; whether there was one. Questions are answered without it, too."""
        return self._indexable().drop()

    def _indexable(self) -> Shelf:
        if self.engine.shelf is None:
            raise NotUnderstood(
                "an index is kept beside the ledger, and this ledger is not a file.",
                instead='name one: ledger="clinic.ledger"',
            )
        return self.engine.shelf

    # ── failures ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def failures(self) -> list[Unanswered]:
        """What the engine failed on since the data set was last resumed. For its owner: it may quote people."""
        return self.ledger.failures

    def resume(self) -> bool:
        """Let the data set answer again after failures of the engine; whether there was anything to resume.

        For its owner. Look at `failures` first: what was asked may be made to fail where somebody is in the data.
        """
        return self.ledger.resume()

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


def _costs(each: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of the cost of one question among several."""
    said = {name: value for name, value in each.items() if name not in ("sql", "params")}
    return dict.fromkeys(("epsilon", "within", "delta", "default")) | said


def open(
    source: Any,
    *,
    budget: Budget,
    unit: str | None = None,
    columns: Mapping[str, Any] | None = None,
    rows_per_unit: int | None = None,
    groups_per_unit: int | None = None,
    neighbours: str = "add-remove",
    name: str | None = None,
    csv: Mapping[str, Any] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    marks: str | os.PathLike[str] | None = None,
    coins: Coins = SYSTEM,
) -> Curator:
    """A curator for one table: a .parquet or .csv file, a .duckdb file with one table, a pandas, polars or Arrow frame.

    `unit` is the column that says whose row it is; without it every row is a person. `columns` declares what may be
    asked about: (0, 120) are bounds, ["F", "M"] all values, str anything. At most `rows_per_unit` rows in
    `groups_per_unit` groups count for one unit. `csv` says how a .csv file is written: its `delimiter` and `quote`, and
    whether quoted fields hold line breaks (`newlines`); as a rule every line is a record. The ledger is a file beside
    the source, or the one named; a frame without a name has its ledger in memory only, and every answer says so.
    `coins` are for whoever replays a run.
    """
    catalogue, reached = one_table(source, budget=budget, unit=unit, columns=columns, rows_per_unit=rows_per_unit,
                                   groups_per_unit=groups_per_unit, neighbours=neighbours, name=name,
                                   csv=csv, ledger=ledger)  # fmt: skip
    return Curator(catalogue, reached, ledger_of(catalogue, marks=marks), coins=coins)
