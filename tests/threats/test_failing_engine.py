"""An engine that fails because of one unit's rows tells that it failed, once, and nothing else.

Two databases differ in one unit. The same analysts do the same on both, and on one of them the engine fails on a paid
question: by an error, for want of memory, or for want of time. Up to there both transcripts are the same. From there on
new questions are refused, all by one sentence, and no row is read, until the owner resumes. All of it is what is heard
where a toss makes the engine fail and nobody's row does, to the last word; so the transcript is a function of what is
public and of that one bit. A process that is killed is apart: see its test.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.answers.answer import Answer
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
from discreet.errors import FAILED, Broken
from discreet.ledger.balances import State
from discreet.ledger.facts import Charge
from discreet.ledger.ledger import Ledger
from discreet.workload import Workload
from discreet.workload.results import WorkloadAnswers
from support import hostile as h
from support.spender import Log, start

CATALOGUE = """
[dataset]
name = "clinic"
source = "data.parquet"
budget = { epsilon = "100", delta = "1e-6" }
ledger = "clinic.ledger"
[analysts.ann]
budget = { epsilon = "60", delta = "5e-7" }
[analysts.bob]
budget = { epsilon = "60", delta = "5e-7" }
[tables.data]
unit = "id"
rows_per_unit = 3
columns.age = { min = 0, max = 100 }
columns.cost = { min = 0, max = 1000 }
columns.level = { values = [1, 2, 3] }
columns.note = { }
"""
ONE = -1  # the unit in which the two databases differ: the only one with a cost of 999
MANY = 200_000  # its rows, where they are to fill the memory


def rows(of_one: int) -> pa.Table:
    """Two hundred people, and so many rows of one more."""
    n, more = list(range(200)), range(of_one)
    return pa.table(
        {
            "id": n + [ONE] * of_one,
            "age": [each % 90 for each in n] + [each % 90 for each in more],
            "cost": [float(each % 700) for each in n] + [999.0] * of_one,
            "level": [1 + each % 3 for each in n] + [1] * of_one,
            "note": [f"note {each % 5}" for each in n] + [f"{each:040d}" for each in more],
        }
    )


# ── what analysts do ─────────────────────────────────────────────────────────────────────────────────────────────

FAILS = "SELECT COUNT(DISTINCT note) AS n FROM data"  # the one question that reads a row of that unit
OLD = "SELECT COUNT(*) AS n FROM data WHERE cost < 900"
GROUPED = "SELECT level, COUNT(*) AS n, AVG(age) AS a FROM data WHERE cost < 900 GROUP BY level"
NEW = "SELECT MEDIAN(age) AS m FROM data WHERE cost < 900"
TWO = ["SELECT SUM(age) AS s FROM data WHERE cost < 800", "SELECT MAX(age) AS m FROM data WHERE cost < 800"]
COUNTS = [f"SELECT COUNT(*) AS n FROM data WHERE cost < {n}" for n in (100, 300, 500)]
DEAR = "SELECT SUM(age) AS s FROM data WHERE cost < 700"
NONSENSE = "SELECT nobody FROM nowhere WHERE cost < 900"

Act = tuple[str, Callable[[dp.Curator], Any]]  # who does what, and what it is


def ask(who: str, sql: str, **said: Any) -> Act:
    return f"{who} asks {sql} {said}", lambda held: held.ask(sql, analyst=who, **({"epsilon": 1} | said))


def ask_many(who: str, many: list[str]) -> Act:
    return f"{who} asks {many}", lambda held: held.ask_many(many, epsilon=2, analyst=who)


def explain(who: str, sql: str) -> Act:
    return f"{who} explains {sql}", lambda held: held.explain(sql, epsilon=1, analyst=who)


def left(who: str) -> Act:
    return f"what is left to {who}", lambda held: held.ledger.left_to(who)


def workload(who: str) -> Act:
    ages = Workload.identity(101)
    return f"{who} asks a workload", lambda held: ages.ask(held, "data", by="age", where="cost < 900", epsilon=1,
                                                           analyst=who)  # fmt: skip


BEFORE = [
    ask("ann", OLD),
    ask("bob", GROUPED),
    explain("bob", FAILS),
    explain("ann", NEW),
    left("ann"),
    left("bob"),
]
FAILURE = {  # the failing question alone, and as the second of three that are bought together
    "ask": ask("ann", FAILS),
    "ask several": ask_many("ann", [TWO[0], FAILS, TWO[1]]),
}
FREE = [  # what costs nothing, and stays available
    left("ann"),
    left("bob"),
    explain("ann", FAILS),
    explain("bob", NEW),
    ("ann explains two", lambda held: held.explain_many(TWO, epsilon=1, analyst="ann")),
    ask("ann", OLD),
    ask("bob", OLD),
    ask("ann", GROUPED),
    ask("bob", "SELECT level, COUNT(*) AS n FROM data WHERE cost < 900 GROUP BY level", reuse=True),
    ask("ann", NONSENSE),
    ask("bob", "SELECT id FROM data"),
    ask("mallory", OLD),
    ("the curator", repr),
]
WANTED = [  # what would have to be measured
    ask("ann", FAILS),
    ask("bob", FAILS),
    ask("bob", NEW),
    ask("bob", NEW, epsilon="1e-9"),
    ask("ann", NEW, reuse=True),
    ask("ann", "SELECT COUNT(*) AS n FROM data WHERE cost < 600", within=25, epsilon=None),
    ask_many("bob", TWO),
    ask_many("ann", COUNTS),
    workload("bob"),
]
BEYOND = ask("bob", DEAR, epsilon=10**6)  # more than there is


def heard(act: Act, held: dp.Curator) -> list[str]:
    """All that comes back but noisy numbers and random names."""
    try:
        found = act[1](held)
    except Exception as no:
        code = getattr(no, "code", "")
        return [type(no).__name__, code, str(no), h.masked(f"{no.__cause__!r} {no.__context__!r}")]
    if isinstance(found, list):
        return [text for each in found for text in _answer(each)]
    if isinstance(found, Answer):
        return _answer(found)
    noisy = isinstance(found, WorkloadAnswers)
    return [type(found).__name__, h.masked(str(found)) if noisy else str(found)]


def _answer(answer: Answer) -> list[str]:
    told = answer.receipt
    keys = [list(answer.data.columns[n]) for n, name in enumerate(answer.columns) if name == "level"]
    said = [answer.columns, answer.kinds, answer.to_arrow().schema, len(answer), keys, answer.bill.left]
    said += [answer.bill.remarks, told.key, f"{ENTRIES} {told.entry} {told.charge}", h.masked(repr(answer))]
    return [repr(answer.cost), *map(str, said)]


ENTRIES = "entries"


def unnumbered(acts: list[list[str]]) -> list[list[str]]:
    """The same without the numbers of entries of the ledger, among which failures and tries are."""
    return [[each for each in act if not each.startswith(ENTRIES)] for act in acts]


# ── ways to fail ─────────────────────────────────────────────────────────────────────────────────────────────────

SLOW = (
    f"SELECT count(*) FROM (SELECT id FROM data WHERE id = {ONE}) h, range(100000000000) r WHERE hash(r.range + id) = 0"
)


@dataclass(frozen=True)
class Way:
    """A way to fail: how many rows the unit has, what the engine stumbles over, its settings, and its own words."""

    of_one: int
    stumbles: str = ""  # SQL that is run before the failing question's own
    settings: dict[str, str] = field(default_factory=dict)
    said: str = ""


NOT = Way(0)
WAYS = {
    "error": Way(1, f"SELECT error('the note of ' || id || ' is ' || note) FROM data WHERE id = {ONE}", said="is 000"),
    "memory": Way(MANY, settings={"DISCREET_MEMORY": "16MB"}, said="OutOfMemory"),
    "time": Way(1, SLOW, {"DISCREET_SECONDS": "4"}, said="Timeout"),
}
TOSS = Way(0, "SELECT error('whatever the rows are')", said="whatever")


@contextmanager
def stumbling(way: Way) -> Iterator[list[str]]:
    """Engines that stumble; yields the statements that are run, one after the other."""
    plain, ran = DuckDBSnapshot._run, list[str]()

    def run(self: DuckDBSnapshot, text: str, look: Any, **given: Any) -> Any:
        ran.append(text)
        if way.stumbles and "cost" not in text:
            plain(self, way.stumbles, look)
        return plain(self, text, look, **given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DuckDBSnapshot, "_run", run)
        for name, value in way.settings.items():
            patch.setenv(name, value)
        yield ran


# ── transcripts ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Transcript:
    """All that analysts heard, act by act, and what the owner knows."""

    before: list[list[str]]
    failure: list[str]
    free: list[list[str]]
    wanted: list[list[str]]
    free_again: list[list[str]]  # what is free, once more
    reopened: list[list[str]]  # all of it in another process, before the owner has resumed
    resumed: list[list[str]]  # and afterwards
    settled: list[list[str]]  # and when all of it is paid for
    read: list[str]  # the statements that were run between the failure and the owner's decision
    said: list[str]  # what the engine said
    charged: list[tuple[str, ...]]
    verified: str  # whether the ledger is in order

    def public(self) -> Transcript:
        """What analysts hear."""
        return replace(self, said=[], read=[])


def put(folder: Path, way: Way) -> Path:
    folder.mkdir()
    pq.write_table(rows(way.of_one), folder / "data.parquet")
    (folder / "clinic.toml").write_text(CATALOGUE)
    return folder / "clinic.toml"


def opened(path: Path) -> dp.Curator:
    return dp.Curator.load(path, marks=path.parent / "marks")


def done(acts: list[Act], held: dp.Curator) -> list[list[str]]:
    """What is heard of each act, with the folder of the ledger left out."""
    place = str(Path(held.ledger.where).parent)
    return [[act[0], *(each.replace(place, "HERE") for each in heard(act, held))] for act in acts]


def transcript(folder: Path, way: Way, how: str = "ask") -> Transcript:
    """What is heard while an engine stumbles, and after its owner has mended and resumed it."""
    path = put(folder, way)
    with stumbling(way) as ran:
        with opened(path) as held:
            before = done(BEFORE, held)
            (failure,) = done([FAILURE[how]], held)
            first = len(ran)
            free, wanted, free_again = (done(acts, held) for acts in (FREE, [*WANTED, BEYOND], FREE))
        with opened(path) as held:
            reopened, said = done([*FREE, *WANTED, BEYOND], held), [str(each.said) for each in held.failures]
        read = ran[first:]
    with opened(path) as held:
        held.ledger.resume(held.failures)
        resumed, settled = (done([FAILURE[how], *FREE, *WANTED, BEYOND], held) for _ in range(2))
        paid, verified = charged(held), _verified(held.ledger)
    return Transcript(before, failure, free, wanted, free_again, reopened, resumed, settled, read, said, paid, verified)


def _verified(ledger: Ledger) -> str:
    try:
        ledger.verify()
    except dp.LedgerCorrupt as problem:
        return str(problem)
    return IN_ORDER


IN_ORDER = "in order"


def charged(held: dp.Curator) -> list[tuple[str, ...]]:
    """Who paid how much for which question."""
    facts = [entry.fact for entry in held.ledger if isinstance(entry.fact, Charge)]
    return sorted((each.analyst, each.key or "", repr(each.cost)) for each in facts)


def compare(plain: Transcript, failing: Transcript, toss: Transcript) -> None:
    """One bit differs, once; and a toss that no row decides is heard as the same."""
    assert failing.before == plain.before
    assert failing.failure[1:] == ["Broken", "", FAILED, "None None"]
    assert failing.free == plain.free  # what is left is the same: the failure is paid for as the answer is
    assert {tuple(each[1:3]) for each in failing.wanted} == {("Stopped", "stopped")}
    assert len({each[3] for each in failing.wanted}) == 1  # whatever is asked, and whoever asks
    assert failing.free_again == failing.free  # nothing was paid
    assert failing.reopened == [*failing.free, *failing.wanted]
    assert failing.read == []  # no row was looked at, so nothing can have depended on one
    assert failing.charged == plain.charged
    assert unnumbered(failing.settled) == unnumbered(plain.settled)
    assert failing.public() == toss.public()
    assert failing.verified == IN_ORDER


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Transcript]:
    """Transcripts of the database without the unit."""
    folder = tmp_path_factory.mktemp("known")
    found = dict[str, Transcript]()

    def get(way: Way, how: str) -> Transcript:
        key = f"{how} {way}"
        if key not in found:
            found[key] = transcript(folder / str(len(found)), way, how)
        return found[key]

    return get


@pytest.mark.parametrize("how", FAILURE)
@pytest.mark.parametrize("name", WAYS)
def test_a_failure_tells_that_it_happened_and_nothing_else(
    name: str, how: str, known: Callable[..., Transcript], tmp_path: Path
) -> None:
    failing = transcript(tmp_path / "failing", WAYS[name], how)
    compare(known(NOT, how), failing, known(TOSS, how))
    (said,) = failing.said
    assert WAYS[name].said in said  # it failed as it was to fail


def test_nothing_fails_where_the_unit_is_not(known: Callable[..., Transcript]) -> None:
    """The same settings and the same stumbling blocks, and a transcript without a failure."""
    for name, way in WAYS.items():
        found = known(replace(way, of_one=0), "ask")
        assert found.said == [], name
        assert found.public() == known(NOT, "ask").public()


# ── a process that is killed ─────────────────────────────────────────────────────────────────────────────────────


def ask_until_killed(path: Path, told: Path) -> None:
    """Do what analysts do, up to the question that does not end."""
    log = Log(told)
    with stumbling(Way(1, SLOW)), opened(path) as held:
        for act in done(BEFORE, held):
            log.say(json.dumps(act))
        plain = DuckDBSnapshot._run

        def run(*given: Any, **more: Any) -> Any:
            log.say("running")
            return plain(*given, **more)

        DuckDBSnapshot._run = run  # type: ignore[method-assign]
        log.say(json.dumps(done([FAILURE["ask"]], held)))


def test_a_killed_process_tells_that_it_was_killed_and_nothing_else(
    known: Callable[..., Transcript], tmp_path: Path
) -> None:
    """A kill -9 while the engine runs. Whoever opens the data next hears what is heard where nothing was killed: the
    question is paid for, once.

    No failure is on record, so the data set goes on: docs/promise.md says so under what is not promised. A killed
    process is one bit for each question, and not for each decision of the owner.
    """
    path, told = put(tmp_path / "killed", Way(1)), tmp_path / "told"
    process = start(ask_until_killed, path, told)
    ends = time.monotonic() + 60
    while not (told.exists() and told.read_text().endswith("running\n")) and time.monotonic() < ends:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    *before, running = told.read_text().splitlines()
    plain = known(NOT, "ask")
    assert [json.loads(each) for each in before] == plain.before
    assert running == "running"
    with opened(path) as held:
        assert held.explain(FAILS, epsilon=1, analyst="ann").plan.key in {key for _, key, _ in charged(held)}
        assert done(FREE, held) == plain.free
        assert unnumbered(done([*WANTED, BEYOND], held)) == unnumbered(plain.wanted)
        assert not held.ledger.stopped
        assert unnumbered(done([FAILURE["ask"], *FREE, *WANTED, BEYOND], held)) == unnumbered(plain.settled)
        assert charged(held) == plain.charged
        held.ledger.verify()


# ── how much a list of questions tells ───────────────────────────────────────────────────────────────────────────

BITS = 3


def told_of(secret: int, together: bool) -> tuple[str, ...]:
    """What is heard of questions of which each fails if one binary digit of the age of one person is 1."""
    plain = DuckDBSnapshot._run

    def run(self: DuckDBSnapshot, text: str, look: Any, **given: Any) -> Any:
        for n in range(BITS):
            if str(200 + n) in text:
                plain(self, f"SELECT error('') FROM data WHERE id = {ONE} AND (age >> {n}) & 1 = 1", look)
        return plain(self, text, look, **given)

    people = pa.concat_tables([rows(0), rows(1).slice(200).set_column(1, "age", pa.array([secret]))])
    caps: dict[str, Any] = {"unit": "id", "rows_per_unit": 3, "columns": {"age": (0, 100)}}
    with pytest.MonkeyPatch.context() as patch, dp.open(people, budget=dp.Budget(epsilon=9), **caps) as held:
        patch.setattr(DuckDBSnapshot, "_run", run)
        asked = [f"SELECT SUM(age) AS s FROM data WHERE age <> {200 + n}" for n in range(BITS)]
        acts = [ask_many("", asked)] if together else []
        acts += [ask("", sql, epsilon=Fraction(2, BITS)) for sql in asked]  # after all together: for nothing
        return tuple(text for act in (*acts, left("")) for text in heard(act, held))


@pytest.mark.parametrize("together", [False, True])
def test_a_list_of_questions_tells_which_failed_first_and_nothing_else(
    together: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person of whom n questions could tell n bits: there are n + 1 transcripts, and not 2^n. That no question failed
    before is told, too, so it is log2(n + 1) bits in all; without the breaker it is all of them."""
    secrets = range(2**BITS)
    assert len({told_of(secret, together) for secret in secrets}) == BITS + 1
    without_breaker(monkeypatch)
    assert len({told_of(secret, together) for secret in secrets}) == len(secrets)


# ── the controls: with any of these, more is heard ───────────────────────────────────────────────────────────────


def without_breaker(patch: pytest.MonkeyPatch) -> None:
    """A data set that never stops."""
    patch.setattr(State, "admit_running", lambda *_: None)


def _telling(patch: pytest.MonkeyPatch, tell: Callable[[Ledger, str], None]) -> None:
    """Failures that are told in another way."""
    plain = Ledger._fail

    def fail(self: Ledger, receipt: Any, said: str) -> None:
        try:
            plain(self, receipt, said)
        except Broken:
            tell(self, said)
        raise Broken(FAILED)

    patch.setattr(Ledger, "_fail", fail)


def _words(_: Ledger, said: str) -> None:
    raise Broken(said) from None


def _chained(_: Ledger, said: str) -> None:
    raise Broken(FAILED) from ValueError(said)


def _refund(ledger: Ledger, _: str) -> None:
    ledger._journal.turn(lambda turn: turn.state.spent.clear())


CONTROLS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "the data set does not stop": without_breaker,
    "the engine's words are told": lambda patch: _telling(patch, _words),
    "the engine's words are behind the sentence": lambda patch: _telling(patch, _chained),
    "what failed is not paid": lambda patch: _telling(patch, _refund),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_more_than_a_bit_is_noticed(
    name: str, known: Callable[..., Transcript], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, toss = known(NOT, "ask"), known(TOSS, "ask")
    CONTROLS[name](monkeypatch)
    failing = transcript(tmp_path / "failing", WAYS["error"], "ask")
    with pytest.raises(AssertionError):
        compare(plain, failing, toss)
