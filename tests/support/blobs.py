"""What `test_kmeans.py` and others share."""

from __future__ import annotations

import numpy as np


def blobs(k: int, d: int, n: int, spread: float, seed: int) -> np.ndarray:
    """Points around k centres in [-0.7, 0.7]^d that are at least 0.6 apart, in the box [-1, 1]^d."""
    rng, centres = np.random.default_rng(seed), []
    while len(centres) < k:
        new = rng.uniform(-0.7, 0.7, d)
        if all(np.linalg.norm(new - each) >= 0.6 for each in centres):
            centres.append(new)
    return np.clip(np.array(centres)[rng.integers(0, k, n)] + rng.normal(0, spread, (n, d)), -1, 1)
