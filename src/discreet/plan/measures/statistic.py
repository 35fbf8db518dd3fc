"""Statistics: which number an aggregate reads from what is released of a measure."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

__all__ = ["ROWS", "UNITS", "Statistic"]


@dataclass(frozen=True)
class Statistic:
    """A number by its name: "rows", "present", "units", "sum", "avg", "var_samp", "distinct", "mode", "least", ….

    A "sum plus" is the sum of values that are each larger by `at`. A "quantile", and the "low" and the "high" end of an
    interval around one, are `at` a share of the rows. A count of "regions" says by a letter for each of them, 1 or 0,
    whether it is among those that are counted.
    """

    name: str
    at: Fraction | None = None
    regions: str = ""

    def __str__(self) -> str:
        if self.name == "regions":
            return self.regions
        return " ".join([self.name] * (self.name != "quantile") + ([] if self.at is None else [str(self.at)]))


ROWS, UNITS = Statistic("rows"), Statistic("units")
