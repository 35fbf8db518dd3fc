"""A report as one HTML page with its pictures inside. It loads nothing and runs no script.

Pictures are drawn by matplotlib (chosen because it draws well without a display) as SVG whose letters stay letters.
"""

from __future__ import annotations

import io
import re
import textwrap
from html import escape
from typing import TYPE_CHECKING, Any

from discreet.errors import NotUnderstood
from discreet.lab.report import Finding, Picture, Report, ReportTable, Series

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "page", "ready", "svg"]

INKS = ("#1b4965", "#c8553d", "#5a9367", "#8d6a9f", "#b08900", "#3a86a8")
WRAPPED = 62  # letters of a title in one line
MAX_UNWRAPPED_CHARS = 42  # letters of a cell that stays in one line
STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1d2433; background: #fbfaf7; max-width: 58rem;
       margin: 2.5rem auto 4rem; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.6rem 0 .5rem; padding-top: 1.1rem; border-top: 1px solid #dcd8cf; }
p { margin: .5rem 0; }
.verdict { display: inline-block; font-size: .85rem; font-weight: 600; padding: .1rem .6rem; border-radius: 1rem;
           margin-left: .3rem; background: #e8e5dd; color: #444; vertical-align: middle; }
.good { background: #dcefe0; color: #1f5a33; }
.bad { background: #f7ddd7; color: #8a2a17; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .93rem; }
caption { text-align: left; font-weight: 600; padding-bottom: .3rem; }
th, td { text-align: left; padding: .25rem 1.1rem .25rem 0; border-bottom: 1px solid #e6e2d9; vertical-align: top; }
th { font-weight: 600; color: #565d6b; }
td.right, th.right { text-align: right; font-variant-numeric: tabular-nums; }
h3 { font-size: .95rem; margin: 1rem 0 .2rem; color: #565d6b; }
pre { font: 13px/1.45 ui-monospace, monospace; background: #f1eee7; padding: .7rem .9rem; white-space: pre-wrap;
      border-radius: .4rem; margin: .2rem 0 .8rem; }
figure { margin: 1.2rem 0; }
td.short { white-space: nowrap; }
figure svg { max-width: 100%; height: auto; }
"""


def page(report: Report) -> str:
    """Return the whole page."""
    parts = [f"<h1>{escape(report.title)}</h1>", *_paragraphs(report.text), *map(_finding, report.findings)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body>\n</html>\n"
    )


def _finding(found: Finding) -> str:
    mood = {True: " good", False: " bad", None: ""}[found.good]
    badge = f' <span class="verdict{mood}">{escape(found.verdict)}</span>' if found.verdict else ""
    parts = [f"<h2>{escape(found.title)}{badge}</h2>", *_paragraphs(found.text)]
    parts += [_table(each) for each in found.tables]
    parts += [f"<h3>{escape(name)} code</h3>\n<pre>{escape(code)}</pre>" for name, code in found.codes]
    parts += [f"<figure>{svg(each)}</figure>" for each in found.pictures]
    return "<section>\n" + "\n".join(parts) + "\n</section>"


def _paragraphs(text: str) -> list[str]:
    return [f"<p>{escape(each)}</p>" for each in text.split("\n\n") if each]


def _table(shown: ReportTable) -> str:
    flush = [head in shown.right.split(",") for head in shown.heads]

    def row(tag: str, cells: tuple[object, ...]) -> str:
        inside = ""
        for each, end in zip(map(str, cells), flush, strict=True):
            how = [
                name
                for name, is_so in (("right", end), ("short", tag == "td" and len(each) <= MAX_UNWRAPPED_CHARS))
                if is_so
            ]
            inside += f'<{tag} class="{" ".join(how)}">{escape(each)}</{tag}>'
        return f"<tr>{inside}</tr>"

    caption = f"<caption>{escape(shown.title)}</caption>" if shown.title else ""
    body = "\n".join(row("td", each) for each in shown.rows)
    return (
        f'<div class="wide"><table>{caption}<thead>{row("th", shown.heads)}</thead><tbody>{body}</tbody></table></div>'
    )


# ── pictures ─────────────────────────────────────────────────────────────────────────────────────────────────────


def svg(picture: Picture) -> str:
    """Return the picture as an SVG element for a page."""
    figure = draw(picture)
    from matplotlib import rc_context  # noqa: PLC0415

    written = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": picture.title}):
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    text = written.getvalue()
    element = text[text.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.S)
    return element.replace("<svg ", f'<svg role="img" aria-label="{escape(picture.title)}" ', 1).strip()


def ready() -> None:
    """Refuse if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415
    except ImportError:
        raise NotUnderstood(
            "pictures need matplotlib.", code="not-installed", instead='pip install "discreet[lab]"'
        ) from None


def draw(picture: Picture) -> Figure:
    """Return the picture as a matplotlib figure."""
    ready()
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(5.4, 5.2) if picture.square else (7.2, 4.2), layout="constrained")
    axes = figure.subplots()
    ink = -1
    for each in picture.series:
        ink += not each.same
        _series(axes, each, INKS[ink % len(INKS)])
    for name, level in picture.levels:
        axes.axhline(level, color="#7a7a7a", linewidth=1, linestyle=(0, (2, 2)), label=name)
    _frame(axes, picture)
    return figure


def _series(axes: Any, series: Series, color: str) -> None:
    x, y, name = series.x, series.y, series.name or None
    if series.kind == "bars":
        axes.bar(x, y, color=color, width=0.8, label=name, alpha=0.85)
    elif series.kind == "points":
        errors = None
        if series.low and series.high:
            errors = [
                [max(0.0, b - a) for a, b in zip(series.low, y, strict=True)],
                [max(0.0, b - a) for a, b in zip(y, series.high, strict=True)],
            ]
        axes.errorbar(x, y, yerr=errors, fmt="o", markersize=4.5, capsize=2.5, linewidth=1.1, color=color, label=name)
        return
    elif series.kind == "step":
        axes.step(x, y, where="post", color=color, linewidth=1.6, label=name)
    else:
        style = (0, (4, 2)) if series.kind == "dashed" else "-"
        axes.plot(x, y, color=color, linewidth=1.6, linestyle=style, label=name)
    if series.low and series.high:
        axes.fill_between(x, series.low, series.high, color=color, alpha=0.15, linewidth=0)


def _frame(axes: Any, picture: Picture) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter  # noqa: PLC0415

    for name in picture.log:
        axis = {"x": axes.xaxis, "y": axes.yaxis}[name]
        getattr(axes, f"set_{name}scale")("log")
        low, high = axis.get_view_interval()
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axis.set_minor_formatter(NullFormatter())
    if picture.square:
        axes.set_aspect("equal", adjustable="box")
    axes.set_xlabel(picture.x)
    axes.set_ylabel(picture.y)
    title = "\n".join(textwrap.wrap(picture.title, 48 if picture.square else WRAPPED))
    axes.set_title(title, loc="left", fontsize=11, color="#1d2433")
    axes.grid(alpha=0.22)
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    if len(labels) > 1 or picture.levels:
        axes.legend(handles, labels, fontsize=8.5, frameon=False)
