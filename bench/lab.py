"""How long the attacks take, beside what numpy or the definition takes for the same work, in one run.

    python bench/lab.py

It is a report, not a test. The best of three is taken; the two large ones run once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator

import numpy as np

from discreet.core.text import table
from discreet.lab.attacks import reconstruct, trials
from discreet.lab.attacks.naive_server import Naive
from discreet.lab.attacks.targets import People, Web

Work = Callable[[], object]
Row = tuple[str, str, str, str, str]
RNG = np.random.default_rng()


def seconds(work: Work, rounds: int = 3) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def beside(what: str, ours: Work, name: str, theirs: Work, rounds: int = 3) -> Row:
    print(f"measuring: {what}", file=sys.stderr)
    a, b = seconds(ours, rounds), seconds(theirs, rounds)
    return what, f"{a:.4f} s", name, f"{b:.4f} s", f"{a / b:.3g}x"


def asked(n: int, m: int, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """Random queries and their noisy answers."""
    queries = reconstruct.random_queries(m, n)
    return queries, queries.astype(np.float32) @ RNG.integers(0, 2, n) + RNG.normal(0, sigma, m)


def by_definition(answers: np.ndarray, bound: float) -> list[int]:
    """Every candidate beside every query."""
    k = np.arange(len(answers), dtype=np.uint32)
    return [int(c) for c in k if (np.abs(np.bitwise_count(c & k) - answers) <= bound).all()]


def attacks() -> Iterator[Row]:
    n = 12
    every = (np.arange(1 << n)[:, None] >> np.arange(n) & 1) @ RNG.integers(0, 2, n)
    told = every + RNG.uniform(-3, 3, 1 << n)
    exhaustive = beside(
        "exhaustive, n = 12, all 4,096 subsets, noise ±3",
        lambda: reconstruct.exhaustive(told, bound=3),
        "every candidate, every query",
        lambda: by_definition(told, 3),
    )
    yield exhaustive
    for size, count in ((100, 400), (500, 2000)):
        q, a = asked(size, count, 5)
        yield beside(
            f"least squares, n = {size}, m = {count:,}",
            lambda q=q, a=a: reconstruct.least_squares(q, a),  # type: ignore[misc]
            "numpy lstsq",
            lambda q=q, a=a: np.linalg.lstsq(q.astype(float), a, rcond=None),  # type: ignore[misc]
        )
    q, a = asked(5000, 20_000, 20)
    yield beside(
        "least squares, n = 5,000, m = 20,000",
        lambda: reconstruct.least_squares(q, a),
        "numpy normal equations",
        lambda: np.linalg.solve(_gram(q), q.T.astype(np.float32) @ a),
        rounds=1,
    )
    few, heard = asked(100, 500, 3)
    yield beside(
        "linear program, n = 100, m = 500",
        lambda: reconstruct.linear_program(few, heard),
        "numpy lstsq",
        lambda: np.linalg.lstsq(few.astype(float), heard, rcond=None),
    )
    told_all = RNG.normal(0, 100, 1 << 18)
    yield beside(
        "Hadamard, n = 262,144",
        lambda: reconstruct.hadamard(told_all),
        "numpy fft",
        lambda: np.fft.fft(told_all),
    )


def _gram(queries: np.ndarray) -> np.ndarray:
    narrow = queries.astype(np.float32)
    gram: np.ndarray = (narrow.T @ narrow).astype(float)
    return gram


def doors() -> Iterator[Row]:
    """The same questions through HTTP and through this curator, beside the naive server asked in its own process."""
    n, m = 64, 64
    secret, queries = trials.fair_bits(n), reconstruct.random_queries(m, n)
    with Naive(trials.people_table(secret)) as server:
        inside = People(host=server, n=n)
        outside = People(host=Web(server.url), n=n)
        yield beside(
            f"{m} questions over HTTP", lambda: outside.answers(queries), "naive server, same process",
            lambda: inside.answers(queries), rounds=2,
        )  # fmt: skip

        def curated() -> None:
            with trials.curator_of(secret, epsilon=1) as curator:
                trials.people_behind(curator, n, f"1/{m}").answers(queries)

        yield beside(
            f"{m} questions to this curator", curated, "naive server, same process",
            lambda: inside.answers(queries), rounds=2,
        )  # fmt: skip


def main() -> None:
    rows = [*attacks(), *doors()]
    print(table(("work", "discreet", "baseline", "measured", "time"), rows, right="discreet,measured,time"))


if __name__ == "__main__":
    main()
