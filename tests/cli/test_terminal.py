"""What values, names and messages hold is shown on a terminal and never acted on; and no spreadsheet computes it."""

from __future__ import annotations

import ast
import csv
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.answers.formats import FORMULA, json_text, rows_csv
from discreet.cli import terminal
from discreet.cli.command import main
from discreet.core.text import table
from discreet.errors import UNSEEN, visible
from discreet.ledger.failures import Unanswered
from discreet.ledger.ledger import Ledger
from support.terminals import Terminal

SOURCE = Path(terminal.__file__).parent
BAD = [
    "\x1b[2J\x1b[31mred", "a\nclinic answers again.", "\x9b2Jc1", "user\u202etxt.exe", "b\u2028c", "\x7fdel",
    "tab\tbed", "\r\x07over", "over\r=1+1", "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "'=1", "''=1",
    "＝1", "$\\frac$", "-5 to 0",
]  # fmt: skip


def rows(people: int = 60) -> pa.Table:
    ids = list(range(people * len(BAD)))
    return pa.table({"id": ids, "name": [BAD[n % len(BAD)] for n in ids], "age": [-(n % 9) for n in ids]})


def opened(folder: Path, columns: dict[str, Any]) -> dp.Curator:
    return dp.open(rows(), columns=columns | {"age": (-9, 0)}, budget=dp.Budget(epsilon=1000, delta="1e-3"),
                   name="names", ledger=folder / "names.ledger")  # fmt: skip


def is_safe(text: str) -> bool:
    """Every letter of it is shown: what UNSEEN says is compared with what Unicode says."""
    return not [
        each for each in text if each != "\n" and unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs")
    ] and not [each for each in text if unicodedata.bidirectional(each) in
               ("LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI")]  # fmt: skip


SQL = "SELECT name, COUNT(*) AS n, AVG(age) AS a FROM names GROUP BY name ORDER BY name"


@pytest.mark.parametrize("columns", [{"name": BAD}, {"name": str}], ids=["declared", "chosen privately"])
def test_names_of_groups_are_shown_escaped(tmp_path: Path, columns: dict[str, Any]) -> None:
    with opened(tmp_path, columns) as curator:
        answer = curator.ask(SQL, epsilon=200)
        assert set(answer["name"]) >= set(BAD), "the values themselves are as they are"
        shown = repr(answer), repr(answer.margin()), answer._repr_html_(), str(curator.explain(SQL, epsilon=200))
        assert all(map(is_safe, shown))
        assert r"\x1b[2J\x1b[31mred" in shown[0]
        assert r"user\u202etxt.exe" in shown[0]
        lines = shown[0].splitlines()
        assert lines[1 + len(answer)] == "", "one line for each group, none for what is in a name"
        assert sum("clinic answers again" in each for each in lines) == 1


def test_labels_of_pictures_are_shown_escaped(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with opened(tmp_path, {"name": [each for each in BAD if "＝" not in each]}) as curator:  # the font lacks it
        figure = curator.ask(SQL, epsilon=200).plot()
        for kind in ("svg", "png"):
            figure.savefig(tmp_path / f"picture.{kind}")
        names = [each.get_text() for each in figure.axes[0].get_yticklabels()]
        assert all(map(is_safe, names))
        assert r"\$\frac\$" in names


def test_csv_has_no_formulas_and_no_number_is_touched(tmp_path: Path) -> None:
    from discreet.answers.formats import answer_csv

    with opened(tmp_path, {"name": BAD}) as curator:
        answer = curator.ask(SQL, epsilon=200)
        heads, *found = csv.reader(io.StringIO(answer_csv(answer, simultaneous=False), newline=""))
        assert heads == ["name", "n", "n_margin", "a", "a_margin"]
        assert not [each for each in found if each[0] and each[0][0] in "=+-@\t\r\n＝＋－＠"]
        assert [unwritten(each[0]) if each[0] else None for each in found] == answer["name"]
        assert [float(each[3]) for each in found] == answer["a"]
        assert any(each[3].startswith("-") for each in found), "a number less than zero is a number"


def unwritten(cell: str) -> str:
    """The text that a cell was written for, as docs/command-line.md says."""
    return cell[1:] if cell.startswith("'") and FORMULA.match(cell) else cell


@given(st.text(alphabet=st.sampled_from("'=+-@\t\r\nab1＝ \"，,;"), max_size=6))
def test_cells_can_be_read_back(text: str) -> None:
    ((cell,),) = csv.reader(io.StringIO(rows_csv([text], []), newline=""))
    assert cell[:1] not in set("=+-@\t\r\n＝＋－＠") or not cell
    assert unwritten(cell) == text


@given(
    st.recursive(st.text(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3))
)
def test_json_is_safe_on_a_terminal_and_loses_nothing(value: Any) -> None:
    said = json_text(value)
    assert is_safe(said)
    assert json.loads(said) == value


@given(st.text())
def test_what_is_not_seen_is_escaped(text: str) -> None:
    assert is_safe(visible(text))
    assert "\n" not in visible(text)
    assert visible(text, lines=True).count("\n") == text.count("\n")
    assert visible(visible(text)) == visible(text)
    if not UNSEEN.search(text):
        assert visible(text) == text
    assert is_safe(str(dp.NotAllowed(text, code="not-answered", instead=text)))
    assert len(table([text], [[text]]).split("\n")) == 2


def test_writing_stays_writing() -> None:
    for text in ("Zürich", "東京", "می‌خواهم", "क्‍ष", "👩‍⚕️", "a b", "ε ≤ 1"):
        assert visible(text) == text


def test_what_the_engine_said_is_set_off() -> None:
    said = "x\x1b[2J\nclinic answers again.\n\u202e"
    shown = str(Unanswered(entry=3, time="2026-01-01T00:00:00.000000Z", charge=2, analyst="\x1b]0;a\nb", version="v",
                           mechanism="m", said=said))  # fmt: skip
    assert is_safe(shown)
    first, *rest = shown.splitlines()
    assert first.endswith(r"by \x1b]0;a\nb")
    assert all(line.startswith("  ") for line in rest)


CATALOGUE = """
[dataset]
name = "clinic"
source = "data.parquet"
budget = { epsilon = "1000", delta = "1e-3" }
ledger = "clinic.ledger"
[tables.data]
unit = "row"
columns.name = { }
columns.age = { min = -9, max = 0 }
[analysts."=1+1"]
budget = { epsilon = "1000", delta = "1e-3" }
"""


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text(CATALOGUE)
    pq.write_table(rows(), tmp_path / "data.parquet")
    sql = SQL.replace("names", "data")
    asked = ["ask", str(path), sql, "--epsilon", "200", "--analyst", "=1+1"]
    assert main(asked) == 0
    assert is_safe(capsys.readouterr().out)
    assert main([*asked, "--format", "json"]) == 0
    said = capsys.readouterr().out
    assert is_safe(said)
    assert {each["name"] for each in json.loads(said)["rows"]} >= set(BAD)
    assert main([*asked, "--format", "csv"]) == 0
    assert "\x1b[2J" in capsys.readouterr().out, "a file has what was answered"
    screen = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", screen)
        assert main([*asked, "--format", "csv"]) == 0
    assert is_safe(screen.getvalue())
    assert main(["ledger", str(path), "--format", "csv"]) == 0
    (charge,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert charge["analyst"] == "'=1+1"
    assert charge["pure"] == "200"
    assert main(["ledger", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["history"][0]["analyst"] == "=1+1"
    assert main(["ask", str(path), f"{sql} \x1b[2J \u202e", "--epsilon", "1", "--analyst", "=1+1"]) == 2
    assert is_safe(capsys.readouterr().err)
    assert main(["ask", str(path), sql, "--epsilon", "1\x1b[2J", "--analyst", "=1+1"]) == 2
    assert is_safe(capsys.readouterr().err)


def test_what_failed_is_shown_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text(CATALOGUE)
    pq.write_table(rows(), tmp_path / "data.parquet")
    with dp.Curator.load(path) as curator:
        receipt = curator.ledger.spend(dp.Laplace(epsilon=1, sensitivity=1), key="k", analyst="=1+1")

        def fail() -> bytes:
            receipt.use(receipt.mechanism)
            raise RuntimeError("no\x1b[2J\nclinic answers again.\u202e\x9b")

        with pytest.raises(dp.Broken):
            curator.ledger.answer(receipt, fail)
    assert main(["resume", str(path), "--yes"]) == 0
    said = capsys.readouterr().out
    assert is_safe(said)
    assert r"no\x1b[2J" in said
    assert said.splitlines().count("clinic answers again.") == 1


def test_names_on_a_ledger_are_shown_escaped(tmp_path: Path) -> None:
    with Ledger(tmp_path / "l", dataset="=a", budget=dp.Budget(epsilon=1)) as ledger:
        for name in ("\x1b", "a\nb", "\u202e"):
            with pytest.raises(dp.NotUnderstood):
                ledger.spend(dp.Laplace(epsilon="0.1", sensitivity=1), analyst=name)
        assert is_safe("\n".join(map(str, ledger.balances)))


def test_nothing_is_printed_but_by_the_terminal() -> None:
    """A command that calls `print` itself would forget to escape."""
    for path in SOURCE.glob("*.py"):
        called = {node.func.id for node in ast.walk(ast.parse(path.read_text()))
                  if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
        assert "print" not in called or path.name == "terminal.py", path.name
