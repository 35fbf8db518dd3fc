"""Reports on a history: its ε by every composition theorem, and the spending over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.accounting.comparison import Row, compare
from discreet.core.exact import Number, probability
from discreet.core.loss import Budget, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.text import show, table
from discreet.errors import NotUnderstood, visible
from discreet.ledger.balances import State, title
from discreet.ledger.entry import Entry
from discreet.ledger.facts import Account
from discreet.ledger.transactions import decode

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Report", "draw", "report"]

POINTS = 400  # of a line in the picture


@dataclass(frozen=True, kw_only=True)
class Report:
    """The ε of one data set's history at δ, by each theorem."""

    dataset: str
    delta: Fraction
    charges: int
    rows: tuple[Row, ...]
    lost: int = 0  # the entry before which others were lost, whose charges are not among these

    def __str__(self) -> str:
        said = [
            (
                "–" if row.epsilon is None else f"{row.epsilon:.4f}",
                "yes" if row.adaptive else "no",
                row.theorem,
                row.note,
            )
            for row in self.rows
        ]
        heading = f"{visible(self.dataset)}: {self.charges} charges, as ε at δ = {show(self.delta)}"
        heading += f"; without what was lost before entry {self.lost}" if self.lost else ""
        return heading + "\n" + table(["ε", "adaptive", "theorem", ""], said, right="ε")


def report(entries: Iterable[Entry], dataset: str, delta: Number | None) -> Report:
    """Return the ε of all charges on a data set by every theorem. Reading a report spends nothing."""
    texts: Counter[str] = Counter()
    state = State()
    for entry in entries:
        state.take(entry)
        if (text := entry.fact.mechanism_for(dataset)) is not None:
            texts[text] += 1
    cap = state.caps.get(("dataset", dataset, ""))
    if cap is None:
        raise NotUnderstood(
            f"the ledger does not know a data set {dataset}.", code="unknown-dataset", instead=_known(state)
        )
    at = probability(delta if delta is not None else cap.delta or "1e-6", "delta")
    history: Counter[Mechanism] = Counter()
    for text, times in texts.items():
        history[decode(text)[0]] += times
    rows = compare(history, at)
    return Report(dataset=dataset, delta=at, charges=texts.total(), rows=tuple(rows), lost=state.lost)


def _known(state: State) -> str:
    return "it knows " + ", ".join(sorted(state.datasets)) if state.datasets else "nothing was spent here yet"


# ── the picture ──────────────────────────────────────────────────────────────────────────────────────────────


def draw(entries: Iterable[Entry]) -> Figure:
    """Draw spending over time: for each data set and family, the ε reached after every charge, under its budget."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415  # an extra, imported where it is needed
    except ImportError:
        raise NotUnderstood(
            "a picture needs matplotlib.", code="not-installed", instead='pip install "discreet[report]"'
        ) from None
    state, paths = State(), dict[Account, list[tuple[datetime, Loss]]]()
    for entry in entries:
        state.take(entry)
        when = datetime.fromisoformat(entry.time)
        for account in entry.fact.accounts(state):
            if account[0] != "analyst":
                paths.setdefault(account, []).append((when, state.loss(account)))
    if not paths:
        raise NotUnderstood(
            "nothing was spent yet, so there is nothing to draw.", code="no-number", instead="spend first"
        )
    figure = Figure(figsize=(8, 0.8 + 2.7 * len(paths)), layout="constrained")
    panes = figure.subplots(len(paths), 1, squeeze=False, sharex=True)[:, 0]
    for pane, (account, path) in zip(panes, sorted(paths.items()), strict=True):
        _pane(pane, account, path, state.caps[account])
    return figure


def _pane(pane: Any, account: Account, path: list[tuple[datetime, Loss]], cap: Budget) -> None:
    """Draw one account: its spending as steps, and its budget as a line."""
    from matplotlib.dates import ConciseDateFormatter  # noqa: PLC0415

    few = path[:: max(1, len(path) // POINTS)]
    few = few if few[-1] is path[-1] else [*few, path[-1]]
    reached = [float(_reached(loss, cap)) for _, loss in few]
    pane.step([when for when, _ in few], reached, where="post", color="#1f5aa6", label="spent")
    if len(few) <= 60:
        pane.plot([when for when, _ in few], reached, ".", color="#1f5aa6")
    pane.axhline(float(cap.epsilon), color="#b3261e", linestyle="--", label=f"budget, {cap}")
    pane.set_ylim(0, float(cap.epsilon) * 1.15)
    pane.set_ylabel("ε")
    name = title(account).replace("$", r"\$")  # no formula
    pane.set_title(f"{name}: {len(path)} charge{'s' if len(path) > 1 else ''}", loc="left", fontsize=10)
    pane.xaxis.set_major_formatter(ConciseDateFormatter(pane.xaxis.get_major_locator()))  # type: ignore[no-untyped-call]
    pane.tick_params(axis="x", labelsize=8)
    pane.grid(alpha=0.25)
    pane.legend(loc="lower right", fontsize=8)


def _reached(loss: Loss, cap: Budget) -> Fraction:
    """Return the ε that a history has reached, as the budget counts: the better of the two sums."""
    ways = [] if loss.pure is None else [loss.pure]
    if cap.delta is not None and cap.events is not None and cap.events < cap.delta and loss.rho:
        ways.append(Loss.of(None, loss.rho, Fraction(0)).epsilon(cap.delta - cap.events))
    return min(ways, default=Fraction(0))
