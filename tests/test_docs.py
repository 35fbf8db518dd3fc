"""The documentation runs: every example in the README, in docs/ and in docstrings, the demo, and what tables name."""

from __future__ import annotations

import ast
import doctest
import importlib
import io
import pkgutil
import re
import sys
import tokenize
from contextlib import suppress
from datetime import date, datetime
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet import errors
from discreet.catalogue.toml import read
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.sql.allowlist import AGGREGATES, INSTEAD, WINDOWS
from discreet.sql.parser.functions import CALLED
from support.kit import said_by

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
EVERYWHERE = [README, *PAGES]
WITHOUT_EXAMPLES = {"command-line.md", "developing.md", "glossary.md", "promise.md", "questions.md", "unit-index.md"}


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


@pytest.mark.parametrize("page", EVERYWHERE, ids=lambda page: page.name)
def test_a_page_prints_what_it_says(page: Path) -> None:
    """The examples of a page run from top to bottom, by themselves: nothing is taken over from another page."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.S)
    assert blocks or page.name in WITHOUT_EXAMPLES, page.name
    if blocks:
        run("\n".join(blocks), page.name)


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


@pytest.mark.parametrize("page", [README, ROOT / "docs/catalogue.md"], ids=lambda page: page.name)
def test_a_catalogue_that_is_shown_can_be_read(page: Path, tmp_path: Path) -> None:
    blocks = re.findall(r"```toml\n(.*?)```", page.read_text(), re.S)
    assert blocks
    for block in blocks:
        (tmp_path / "clinic.toml").write_text(block)
        assert read(tmp_path / "clinic.toml").name == "clinic"


def documentation() -> str:
    return "\n".join(page.read_text() for page in EVERYWHERE)


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 200


def test_everything_public_is_documented() -> None:
    text = documentation()
    for name in dp.__all__:
        thing = getattr(dp, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert thing.__doc__
            assert f"`dp.{name}`" in text, name
        elif name not in ("Mechanism", "Noise", "Reach"):  # what the others are made of
            assert name in text, name


def test_every_command_and_option_is_documented() -> None:
    text = (ROOT / "docs/command-line.md").read_text()
    listed = re.findall(r"^    (\w+)  ", said_by(sys.executable, "-m", "discreet.cli", "--help"), re.M)
    assert "ask" in listed
    for command in listed:
        helped = said_by(sys.executable, "-m", "discreet.cli", command, "--help")
        assert f"discreet {command}" in text, command
        for option in set(re.findall(r"--[\w-]+", helped)) - {"--help"}:
            assert re.search(rf"{option}(?![\w-])", text), (command, option)


def test_every_setting_is_documented() -> None:
    code = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    settings = set(re.findall(r"DISCREET_[A-Z_]+", code))
    assert "DISCREET_MARKS" in settings
    for setting in settings:
        assert f"`${setting}`" in documentation(), setting


def test_every_make_target_is_documented() -> None:
    text = documentation() + (ROOT / "CONTRIBUTING.md").read_text()
    targets = re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.M)
    assert "bench-peers" in targets
    for target in targets:
        assert re.search(rf"make {target}(?![\w-])", text), target


def test_every_refusal_is_documented() -> None:
    tree = [error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, Exception)]
    assert dp.Stopped in tree
    page = (ROOT / "docs/refusals.md").read_text()
    for error in tree:
        assert error.__name__ in page, error
    assert dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", page, re.M)) == errors.CODES


def test_links_lead_somewhere() -> None:
    for page in [*EVERYWHERE, ROOT / "CONTRIBUTING.md"]:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            path, _, heading = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), f"{page.name} links to {link}"
            assert not heading or heading in anchors(target), f"{page.name} links to {link}"


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_can_be_found_and_left() -> None:
    """A page has one title, says for whom it is, is linked from the README, and links to others."""
    for page in PAGES:
        text = page.read_text()
        assert re.match(r"# .+\n\nThis page is for ", text), page.name
        assert f"(docs/{page.name})" in README.read_text(), page.name
        assert len(re.findall(r"\]\((\.\./)?[\w-]+\.md", text)) >= 2, page.name


def test_the_glossary_has_the_nouns_that_users_meet() -> None:
    defined = re.findall(r"^\*\*(.+?)\*\*", (ROOT / "docs/glossary.md").read_text(), re.M)
    words = {word.strip(".").lower() for entry in defined for word in entry.split(", ")}
    assert len(defined) == len(set(defined))
    assert {
        "unit",
        "budget",
        "ε",
        "ρ",
        "δ",
        "cost",
        "answer",
        "margin",
        "interval",
        "ledger",
        "receipt",
        "refusal",
    } <= words
    assert {
        "neighbours",
        "contribution bounds",
        "private key",
        "release",
        "plan",
        "version",
        "batch",
        "workload",
    } <= words
    assert {"local model", "audit", "catalogue", "curator", "mechanism", "loss", "noise", "analyst", "owner"} <= words


def test_the_map_names_folders_that_exist() -> None:
    named = re.findall(r"^\| `([\w/]+/)` \|", (ROOT / "docs/developing.md").read_text(), re.M)
    assert {"src/discreet/", "docs/", "tests/", "bench/"} <= set(named)
    for folder in named:
        assert (ROOT / folder).is_dir(), folder


def entries() -> dict[str, list[str]]:
    """What docs/sql.md lists: by section, the code in the first column of its tables."""
    found: dict[str, list[str]] = {}
    for section in re.split(r"^## ", (ROOT / "docs/sql.md").read_text(), flags=re.M)[1:]:
        rows = re.findall(r"^\| (`.+?`) \|", section, re.M)
        title = section[: section.index("\n")]
        found[title] = [code.replace("\\|", "|") for row in rows for code in re.findall(r"`([^`]+)`", row)]
    return found


def test_the_reference_lists_the_sql_that_works() -> None:
    listed = "\n".join(code for codes in entries().values() for code in codes)
    spelled = {"negative": "-x", "is": "IS NULL"}
    names = {name for name in FUNCTIONS if " " not in name}
    names |= {name for name, _ in WINDOWS.values()} | {*AGGREGATES.values(), *CALLED}
    names |= {"if", "filter", "interval", "width_bucket"}
    for name in names - {"NOW", "TODAY"}:  # which are refused
        assert re.search(rf"(?<!\w){re.escape(spelled.get(name, name.upper()))}(?!\w)", listed), name


def test_the_reference_has_the_row_of_each_function() -> None:
    page = (ROOT / "docs/sql.md").read_text()
    for function in FUNCTIONS.values():
        if function.doc is not None:
            _, _, section = page.partition(f"\n## {function.doc.section}\n")
            assert function.doc.row in section.partition("\n## ")[0].splitlines(), function.name


def test_the_reference_says_what_to_ask_instead() -> None:
    listed = " ".join(entries()["Asked in another way"])
    for name in INSTEAD:
        assert re.search(rf"(?<!\w){name.upper()}(?!\w)", listed), name


FRAMES = {  # how an entry of each section is asked
    "Aggregates": "SELECT {} FROM data",
    "Quantiles, least and greatest values": "SELECT {} FROM data",
    "Histograms": "SELECT {} AS h FROM data",
    "Operators": "SELECT COUNT(*) FROM data WHERE ({}) IS NOT NULL",
    "Numbers": "SELECT COUNT(*) FROM data WHERE ({}) IS NOT NULL",
    "Choices": "SELECT COUNT(*) FROM data WHERE ({}) IS NOT NULL",
    "Texts": "SELECT COUNT(*) FROM data WHERE ({}) IS NOT NULL",
    "Dates and timestamps": "SELECT COUNT(*) FROM data WHERE ({}) IS NOT NULL",
    "Groups": "SELECT COUNT(*) FROM data {}",
    "One row of a person": "SELECT COUNT(w) FROM (SELECT person, {} AS w FROM data GROUP BY person)",
    "Windows": "SELECT sex, {} OVER (ORDER BY n) AS w FROM (SELECT sex, COUNT(*) AS n FROM data GROUP BY sex)",
}


@pytest.mark.parametrize("section", FRAMES)
def test_the_reference_can_be_asked(section: str) -> None:
    """Every entry of docs/sql.md compiles, of a table with the columns that the page names."""
    rows = {"person": [1], "x": [1], "y": [2.5], "s": ["a"], "sex": ["F"], "day": [date(2024, 1, 31)]}
    table = pa.table({**rows, "moment": [datetime(2024, 1, 31, 10, 30)]})
    days = (date(2020, 1, 1), date(2026, 12, 31))
    columns = {"x": (0, 100), "y": (0, 10), "s": str, "sex": ["F", "M"], "day": days, "moment": days}
    budget = dp.Budget(epsilon=1000, delta="1e-6")
    with dp.open(table, unit="person", columns=columns, rows_per_unit=2, budget=budget) as curator:
        assert entries()[section]
        for entry in entries()[section]:
            assert curator.explain(FRAMES[section].format(entry), epsilon=1).plan, entry


def test_the_demo_runs() -> None:
    shown = said_by(sys.executable, "-m", "discreet.cli", "demo")
    assert "6,366 married women" in shown
    assert "545 in each year" in shown
    assert "nothing: it was asked before" in shown
    assert "grouping by `nr` would" in shown
    assert "has no room for" in shown
    assert "3 charges recomputed" in shown


def test_nothing_speaks_of_machines() -> None:
    """No paths of a developer's machine and no package hosts in what is shipped."""
    for path in said_by("git", "ls-files", folder=ROOT).split():
        if path == "LICENSE":
            continue
        text = (ROOT / path).read_bytes().decode(errors="replace")
        for wrong in ("/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "pypi" + ".org", "files.python" + "hosted"):
            assert wrong not in text, f"{path} names {wrong}"


DOTTED = re.compile(r"(?<![\w/.@-])discreet((?:\.[A-Za-z_]\w*)+)(?:[ ]+import[ ]+([\w, ]+))?")


def exists(name: str) -> bool:
    """Whether a whole name is a module, or something in one."""
    parts, found = name.split("."), None
    for end in range(len(parts), 0, -1):
        with suppress(ImportError):
            found = importlib.import_module(".".join(parts[:end]))
            return reduce(lambda inner, part: getattr(inner, part, None), parts[end:], found) is not None
    return False


def test_whatever_is_named_exists() -> None:
    """Modules that texts, docstrings and programs in strings name, wherever they have moved."""
    wrong = []
    for path in said_by("git", "ls-files", "*.py", "*.md", "scripts", folder=ROOT).split():
        if path in ("CHANGELOG.md", "tests/threats/test_mutants.py"):  # what was, and what must not be
            continue
        for inside, imported in DOTTED.findall((ROOT / path).read_text()):
            names = [each.strip().split(" as ")[0] for each in imported.split(",") if each.strip()]
            whole = [f"discreet{inside}.{each}" for each in names] or [f"discreet{inside}"]
            wrong += [f"{path}: {each}" for each in whole if not exists(each)]
    assert wrong == []
    assert exists("discreet.core.loss.Loss")
    assert not exists("discreet." + "nothing")


ELSEWHERE = {"labels_", "inertia_", "sha256sum"}  # names that docstrings have of other programs
NAMED = re.compile(r"`((?:[A-Za-z_]\w*[./])*[A-Za-z_]\w*)(?:\([^`]*\))?`")


def docstrings(source: str) -> dict[int, str]:
    """The docstrings of a module and of all that is in it, by the line they begin in."""
    holders = ast.Module, ast.ClassDef, ast.FunctionDef
    found = [node.body[0] for node in ast.walk(ast.parse(source)) if isinstance(node, holders) and node.body]
    texts = [each.value for each in found if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant)]
    return {each.lineno: each.value for each in texts if isinstance(each.value, str)}


def written(path: Path) -> tuple[str, set[str]]:
    """What a module says of itself (docstrings and comments), and the words of its code and of its other strings."""
    source = path.read_text()
    told, code, docs = list[str](), set[str](), docstrings(source)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and token.start[0] in docs):
            told.append(token.string)
        else:
            code |= set(re.findall(r"\w+", token.string))
    return "\n".join(told), code


def unknown(text: str, words: set[str]) -> list[str]:
    """The names in backquotes of which some part is nowhere in the code."""
    return [name for name in NAMED.findall(text) if not words.issuperset(re.split(r"[./]", name))]


def test_names_in_docstrings_exist() -> None:
    """A name in backquotes, in a docstring, a comment or the guide, is one that some code has."""
    modules = {path: written(path) for path in (ROOT / "src").rglob("*.py")}
    others = {path: written(path) for path in (ROOT / "tests").rglob("*.py")}
    words = {word for _, code in modules.values() for word in code} | ELSEWHERE | {"py", "md", "txt", "docs"}
    words |= {part for path in [*modules, *others] for part in path.relative_to(ROOT).with_suffix("").parts}
    found = {
        str(path.relative_to(ROOT)): names for path, (text, _) in modules.items() if (names := unknown(text, words))
    }
    assert found == {}
    tested = {word for _, code in others.values() for word in code}
    assert unknown((ROOT / "CONTRIBUTING.md").read_text(), words | tested) == []


def test_a_name_that_is_gone_is_noticed() -> None:
    assert unknown("see `Loss.pure` and `join.nowhere_any_more(x)`", {"Loss", "pure", "join"}) == [
        "join.nowhere_any_more"
    ]
