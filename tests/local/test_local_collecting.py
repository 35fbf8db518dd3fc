"""Reports on their way: the encoding, the collector, what is set aside, and how sketches add up."""

from __future__ import annotations

import base64
import hashlib
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.core.record import write
from discreet.local import (
    Categories,
    Collector,
    HeavyHitters,
    KaryResponse,
    LocalHashing,
    Memoised,
    RandomizedResponse,
    SubsetSelection,
    Wire,
)
from discreet.local.encoding import Bits, Numbers, Picks
from discreet.local.wire import HEAD, VERSION
from support.randomizers import BIT, SMALL, ways

ALL = [
    BIT,
    *SMALL,
    *ways(300, epsilon=1),
    SubsetSelection(k=1000, epsilon=6),
    LocalHashing(k=300, epsilon=6, prime=65_537),
]
NONE = {"length": 0, "version": 0, "question": 0, "range": 0, "duplicate": 0}


def some(r: Categories, count: int = 200) -> Any:
    return r.randomize(np.arange(count) * 7 % r.k)


@pytest.mark.parametrize("r", ALL, ids=repr)
def test_reports_come_back_as_they_went(r: Categories) -> None:
    wire, reports = Wire(randomizer=r, question="?"), some(r)
    rows = wire.encode(reports)
    assert rows.shape == (200, wire.length)
    assert rows.dtype == np.uint8
    back, bad = wire.decode(rows)
    assert np.array_equal(back, reports)
    assert not any(np.any(which) for which in bad.values())
    assert wire.encode(reports[3]) == rows[3].tobytes()


def test_the_encoding_is_fixed_and_short() -> None:
    """Version 1 for good: these bytes are out in the world."""
    assert Wire(randomizer=RandomizedResponse.fair_coin()).encode(1).hex() == "01cf03dd01"
    assert Wire(randomizer=KaryResponse(k=300, odds=3), question="Which ward?").encode(258).hex() == "01b39e840201"
    assert Numbers((255, 256)).length == 3
    assert Bits(9).length == 2
    assert SubsetSelection(k=1000, epsilon=6).layout == Picks(1000, 3)
    assert SubsetSelection(k=1000, epsilon=1).layout == Bits(1000)
    assert Picks(1000, 2).pack(np.eye(1000)[[3]] + np.eye(1000)[[999]]).tolist() == [[3, 0, 231, 3]]


@pytest.mark.parametrize("r", ALL, ids=repr)
def test_collecting_is_estimating(r: Categories) -> None:
    wire, reports = Wire(randomizer=r), some(r)
    collector = Collector(wire)
    assert collector.add(wire.encode(reports)) == 200
    whole = r.estimate(reports)
    assert np.array_equal(collector.estimate().value, whole.value)
    assert np.array_equal(collector.estimate().variance, whole.variance)
    assert collector.set_aside == NONE
    parts = []
    for start in range(0, 200, 77):
        other = Collector(wire, secret=collector.secret)
        other.add([row.tobytes() for row in wire.encode(reports[start : start + 77])])
        parts.append(Collector.load(other.dump()))
    both = sum(parts)
    assert np.array_equal(both.tally.sketch, collector.tally.sketch)
    assert both.dump() == collector.dump()
    assert collector.influence(3) == r.influence(3, 200)
    assert np.array_equal(sum([r.tally(reports[:9]), r.tally(reports[9:])]).sketch, collector.tally.sketch)


@pytest.mark.parametrize("r", ALL, ids=repr)
def test_bad_reports_are_counted_and_change_nothing(r: Categories) -> None:
    wire, reports = Wire(randomizer=r, question="Which ward?"), some(r)
    good = [row.tobytes() for row in wire.encode(reports)]
    first = good[0]
    elsewhere = Wire(randomizer=r, question="Which street?").encode(reports[0])
    bad = {
        "length": [b"", first[:-1], first + b"\0", first * 2],
        "version": [bytes([VERSION + 1]) + first[1:], bytes(len(first)), b"\xff" * len(first)],
        "question": [elsewhere, first[:2] + bytes([first[2] ^ 1]) + first[3:]],
        "range": outside(r, first),
    }
    collector = Collector(wire)
    keys = [f"person {i}" for i in range(200)]
    spoilt = [report for each in bad.values() for report in each]
    collector.add([*good, *spoilt], keys=[*keys, *(["mallory"] * len(spoilt))])
    collector.add([*good[:5], first], keys=[*keys[:5], keys[9]])
    assert collector.set_aside == {reason: len(each) for reason, each in bad.items()} | {"duplicate": 6}
    assert collector.tally.n == 200
    estimate, clean = collector.estimate(), r.estimate(reports)
    assert np.array_equal(estimate.value, clean.value)
    assert np.array_equal(estimate.margin, clean.margin)
    assert estimate.set_aside == sum(collector.set_aside.values())
    assert collector.add(first, keys="mallory") == 1  # bad reports did not use the key up
    assert collector.add(first, keys="mallory") == 0


def outside(r: Categories, first: bytes) -> list[bytes]:
    """Payloads of the right length that no value leads to, where there are any."""
    full = first[:HEAD] + b"\xff" * (len(first) - HEAD)
    layout = r.layout
    if isinstance(layout, Bits) and not isinstance(r, SubsetSelection):
        return [full] if layout.k % 8 else []
    tops = layout.tops if isinstance(layout, Numbers) else ()
    if len(tops) == 1 and tops[0] + 1 == 1 << 8 * layout.length:
        return []
    empty = first[:HEAD] + bytes(len(first) - HEAD)
    return [full, empty] if len(tops) == 3 or isinstance(r, SubsetSelection) else [full]


def test_reports_in_memory_are_sorted_out_too() -> None:
    r = KaryResponse(k=4, epsilon=1)
    reports = r.randomize(np.arange(100) % 4)
    estimate = r.estimate(np.append(reports, [-1, 4, 2**31 - 1]))
    assert np.array_equal(estimate.value, r.estimate(reports).value)
    assert (estimate.n, estimate.set_aside) == (100, 3)
    assert "3 set aside" in str(estimate)
    with pytest.raises(dp.NotUnderstood):
        Wire(randomizer=r).encode([4])


def test_keys_are_remembered_across_machines() -> None:
    wire = Wire(randomizer=BIT)
    one = Collector(wire)
    other = Collector(wire, secret=one.secret)
    rows = wire.encode(some(BIT, 300))
    assert one.add(rows, keys=range(300)) == 300
    assert other.add(rows[:100], keys=range(300, 400)) == 100
    both = one + Collector.load(other.dump())
    assert both.add(rows[:3], keys=[5, 350, 400]) == 1
    assert both.set_aside["duplicate"] == 2
    assert both.overlap == 0


def test_nobody_can_veto_a_merge_by_reporting_twice() -> None:
    """Whoever reports to two collectors counts twice: that is said, and how much it can matter."""
    wire = Wire(randomizer=BIT)
    one = Collector(wire)
    other = Collector(wire, secret=one.secret)
    rows = wire.encode(some(BIT, 300))
    one.add(rows, keys=range(300))
    other.add(rows[:100], keys=range(298, 398))
    both = Collector.load((one + other).dump())
    assert (both.tally.n, both.overlap) == (400, 2)
    assert both.influence(3) == BIT.influence(5, 400)
    assert both.influence(0) == BIT.influence(2, 400)
    once = (BIT.tally(BIT.randomize([])) + one.tally).estimate().value
    assert one.influence(0) == 0
    for lie in (0, 1):  # what a double report moves is within that
        liar = Collector(wire, secret=one.secret)
        liar.add(wire.encode(np.array([lie, lie])), keys=[5, 6])
        assert abs((one + liar).estimate().value - once) <= (one + liar).influence(0)
    assert (both + one).overlap == 302


def test_keys_are_kept_under_a_secret() -> None:
    """Without the secret no digest can be tried; with it, or with a dump, a name can be."""
    wire = Wire(randomizer=BIT)
    one, other = Collector(wire), Collector(wire)
    report = wire.encode(1)
    for collector in (one, other):
        collector.add(report, keys="ada")
    plain = hashlib.blake2b(b"ada", digest_size=8).digest()
    digests = [base64.b64decode(json.loads(each.dump())["seen"]) for each in (one, other)]
    assert len({plain, *digests}) == 3
    with pytest.raises(dp.NotUnderstood, match=r"secret=first\.secret"):
        _ = one + other
    assert (one + Collector(wire)).secret == (Collector(wire) + one).secret == one.secret
    assert (Collector(wire) + one).add(report, keys="ada") == 0
    for secret in (b"short", b"x" * 65, "x" * 20):
        with pytest.raises(dp.NotUnderstood):
            Collector(wire, secret=secret)


@pytest.mark.parametrize(
    ("count", "keys"),
    [
        (2, [None, None]),
        (2, [1.0, 2.0]),
        (2, [True, False]),
        (3, "ada"),
        (3, b"ada"),
        (1, ["\ud800"]),
        (2, 5),
        (2, ["a"]),
        (2, ["a", "b", "c"]),
        (2, [["a"], ["b"]]),
    ],
)
def test_keys_that_are_none_change_nothing(count: int, keys: Any) -> None:
    wire = Wire(randomizer=BIT)
    collector = Collector(wire)
    report = wire.encode(1)
    for reports in ([report] * count, iter([report] * count), (each for each in [report] * count)):
        with pytest.raises(dp.NotUnderstood):
            collector.add(reports, keys=keys)
    assert collector.tally.n + sum(collector.set_aside.values()) == 0
    assert len(collector._seen.all()) == 0


def test_equal_keys_are_one_whatever_their_type() -> None:
    wire = Wire(randomizer=BIT)
    collector = Collector(wire)
    assert collector.add([wire.encode(1)] * 5, keys=[5, "5", b"5", np.int64(5), np.str_("5")]) == 1


def test_what_is_no_report_is_counted_wherever_it_comes() -> None:
    wire = Wire(randomizer=BIT)
    report = wire.encode(1)
    collector = Collector(wire)

    def stream() -> Any:
        yield from [report] * 20_000
        yield from ["text", None, 7, [report]]
        yield report

    assert collector.add(stream()) == 20_001
    assert collector.set_aside["length"] == 4
    assert collector.add(memoryview(report)) == 1
    for wrong in ("text", None, 7):
        with pytest.raises(dp.NotUnderstood):
            collector.add(wrong)


def test_wires_and_collectors_are_of_what_can_be_collected() -> None:
    for randomizer in (3, Memoised(k=2, forever=2, each=1), HeavyHitters(epsilon=1, length=4)):
        with pytest.raises(dp.NotUnderstood):
            Wire(randomizer=randomizer)
    for question in (5, None, "\ud800"):
        with pytest.raises(dp.NotUnderstood):
            Wire(randomizer=BIT, question=question)
    with pytest.raises(dp.NotUnderstood):
        Collector(BIT)
    with pytest.raises(TypeError):
        _ = 1 + Collector(Wire(randomizer=BIT))


def test_memory_is_that_of_what_is_decoded() -> None:
    """Short reports of long rows: a few bytes each on the wire, 100,000 in memory."""
    r = SubsetSelection(k=100_000, epsilon=10)
    wire = Wire(randomizer=r)
    report = wire.encode(r.randomize(5))
    assert len(report) < 100
    peaks = []
    for reports in (50, 500):
        collector = Collector(wire)
        tracemalloc.start()
        collector.add([report] * reports)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) < 30e6
    assert peaks[1] < 1.5 * peaks[0]


def test_many_keys_are_sorted_as_they_come() -> None:
    wire = Wire(randomizer=BIT)
    collector = Collector(wire)
    rows = wire.encode(np.zeros(50_000, np.uint8))
    for start in (0, 25_000, 50_000, 75_000):
        collector.add(rows, keys=range(start, start + 50_000))
    assert collector.tally.n == 125_000
    assert collector.set_aside["duplicate"] == 75_000


def test_other_questions_do_not_add_up() -> None:
    one = Collector(Wire(randomizer=BIT, question="a"))
    with pytest.raises(dp.NotUnderstood, match="same question"):
        _ = one + Collector(Wire(randomizer=BIT, question="b"))
    with pytest.raises(dp.NotUnderstood, match="no reports"):
        one.estimate()
    with pytest.raises(dp.NotUnderstood, match="one key for each"):
        one.add(iter([b"abc", b"de"]), keys=["a"])
    for wrong in ("text", np.zeros((2, 5)), np.zeros(5, np.uint8)):
        with pytest.raises(dp.NotUnderstood):
            one.add(wrong)


def test_what_is_no_collector_is_refused() -> None:
    r = KaryResponse(k=4, epsilon=1)
    wire = Wire(randomizer=r)
    collector = Collector(wire)
    collector.add(wire.encode(np.array([0, 1, 1, 3])), keys=list("abcd"))
    good = json.loads(collector.dump())
    assert Collector.load(json.dumps(good).encode()).dump() == collector.dump()
    infinite = dict.fromkeys(good["set_aside"], float("inf"))
    other = {"a": 1, **good["set_aside"]}
    huge = write(KaryResponse(k=(1 << 31) - 1, epsilon=1))
    for change in (
        {"is": "other"}, {"n": -1}, {"n": "x"}, {"n": 3}, {"n": 5}, {"n": 4.0}, {"n": True}, {"n": float("inf")},
        {"n": 1 << 70}, {"overlap": 1}, {"overlap": -1}, {"sketch": "AAAA"}, {"sketch": "//////////8="},
        {"sketch": "!!" + good["sketch"]}, {"sketch": good["sketch"] + good["sketch"]}, {"randomizer": "{}"},
        {"randomizer": 5}, {"randomizer": huge}, {"set_aside": {}}, {"set_aside": infinite}, {"set_aside": other},
        {"seen": "A"}, {"seen": "AAAAAAAAAAAAAAAAAAAAAA=="}, {"question": 5},
        {"question": "\ud800"}, {"secret": ""}, {"secret": "AAAA"}, {"secret": None},
    ):  # fmt: skip
        with pytest.raises(dp.NotUnderstood):
            Collector.load(json.dumps(good | change).encode())
    for text in (b"", b"[]", b"{", b"\xff", b"null", b"[" * 200_000, None, "abc"):
        with pytest.raises(dp.NotUnderstood):
            Collector.load(text)


@given(st.lists(st.binary(max_size=12), max_size=8))
def test_no_bytes_break_the_collector(reports: list[bytes]) -> None:
    for r in (BIT, SMALL[1], SMALL[4]):
        wire = Wire(randomizer=r)
        dressed = [wire.head + each for each in reports]
        collector = Collector(wire)
        collector.add([*reports, *dressed])
        assert collector.tally.n + collector.tally.set_aside == 2 * len(reports)


@pytest.mark.parametrize("stream", [False, True], ids=["rows", "one by one"])
def test_memory_does_not_grow_with_reports(stream: bool) -> None:
    r = KaryResponse(k=100, epsilon=1)
    wire = Wire(randomizer=r)
    rows = wire.encode(some(r, 250_000))
    peaks = []
    for times in (1, 4):
        collector = Collector(wire)
        tracemalloc.start()
        if stream:
            collector.add(row.tobytes() for _ in range(times) for row in rows)
        else:
            for _ in range(times):
                collector.add(rows)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert collector.tally.n == times * 250_000
    assert peaks[1] < 1.1 * peaks[0] + 100_000
