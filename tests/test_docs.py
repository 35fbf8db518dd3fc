"""The documentation runs: every example in the README and in docstrings, the demo, and what the tables name."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import discreet as dp
from discreet.sql.words import AGGREGATES, CALLS, OTHERS, WINDOWS
from kit import said_by

ROOT = Path(__file__).parents[1]


class Noisy(doctest.OutputChecker):
    """Where an example says `noisy`, digits and signs may differ, and the shape of the output may not."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if self.noisy:
            number = r"-?\d+(,\d{3})*(\.\d+)?"
            want, got = (re.sub(r"[ \n]+|<BLANKLINE>", "", re.sub(number, "#", text)) for text in (want, got))
        return super().check_output(want, got, optionflags)


class Runner(doctest.DocTestRunner):
    def report_start(self, out, test, example) -> None:
        self._checker.noisy = "noisy" in example.source


def run(text: str, name: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    report: list[str] = []
    failed, tried = Runner(checker=Noisy(), verbose=False).run(test, out=report.append)
    assert tried
    assert not failed, "".join(report)


def test_the_readme_prints_what_it_says() -> None:
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 4
    run("\n".join(blocks), "README.md")


def test_docstrings_print_what_they_say() -> None:
    for module in pkgutil.walk_packages(dp.__path__, "discreet."):
        text = importlib.import_module(module.name).__doc__ or ""
        assert text, f"{module.name} says nothing of itself"
        if ">>>" in text:
            run(text, module.name)
    run(dp.__doc__ or "", "discreet")


def test_a_wrong_example_is_caught() -> None:
    with pytest.raises(AssertionError):
        run(">>> 1 + 1\n3\n", "control")
    with pytest.raises(AssertionError):
        run(">>> [1, 2]  # noisy\n[7]\n", "control")


def test_the_readme_names_everything_public() -> None:
    text = (ROOT / "README.md").read_text()
    for name in dp.__all__:
        thing = getattr(dp, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert thing.__doc__
        elif name not in ("Mechanism", "Noise", "Reach"):  # what the others are made of
            assert name in text, name
    listed = re.findall(r"^    (\w+)  ", said_by(sys.executable, "-m", "discreet.cli", "--help"), re.M)
    assert "ask" in listed
    for command in listed:
        helped = said_by(sys.executable, "-m", "discreet.cli", command, "--help")
        assert f"discreet {command}" in text
        for option in re.findall(r"--\w+", helped):
            assert option in text or option == "--help", option
    for setting in re.findall(r'environ.get\("(DISCREET_\w+)"', (ROOT / "src/discreet/ledger/mark.py").read_text()):
        assert f"${setting}" in text
    for command in re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M):
        everywhere = text + (ROOT / "CONTRIBUTING.md").read_text()
        assert f"make {command}" in everywhere, command


def test_the_readme_lists_the_sql_that_works() -> None:
    text = (ROOT / "README.md").read_text()
    table = text[text.index("**What can be asked**") : text.index("**Groups.**")]
    spelled = {"negative": "-", "is": "IS NULL", "||": "\\|\\|"}
    names = {name for name, _ in (*CALLS.values(), *WINDOWS.values())} | {*AGGREGATES.values(), *OTHERS}
    names |= {"if", "filter", "interval", "width_bucket"}
    for name in names:
        assert re.search(rf"(?<!\w){re.escape(spelled.get(name, name.upper()))}(?!\w)", table), name


def test_the_demo_runs() -> None:
    shown = said_by(sys.executable, "-m", "discreet.cli", "demo")
    assert "6,366 married women" in shown
    assert "545 in each year" in shown
    assert "nothing: it was asked before" in shown
    assert "grouping by `nr` would" in shown
    assert "has no room for it" in shown
    assert "3 charges recomputed" in shown


def test_nothing_speaks_of_machines() -> None:
    """No paths of a developer's machine and no package hosts in what is shipped."""
    for path in said_by("git", "ls-files", folder=ROOT).split():
        if path == "LICENSE":
            continue
        text = (ROOT / path).read_text()
        for wrong in ("/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "pypi" + ".org", "files.python" + "hosted"):
            assert wrong not in text, f"{path} names {wrong}"
