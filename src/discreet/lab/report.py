"""Reports of the lab: one value with three renderings, as text for a terminal, JSON for programs, and an HTML page.

>>> from discreet.lab.report import Finding, Report, ReportTable
>>> found = Finding(
...     title="A coin", text="It was thrown ten times.", verdict="fair", good=True,
...     tables=(ReportTable(heads=("side", "times"), rows=(("heads", 5), ("tails", 5)), right="times"),),
...     facts={"heads": 5},
... )
>>> print(Report(title="Coins", findings=(found,)))
Coins
═════
<BLANKLINE>
A coin: fair
────────────
It was thrown ten times.
<BLANKLINE>
side   times
heads      5
tails      5
>>> Report(title="Coins", findings=(found,)).data["findings"][0]["facts"]
{'heads': 5}
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.core.text import table
from discreet.errors import NotUnderstood

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Finding", "Picture", "Report", "ReportTable", "Series", "plain"]

Kind = Literal["line", "points", "dashed", "step", "bars"]
WIDTH = 100  # columns of a terminal that running text takes


@dataclass(frozen=True, kw_only=True)
class ReportTable:
    """Rows under heads. Cells are texts or numbers, already formatted for a reader."""

    heads: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    right: str = ""  # heads of right-aligned columns, separated by commas
    title: str = ""

    def __str__(self) -> str:
        shown = table(self.heads, self.rows, right=self.right)
        return f"{self.title}\n{shown}" if self.title else shown


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line, or some points, of a picture. `low` and `high` are a band around it."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    kind: Kind = "line"
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    same: bool = False  # drawn in the colour of the series before it: the theory of what was measured


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A diagram as data: what is drawn is also what the JSON holds."""

    title: str
    x: str
    y: str
    series: tuple[Series, ...]
    levels: tuple[tuple[str, float], ...] = ()  # named horizontal lines
    log: str = ""  # "x", "y" or "xy"
    square: bool = False

    def figure(self) -> Figure:
        """Return the picture as a matplotlib figure."""
        from discreet.lab.html import draw  # noqa: PLC0415

        return draw(self)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One finding: words, tables, pictures, and the bare facts for programs.

    `verdict` is a few words; `good` is True for good news, False for bad, and None for neither.
    """

    title: str
    text: str
    verdict: str = ""
    good: bool | None = None
    tables: tuple[ReportTable, ...] = ()
    pictures: tuple[Picture, ...] = ()
    codes: tuple[tuple[str, str], ...] = ()  # named pieces of code; not for the terminal
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        head = f"{self.title}: {self.verdict}" if self.verdict else self.title
        paragraphs = (textwrap.fill(each, WIDTH) for each in self.text.split("\n\n") if each)
        return "\n\n".join([f"{head}\n{'─' * len(head)}\n" + "\n\n".join(paragraphs), *map(str, self.tables)])


@dataclass(frozen=True, kw_only=True)
class Report:
    """Findings under one title."""

    title: str
    findings: tuple[Finding, ...]
    text: str = ""

    def __add__(self, other: Report) -> Report:
        """Return the findings of both, under the title of the first."""
        if not isinstance(other, Report):
            return NotImplemented
        return Report(title=self.title, findings=self.findings + other.findings, text=self.text)

    def __str__(self) -> str:
        head = f"{self.title}\n{'═' * len(self.title)}"
        head += f"\n{textwrap.fill(self.text, WIDTH)}" if self.text else ""
        return "\n\n".join([head, *map(str, self.findings)])

    @property
    def data(self) -> dict[str, Any]:
        """The whole report, as values that JSON knows."""
        found: dict[str, Any] = plain(self)
        return found

    def json(self) -> str:
        """Return the whole report as JSON."""
        return json.dumps(self.data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def html(self) -> str:
        """Return a self-contained HTML page with the pictures inside."""
        from discreet.lab.html import page  # noqa: PLC0415

        return page(self)

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's suffix: .json, .html or .txt."""
        readings = {".json": self.json, ".html": self.html, ".txt": self.__str__}
        path = Path(path)
        if path.suffix not in readings:
            raise NotUnderstood(
                "a report is written as .json, .html or .txt.", code="cannot-write", instead="name such a file"
            )
        said = readings[path.suffix]()
        try:
            path.write_text(said, encoding="utf-8")
        except OSError as problem:
            raise NotUnderstood(
                f"the report cannot be written: {problem.strerror}.",
                code="cannot-write",
                instead="name a file in a folder that is there",
            ) from None


def plain(value: Any) -> Any:
    """Convert a value for JSON: fractions become texts, NaN and infinities null, dataclasses objects."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    if not is_dataclass(value):
        return str(value)
    return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
