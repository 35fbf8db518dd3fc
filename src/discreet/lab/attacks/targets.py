"""Targets of an attack: a function, a curator through SQL, a server at a URL, all with the same interface.

A host takes SQL and gives rows, or refuses. `People` turns subsets of people into SQL for a host.
"""

from __future__ import annotations

import json
import math
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.exact import Number, positive_integer, price
from discreet.curator.curator import Curator
from discreet.errors import Broken, NotUnderstood, Refusal

__all__ = ["Curated", "Function", "Host", "People", "Target", "Web", "number_of"]

Progress = Callable[[int, int], None]
WRONG = "the server did not answer as it should"
TIMEOUT_SECONDS = 60.0  # seconds that a server may take for an answer


class Host(Protocol):
    """A host answers SQL with rows, or refuses."""

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of the answer."""


@dataclass(frozen=True)
class Curated:
    """A curator, asked at the cost `epsilon` each time."""

    curator: Curator
    epsilon: Fraction

    def __init__(self, curator: Curator, *, epsilon: Number) -> None:
        object.__setattr__(self, "curator", curator)
        object.__setattr__(self, "epsilon", price(epsilon, "epsilon"))

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.curator.ask(sql, epsilon=self.epsilon)]


@dataclass(frozen=True)
class Web:
    """A server that takes {"sql": …} by POST and gives {"rows": [[…], …]}; anything but status 200 is a refusal."""

    url: str

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise NotUnderstood(
                "a server has a URL.", code="wrong-argument", instead="for example http://127.0.0.1:8080/"
            )

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        body = json.dumps({"sql": sql}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        try:
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with direct.open(request, timeout=TIMEOUT_SECONDS) as reply:
                return [tuple(row) for row in json.load(reply)["rows"]]
        except urllib.error.HTTPError as refused:
            raise Refusal(
                f"the server refused, with status {refused.code}.", code="server-refused", instead="ask something else"
            ) from None
        except (OSError, ValueError, KeyError, TypeError):
            raise Broken(WRONG) from None


def number_of(host: Host, sql: str) -> float:
    """Return the only number of an answer; NaN if the question was refused or the answer is NULL."""
    try:
        ((value,),) = host.ask(sql)
        read = math.nan if value is None else float(value)
    except Refusal:
        return math.nan
    except (ValueError, TypeError):  # no number, or not only one
        raise Broken(WRONG) from None
    if math.isinf(read):
        raise Broken(WRONG)
    return read


class Target(Protocol):
    """A target answers subset queries about n people."""

    @property
    def n(self) -> int:
        """The number of people."""

    def answers(self, queries: ArrayLike, progress: Progress | None = None) -> NDArray[Any]:
        """Return one number for each query; NaN where there was none."""


@dataclass(frozen=True, kw_only=True)
class Function:
    """A Python function of the positions that a query is about."""

    answer: Callable[[Sequence[int]], float]
    n: int

    def answers(self, queries: ArrayLike, progress: Progress | None = None) -> NDArray[Any]:
        return _one_by_one(queries, lambda chosen: float(self.answer(chosen)), progress)


@dataclass(frozen=True, kw_only=True)
class People:
    """The people of a table behind a host: those whose `key` is 0 … n-1. `secret` is the condition to be found out."""

    host: Host
    n: int
    table: str = "people"
    key: str = "id"
    secret: str = "secret = 1"

    def __post_init__(self) -> None:
        positive_integer(self.n, "n")

    def count(self, condition: str) -> float:
        """Return how many people satisfy a condition."""
        return number_of(self.host, f"SELECT COUNT(*) FROM {self.table} WHERE {condition}")

    def subset(self, chosen: Sequence[int]) -> float:
        """Return how many of these people have the secret."""
        if not len(chosen):
            return 0.0
        return self.count(f"{self.secret} AND {self.key} IN ({', '.join(map(str, chosen))})")

    def answers(self, queries: ArrayLike, progress: Progress | None = None) -> NDArray[Any]:
        return _one_by_one(queries, self.subset, progress)


def _one_by_one(
    queries: ArrayLike, answer: Callable[[Sequence[int]], float], progress: Progress | None
) -> NDArray[Any]:
    asked = np.asarray(queries)
    told = np.empty(len(asked))
    for i, each in enumerate(asked):
        told[i] = answer(np.flatnonzero(each).tolist())
        if progress is not None:
            progress(i + 1, len(asked))
    return told
