"""Draw heat maps of a grid, side by side on one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotUnderstood

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(maps: dict[str, NDArray[np.float64]]) -> Figure:
    """Draw one panel for each map, with its title; a share below zero is noise, and drawn as zero."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # an extra, imported where it is needed
    except ImportError:
        raise NotUnderstood(
            "pictures need matplotlib.", code="not-installed", instead='pip install "discreet[report]"'
        ) from None
    figure = Figure(figsize=(0.6 + 3 * len(maps), 3.2), layout="constrained")
    panels = figure.subplots(1, len(maps), squeeze=False)[0]
    top = max(float(shares.max()) for shares in maps.values())
    for panel, (title, shares) in zip(panels, maps.items(), strict=True):
        image = panel.imshow(np.maximum(shares, 0), vmin=0, vmax=top, cmap="viridis")
        panel.set_title(title)
        panel.set_xticks([])
        panel.set_yticks([])
    figure.colorbar(image, ax=list(panels), label="share of respondents", shrink=0.8)
    return figure
