"""The curator: six lines between analysts and personal data.

query       = parse(sql)                            may refuse, sees no data
draft       = compile(query, catalogue)             may refuse, sees no data
certificate = kernel.check(plan, catalogue)         may refuse, sees no data, trusts nobody
receipt     = ledger.spend(certificate)             may refuse; durable before it returns
exact       = engine.aggregate(certificate, receipt)    sees data, cannot refuse
plan.release(exact)                                 adds noise, cannot refuse
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation, Explanations
from discreet.catalogue import toml as catalogues
from discreet.catalogue.schema import Catalogue
from discreet.core import work
from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number
from discreet.core.loss import Budget, Remaining
from discreet.core.once import Recent
from discreet.curator.history import History, Past
from discreet.curator.opening import engine_of, ledger_of, let_go, one_table, source_of
from discreet.curator.session import Session
from discreet.engines.engine import Cancel, Engine
from discreet.errors import NotAllowed, NotUnderstood, visible
from discreet.ledger.failures import Unanswered
from discreet.ledger.ledger import Ledger
from discreet.plan.compile.alternatives import alternatives
from discreet.plan.compile.compiler import compile
from discreet.plan.compile.compose import Composed, compose
from discreet.plan.draft import Composite, Draft, Question, Staged
from discreet.plan.output import assumed_rows, check_composite, check_output
from discreet.postprocess.public import Reader
from discreet.procedures import auto_bounds
from discreet.sql.parameters import Parameters, Params
from discreet.sql.parser.parse import parse
from discreet.sql.query import Select

__all__ = ["Curator", "open"]

Progress = Callable[[int, int], None]
MAX_CACHED_QUESTIONS = 200  # questions whose meaning is remembered


class Curator:
    """Holds data, and answers questions about them so that no answer depends much on any one privacy unit."""

    def __init__(self, engine: Engine, ledger: Ledger, *, coins: Coins = SYSTEM) -> None:
        self.engine, self.ledger, self.coins = engine, ledger, coins
        self._history = History(ledger, self.catalogue.name)
        # and how much work each was
        self._drafts = Recent[Any, tuple[tuple[Question, int], Catalogue]](MAX_CACHED_QUESTIONS)
        self._assumed = (self.catalogue, auto_bounds.with_assumed_bounds(self.catalogue))

    @property
    def catalogue(self) -> Catalogue:
        """The declared catalogue, with the values of the public tables."""
        return self.engine.latest.catalogue

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        marks: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
        reading: Progress | None = None,
    ) -> Curator:
        """Open the curator of a catalogue file: its tables, its budget, its analysts, its ledger.

        `progress` is called with the numbers of entries of the ledger that are read and in all, `reading` with those of
        bytes of a CSV file.
        """
        read = catalogues.CatalogueFile(Path(path))
        catalogue = read.catalogue()
        with read.at("dataset", "source"):
            source = source_of(catalogue, reading)
        with let_go(source):
            catalogue = read.fitted(catalogue, source.stored)
            ledger = ledger_of(catalogue, marks=marks, progress=progress)
            return cls(engine_of(catalogue, source, ledger), ledger)

    def session(self, *, analyst: str = "", deadline: float | None = None) -> Session:
        """Return a session of one analyst. It has `ask`, `ask_many`, `explain`, `explain_many`, and can be cancelled.

        With a `deadline`, questions that are under way after so many seconds are cancelled. Their cost stays spent, and
        asking the same again is free.
        """
        return Session(self, analyst, Cancel(math.inf if deadline is None else _seconds(deadline)))

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

        `params` are the values of `?` and `$1` as a list, or of `$name` and `:name` as a dict. `within=25` means ±25
        for every number, `within="2%"` relative to it, at this confidence; then `epsilon` is the most that may be
        spent. `delta` is what naming private keys may cost, by default the same share of the budget's δ as of its ε.
        With `reuse`, an answer that follows from earlier ones costs nothing: a coarser grouping, a part of the groups,
        another number of the same sums.
        """
        return self.session(analyst=analyst).ask(
            sql, params=params, epsilon=epsilon, within=within, confidence=confidence, delta=delta, reuse=reuse
        )

    def ask_many(self, questions: Iterable[str], *, params: Params = None, epsilon: Number | None = None,
                 within: Number | None = None, confidence: Number = "0.95", analyst: str = "",
                 ) -> list[Answer]:  # fmt: skip
        """Answer several questions, for one cost or with every number within a margin; the same again is free.

        Counts of one table are planned as one and read from one release; others are asked one by one. Each release has
        its share of the cost, by how many questions it answers. `params` are for all questions, or a list of those of
        each.
        """
        return self.session(analyst=analyst).ask_many(
            questions, params=params, epsilon=epsilon, within=within, confidence=confidence
        )

    def explain_many(self, questions: Iterable[str], *, params: Params = None, epsilon: Number | None = None,
                     within: Number | None = None, confidence: Number = "0.95", analyst: str = "",
                     ) -> Explanations:  # fmt: skip
        """Explain what `ask_many` would cost, and how exact every number would be. Free, and the same for any data."""
        return self.session(analyst=analyst).explain_many(
            questions, params=params, epsilon=epsilon, within=within, confidence=confidence
        )

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
        """Explain what asking would cost and how exact the answer would be. Free, and the same for any data.

        Without a cost or a margin, for a tenth of the budget.
        """
        return self.session(analyst=analyst).explain(
            sql, params=params, epsilon=epsilon, within=within, confidence=confidence, delta=delta
        )

    # ── for sessions ─────────────────────────────────────────────────────────────────────────────────────────

    def draft(self, sql: str, params: Params = None) -> Draft:
        """Return the draft of a question with these parameters; the last few drafts are cached."""
        return self.worked(sql, params)[0].alone

    def assumed(self, catalogue: Catalogue) -> Catalogue:
        """Return a catalogue with assumed bounds for the columns whose bounds are to be found in the data."""
        if self._assumed[0] is not catalogue:
            self._assumed = (catalogue, auto_bounds.with_assumed_bounds(catalogue))
        return self._assumed[1]

    def worked(
        self, sql: str, params: Params, catalogue: Catalogue | None = None, public: Reader | None = None
    ) -> tuple[Question, int]:
        """Return a question, compiled, and the steps of work that compiling takes, also if it is cached.

        `public` reads the public tables of the snapshot whose catalogue this is.
        """
        catalogue, public = catalogue or self.assumed(self.catalogue), public or self.engine.latest.public
        key = (sql, Parameters.of(params).key, id(catalogue)) if isinstance(sql, str) else None
        # The catalogue is kept beside the draft, so that no other one can have its identity.
        return self._drafts.get(key, lambda: (self.compiled(sql, params, catalogue, public), catalogue))[0]

    @classmethod
    def compiled(
        cls, question: str | Select, params: Params, catalogue: Catalogue, public: Reader
    ) -> tuple[Question, int]:
        """Return a question, compiled, and the steps of work that compiling took."""
        with work.limited_work() as steps:
            if isinstance(question, Select):
                select = question
            else:
                select = parse(question, Parameters.of(params), catalogue.counted)
                work.spend(work.LETTER * len(question))
            found = compose(select, catalogue, public)
            if found.lookups:
                return cls._staged(found, catalogue, public, steps), steps.done
            if found.whole is not None:
                check_composite(found.whole)
                return found.whole, steps.done
            draft = alternatives(compile(found.select, catalogue))
            work.spend(work.NUMBER * len(draft.readings), draft.view.place)  # it may be asked for within a margin
            check_output(draft)
        return draft, steps.done

    @classmethod
    def _staged(cls, found: Composed, catalogue: Catalogue, public: Reader, steps: work.Work) -> Staged:
        """Return a question of two rounds; refuse one of more."""
        assert found.again is not None

        def once(select: Select) -> Draft | Composite:
            part, done = cls.compiled(select, None, catalogue, public)
            steps.done += done
            if part.staged is not None:
                raise NotAllowed(
                    "an answer that rows are compared with is itself of rows that are compared with an answer.",
                    code="not-answered",
                    instead="ask for the inner one first, and write its value into the question",
                    place=select.place,
                )
            return part

        first = tuple(once(each.select) for each in found.lookups)
        assumed = once(found.again(list(map(assumed_rows, first))))
        return Staged(
            first=first,
            asked=tuple(each.select for each in found.lookups),
            assumed=assumed,
            again=found.again,
            view=found.select,
        )

    def earlier(self, version: str) -> Past:
        """Return the plans that were paid for on this version of the data."""
        return self._history.past(version)

    def remarks(self) -> tuple[str, ...]:
        return () if self.ledger.durable else ("The ledger is in memory only: it is gone with this process.",)

    # ── the index ────────────────────────────────────────────────────────────────────────────────────────────

    def index(self, *, progress: Progress | None = None) -> Path:
        """Build the unit index beside the ledger, for the current data; return its path. It holds data.

        From then on questions about units, without WHERE, by no column or by one whose values are declared, are
        answered about ten times faster. `progress` is called with the numbers of steps done and in all.
        """
        return self.engine.build_index(self.coins, progress)

    def drop_index(self) -> bool:
        """Delete the unit index; return True if there was one. Questions are answered without it, too."""
        return self.engine.drop_index()

    # ── failures ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def failures(self) -> list[Unanswered]:
        """The engine's failures since the data set was last resumed. For its owner: they may quote personal data."""
        return self.ledger.failures

    def resume(self) -> bool:
        """Let the data set answer again after failures of the engine; return True if there was anything to resume.

        For its owner. Look at `failures` first: a question may have been written to fail if a certain unit is in the
        data. What was shown there is resumed, and if there is another failure since, the call is refused.
        """
        return self.ledger.resume()

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def left(self) -> Remaining:
        """The remaining budget."""
        return self.ledger.left

    @property
    def budget(self) -> Budget:
        """The most that may ever be spent."""
        return self.catalogue.budget

    def close(self) -> None:
        """Close the data and the ledger."""
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
        what = visible(f"{self.catalogue.name}: {tables}")
        return f"<{what}; budget {self.budget}; left {self.left}; ledger in {visible(kept_in)}>"


def _seconds(deadline: float) -> float:
    if isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or not deadline >= 0:
        raise NotUnderstood("a deadline is a number of seconds.", code="wrong-argument", instead="deadline=30")
    return float(deadline)


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
    """Open a curator for one table: a .parquet or .csv file, a .duckdb file with one table, or a frame (pandas, polars,
    Arrow).

    `unit` is the column that names the privacy unit of each row; without it every row is a unit. `columns` declares
    what may be asked about: (0, 120) are bounds, ["F", "M"] all values, str anything. At most `rows_per_unit` rows in
    `groups_per_unit` groups count for one unit. `csv` says how a .csv file is written: its `delimiter` and `quote`, and
    whether quoted fields hold line breaks (`newlines`); by default every line is a record. The ledger is a file beside
    the source, or the one named; a frame without a name has its ledger in memory only, and every answer says so.
    `coins` are for tests that replay a run.
    """
    catalogue, reached = one_table(source, budget=budget, unit=unit, columns=columns, rows_per_unit=rows_per_unit,
                                   groups_per_unit=groups_per_unit, neighbours=neighbours, name=name,
                                   csv=csv, ledger=ledger)  # fmt: skip
    with let_go(reached):
        kept = ledger_of(catalogue, marks=marks)
        return Curator(engine_of(catalogue, reached, kept), kept, coins=coins)
