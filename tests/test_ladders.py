"""Classes of our own are asked, not inspected: few `isinstance` tests ask for them, and never more than there were."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

LADDERS = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "ladders"))
PACKAGE = "discreet"
MOST = 43  # lower it whenever fewer are left


def test_no_more_tests_of_our_own_classes_than_there_were() -> None:
    assert sum(not each.check for each in LADDERS["asked"]()) <= MOST


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


def test_only_a_refusal_right_there_is_a_check_of_what_users_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree.py").write_text(
        "class Leaf:\n"
        "    def __add__(self, other):\n"
        "        if not isinstance(other, Leaf):\n"  # a check: 3
        "            return NotImplemented\n"
        "        return self\n"
        "def ask(x, y):\n"
        "    if x is None or not isinstance(x, Leaf):\n"  # a check: 7
        "        raise NotUnderstood('no leaf')\n"
        "    if not isinstance(y, Leaf):\n"
        "        raise ValueError('another error')\n"
        "    if isinstance(x, Leaf):\n"
        "        y = x\n"
        "        raise NotUnderstood('later')\n"
        "    if isinstance(x, Leaf):\n"
        "        raise NotUnderstood('a ladder')\n"
        "    elif isinstance(y, Leaf):\n"
        "        return 1\n"
        "    if isinstance(x, Leaf):\n"
        "        raise NotUnderstood(isinstance(x, Leaf))\n"
        "    return isinstance(x, Leaf)\n"
    )
    monkeypatch.setitem(LADDERS["named"].__globals__, "SOURCE", tmp_path)
    found = LADDERS["asked"](tmp_path)
    assert [each.line for each in found if each.check] == [3, 7]
    assert [each.line for each in found if not each.check] == [9, 11, 14, 16, 18, 19, 20]
