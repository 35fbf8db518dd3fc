"""The key of a plan names a question in ledgers: whatever changes one makes people pay again for what they asked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache

import pytest

import discreet as dp
from discreet.curator.curator import Curator
from support.fixtures import Block, blocks, clinic, make
from support.golden import Book

BLOCKS = [each for each in blocks() if each.expected.startswith("table")]
FILES = sorted({each.file for each in BLOCKS})
KEYS = Book("keys.jsonl")


def name_of(block: Block) -> str:
    """The file, and a digest of the question and how it is asked: lines move, questions stay."""
    asked = json.dumps([block.sql, sorted(block.said.items())])
    return f"{block.file} {hashlib.sha256(asked.encode()).hexdigest()[:16]}"


@pytest.fixture(scope="module")
def ask_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Curator]:
    data = make(tmp_path_factory.mktemp("clinic"))
    return cache(lambda *which: clinic(data, *which))


@pytest.mark.parametrize("file", FILES)
def test_every_question_keeps_its_key(file: str, ask_of: Callable[..., Curator]) -> None:
    changed = []
    for block in (each for each in BLOCKS if each.file == file):
        try:
            key = ask_of(*block.which).explain(block.sql, **block.wanted).plan.key
        except dp.Refusal as refusal:
            key = f"refused: {refusal.reason}"
        if not KEYS.holds(name_of(block), key):
            changed.append(f"{block.title} {block.sql}")
    assert not changed, "\n".join(changed)


def test_no_key_is_of_a_question_that_is_gone() -> None:
    assert set(KEYS.known) == {name_of(block) for block in BLOCKS}
