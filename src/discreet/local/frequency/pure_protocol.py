"""Pure protocols: randomizers whose reports support values, as nearly all of them do.

A report supports the value behind it with probability `hit`, and each other value with probability `miss`. Counting
supports is all that estimating takes (Wang, Blocki, Li, Jha 2017 call such protocols pure).
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import Number, positive_integer
from discreet.local.estimate import Frequencies
from discreet.local.inputs import share
from discreet.local.randomizer import CHUNK_DRAWS, Categories, Counts

__all__ = ["BitRows", "Supporting"]


class Supporting(Categories):
    """A randomizer of one of k values whose reports support some of them."""

    @property
    @abstractmethod
    def hit(self) -> Fraction:
        """P(a report supports the value behind it)."""

    @property
    @abstractmethod
    def miss(self) -> Fraction:
        """P(a report supports some other value)."""

    def supports(self, sketch: Counts) -> Any:
        """Return how many reports support each value."""
        return sketch

    def read(self, sketch: Counts, n: int, *, sampling: bool, set_aside: int) -> Frequencies:
        return Frequencies.of(
            self.supports(sketch), n=n, hit=self.hit, miss=self.miss, sampling=sampling, set_aside=set_aside
        )

    def variance(self, n: int, frequency: Number = 0, *, sampling: bool = False) -> float:
        """Return the variance of the estimate of a value that this share of n respondents hold.

        Because  reports are independent, so it is [f·p(1-p) + (1-f)·q(1-q)] / (n·(p-q)²) with p = hit and q = miss;
                 with sampling=True, f·(1-f)/n comes on top (Warner 1965; Wang, Blocki, Li, Jha 2017).
        """
        people, f = positive_integer(n, "n"), share(frequency)
        noise = f * self.hit * (1 - self.hit) + (1 - f) * self.miss * (1 - self.miss)
        return float((noise / (self.hit - self.miss) ** 2 + (f * (1 - f) if sampling else 0)) / people)

    def spread(self, *, sampling: bool = False) -> float:
        p, q = self.hit, self.miss
        if not sampling:
            return max(self.variance(1, 0), self.variance(1, 1))
        worst = min(max(Fraction(1, 2), q), p)  # of supports: r·(1 - r) is largest there
        return float(worst * (1 - worst) / (p - q) ** 2)

    @property
    def report_influence(self) -> Fraction:
        """The weight of one support, 1/(hit - miss).

        Because  a report either supports a value or does not.
        """
        return 1 / (self.hit - self.miss)


class BitRows(Supporting):
    """A randomizer whose report is a row of k ones and zeros: the values it supports."""

    kind = np.uint8

    @property
    def width(self) -> int:
        return self.k

    def shape(self) -> tuple[int, ...]:
        return (self.k,)

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        strange = (reports != 0) & (reports != 1)
        return ~np.any(strange, axis=1) if np.any(strange) else np.ones(len(reports), np.bool_)

    @property
    def counters(self) -> int:
        return self.k

    def sketch(self, reports: NDArray[Any]) -> Counts:
        total = np.zeros(self.k, np.int64)
        for start in range(0, len(reports), CHUNK_DRAWS):
            total += np.sum(reports[start : start + CHUNK_DRAWS], axis=0, dtype=np.uint32)
        return total
