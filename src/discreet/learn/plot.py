"""Plot clusters in two dimensions: regions, centres, sizes and noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import NotUnderstood
from discreet.learn.domain import Floats
from discreet.learn.exact_sums import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

MAX_PLOTTED_POINTS = 5_000  # points in a picture
DOTS_PER_SIDE = 400  # dots along each side
INK, GREY = "#1b4965", "#555555"
SOFT = ("#bee9e8", "#ffe5b4", "#e0d4f7", "#d3f0c9", "#fbd3d6", "#e8e4d8", "#cfe2ff", "#f3d9ee")


def draw(model: Any, points: Floats | None) -> Figure:
    """Draw the region of each centre, and around each centre a circle of two standard deviations of its noise.

    Points are drawn only if they are given: they are single rows of the data, which are not private.
    """
    try:
        from matplotlib.colors import ListedColormap  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
        from matplotlib.patches import Ellipse  # noqa: PLC0415
    except ImportError:
        raise NotUnderstood(
            "pictures need matplotlib.", code="not-installed", instead='pip install "discreet[report]"'
        ) from None
    centres, sizes, noise = model.cluster_centers_, model.cluster_sizes_, model.center_noise_
    low, high = model.bounds_.T
    figure = Figure(figsize=(6.4, 6.0), layout="constrained")
    panel = figure.subplots()
    across, up = (np.linspace(low[i], high[i], DOTS_PER_SIDE) for i in (0, 1))
    places = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    regions = (nearest(places, centres) % len(SOFT)).reshape(DOTS_PER_SIDE, DOTS_PER_SIDE)
    extent = (low[0], high[0], low[1], high[1])
    panel.imshow(regions, origin="lower", extent=extent, cmap=ListedColormap(SOFT), vmin=-0.5, vmax=len(SOFT) - 0.5,
                 aspect="auto", interpolation="nearest")  # fmt: skip
    if points is not None:
        some = points[:: max(1, -(-len(points) // MAX_PLOTTED_POINTS))]
        panel.scatter(some[:, 0], some[:, 1], s=3, color=INK, alpha=0.25, linewidths=0)
    for centre, size, each in zip(centres, sizes, noise, strict=True):
        if np.isfinite(each):
            panel.add_patch(Ellipse(centre, 4 * each, 4 * each, facecolor="none", edgecolor="#c1121f", linewidth=1.4))
        panel.plot(*centre, "+" if np.isfinite(each) else "x", color="#c1121f", markersize=9, markeredgewidth=1.8)
        panel.annotate(f"about {max(0, round(size)):,}", centre, xytext=(8, 8), textcoords="offset points",
                       fontsize="small", color=INK,
                       bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.5})  # fmt: skip
    panel.set_xlim(low[0], high[0])
    panel.set_ylim(low[1], high[1])
    names = getattr(model, "feature_names_in_", ("feature 0", "feature 1"))
    panel.set_xlabel(str(names[0]))
    panel.set_ylabel(str(names[1]))
    said = "+ centre, ○ two standard deviations of its noise"
    said += ", × not refined: too few people" if not np.isfinite(noise).all() else ""
    figure.suptitle(f"{said}\n{model.cost_}", fontsize="small", color=GREY)
    return figure
