"""Private k-means beside scikit-learn's exact one, in one run: how much worse it is, and how long it takes.

    python bench/learn.py [seeds]

The loss is the sum of squared distances to the nearest centre, relative to that of scikit-learn's k-means with ten
starts; `lloyd` is the notes' algorithm with five rounds, `table` a curator's table of up to 12 columns, where one row
is one person, or five are. Time is that of one fit, scikit-learn's with its defaults.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.cluster import KMeans as Exact

import discreet as dp
from discreet.core.text import table
from discreet.learn.kmeans import KMeans

SETS = [  # clusters, features, points, spread, ε
    (3, 2, 10_000, 0.1, "1"),
    (8, 8, 100_000, 0.1, "1"),
    (3, 2, 1_000, 0.2, "0.5"),
    (8, 8, 10_000, 0.2, "0.5"),
    (8, 20, 100_000, 0.1, "1"),
    (8, 50, 100_000, 0.1, "1"),
]


def blobs(k: int, d: int, n: int, spread: float, seed: int) -> NDArray[np.float64]:
    """Points around k centres in [-0.7, 0.7]^d that are at least 0.6 apart, in the box [-1, 1]^d."""
    rng, centres = np.random.default_rng(seed), list[NDArray[np.float64]]()
    while len(centres) < k:
        new = rng.uniform(-0.7, 0.7, d)
        if all(np.linalg.norm(new - each) >= 0.6 for each in centres):
            centres.append(new)
    return np.clip(np.array(centres)[rng.integers(0, k, n)] + rng.normal(0, spread, (n, d)), -1, 1)


def accuracy(seeds: int) -> None:
    rows = []
    for k, d, n, spread, epsilon in SETS:
        found = []
        for seed in range(seeds):
            points = blobs(k, d, n, spread, seed)
            exact = Exact(k, n_init=10, random_state=seed).fit(points).inertia_
            private = [KMeans(k, epsilon=epsilon, bounds=(-1, 1), method=each) for each in ("summary", "lloyd")]
            fitted = [each.fit(points) for each in private]
            fitted += [in_table(KMeans(k, epsilon=epsilon), points, each) for each in (1, 5) if d <= 12]
            found.append([-each.score(points) / exact for each in fitted])
        mean, most = np.mean(found, axis=0), np.max(found, axis=0)
        tabled = [f"{each:.4f}" for each in mean[2:]] or ["–", "–"]
        rows.append((f"{k} clusters of {n:,} points, {d} features, spread {spread}", epsilon, f"{mean[0]:.4f}",
                     f"{most[0]:.4f}", f"{mean[1]:.2f}", *tabled))  # fmt: skip
    heads = ["ε", "summary", "at worst", "lloyd", "table", "five rows each"]
    print(table([f"loss beside exact k-means, {seeds} seeds", *heads], rows))


def in_table(model: KMeans, points: NDArray[np.float64], rows: int) -> KMeans:
    """Fitted by questions about a table in which so many rows are one person's."""
    names = [f"x{i}" for i in range(points.shape[1])]
    frame = pa.table(dict(zip(names, points.T, strict=True)) | {"person": np.arange(len(points)) // rows})
    terms: dict[str, Any] = {"unit": "person", "rows_per_unit": rows} if rows > 1 else {}
    with dp.open(frame, columns=dict.fromkeys(names, (-1, 1)), budget=dp.Budget(epsilon=10), **terms) as curator:
        return model.fit_table(curator, "data", names)


def best(model: Any, points: NDArray[np.float64], times: int = 3) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        model.fit(points)
        taken.append(time.perf_counter() - start)
    return min(taken)


def speed() -> None:
    rows = []
    for n, d, k in ((100_000, 8, 8), (1_000_000, 8, 8), (1_000_000, 2, 3)):
        points = blobs(k, d, n, 0.1, 0)
        exact, private = best(Exact(k), points), best(KMeans(k, epsilon=1, bounds=(-1, 1)), points)
        rows.append((f"{n:,} × {d}, {k} clusters", f"{exact:.2f} s", f"{private:.2f} s", f"{private / exact:.2f} ×"))
    print(table(["one fit", "scikit-learn", "discreet", "ratio"], rows))
    print()
    rows = []
    for n, d, k in ((100_000, 2, 20), (100_000, 8, 10), (100_000, 12, 10)):
        points = blobs(k, d, n, 0.02, 0) if d > 2 else np.random.default_rng(0).uniform(-1, 1, (n, d))
        start = time.perf_counter()
        in_table(KMeans(k, epsilon=1), points, 1)
        taken = time.perf_counter() - start
        exact = best(Exact(k), points)
        rows.append((f"{n:,} × {d}, {k} clusters", f"{exact:.2f} s", f"{taken:.2f} s", f"{taken / exact:.2f} ×"))
    print(table(["one fit of a table", "scikit-learn", "discreet", "ratio"], rows))


if __name__ == "__main__":
    accuracy(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
    print()
    speed()
