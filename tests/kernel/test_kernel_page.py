"""docs/kernel.md says what the docstrings of the kernel prove, and how many lines are trusted.

DISCREET_WRITE_DOCS=1 writes both into the page; read the difference before it is checked in.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE, SOURCE = ROOT / "docs/kernel.md", ROOT / "src/discreet"
WRITE = bool(os.environ.get("DISCREET_WRITE_DOCS"))
MODULES = (
    "ownership",
    "types",
    "contribution",
    "ranges",
    "releases",
    "check",
)  # in the order in which they build on each other
LABEL = re.compile(r"(?:^|(?<=\s))(Given|Promise|Because) {2,}")
RULES = "<!-- rules: from the docstrings of src/discreet/kernel -->\n", "<!-- end of rules -->"
TRUSTED = "<!-- trusted: lines are counted -->\n", "<!-- end of trusted -->"


def between(markers: tuple[str, str]) -> str:
    """What the page has between two markers."""
    _, found, rest = PAGE.read_text().partition(markers[0])
    assert found, markers
    text, found, _ = rest.partition(markers[1])
    assert found, markers
    return text


def agree(markers: tuple[str, str], expected: str) -> None:
    """The page has this text between two markers; with DISCREET_WRITE_DOCS=1 it gets it."""
    found = between(markers)
    if WRITE:
        PAGE.write_text(PAGE.read_text().replace(markers[0] + found, markers[0] + expected))
    else:
        assert found == expected, "DISCREET_WRITE_DOCS=1 writes the page anew"


# ── the rules ────────────────────────────────────────────────────────────────────────────────────────────────────


def proofs(source: str) -> Iterator[tuple[str, str]]:
    """The qualified names and docstrings of whatever gives a reason, in their order; the module itself is ``."""

    def walk(node: ast.AST, above: str) -> Iterator[tuple[str, str]]:
        for each in ast.iter_child_nodes(node):
            if isinstance(each, (ast.FunctionDef, ast.ClassDef)):
                name = f"{above}{each.name}"
                yield name, ast.get_docstring(each) or ""
                yield from walk(each, f"{name}.")

    module = ast.parse(source)
    every = [("", ast.get_docstring(module) or ""), *walk(module, "")]
    return ((name, text) for name, text in every if LABEL.search(text) or not name)


def shown(name: str, text: str) -> str:
    """A docstring as Markdown: its sentences, and a line for each of Given, Promise and Because."""
    lines: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        first, *labelled = LABEL.split(re.sub(r"\n\s*", " ", paragraph))
        lines += [first.strip(), ""] if first.strip() else []
        lines += [f"- *{label}* {claim.strip()}" for label, claim in zip(labelled[::2], labelled[1::2], strict=True)]
        lines += [""] if labelled else []
    title = [f"**`{name}`.** {lines.pop(0)}"] if name else []
    return "\n".join([*title, *lines])


def rules() -> str:
    """All rules of the kernel."""
    parts = []
    for module in MODULES:
        found = proofs((SOURCE / f"kernel/{module}.py").read_text())
        parts += [f"\n### `kernel/{module}.py`\n", *(shown(name, text) for name, text in found)]
    return "\n".join(parts).rstrip() + "\n\n"


def test_the_page_has_the_rules_and_their_proofs() -> None:
    agree(RULES, rules())


def test_every_node_and_every_release_has_a_proof() -> None:
    """Each function in a table of rules says why it is right, so the page has it."""
    for module in MODULES:
        source = (SOURCE / f"kernel/{module}.py").read_text()
        proven = dict(proofs(source))
        tables = [each for each in ast.parse(source).body if isinstance(each, ast.AnnAssign)]
        named = [each for each in tables if isinstance(each.target, ast.Name) and each.target.id == "RULES"]
        assert len(named) == (module in ("ownership", "contribution", "ranges", "releases"))
        for table in named:
            used = {each.id for each in ast.walk(table) if isinstance(each, ast.Name) and each.id.startswith("_")}
            assert used
            assert used <= set(proven), module


def test_a_docstring_is_read_as_it_is_written() -> None:
    text = (
        "Rows side by side. Because  all meet.\n\nGiven    a thing\n         of two lines.\nPromise  that.\n\nAnd more."
    )
    assert shown("f", text).split("\n") == [
        "**`f`.** Rows side by side.",
        "",
        "- *Because* all meet.",
        "",
        "- *Given* a thing of two lines.",
        "- *Promise* that.",
        "",
        "And more.",
        "",
    ]


# ── the trusted base ─────────────────────────────────────────────────────────────────────────────────────────────


def files_of(place: str) -> set[Path]:
    """The files that a row of the table names: a file, or those of a folder, without the folders within."""
    path = SOURCE / place
    assert path.exists(), place
    return {path} if path.is_file() else set(path.glob("*.py"))


def lines_of(files: set[Path]) -> int:
    return sum(len(each.read_text().splitlines()) for each in files)


def places(row: str) -> list[str]:
    return re.findall(r"`([\w/.]+)`", row.split("|")[1])


def trusted() -> set[Path]:
    """The files of the trusted base."""
    return {file for row in between(TRUSTED).splitlines() for place in places(row + "||") for file in files_of(place)}


def test_the_page_says_how_many_lines_are_trusted() -> None:
    """The names and reasons of a row are written by hand, its number is counted."""
    rows, seen = list[str](), set[Path]()
    for row in between(TRUSTED).splitlines():
        named = places(row + "||")
        files = {file for place in named for file in files_of(place)}
        assert not files & seen, row
        seen |= files
        rows.append(re.sub(r"\| [\d,]+ \|$", f"| {lines_of(files):,} |", row) if named else row)
    all_in_all = f"| all of these | less than half of discreet | {lines_of(seen):,} |"
    agree(TRUSTED, "\n".join(all_in_all if row.startswith("| all of these |") else row for row in rows) + "\n")
    assert lines_of(seen) < lines_of(set(SOURCE.rglob("*.py"))) / 2


def test_what_the_kernel_imports_is_trusted() -> None:
    base = trusted()
    for module in (*MODULES, "verdict"):
        for node in ast.walk(ast.parse((SOURCE / f"kernel/{module}.py").read_text())):
            if (
                isinstance(node, ast.ImportFrom)
                and (node.module or "").startswith("discreet.")
                and node.module != "discreet.errors"
            ):
                names = [f"{node.module}.{each.name}" for each in node.names] + [node.module or ""]
                paths = [SOURCE / Path(*name.split(".")[1:]).with_suffix(".py") for name in names]
                assert any(path in base for path in paths if path.is_file()), f"{module} imports {node.module}"
