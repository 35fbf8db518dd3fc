"""How fast respondents' values become reports, and reports become estimates, beside baselines in the same run.

Run it with `make bench` (or `python bench/local.py`). pure-ldp and multi-freq-ldpy, whose coins are not secure, come
with `pip install -e '.[bench]'`; where one is missing or fails, its row says so. It is a report, not a test.
"""

from __future__ import annotations

import importlib
import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from noise import MANY, RNG, Row, Work, best, judge, times

from discreet.core.coins import SYSTEM
from discreet.core.text import table
from discreet.local import Categories, Collector, KaryResponse, RandomizedResponse, Wire, options

K = 100
FEW = 20_000  # what the peers, one value at a time, do in a moment
STREAM = 10_000_000
BITS = RNG.integers(0, 2, MANY).astype(bool)
VALUES = RNG.integers(0, K, MANY)


def each(tell: Callable[[int], object], values: list[int]) -> None:
    for value in values:
        tell(value)


def pure_ldp() -> dict[str, Work]:
    oracles = importlib.import_module("pure_ldp.frequency_oracles")
    clients = {
        "bits": (oracles.DEClient(1, 2, lambda value: value), BITS),
        "k-ary": (oracles.DEClient(1, K, lambda value: value), VALUES),
    }
    return {name: partial(each, client.privatise, data[:FEW].tolist()) for name, (client, data) in clients.items()}


def multi_freq_ldpy() -> dict[str, Work]:
    client = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.GRR").GRR_Client
    return {
        "bits": partial(each, lambda value: client(value, 2, 1.0), BITS[:FEW].astype(int).tolist()),
        "k-ary": partial(each, lambda value: client(value, K, 1.0), VALUES[:FEW].tolist()),
    }


def peers() -> Iterator[tuple[str, dict[str, Work] | str]]:
    for name, load in (("pure-ldp", pure_ldp), ("multi-freq-ldpy", multi_freq_ldpy)):
        try:
            works = load()
            for work in works.values():
                work()  # compiled, where they compile
            yield name, works
        except ImportError:
            yield name, "not installed"
        except Exception as problem:
            yield name, f"failed: {type(problem).__name__}"


def rate(count: int, seconds: float) -> str:
    return f"{count / seconds / 1e6:.3g} M/s"


def randomizing() -> Iterator[Row]:
    bits, kary = RandomizedResponse(epsilon=1), KaryResponse(k=K, epsilon=1)
    ours, words = best(partial(bits.randomize, BITS), partial(SYSTEM.words, MANY), rounds=40)
    row = Row("1,000,000 bits", f"{ours * 1e3:.2f} ms", "1,000,000 own words", f"{words * 1e3:.2f} ms")
    yield judge(row._replace(ratio=f"{times(ours / words)} time"), "<= 3x time", ours <= 3 * words)
    numpy = partial(numpy_kary, VALUES)
    for name, work, theirs in (
        ("bits", partial(bits.randomize, BITS), lambda: BITS ^ (RNG.random(MANY) < 0.27)),
        ("k-ary", partial(kary.randomize, VALUES), numpy),
    ):
        mine, insecure = best(work, theirs)
        title = f"{name}, k = {2 if name == 'bits' else K}"
        yield Row(title, rate(MANY, mine), "numpy, not secure", rate(MANY, insecure), f"{times(insecure / mine)} speed")
    for peer, works in peers():
        for name, work in (("bits", partial(bits.randomize, BITS)), ("k-ary", partial(kary.randomize, VALUES))):
            title = f"{name}, k = {2 if name == 'bits' else K}"
            if isinstance(works, str):
                yield Row(title, rate(MANY, best(work)[0]), peer, works)
                continue
            mine, other = best(work, works[name], rounds=5)
            ratio = (MANY / mine) / (FEW / other)
            row = Row(title, rate(MANY, mine), peer, rate(FEW, other), f"{times(ratio)} speed")
            yield judge(row, ">= 5x speed", ratio >= 5)


def numpy_kary(values: Any) -> Any:
    """The same with numpy's generator and floats."""
    p = math.e / (math.e + K - 1)
    moved = (values + RNG.integers(1, K, len(values))) % K
    return np.where(RNG.random(len(values)) < p, values, moved)


def kinds() -> Iterator[Row]:
    """Every randomizer of K values, randomising and estimating; k-ary response is the baseline."""
    few = MANY // 10
    for option in options(K, 1):
        r = option.randomizer
        reports = r.randomize(VALUES[:few])
        tell, read, base = best(
            partial(r.randomize, VALUES[:few]),
            partial(r.estimate, reports),
            partial(KaryResponse(k=K, epsilon=1).randomize, VALUES[:few]),
            rounds=3,
        )
        name = f"{type(r).__name__}, n·Var {option.variance * 10_000:.3g}, {option.length} bytes"
        yield Row(name, rate(few, tell), "k-ary", rate(few, base), f"{times(base / tell)} speed")
        yield Row("    estimating", rate(few, read), "", "")


def streaming() -> Iterator[Row]:
    """Ten million reports off the wire, a chunk at a time; the baseline counts them in one array that holds all."""
    kary = KaryResponse(k=K, epsilon=1)
    yield from streamed("k-ary", kary, STREAM)


def streamed(name: str, r: Categories, count: int) -> Iterator[Row]:
    wire = Wire(randomizer=r)
    rows = wire.encode(r.randomize(VALUES))
    collector = Collector(wire)

    def collect() -> None:
        for _ in range(count // MANY):
            collector.add(rows)

    start = time.perf_counter()
    collect()
    ours = time.perf_counter() - start
    plain = r.randomize(VALUES)
    base = best(lambda: np.bincount(plain, minlength=K))[0] * count / MANY
    title = f"{count:,} reports, {name}"
    yield Row(title, rate(count, ours), "numpy bincount", rate(count, base), f"{times(ours / base)} time")
    tracemalloc.start()
    collect()
    collector.estimate()
    most = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    row = Row("    memory beyond the chunk", f"{most:.1f} MB", "all at once", f"{count * wire.length / 1e6:.0f} MB")
    yield judge(row, "<= 32 MB", most <= 32)


def main() -> None:
    rows = []
    for part in (randomizing, kinds, streaming):
        for row in part():
            print(f"measured: {row.work}", file=sys.stderr)
            rows.append(row)
    print(table(Row._fields, rows))


if __name__ == "__main__":
    main()
