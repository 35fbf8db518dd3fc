"""Everything that can be on record has a golden record, keeps its name, its key and its price, and is read for good."""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
from typing import Any

import pytest

import discreet as dp
from discreet.core import record
from discreet.core.record import read, write
from discreet.kernel.relations import FUNCTIONS
from discreet.ledger.facts import Charge
from discreet.plan.codec import read as read_kept
from discreet.plan.expressions.functions import FUNCTIONS as OF_SQL
from discreet.plan.measures import KINDS
from discreet.plan.plan import Plan
from support.golden import RECORDS, Book, records_of

PRICES = Book("prices.jsonl")


def everything() -> dict[str, type]:
    """All classes that can be on record, by their names there."""
    for module in pkgutil.walk_packages(dp.__path__, "discreet."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return record._kinds


def objects(said: Any) -> list[dict[str, Any]]:
    """Every thing in a text, with those inside it."""
    if isinstance(said, dict):
        parts = [each for part in said.values() for each in objects(part)]
        return [said, *parts] if "is" in said else parts
    return [each for part in said for each in objects(part)] if isinstance(said, list) else []


THINGS = [each for text in RECORDS for each in objects(json.loads(text))]


def test_every_class_on_record_has_a_golden_record() -> None:
    assert {each["is"] for each in THINGS} == set(everything())


@pytest.mark.parametrize("text", RECORDS, ids=range(len(RECORDS)))
def test_a_golden_record_keeps_its_text_its_key_and_its_price(text: str) -> None:
    thing, digest = read(text), hashlib.sha256(text.encode()).hexdigest()
    assert write(thing) == text
    if isinstance(thing, Plan):
        assert thing.key == f"plan {digest}"
    assert PRICES.holds(digest[:32], Charge.price(thing.loss)), Charge.price(thing.loss)


def test_no_golden_record_was_dropped() -> None:
    assert {hashlib.sha256(text.encode()).hexdigest()[:32] for text in RECORDS} == set(PRICES.known)


def test_plans_have_every_measure_function_and_relation() -> None:
    plans = [each for each in THINGS if each["is"] == "plan/1"]
    measures = {inside["is"] for plan in plans for each in plan["measures"] for inside in objects(each)}
    assert {name for name, kind in everything().items() if kind in KINDS} <= measures
    functions = {each["function"] for each in THINGS if each["is"] == "apply/1"}
    assert set(OF_SQL) - functions == {
        "between",
        "grouping",
    }  # written in other ways
    assert {each["function"] for each in THINGS if each["is"] == "total/1"} == set(FUNCTIONS)
    assert {each["how"] for each in THINGS if each["is"] == "part/1"} == {"first", "inner", "left", "semi", "anti"}
    assert {each["neighbours"] for each in plans} == {"add-remove", "replace"}
    naming = {each["naming"]["is"] for each in plans if each["naming"]}
    assert naming == {"threshold/1", "gaussian threshold/2"}


def test_a_release_is_read_as_it_was_kept() -> None:
    data = b'{"is":"released/1","keys":[["a",{"d":"2024-01-31"}],[null,{"t":"2024-01-31T10:30:00"}]],"sums":[[[1,-2]]]}'
    found = read_kept(data)
    assert [[str(part) for part in key] for key in found.keys] == [
        ["a", "2024-01-31"],
        ["None", "2024-01-31 10:30:00"],
    ]
    assert [each.tolist() for each in found.sums] == [[[1, -2]]]
    with pytest.raises(dp.NotAllowed, match="too large"):
        read_kept(b'{"is":"too large/1"}')


def test_things_inside_are_read_by_themselves() -> None:
    """Of each class all that is in the golden records, on its own: it says what it is wherever it stands."""
    for name, kind in everything().items():
        found = records_of(name)
        assert found
        assert all(type(each) is kind for each in found)
