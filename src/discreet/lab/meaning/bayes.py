"""The Bayesian attacker: beliefs after an answer, with one person's data in it and without.

The attacker holds a prior over whole databases, with any dependence between people, and updates it by what was
released. In the other world the same person's entry had been replaced by a default. Differential privacy says that the
two posteriors agree within a factor e^{2ε}, for every prior: what is learned about Alice is learned without her.

    >>> from discreet.lab import bayes
    >>> study = bayes.smoking(people=6, epsilon=1)
    >>> beliefs = study.after(5)                        # the study says that 5 of 6 are ill
    >>> round(beliefs.before, 3), round(beliefs.using, 3), round(beliefs.without, 3)
    (0.5, 0.859, 0.884)
    >>> study.gap <= study.bound                        # of all answers and all databases
    True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.exact import Number, positive_integer, price, probability
from discreet.core.laws.law import Law
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.lab.report import Finding, Picture, Report, ReportTable, Series
from discreet.mechanisms.noise import Laplace

__all__ = ["Beliefs", "Study", "count_channel", "posterior", "report", "smoking"]

Real = NDArray[Any]
MAX_ABS_LOG = 600  # the largest |ln| of a probability or of a factor that is held as a float
MAX_PEOPLE = 14  # people whose databases are all listed


def posterior(prior: ArrayLike, channel: ArrayLike) -> Real:
    """Apply Bayes' rule for all outputs at once: row d, column a is the belief in database d after seeing a."""
    p, c = np.asarray(prior, float), np.asarray(channel, float)
    if p.ndim != 1 or c.ndim != 2 or len(p) != len(c) or not np.isclose(p.sum(), 1) or (p < 0).any():
        raise NotUnderstood(
            "a prior has one probability for each row of the channel, and they add up to one.",
            code="wrong-argument",
            instead="posterior([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]])",
        )
    joint = p[:, None] * c
    believed: Real = joint / joint.sum(axis=0)
    return believed


@dataclass(frozen=True, kw_only=True)
class Beliefs:
    """The attacker's probability of an event before an answer, after it, and after an answer without the person."""

    before: float
    using: float
    without: float


@dataclass(frozen=True, kw_only=True)
class Study:
    """A prior over databases, a channel to answers, and the index of each database without the person."""

    prior: Real
    channel: Real
    absent: Real  # the index of each database with the person's entry replaced by a default
    event: Real  # the databases in which the event in question holds
    epsilon: Fraction

    @property
    def using(self) -> Real:
        """Posteriors from the study as it was."""
        return posterior(self.prior, self.channel)

    @property
    def without(self) -> Real:
        """Posteriors from the study in which the person's entry was replaced."""
        return posterior(self.prior, self.channel[self.absent])

    @property
    def gap(self) -> float:
        """The largest |ln| of the ratio of the two posteriors, over all databases and answers."""
        there = self.prior > 0
        return float(np.abs(np.log(self.using[there]) - np.log(self.without[there])).max())

    @property
    def bound(self) -> float:
        """2ε.

        Because  the numerators of Bayes' rule differ by a factor within e^±ε, and so do the denominators.
        """
        return 2 * float(self.epsilon)

    def after(self, answer: int) -> Beliefs:
        """Return the beliefs about the person when the study says `answer`."""
        return Beliefs(
            before=float(self.prior[self.event].sum()),
            using=float(self.using[self.event, answer].sum()),
            without=float(self.without[self.event, answer].sum()),
        )


def count_channel(people: int, law: Law) -> Real:
    """Return P(answer | exact count), for counts and answers 0 … people: noise is added, and answers beyond are cut
    there.
    """
    rows = np.empty((people + 1, people + 1))
    for exact in range(people + 1):
        rows[exact] = [law.pmf(answer - exact) for answer in range(people + 1)]
        rows[exact, 0] = _beyond(law, exact)
        rows[exact, people] = _beyond(law, people - exact)
    return rows


def _beyond(law: Law, far: int) -> float:
    """Return P(X >= far), for a symmetric law."""
    return law.tail(far) / 2 if far > 0 else 0.5 + law.pmf(0) / 2


def smoking(*, people: int = 10, epsilon: Number = 1, link: Number = "0.9") -> Study:
    """Return the study of the notes: does smoking make ill? All people here smoke, and the first of them is Alice.

    Either it does, and each is ill with probability `link`, or it does not, and each is with probability 1 - `link`;
    the attacker finds both equally likely. The study tells a noisy count of the ill; without her, Alice is not ill.
    """
    n, e, p = positive_integer(people, "people"), price(epsilon, "epsilon"), float(probability(link, "link"))
    if n > MAX_PEOPLE:
        raise NotUnderstood(
            "all databases are listed, so people must be few.", code="wrong-argument", instead=f"at most {MAX_PEOPLE}"
        )
    if e * max(n, 2) > MAX_ABS_LOG:
        raise NotUnderstood(
            "at this epsilon some odds are too small to be told.",
            code="wrong-argument",
            instead=f"at most {MAX_ABS_LOG // max(n, 2)}",
        )
    databases = np.arange(1 << n)
    ill = np.bitwise_count(databases).astype(int)
    prior = 0.5 * p**ill * (1 - p) ** (n - ill) + 0.5 * (1 - p) ** ill * p ** (n - ill)
    alice = databases & 1 == 1
    channel = count_channel(n, Laplace(epsilon=e, sensitivity=1).law)
    return Study(prior=prior / prior.sum(), channel=channel[ill], absent=databases & ~1, event=alice, epsilon=e)


def report(*, epsilon: Number = 1, people: int = 10) -> Report:
    """Compare an insurer's beliefs about Alice after a study, with her in it and without."""
    study = smoking(people=people, epsilon=epsilon)
    answers = range(people + 1)
    beliefs = [study.after(each) for each in answers]
    x = tuple(float(each) for each in answers)

    def line(name: str, read: Callable[[Beliefs], float], kind: Any = "line") -> Series:
        return Series(name=name, x=x, y=tuple(read(each) for each in beliefs), kind=kind)

    picture = Picture(
        title=f"How likely Alice is ill, after a study of {people} smokers at ε = {show(study.epsilon)}",
        x="how many are ill, says the study",
        y="belief",
        series=(line("she was in it", lambda b: b.using), line("she was not", lambda b: b.without, "dashed")),
        levels=((f"before, {beliefs[0].before:.2f}", beliefs[0].before),),
    )
    rows = tuple(
        (answer, f"{each.before:.3f}", f"{each.using:.3f}", f"{each.without:.3f}")
        for answer, each in zip(answers, beliefs, strict=True)
    )
    steps = ["0.1", "0.5", "1", "2", "5"]
    studies = {each: smoking(people=min(people, 8), epsilon=each) for each in steps}
    gaps = tuple(
        (each, f"{one.gap:.4f}", f"{one.bound:g}", f"{one.gap / one.bound:.2f}") for each, one in studies.items()
    )
    holds = all(one.gap <= one.bound * (1 + 1e-9) for one in (study, *studies.values()))
    return Report(
        title="What ε means: beliefs about one person",
        findings=(
            Finding(
                title="The study of smokers, with Alice and without",
                text="If smoking makes ill, the study shows it, and the insurer thinks worse of Alice, whether she "
                f"took part or not. What her own entry adds is at most a factor e^2ε = {math.exp(study.bound):.3g} "
                f"on any belief, for every prior; here it is e^{study.gap:.3f} at most.",
                verdict="posteriors within 2ε" if holds else "posteriors apart by more than 2ε",
                good=holds,
                tables=(
                    ReportTable(heads=("study says", "before", "with Alice", "without"), rows=rows,
                          right="study says,before,with Alice,without"),
                    ReportTable(heads=("ε", "largest |ln ratio|", "2ε", "share of it"), rows=gaps,
                          right="ε,largest |ln ratio|,2ε,share of it", title="Over all answers and all databases"),
                ),
                pictures=(picture,),
                facts={"gap": study.gap, "bound": study.bound, "epsilon": study.epsilon},
            ),
        ),
    )  # fmt: skip
