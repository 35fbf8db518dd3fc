"""`discreet attack`: once as a process, as a user runs it; then many times in this one."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.lab.attacks import trials
from discreet.lab.attacks.naive_server import Naive
from discreet.lab.attacks.targets import Web
from support.commands import run


@pytest.fixture
def attack(capsys: pytest.CaptureFixture):
    def call(*words: object, status: int = 0) -> str:
        """What it says, on the stream that belongs to its status."""
        assert main(["attack", *map(str, words)]) == status
        said = capsys.readouterr()
        return said.err if status else said.out

    return call


def test_a_report_on_the_terminal_and_in_files(tmp_path: Path) -> None:
    found, page = tmp_path / "found.json", tmp_path / "found.html"
    shown = run("attack", "game", "--epsilon", 2, "--runs", 1000, "--json", found, "--html", page)
    assert "the best guess is wrong at least 11.9 %" in " ".join(shown.split())
    assert f"Written: {page}" in shown
    facts = json.loads(found.read_text())["findings"][0]["facts"]
    assert facts["error"] == pytest.approx(0.1192, abs=1e-4)
    assert page.read_text().count("<svg") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bayes", "--people", 5), "posteriors within 2ε"),
        (("shame", "--delta", "0.001", "--people", 100), "somebody is shamed"),
        (("replicability", "--people", 100, "--runs", 20), "ρ ≤"),
        (("difference", "--runs", 2), "exact server: 2 of 2 told"),
        (("tracker", "--runs", 2), "refusing small sets: 2 of 2 told"),
        (("class", "--runs", 2), "40.95 % caught for sure"),
        (("average", "--runs", 1), "only a limit on the total holds"),
        (("membership", "--people", 30), "at 5 % false alarms"),
        (("reconstruct", "--people", 16, "--runs", 2), "are blatantly non-private"),
    ],
)
def test_every_attack_and_every_meaning(attack, words: tuple, said: str) -> None:
    assert said in attack(*words)


def test_a_server_of_yours(attack, tmp_path: Path) -> None:
    secret = trials.fair_bits(30)
    truth = tmp_path / "truth.txt"
    truth.write_text("\n".join(map(str, secret)))
    words = ("reconstruct", "--people", 30, "--queries", 60, "--secret", "secret = 1", "--key", "id")
    with Naive(trials.people_table(secret)) as server:
        shown = attack(*words, "--url", server.url, "--truth", truth, "--noise", "none", "--table", "people")
        assert "blatantly non-private" in shown
        assert f"{secret.sum()} of 30 have the secret" in attack(*words, "--url", server.url)
    assert "did not answer" in attack(*words, "--url", server.url, status=1)


def test_a_truth_of_another_length_is_refused_before_anything_is_asked(attack, tmp_path: Path) -> None:
    truth = tmp_path / "truth.txt"
    truth.write_text("1 0 1")
    nobody = ("reconstruct", "--people", 9, "--url", "http://127.0.0.1:1/")
    assert "9 of them" in attack(*nobody, "--truth", truth, status=2)


@pytest.mark.parametrize("rows", [[["abc"]], [[1, 2]], [], [[[1]]], [[1], [2]], [[math.inf]]])
def test_a_server_that_answers_otherwise_is_named(attack, monkeypatch: pytest.MonkeyPatch, rows: list) -> None:
    monkeypatch.setattr(Web, "ask", lambda host, sql: [tuple(row) for row in rows])
    words = ("reconstruct", "--people", 9, "--url", "http://127.0.0.1:1/")
    assert "did not answer as it should" in attack(*words, status=1)


def test_the_package_is_the_command() -> None:
    shown = subprocess.run([sys.executable, "-m", "discreet", "attack", "--help"], capture_output=True, check=True)
    assert b"discreet attack" in shown.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("game", "--json", "found.txt"), "--json found.json"),
        (("game", "--html", "no/such/found.html"), "make the folder"),
        (("game", "--table", "people"), "add --url"),
        (("game", "--url", "http://127.0.0.1:1/", "--people", 9), "attack reconstruct --url"),
        (("reconstruct", "--url", "http://127.0.0.1:1/"), "--people 100"),
        (("reconstruct", "--url", "somewhere", "--people", 9), "http://"),
        (("reconstruct", "--url", "http://127.0.0.1:1/", "--people", 9, "--truth", "nowhere"), "a file of bits"),
        (("reconstruct", "--people", 9, "--queries", 3), "for example 36"),
        (("game", "--epsilon", "-1"), "epsilon"),
        (("bayes", "--people", "90"), "at most 14"),
        (("bayes", "--epsilon", "1000"), "at most 60"),
        (("game", "--people", 10), "it reads --delta, --epsilon, --runs"),
        (("shame", "--epsilon", 1), "does not read --epsilon"),
        (("all", "--people", 30), "does not read --people"),
        (("game", "--runs", 0), "--runs 100"),
        (("reconstruct", "--people", 0), "--people 100"),
        (("reconstruct", "--people", 1), "at least 2 people"),
        (("membership", "--people", 3), "too few"),
        (("reconstruct", "--url", "http://127.0.0.1:1/", "--people", 9, "--runs", 3), "leave --runs out"),
    ],
)
def test_what_cannot_be_tried_is_refused(attack, words: tuple, said: str) -> None:
    assert said in attack(*words, status=2)
