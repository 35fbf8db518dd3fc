"""How fast discreet draws, releases, chooses and imports, beside its baselines on the same machine, in one minute.

Run it with `make bench` (or `python bench/noise.py`); OpenDP's rows need `pip install -e '.[bench]'`. It is a report,
not a test: it exits with 0 whatever it finds. Each row takes turns between discreet and its baseline and keeps the
best of each, because machines are noisy; so what is built once per law, such as the Gaussian's table, is not counted.
"""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

import discreet as dp
from discreet.core.coins import SYSTEM
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace

Work = Callable[[], object]

MANY = 1_000_000
FEW = 100_000  # what OpenDP draws in about a second
ROUNDS = 9
PATIENCE = 5.0  # seconds after which a row has had enough rounds, once it has had three

RNG = np.random.default_rng()
SCORES = RNG.uniform(0, 100, MANY)
COUNTS = RNG.integers(0, 1000, MANY)


class Row(NamedTuple):
    work: str
    discreet: str
    baseline: str
    measured: str
    ratio: str = ""
    target: str = ""
    met: str = ""


def best(*works: Work, rounds: int = ROUNDS) -> list[float]:
    """The best seconds of each, taken in turns so that a slow moment of the machine falls on all of them."""
    seconds = [math.inf] * len(works)
    end = time.perf_counter() + PATIENCE
    for turn in range(rounds):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            seconds[i] = min(seconds[i], time.perf_counter() - start)
        if turn >= 2 and time.perf_counter() > end:
            break
    return seconds


def peak(work: Work) -> int:
    """The most bytes held at once while it works, its result included. numpy reports its arrays to tracemalloc."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def opendp() -> dict[str, Work]:
    """What OpenDP does, by name; nothing where it is not installed."""
    try:
        peer = importlib.import_module("opendp.prelude")
    except ImportError:
        return {}
    peer.enable_features("contrib")
    integers = peer.vector_domain(peer.atom_domain(T="i64"))
    floats = peer.vector_domain(peer.atom_domain(T="f64", nan=False))
    laplace = peer.m.make_laplace(integers, peer.l1_distance(T="i64"), scale=10.0)
    gaussian = peer.m.make_gaussian(integers, peer.l2_distance(T="i64"), scale=10.0)
    epsilon = peer.max_divergence()  # 1 for the scale 2, as for the choices it is compared with
    choose = peer.m.make_noisy_max(floats, peer.linf_distance(T="f64"), epsilon, scale=2.0)
    zeros = np.zeros(FEW, np.int64)
    return {"Laplace": partial(laplace, zeros), "Gaussian": partial(gaussian, zeros), "choice": partial(choose, SCORES)}


def times(ratio: float) -> str:
    return f"{ratio:.0f}x" if ratio >= 10 else f"{ratio:.2f}x"


def judge(row: Row, target: str, met: bool) -> Row:
    return row._replace(target=target, met="yes" if met else "no")


def speed(work: str, ours: Work, name: str, theirs: Work | None, *, count: int = MANY, least: float = 0) -> Row:
    """Millions a second: MANY of ours beside `count` of theirs, with a target if there is a least ratio."""
    if theirs is None:
        return Row(work, f"{MANY / best(ours)[0] / 1e6:.1f} M/s", name, "not installed")
    a, b = best(ours, theirs)
    fast, base = MANY / a / 1e6, count / b / 1e6
    row = Row(work, f"{fast:.1f} M/s", name, f"{base:.3g} M/s", f"{times(fast / base)} speed")
    return judge(row, f">= {least:g}x speed", fast / base >= least) if least else row


def duration(work: str, ours: float, name: str, theirs: float) -> Row:
    return Row(work, f"{ours * 1e3:.2f} ms", name, f"{theirs * 1e3:.2f} ms", f"{times(ours / theirs)} time")


def draws(peer: dict[str, Work]) -> Iterator[Row]:
    laplace = partial(DiscreteLaplace(Fraction(10)).draw, MANY)
    yield speed("Laplace, scale 10", laplace, "numpy laplace", partial(RNG.laplace, 0, 10, MANY), least=0.5)
    yield speed("Laplace, scale 10", laplace, "OpenDP laplace", peer.get("Laplace"), count=FEW, least=100)
    gaussian = partial(DiscreteGaussian(Fraction(10**2)).draw, MANY)
    yield speed("Gaussian, scale 10", gaussian, "numpy normal", partial(RNG.normal, 0, 10, MANY), least=0.25)
    yield speed("Gaussian, scale 10", gaussian, "OpenDP gaussian", peer.get("Gaussian"), count=FEW, least=100)
    blocks = partial(DiscreteGaussian(Fraction(1000**2)).draw, MANY)
    yield speed("Gaussian, scale 1000", blocks, "numpy normal", partial(RNG.normal, 0, 1000, MANY), least=0.25)
    for name, scale in ("1/100", Fraction(1, 100)), ("1e6", Fraction(10**6)), ("1e9", Fraction(10**9)):
        theirs = partial(RNG.laplace, 0, float(scale), MANY)
        yield speed(f"Laplace, scale {name}", partial(DiscreteLaplace(scale).draw, MANY), "numpy laplace", theirs)
    release = partial(dp.Laplace(epsilon=1, sensitivity=1).release, COUNTS)
    yield speed("release 1,000,000 counts", release, "numpy + laplace", lambda: COUNTS + RNG.laplace(0, 1, MANY))


def choices(peer: dict[str, Work]) -> Iterator[Row]:
    """The baseline looks at every score once and draws one word for each; discreet's own words are the faster ones."""
    ours, theirs = partial(SYSTEM.words, MANY), partial(RNG.integers, 0, 2**64, MANY, dtype=np.uint64)
    for kind in dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip:
        work = f"{kind.__name__} among 1,000,000"
        choose = partial(kind(epsilon=1, sensitivity=1).release, SCORES)
        own, argmax, words, pcg = best(choose, SCORES.argmax, ours, theirs, rounds=60)
        row = duration(work, own, "argmax + own words", argmax + words)
        yield judge(row, "<= 3x time", own <= 3 * (argmax + words))
        yield duration(work, own, "argmax + numpy words", argmax + pcg)
        if "choice" in peer:
            own, other = best(choose, peer["choice"], rounds=5)
            yield duration(work, own, "OpenDP noisy max", other)
        else:
            yield Row(work, f"{own * 1e3:.2f} ms", "OpenDP noisy max", "not installed")


def memory() -> Iterator[Row]:
    """Bytes a sample, of which the result itself takes eight."""
    count = 2 * MANY
    for work, law, name, theirs in (
        ("Laplace, scale 10", DiscreteLaplace(Fraction(10)), "numpy laplace", RNG.laplace),
        ("Gaussian, scale 10", DiscreteGaussian(Fraction(10**2)), "numpy normal", RNG.normal),
        ("Gaussian, scale 1000", DiscreteGaussian(Fraction(1000**2)), "numpy normal", RNG.normal),
    ):
        a, b = peak(partial(law.draw, count)) / count, peak(partial(theirs, size=count)) / count
        row = Row(f"memory of {work}", f"{a:.1f} B each", name, f"{b:.1f} B each", f"{times(a / b)} space")
        yield judge(row, "<= 64 B each", a <= 64)


def imports() -> Iterator[Row]:
    """Seconds to import in a fresh interpreter, beyond what starting one takes."""

    def run(code: str) -> Work:
        return partial(subprocess.run, [sys.executable, "-c", code], check=True)

    bare, base, ours = best(run("pass"), run("import numpy"), run("import discreet"), rounds=5)
    a, b = ours - bare, base - bare
    row = Row("import discreet", f"{a:.3f} s", "import numpy", f"{b:.3f} s", f"{times(a / b)} time")
    yield judge(row, "< 0.3 s", a < 0.3)


def main() -> None:
    peer = opendp()
    rows = [Row(*Row._fields)]
    for row in chain(draws(peer), choices(peer), memory(), imports()):
        print(f"measured: {row.work} beside {row.baseline}", file=sys.stderr)
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
