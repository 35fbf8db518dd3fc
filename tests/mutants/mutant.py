"""A mutant: a way to break the promise, made by replacing texts of the source, and the tests that must notice."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

__all__ = ["Edit", "Mutant", "Stale", "file_of_test"]


class Stale(Exception):
    """A mutant that does not fit the source or the tests any more."""


@dataclass(frozen=True)
class Edit:
    """A replacement within one definition, where the text must occur exactly once.

    `where` is a module and the name of a function, method, class or assigned value in it, such as
    "discreet.engines.sql.expressions:Renderer.clamped"; a module alone means all of its text.
    """

    where: str
    old: str
    new: str

    @property
    def module(self) -> str:
        """The module that is changed."""
        return self.where.partition(":")[0]

    def file(self, source: Path) -> Path:
        """The file of the module below a folder of sources."""
        path = source.joinpath(*self.module.split("."))
        for each in (path.with_suffix(".py"), path / "__init__.py"):
            if each.is_file():
                return each
        raise Stale(f"there is no module {self.module}")

    def applied(self, text: str) -> str:
        """The text of the module after the replacement."""
        name = self.where.partition(":")[2]
        parts = extents(text, name) if name else [(0, len(text))]
        if not parts:
            raise Stale(f"there is no {self.where}")
        times = sum(text.count(self.old, *part) for part in parts)
        if times != 1:
            raise Stale(f"{self.where} has this {times} times: {self.old.strip().splitlines()[0]}")
        at = max(text.find(self.old, *part) for part in parts)
        return text[:at] + self.new + text[at + len(self.old) :]


@dataclass(frozen=True)
class Mutant:
    """A name, what is replaced, and the tests that must notice.

    A test is a file and perhaps a function of it, as pytest has them, such as "test_sums.py::test_order[3]". Folders
    before the file are needed only where two files have the same name.
    """

    name: str
    edits: Sequence[Edit]
    tests: Sequence[str]

    def changed(self, source: Path) -> dict[Path, str]:
        """Files below a folder of sources, with the text that they have in this mutant."""
        texts: dict[Path, str] = {}
        for edit in self.edits:
            path = edit.file(source)
            texts[path] = edit.applied(texts.get(path) or path.read_text("utf-8"))
        return texts

    def arguments(self, tests: Path) -> list[str]:
        """The tests as arguments of pytest."""
        return [str(file_of_test(each, tests)) + "".join(each.partition("::")[1:]) for each in self.tests]


def file_of_test(test: str, tests: Path) -> Path:
    """The file of a test: the only one below this folder whose path ends as the test says."""
    named = Path(test.partition("::")[0])
    found = [each for each in tests.rglob(named.name) if each.parts[-len(named.parts) :] == named.parts]
    if len(found) != 1:
        raise Stale(f"{len(found)} files of tests are named {named}")
    return found[0]


def extents(text: str, name: str) -> list[tuple[int, int]]:
    """From where to where a definition reaches, in whole lines; several if it is defined more than once."""
    starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
    nodes = [node for found, node in definitions(parsed(text)) if found == name]
    firsts = (min(each.lineno for each in (node, *getattr(node, "decorator_list", ()))) for node in nodes)
    return [(starts[first - 1], starts[node.end_lineno or first]) for first, node in zip(firsts, nodes, strict=True)]


parsed = lru_cache(maxsize=64)(ast.parse)  # many mutants are of one file


def definitions(within: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Functions, classes and assigned values of a module, and those of its classes, with their qualified names."""
    for node in ast.iter_child_nodes(within):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield prefix + name, node
            case ast.ClassDef(name=name):
                yield prefix + name, node
                yield from definitions(node, f"{prefix}{name}.")
            case ast.Assign(targets=targets):
                yield from (
                    (prefix + each.id, node) for each in ast.walk(ast.Tuple(targets)) if isinstance(each, ast.Name)
                )
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name, node
            case ast.If() | ast.Try() | ast.With() | ast.ExceptHandler():
                yield from definitions(node, prefix)
