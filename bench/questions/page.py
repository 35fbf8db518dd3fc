# ruff: noqa: E501  (texts of a page)
"""The page of results: what is answered, what is refused and why, what differs and why, and how far off."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from known import DIFFERS, REFUSED, Reasons, reason_of

__all__ = ["Line", "page"]


@dataclass(frozen=True, kw_only=True)
class Line:
    """What came of one question, as the page shows it."""

    name: str  # of the set
    title: str
    number: int
    verdict: str
    code: str = ""  # of a refusal
    error: float | None = None
    ratio: float | None = None  # of the times that the answer and plain DuckDB took
    groups: str = ""
    nobodys: str = ""
    possible: str = ""
    narrowed: tuple[int, int, float | None] | None = None  # groups that can be, all combinations, squared error

    @property
    def answered(self) -> bool:
        return self.verdict in ("equal", "unseen", "differs", "answered")


INTRO = """\
# 164 questions that nobody here wrote

This page is for whoever wants to know which questions are answered. It is made by
`python bench/questions.py --markdown docs/questions.md`: the questions of three benchmarks are asked as they are written, of
catalogues as an owner would declare them from the specification (`bench/questions/*.toml`):

- **TPC-H**: 22 questions about a trader's orders; everything of one customer is protected.
- **TPC-DS**: 99 questions about a retailer's sales in shops, by catalogue and on the web; everything of one customer.
- **ClickBench**: 43 questions about visits of web pages; everything of one visitor.

The data of TPC-H are made by `tpchgen-cli`, the others by programs beside the catalogues. Each question is asked at ε = 1;
and once more for a cost at which there is no noise, with caps that leave nothing out, and compared with what plain DuckDB
says to the same text, cell by cell, in order, with its NULLs. Rows of nobody (a sale without a customer) are left out of
both.
"""

NOTES = """\
- `equal`: without noise it is what DuckDB says. Where some keys are private, those that one person has alone are never named,
  whatever the cost; all others are compared.
- `unseen`: the groups of DuckDB's answer are one person's each, or `LIMIT` shows others, so there was nothing to compare.
- `differs`: for a reason that is named above.
- `answered`: at ε = 1; not without noise, as the caps that would leave nothing out are more than a question may read.

`groups` are those of the answer without noise, `nobody's` those of them that nobody is in, and `possible` how many of these
could be, as far as public tables say (`?` where that is not computed). The error is relative: the median over all numbers
of the answer, at ε = 1, with groups that nobody is in left out. Large errors are of groups that are small in these data:
some tens of customers, who are paid for with tens of rows each. `time` is how many times as long the answer took as plain
DuckDB; both are fractions of a second, and most of it is what does not depend on how many rows there are.
"""


NARROWED = """\
Keys of public tables have the combinations that these tables have, where the conditions on them hold; a key that is compared
with constants has those. Without that, an answer has a group for every combination of declared values: these questions would
drown in groups that cannot be. The squared error is that of all numbers of the groups that can be, at the same cost, as a
share of what it would be by all combinations: below 1 where one person can be in fewer groups, never above.
"""


def page(lines: Sequence[Line], titles: Mapping[str, str]) -> str:
    """Return the page."""
    text = [INTRO, "## What is answered", "", *_summary(lines, titles), "", "## What is refused, and why", ""]
    text += _reasons([each for each in lines if not each.answered], REFUSED, titles)
    text += ["", "A refusal says so before anything is paid, and what to write instead.", ""]
    text += ["## What differs from plain DuckDB, and why", ""]
    text += _reasons([each for each in lines if each.verdict == "differs"], DIFFERS, titles)
    text += [
        "",
        "[Asking](asking.md#groups) says which groups an answer has; why some have nobody in them is there, too.",
        "",
    ]
    text += ["## Groups that can be", "", NARROWED, *_narrowed(lines, titles), ""]
    text += ["## All of them", "", NOTES]
    for name, title in titles.items():
        some = [each for each in lines if each.name == name]
        text += [f"### {title}", "", *_table(some), ""] if some else []
    return (
        "\n".join(text).rstrip()
        + "\n\nSee also: [the SQL that works](sql.md), [asking](asking.md), [refusals](refusals.md).\n"
    )


def _summary(lines: Sequence[Line], titles: Mapping[str, str]) -> list[str]:
    found = ["| | questions | answered | equal | unseen | differs | not compared | refused | median time |",
             "|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for title, some in [*((title, [each for each in lines if each.name == name]) for name, title in titles.items()),
                        ("all", list(lines))]:  # fmt: skip
        counts = [
            sum(each.verdict == verdict for each in some) for verdict in ("equal", "unseen", "differs", "answered")
        ]
        ratios = [each.ratio for each in some if each.ratio is not None]
        answered = sum(each.answered for each in some)
        cells = [title, len(some), f"**{answered}**", *counts, len(some) - answered,
                 f"{statistics.median(ratios):.0f} ×" if ratios else ""]  # fmt: skip
        found.append("| " + " | ".join(map(str, cells)) + " |")
    return found


def _reasons(lines: Iterable[Line], reasons: Reasons, titles: Mapping[str, str]) -> list[str]:
    by: dict[str, dict[str, list[int]]] = {}
    for each in lines:
        reason = reason_of(reasons, each.name, each.number) or "For a reason that is not known yet"
        by.setdefault(reason, {}).setdefault(titles[each.name], []).append(each.number)
    ordered = [each for each in reasons if each in by] + [each for each in by if each not in reasons]
    return [f"- {reason}: " + "; ".join(f"{title} {', '.join(map(str, numbers))}" for title, numbers in by[reason].items())
            + "." for reason in ordered]  # fmt: skip


def _narrowed(lines: Sequence[Line], titles: Mapping[str, str]) -> list[str]:
    found = ["| question | groups that can be | all combinations | squared error |", "|---|---|---|---|"]
    for each in lines:
        if each.narrowed is not None:
            can, every, squared = each.narrowed
            many = f"{every:,}" if every < 10**12 else "more than 10¹²"
            found.append(
                f"| {titles[each.name]} {each.number} | {can:,} | {many} | {'too many to be asked for' if squared is None else f'{squared:.3g}'} |"
            )
    return found


def _table(lines: Sequence[Line]) -> list[str]:
    found = ["| question | | error | time | groups | nobody's | possible | |", "|---|---|---|---|---|---|---|---|"]
    for each in lines:
        error = "" if each.error is None else _percent(each.error)
        ratio = "" if each.ratio is None else f"{each.ratio:.0f} ×"
        why = f"`{each.code}`" if each.code else ""
        cells = (each.number, each.verdict, error, ratio, each.groups, each.nobodys, each.possible, why)
        found.append("| " + " | ".join(map(str, cells)) + " |")
    return found


def _percent(error: float) -> str:
    return (
        "> 1,000 %"
        if error > 10
        else f"{error:.1%}".replace("%", " %")
        if error < 0.1
        else f"{error:.0%}".replace("%", " %")
    )
