"""Private machine learning: k-means.

    >>> import numpy as np
    >>> from discreet.learn import KMeans
    >>> points = np.array([[-0.5, 0.5], [0.5, 0.2]] * 5000)
    >>> found = KMeans(n_clusters=2, epsilon=1, bounds=(-1, 1)).fit(points)
    >>> sorted(found.cluster_centers_.round(1).tolist())
    [[-0.5, 0.5], [0.5, 0.2]]

`lloyd` is the usual algorithm, which is not private, for comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import NotUnderstood
from discreet.learn.exact_lloyd import lloyd

if TYPE_CHECKING:
    from discreet.learn.kmeans import KMeans

__all__ = ["KMeans", "lloyd"]


def __getattr__(name: str) -> Any:
    """Load the estimator when it is first needed: it needs scikit-learn."""
    if name != "KMeans":
        raise AttributeError(f"module 'discreet.learn' has no attribute {name!r}")
    try:
        from discreet.learn.kmeans import KMeans  # noqa: PLC0415
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "sklearn":
            raise
        raise NotUnderstood(
            "KMeans is a scikit-learn estimator.", code="not-installed", instead='pip install "discreet[learn]"'
        ) from None
    return KMeans
