"""Subjects of an audit: a mechanism with its claim, and a way to observe its releases on neighbours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number
from discreet.core.mechanism import Mechanism
from discreet.core.text import show
from discreet.lab.audits import audit, channel
from discreet.lab.audits.channel import Table

__all__ = ["Checked", "ExactSubject", "SampledSubject"]

ENCLOSURE_TOLERANCE = Fraction(1, 1 << 50)  # relative width of enclosures


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A claim, the finding of an audit, and whether the claim is kept."""

    name: str
    claim: str
    found: str
    share: float  # of the claim
    kept: bool
    exact: bool


@dataclass(frozen=True, kw_only=True)
class ExactSubject:
    """A mechanism, and tables of its releases on neighbouring secrets: the rows of a table are all neighbours."""

    name: str
    mechanism: Mechanism
    written: Callable[[], Sequence[Table]]

    def check(self) -> Checked:
        """Compare every statement of the loss with the tables; report the one that matters, and its certificate."""
        loss, rows = self.mechanism.loss, self.written()
        kept = all(channel.rho(each) <= float(loss.rho) * (1 + 1e-12) for each in rows) if loss.event == 0 else True
        if loss.pure is not None and loss.event == 0:
            found = max(channel.epsilon(each) for each in rows)
            kept &= found.within(loss.pure)
            return self._checked(f"ε = {show(loss.pure)}", found.describe(), float(found) / float(loss.pure), kept)
        at, claim = loss.approximate or (Fraction(1), self.mechanism.curve(1))
        most = max((channel.delta(each, at) for each in rows), key=lambda each: each.high)
        kept &= most.high <= claim * (1 + ENCLOSURE_TOLERANCE) and claim <= loss.delta(at)
        return self._checked(f"δ = {show(claim)} at ε = {show(at)}", most.describe(), float(most.high / claim), kept)

    def _checked(self, claim: str, found: str, share: float, kept: bool) -> Checked:
        return Checked(name=self.name, claim=claim, found=found, share=share, kept=kept, exact=True)


@dataclass(frozen=True, kw_only=True)
class SampledSubject:
    """A mechanism that releases many numbers at once, a sampler for each of two neighbours, and the claim."""

    name: str
    epsilon: Fraction
    delta: Fraction
    one: audit.Sampler
    other: audit.Sampler

    def check(self, samples: int = 10**6, *, alarm: Number = audit.ALARM, coins: Coins = SYSTEM) -> Checked:
        """Check that a lower bound on ε from samples is not above the claim."""
        found = audit.black_box(self.one, self.other, samples=samples, delta=self.delta, alarm=alarm, coins=coins)
        claim = f"ε = {show(self.epsilon)}" + (f" at δ = {show(self.delta)}" if self.delta else "")
        share = found.epsilon / float(self.epsilon)
        kept = not found.refutes(self.epsilon)
        return Checked(name=self.name, claim=claim, found=found.describe(), share=share, kept=kept, exact=False)
