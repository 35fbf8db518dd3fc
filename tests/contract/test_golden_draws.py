"""The same coins give the same numbers: for each law and mechanism, and for whatever a curator does with them.

The order in which coins are drawn is no promise to anybody outside. But it changes for a reason, or by mistake: a draw
that moved to another place, that is made twice, that is made of fewer bits, shows here and nowhere else. Where it is
meant, delete the lines and write them anew (see `golden.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.core.coins import System
from discreet.core.record import read
from discreet.learn import KMeans
from discreet.ledger.facts import Charge
from discreet.local import Wire
from discreet.local.randomizer import Collected
from support.golden import FOLDER, RECORDS, Book, Seeded, plain, records_of, secret_of, secrets
from support.history import ASKED, LEDGER, opened, told

DRAWS, FLOWS = Book("draws.jsonl"), Book("flows.jsonl")
CASES = secrets()
DATA = sorted((FOLDER / "ledgers").iterdir())[0]
CLOSED = (None, "total")  # of other workloads the strategy is found with floats: only how many coins they take is told
TIMES = 12


class Reseeded(Seeded):
    """Coins that begin anew under another name."""

    def begin(self, name: str) -> None:
        self.__init__(name)  # type: ignore[misc]


@pytest.mark.parametrize("name", ["laplace law/1", "gaussian law/1"])
def test_laws(name: str) -> None:
    for law in dict.fromkeys(records_of(name)):
        coins = Seeded(str(law))
        drawn = plain(law.draw(1000, coins))
        found = [drawn[:5], hashlib.sha256(json.dumps(drawn).encode()).hexdigest()[:32], coins.used]
        assert DRAWS.holds(f"{name} {law}", found), law


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_mechanisms(case: tuple[str, str, Any]) -> None:
    """All that the contract knows; of those whose reports travel, the bytes that do."""
    name, text, said = case
    mechanism, coins = read(text), Seeded(name)
    drawn = [mechanism.release(secret_of(said), coins) for _ in range(TIMES)]
    found = [plain(drawn), coins.used]
    if isinstance(mechanism, Collected):
        found.append(Wire(randomizer=mechanism, question="Which ward?").encode(drawn[0]).hex())
    assert DRAWS.holds(name, found), found


def test_every_mechanism_is_drawn_from() -> None:
    """All classes on record that release something."""
    drawn = {type(read(text)) for _, text, _ in CASES}
    assert {type(read(text)) for text in RECORDS} <= drawn


# ── flows ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def coins(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reseeded]:
    """All coins there are, in place of the system's."""
    found = Reseeded("")
    monkeypatch.setattr(System, "flip", lambda _, count: found.flip(count))
    return found


def bought(ledger: dp.Ledger, after: int) -> Iterator[list[str]]:
    """The keys of what was charged after so many entries, and what was kept for each."""
    for entry in list(ledger)[after:]:
        fact = entry.fact
        if isinstance(fact, Charge) and fact.key is not None:
            said = {"key": fact.key, "version": fact.version, "analyst": fact.analyst}
            answer = ledger.spend(read(fact.mechanism), **said).answer
            assert answer is not None
            yield [fact.key, answer.decode()]


@pytest.mark.parametrize("dataset", ["people", "visits", "trips", "clinic"])
def test_questions(dataset: str, coins: Reseeded, tmp_path: Path) -> None:
    """ask, ask_many, within=, automatic bounds, workloads: what is charged, in which order, and what is kept of it."""
    changed = []
    with opened(DATA, dataset, ledger=tmp_path / LEDGER) as curator:
        for step in ASKED:
            if step["dataset"] != dataset or "rows" in step:
                continue
            name = json.dumps([step["how"], step.get("queries"), step["said"]], ensure_ascii=False)
            before = len(list(curator.ledger))
            coins.begin(name)
            told(curator, step)
            kept = bought(curator.ledger, before) if step.get("queries") in CLOSED else ()
            if not FLOWS.holds(name, [coins.used, *kept]):
                changed.append(name)
    assert not changed, "\n".join(changed)


def test_clusters(coins: Reseeded, tmp_path: Path) -> None:
    """What a k-means asks depends on floats; how many coins that takes does not, nor do the centres, but for digits."""
    with opened(DATA, "visits", ledger=tmp_path / LEDGER) as curator:
        coins.begin("clusters")
        model = KMeans(2, epsilon=4).fit_table(curator, "visits", ["cost", "minutes"])
        charged = sum(isinstance(entry.fact, Charge) for entry in curator.ledger)
        centres = [[round(each, 3) for each in centre] for centre in model.cluster_centers_.tolist()]
        assert FLOWS.holds("fit_table", [coins.used, charged, centres])
        coins.begin("index")
        curator.index()
        assert FLOWS.holds("index", coins.used)
    coins.begin("fit")
    points = np.array([[x, x * x % 7] for x in range(60)])
    fitted = KMeans(3, epsilon=5, bounds=(0, 60)).fit(points)
    centres = [[round(each, 3) for each in centre] for centre in fitted.cluster_centers_.tolist()]
    assert FLOWS.holds("fit", [coins.used, centres])


def test_other_coins_are_noticed(coins: Reseeded, tmp_path: Path) -> None:
    """The control: one byte fewer before a question, and something else is kept."""
    step = ASKED[0]
    kept = []
    for early in (0, 1):
        with opened(DATA, "people", ledger=tmp_path / f"{early}.ledger") as curator:
            coins.begin("control")
            coins.flip(early)
            told(curator, step)
            kept.append(list(bought(curator.ledger, 0)))
    assert [each[0] for each in kept[0]] == [each[0] for each in kept[1]]
    assert kept[0] != kept[1]
