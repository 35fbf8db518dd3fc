"""Plot an answer: every number with its margin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.answers.frame import Frame, key_text
from discreet.core.text import show
from discreet.errors import NotUnderstood, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from discreet.answers.answer import Answer

__all__ = ["draw"]

MAX_PLOTTED_ROWS = 60  # rows in a picture
INK, BAR = "#1b4965", "#bee9e8"


def draw(answer: Answer) -> Figure:
    """Draw one panel for each column of numbers, one bar for each row, with its margin as a line."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        raise NotUnderstood(
            "pictures need matplotlib.", code="not-installed", instead='pip install "discreet[report]"'
        ) from None
    numbers = [i for i, kind in enumerate(answer.kinds) if kind in ("integer", "real") and not answer.exact(i)]
    if not numbers or not len(answer):
        raise NotUnderstood("there is no number to draw.", code="no-number", instead="ask for a COUNT, a SUM or an AVG")
    labels = [i for i in range(len(answer.columns)) if answer.exact(i)]
    rows = min(len(answer), MAX_PLOTTED_ROWS)
    names = [_label(", ".join(key_text(answer.data.columns[i][row]) for i in labels)) or "all" for row in range(rows)]
    low, high = answer.interval()
    figure = Figure(figsize=(2.2 + 4.2 * len(numbers), 1.4 + 0.32 * rows), layout="constrained")
    panels = figure.subplots(1, len(numbers), sharey=True, squeeze=False)[0]
    for panel, index in zip(panels, numbers, strict=True):
        _panel(panel, answer, index, (low, high), rows)
    panels[0].set_yticks(range(rows), names)
    panels[0].invert_yaxis()
    panels[0].set_ylabel(_label(", ".join(answer.columns[i] for i in labels)))
    more = f" The first {MAX_PLOTTED_ROWS} of {len(answer):,} rows." if len(answer) > MAX_PLOTTED_ROWS else ""
    figure.suptitle(f"± at {show(100 * answer.confidence)} % for each number.{more}", fontsize="small", color="#555555")
    return figure


def _label(text: str) -> str:
    """Return a text as a label shows it: without letters that cannot be seen, and with `$` for itself, no formula."""
    return visible(text).replace("$", r"\$")


def _panel(panel: Any, answer: Answer, index: int, ends: tuple[Frame, Frame], rows: int) -> None:
    values = [0.0 if each is None else float(each) for each in answer.data.columns[index][:rows]]
    panel.barh(range(rows), values, color=BAR, edgecolor="none", height=0.7)
    low, high = (each.data.columns[index][:rows] for each in ends)
    if all(each is not None for each in (*low, *high)):
        widths = [
            [max(0.0, v - a) for v, a in zip(values, low, strict=True)],
            [max(0.0, b - v) for v, b in zip(values, high, strict=True)],
        ]
        panel.errorbar(values, range(rows), xerr=widths, fmt="o", color=INK, markersize=4, capsize=3, linewidth=1.2)
    panel.set_title(_label(answer.columns[index]))
    panel.axvline(0, color="#999999", linewidth=0.8)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(axis="y", length=0)
