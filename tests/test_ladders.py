"""Classes of our own are asked, not inspected: few `isinstance` tests ask for them, and never more than there were."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

LADDERS = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "ladders"))
PACKAGE = "discreet"
MOST = 192  # lower it whenever fewer are left


def test_no_more_tests_of_our_own_classes_than_there_were() -> None:
    assert len(LADDERS["asked"]()) <= MOST


def test_every_way_of_asking_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree.py").write_text("class Leaf:\n    pass\n\nclass Twig(Leaf):\n    pass\n\nPart = Leaf | Twig\n")
    (tmp_path / "user.py").write_text(
        f"from {PACKAGE} import tree as t\n"
        f"from {PACKAGE}.tree import Leaf as Own, Part\n"
        "def ask(x):\n"
        "    match x:\n"
        "        case Own():\n"
        "            return 1\n"
        "    return isinstance(x, t.Twig), isinstance(x, (int, Own)), isinstance(x, Part), isinstance(x, int | str)\n"
        "class Other:\n"
        "    def __eq__(self, other):\n"
        "        return isinstance(other, Own)\n"
    )
    monkeypatch.setitem(LADDERS["named"].__globals__, "SOURCE", tmp_path)
    found = LADDERS["asked"](tmp_path)
    assert {(each.family, each.name) for each in found} == {("tree", "Own"), ("tree", "t.Twig"), ("tree", "Part")}
    assert len(found) == 4
