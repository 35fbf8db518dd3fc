"""164 questions that nobody here wrote, as they are written: TPC-H, TPC-DS and ClickBench, with the people protected.

    python bench/questions.py [tpch|tpcds|clickbench [number …]] [--explain] [--small] [--markdown FILE]

The catalogues are in `questions/`; texts and data are made once, in a folder of the virtual environment. Each question
is explained and answered at ε = 1, or refused; then it is asked of a curator whose caps leave nothing out, for a cost
at which there is no noise, and compared with plain DuckDB on the same files, cell by cell. It is `equal` then, or
`differs`; `unseen` if no group of plain DuckDB is in the answer, so that there was nothing to compare. A question that
breaks, or takes longer than a minute, is a row of the table. `--markdown` writes the page of the results; `--check`
fails where a verdict has no reason that is known (`questions/known.py`), or fewer are answered than are promised.

`groups` are the rows that are shown without noise, `plain` those of plain DuckDB, `nobody's` those that plain DuckDB
does not have because nobody is in them, and `possible` those of them that could be, as far as public tables say.
Private keys that one person has alone are never named, whatever the cost. Rows that belong to nobody (a sale without a
customer) are left out of plain DuckDB, too. The error is relative, the median over the cells of the answer at ε = 1.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import duckdb

sys.path.append(str(Path(__file__).parent / "questions"))

from compared import Compared, Tables, Whole, apart, compare, whole
from known import DIFFERS, REFUSED, reason_of
from page import Line, page
from sources import BENCHMARKS, FOLDER, Benchmark, Place

import discreet as dp
from discreet.core.text import table
from discreet.plan.draft import Draft, Question
from discreet.plan.pricing import plans_for

COST = 1
NO_NOISE = 10**16
ROOM = 10**19  # the budget of answers without noise
OPENING = 600  # seconds that opening the data may take
STEPS = ("explain", "plain", "answer", "exact")


# ── catalogues and data ──────────────────────────────────────────────────────────────────────────────────────────


def wide(text: str) -> str:
    """The catalogue with caps that leave nothing out, and room for answers without noise."""
    text = re.sub(r"rows_per_unit = \d+ +# wide (\d+)", r"rows_per_unit = \1", text)
    text = re.sub(r"groups_per_unit = \d+\n", "", text)
    return re.sub(r'epsilon = "\d+"', f'epsilon = "{ROOM}"', text)


def opened(text: str, data: Path, place: Path) -> dp.Curator:
    """A curator of these files with a fresh ledger, in a folder that is made for it."""
    place.mkdir(parents=True)
    (place / "data").symlink_to(data.resolve(), target_is_directory=True)
    (place / "catalogue.toml").write_text(text)
    return dp.Curator.load(place / "catalogue.toml", marks=place / "marks")


def reference(said: Mapping[str, Any]) -> tuple[list[str], str, list[str]]:
    """The columns of a table of people that say whose a row is; the table that they refer to, and its key, if any."""
    text = said["unit"] if "unit" in said else said["references"][0]
    columns, _, other = text.partition(" -> ")
    table, _, key = other.rstrip(")").partition("(" if "(" in other else ".")
    return columns.split(", "), table, key.split(", ")


def owned(tables: Mapping[str, Mapping[str, Any]], name: str) -> str:
    """Plain SQL for the rows of a table of people, with whose they are in a column `owner`; nobody's are left out."""
    columns, table, key = reference(tables[name])
    if not table:
        return f"SELECT *, {columns[0]} AS owner FROM stored.{name} WHERE {columns[0]} IS NOT NULL"
    met = " AND ".join(f"rows.{own} = owners.{each}" for own, each in zip(columns, key, strict=True))
    return f"SELECT rows.*, owner FROM stored.{name} AS rows JOIN owners.{name} AS owners ON {met}"


def plain(text: str, data: Path) -> duckdb.DuckDBPyConnection:
    """Plain DuckDB over the same files, without the rows that belong to nobody."""
    tables = tomllib.loads(text)["tables"]
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA stored; CREATE SCHEMA owners")
    for name in tables:
        connection.execute(f"CREATE VIEW stored.{name} AS FROM '{data / name}.parquet'")
    for name, said in tables.items():
        if not said.get("public") and (refers := reference(said))[1]:
            _, there, key = refers
            owners = f"SELECT {', '.join(key)}, MIN(owner) AS owner FROM ({owned(tables, there)}) GROUP BY ALL"
            connection.execute(f"CREATE TABLE owners.{name} AS {owners}")
        rows = f"FROM stored.{name}" if said.get("public") else f"SELECT * EXCLUDE (owner) FROM ({owned(tables, name)})"
        connection.execute(f"CREATE VIEW {name} AS {rows}")
    return connection


def declared(text: str, connection: duckdb.DuckDBPyConnection) -> Tables:
    """What comparing needs to know of the tables."""
    tables, owners = tomllib.loads(text)["tables"], {}
    for name, said in tables.items():
        if not said.get("public"):
            columns, there, key = reference(said)
            met = " AND ".join(f"{each} = {{0}}.{own}" for own, each in zip(columns, key, strict=True) if there)
            through = f"(SELECT MIN(owner) FROM owners.{name} WHERE {met})"
            owners[name] = through if there else f"{{0}}.{columns[0]}"
    columns = {each: {row[0]: row[1] for row in connection.execute(f"DESCRIBE {each}").fetchall()} for each in tables}
    return Tables(columns=columns, owners=owners)


def left_out(text: str, connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Tables in which a unit has more rows than its cap lets count, and the most that one has."""
    tables, found = tomllib.loads(text)["tables"], {}
    for name, said in tables.items():
        if not said.get("public"):
            count = f"SELECT COUNT(*) AS rows FROM ({owned(tables, name)}) GROUP BY owner"
            most = connection.execute(f"SELECT MAX(rows) FROM ({count})").fetchall()[0][0] or 0
            if most > said["rows_per_unit"]:
                found[name] = most
    return found


# ── one question ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What came of one step of one question."""

    seconds: float
    text: str = ""  # an explanation
    code: str = ""  # of a refusal
    broken: str = ""  # the last line of a traceback, or what else ended it
    rows: int = 0
    extra: int = 0
    possible: int | None = None
    differs: str = ""
    unnamed: bool = False  # whether groups of one person are missing, as they must
    narrowed: tuple[int, int, float | None] | None = None  # groups that can be, all combinations, and the squared error
    error: float | None = None

    @property
    def fine(self) -> bool:
        return not self.code and not self.broken


class Desk:
    """Asks the questions of a benchmark: a curator as its owner would have it, one without noise, and plain DuckDB."""

    def __init__(self, benchmark: Benchmark, data: Path, place: Path) -> None:
        self.text = benchmark.catalogue.read_text()
        self.data, self.place = data, place
        self.plain = plain(self.text, data)
        self.tables = declared(self.text, self.plain)
        self._whole: tuple[str, Whole] = ("", Whole(rows=[], places=[], offset=0, limit=None))

    @cached_property
    def careful(self) -> dp.Curator:
        return opened(self.text, self.data, self.place / "careful")

    @cached_property
    def wide(self) -> dp.Curator:
        return opened(wide(self.text), self.data, self.place / "wide")

    def open(self) -> str:
        """Open everything, so that no question pays for it; say which caps leave anything out all the same."""
        found = left_out(wide(self.text), self.plain)
        assert not found, f"the wide caps leave rows out: {found}"
        return f"{self.careful!r} {self.wide!r}"

    def whole(self, sql: str) -> Whole:
        if self._whole[0] != sql:
            self._whole = sql, whole(sql, self.plain)
        return self._whole[1]

    def explain(self, sql: str) -> Callable[[], dict[str, Any]]:
        text = str(self.careful.explain(sql, epsilon=COST))
        return lambda: {"text": text, "narrowed": narrowed(self.careful.worked(sql, None)[0])}

    def run_plain(self, sql: str) -> Callable[[], dict[str, Any]]:
        asked = self.plain.execute(sql)
        names, rows = [each[0] for each in asked.description or ()], asked.fetchall()

        def judged() -> dict[str, Any]:
            keys = [index for index in range(len(names)) if not any(isinstance(row[index], float) for row in rows)]
            found = compare(rows, keys, names, self.whole(sql))
            assert (found.differs, len(found.extra)) == ("", 0), f"plain DuckDB differs from itself: {found.differs}"
            return {"rows": len(rows)}

        return judged

    def answer(self, sql: str) -> Callable[[], dict[str, Any]]:
        answer = self.careful.ask(sql, epsilon=COST)

        def judged() -> dict[str, Any]:
            errors = apart(list(answer), _keys(answer), self.whole(sql))
            return {"rows": len(list(answer)), "error": statistics.median(errors) if errors else None}

        return judged

    def exact(self, sql: str) -> Callable[[], dict[str, Any]]:
        answer = self.wide.ask(sql, epsilon=NO_NOISE)

        def judged() -> dict[str, Any]:
            found, unnamed = self._compared(sql, answer)
            names = [answer.columns[index] for index in _keys(answer)]
            could = self.tables.possible(sql, names, found.extra, self.plain) if found.extra else 0
            return {"rows": found.rows, "extra": len(found.extra), "possible": could, "differs": found.differs,
                    "unnamed": unnamed}  # fmt: skip

        return judged

    def _compared(self, sql: str, answer: dp.Answer) -> tuple[Compared, bool]:
        """Compare an answer with plain DuckDB; if it differs, with those groups alone that two people share."""
        found = compare(list(answer), _keys(answer), answer.columns, self.whole(sql))
        if found.differs and not found.wrong:
            shared = self.tables.shared(sql)
            other = compare(list(answer), _keys(answer), answer.columns, whole(shared, self.plain))
            if not other.differs:
                return other, True
        return found, False

    def step(self, name: str, sql: str) -> Reply:
        """Take one step of one question; only the asking is timed, not the comparing."""
        steps = {"open": self.open, "explain": self.explain, "plain": self.run_plain,
                 "answer": self.answer, "exact": self.exact}  # fmt: skip
        run: Any = steps[name]
        start, seconds = time.perf_counter(), 0.0
        try:
            said = run(sql) if name != "open" else {"text": run()}
            seconds = time.perf_counter() - start
            return Reply(seconds=seconds, **(said() if callable(said) else said))
        except dp.Refusal as refusal:
            text = f"{refusal.reason}\n{refusal.instead}"
            return Reply(seconds=time.perf_counter() - start, code=refusal.code, text=text)
        except Exception as problem:
            traceback.print_exc()
            line = "".join(traceback.format_exception_only(problem)).strip().split("\n")[0]
            return Reply(seconds=seconds or time.perf_counter() - start, broken=line)


def narrowed(question: Question) -> tuple[int, int, float | None] | None:
    """The groups that can be, all combinations of declared values, and the squared error as a share of that by all of
    these: summed over the numbers of the groups that can be, at the same cost. None where all combinations can be; a
    share of None where these are more than can be planned.
    """
    drafts = [
        each for each in question.inner if each.keys and all(key.declared for key in (*each.keys, *each.declared))
    ]
    counted = [(_cells(each), _cells(each.crossed), each) for each in drafts]
    some = [(cells, every, each) for cells, every, each in counted if cells < every]
    if not some:
        return None
    can, every = sum(cells for cells, _, _ in some), sum(every for _, every, _ in some)
    try:
        there = sum(cells * _squared(each.crossed) for cells, _, each in some)
    except dp.Refusal:  # more than can be planned
        return can, every, None
    return can, every, sum(cells * _squared(each) for cells, _, each in some) / there


def _cells(draft: Draft) -> int:
    return math.prod(key.size for key in draft.keys) if draft.listed is None else len(draft.listed)


def _squared(draft: Draft) -> float:
    """The squared margins of the numbers that are released, for one group."""
    plan = plans_for(draft, Fraction(COST), None)[0]
    measured = draft.measured(plan.measures)
    margins = [each.margin(plan, Fraction(95, 100), 1) for each in measured.readings]
    return sum(float(each) ** 2 for each in margins if each is not None) or 1.0


def _keys(answer: dp.Answer) -> list[int]:
    return [index for index in range(len(answer.columns)) if answer.exact(index)]


# ── in a process of its own ──────────────────────────────────────────────────────────────────────────────────────


def serve(connection: Connection, benchmark: Benchmark, data: Path, place: Path) -> None:
    """Take the steps that are asked for, one after the other."""
    os.environ["DISCREET_MARKS"] = str(place / "marks")
    desk = Desk(benchmark, data, place)
    while True:
        connection.send(desk.step(*connection.recv()))


class Asker:
    """Asks in another process, which may break, hang or be killed; then the next question has a fresh one."""

    def __init__(self, benchmark: Benchmark, data: Path, timeout: float) -> None:
        self.benchmark, self.data, self.timeout = benchmark, data, timeout
        self._process: Any = None
        self._connection: Any = None
        self._place: Path | None = None

    def step(self, name: str, sql: str) -> Reply:
        if self._process is None:
            self._start()
        return self._sent(name, sql, self.timeout)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._place is not None:
            shutil.rmtree(self._place, ignore_errors=True)
        self._process = self._place = None

    def _start(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="questions"))
        spawned = multiprocessing.get_context("spawn")
        self._connection, other = spawned.Pipe()
        arguments = (other, self.benchmark, self.data, self._place)
        self._process = spawned.Process(target=serve, args=arguments, daemon=True)
        self._process.start()
        other.close()
        print(f"Opening the data of {self.benchmark.title} …", file=sys.stderr)
        said = self._sent("open", "", OPENING)
        if not said.fine:
            raise SystemExit(f"{self.benchmark.title} cannot be opened: {said.text or said.broken}")

    def _sent(self, name: str, sql: str, timeout: float) -> Reply:
        try:
            self._connection.send((name, sql))
            if not self._connection.poll(timeout):
                self.close()
                return Reply(seconds=timeout, broken=f"no answer within {timeout:.0f} s")
            reply: Reply = self._connection.recv()
        except (EOFError, OSError):
            self.close()
            return Reply(seconds=0, broken="the process ended")
        if reply.broken and name in ("answer", "exact"):
            self.close()  # the data set may have stopped
        return reply


# ── all questions ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Result:
    """All that came of a question, by step."""

    benchmark: Benchmark
    number: int
    replies: Mapping[str, Reply] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.benchmark.title} {self.number}"

    @property
    def failed(self) -> Reply | None:
        return next((each for each in self.replies.values() if not each.fine), None)

    @property
    def verdict(self) -> str:
        """One word: equal, differs, unseen, answered (but not without noise), refused, BROKEN or timeout."""
        if self.failed is None:
            exact = self.replies["exact"]
            return "differs" if exact.differs else "unseen" if self.nothing_compared else "equal"
        if self.failed is self.replies.get("exact") and self.failed.code:
            return "answered"
        if self.failed.code:
            return "refused"
        return "timeout" if self.failed.broken.startswith("no answer") else "BROKEN"

    @property
    def surprises(self) -> bool:
        """Whether it breaks, or its verdict has no reason that is known."""
        reasons = {"refused": REFUSED, "differs": DIFFERS}.get(self.verdict)
        known = reasons is None or bool(reason_of(reasons, self.benchmark.name, self.number))
        return not known or self.verdict in ("BROKEN", "timeout")

    @property
    def remark(self) -> str:
        """How it differs, why it was refused, or what broke."""
        if self.failed is None:
            exact = self.replies["exact"]
            unnamed = "but for private keys that one person has alone" if exact.unnamed else ""
            nothing = "no group of plain DuckDB is shown, so nothing was compared" if self.nothing_compared else ""
            return exact.differs or "; ".join(filter(None, (unnamed, nothing)))
        step = next(name for name, each in self.replies.items() if each is self.failed)
        said = self.failed.broken or f"{self.failed.code}: {self.failed.text}".split("\n")[0]
        return said if step == "explain" else f"{said} ({step})"

    @property
    def nothing_compared(self) -> bool:
        """Whether no row of the answer is one of plain DuckDB, unless neither has any."""
        exact = self.replies["exact"]
        return exact.rows == exact.extra and (exact.extra > 0 or self.replies["plain"].rows > 0)

    @property
    def groups(self) -> tuple[str, str, str, str]:
        """Rows, those of plain DuckDB, those that plain DuckDB does not have, and those of them that could be."""
        exact = self.replies.get("exact")
        if exact is None or not exact.fine:
            return "", "", "", ""
        could = "?" if exact.possible is None else f"{exact.possible}"
        return f"{exact.rows}", f"{self.replies['plain'].rows}", f"{exact.extra or ''}", could if exact.extra else ""

    def seconds(self, step: str) -> str:
        reply = self.replies.get(step)
        return f"{reply.seconds:.2f}" if reply and reply.fine else ""

    @property
    def error(self) -> str:
        reply = self.replies.get("answer")
        return f"{reply.error:.1%}" if reply and reply.error is not None else ""

    def line(self) -> tuple[str, ...]:
        return (self.name, self.verdict, self.seconds("explain"), self.seconds("answer"), self.seconds("plain"),
                self.error, *self.groups, self.remark)  # fmt: skip


TITLES = ["question", "", "explain, s", "answer, s", "plain, s", f"error at ε = {COST}", "groups", "plain",
          "nobody's", "possible", ""]  # fmt: skip


def ask(asker: Asker | Desk, benchmark: Benchmark, number: int, sql: str) -> Result:
    """Take all steps of one question, up to a refusal."""
    result = Result(benchmark=benchmark, number=number)
    for step in STEPS:
        reply = asker.step(step, sql)
        result = replace(result, replies={**result.replies, step: reply})
        if not reply.fine:
            break
    return result


def results(place: Place, wanted: Iterable[tuple[Benchmark, Sequence[int]]], timeout: float) -> Iterator[Result]:
    """Ask every question that is wanted, and tell how far it is."""
    for benchmark, numbers in wanted:
        place.prepare(benchmark)
        asker = Asker(benchmark, place.data(benchmark), timeout)
        try:
            for number in numbers:
                found = ask(asker, benchmark, number, place.text(benchmark, number))
                print(f"{found.name}: {found.verdict}", file=sys.stderr)
                yield found
        finally:
            asker.close()


def summary(found: Sequence[Result]) -> str:
    """How many of each verdict, in all and of each benchmark."""
    sets = {each.title: [result for result in found if result.benchmark == each] for each in BENCHMARKS.values()}
    lines = []
    for name, some in {**sets, "all": found}.items():
        counts = Counter(each.verdict for each in some)
        told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        lines += [f"{name}: {len(some)} questions: {told}"] if some else []
    return "\n".join(lines)


def line_of(found: Result) -> Line:
    """A result as the page shows it."""
    answer, plain = found.replies.get("answer"), found.replies.get("plain")
    groups, _, nobodys, possible = found.groups
    timed = answer is not None and plain is not None and answer.fine and plain.fine
    explained = found.replies.get("explain")
    return Line(
        name=found.benchmark.name,
        title=found.benchmark.title,
        number=found.number,
        verdict=found.verdict,
        code=found.failed.code if found.failed is not None else "",
        error=None if answer is None else answer.error,
        ratio=answer.seconds / max(plain.seconds, 1e-3) if timed and answer and plain else None,
        groups=groups,
        nobodys=nobodys,
        possible=possible,
        narrowed=None if explained is None else explained.narrowed,
    )


def markdown(found: Sequence[Result]) -> str:
    """The page of the results."""
    return page([line_of(each) for each in found], {each.name: each.title for each in BENCHMARKS.values()})


PROMISED = 125  # answers, of all questions
LONGEST, MEDIAN = 10, 0.5  # seconds that an answer may take, and that explaining takes in the median


def unknown(found: Sequence[Result]) -> list[str]:
    """What is not as it is promised."""
    wrong = [f"{each.name}: {each.verdict}, {each.remark}" for each in found if each.surprises]
    for each in found:
        _, _, nobodys, possible = each.groups
        if possible not in ("", "?", nobodys):
            wrong.append(f"{each.name}: {nobodys} groups that nobody is in, of which {possible} can be")
    answers = [each.replies["answer"] for each in found if "answer" in each.replies]
    wrong += [f"an answer took {each.seconds:.1f} s" for each in answers if each.seconds > LONGEST]
    explained = [each.replies["explain"].seconds for each in found]
    wrong += [f"explaining takes {statistics.median(explained):.2f} s"] if statistics.median(explained) > MEDIAN else []
    if len(found) == sum(each.questions for each in BENCHMARKS.values()):
        many = sum(each.fine for each in answers)
        wrong += [f"{many} are answered, and {PROMISED} are promised"] if many < PROMISED else []
    return wrong


def explain(place: Place, benchmark: Benchmark, numbers: Iterable[int], timeout: float) -> None:
    """Print the text of questions, and what explaining them says."""
    place.prepare(benchmark)
    asker = Asker(benchmark, place.data(benchmark), timeout)
    try:
        for number in numbers:
            sql = place.text(benchmark, number)
            said = asker.step("explain", sql)
            print(f"{benchmark.title} {number}\n\n{sql}\n{said.code or 'answered'}: {said.text or said.broken}\n")
    finally:
        asker.close()


def main() -> None:
    reader = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    reader.add_argument("benchmark", nargs="?", choices=BENCHMARKS, help="one of the sets; else all")
    reader.add_argument("number", nargs="*", type=int, help="questions of the set; else all of it")
    reader.add_argument("--explain", action="store_true", help="only explain, and show the text")
    reader.add_argument("--small", action="store_true", help="of few data")
    reader.add_argument("--timeout", type=float, default=60, help="seconds that a step of a question may take")
    reader.add_argument("--folder", type=Path, default=FOLDER, help="where texts and data are")
    reader.add_argument("--markdown", type=Path, help="a file for the page")
    reader.add_argument("--check", action="store_true", help="fail where anything is not as it is promised")
    said = reader.parse_args()
    place = Place(folder=said.folder, small=said.small)
    chosen = [BENCHMARKS[said.benchmark]] if said.benchmark else list(BENCHMARKS.values())
    wanted = [(each, said.number or range(1, each.questions + 1)) for each in chosen]
    if said.explain:
        for each, numbers in wanted:
            explain(place, each, numbers, said.timeout)
        return
    found = list(results(place, wanted, said.timeout))
    print(table(TITLES, [each.line() for each in found]))
    print(f"\n{summary(found)}")
    if said.markdown:
        said.markdown.write_text(markdown(found))
    if said.check and (wrong := unknown(found)):
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
