"""The engine protocol: what a curator needs of a database that holds rows of privacy units.

An engine opens data, and a snapshot is the opened data in one state. A question keeps one snapshot from the check of
its plan to its answer. So the answer is about one version of the data, the one on its receipt, even if the data change
meanwhile. An engine is shared by threads; a snapshot is immutable.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from discreet.catalogue.schema import Catalogue
from discreet.core.coins import Coins
from discreet.errors import Interrupted, NotUnderstood
from discreet.kernel.check import Certificate
from discreet.kernel.plan import ExactResult
from discreet.plan.plan import Plan

__all__ = ["Cancel", "Engine", "Limits", "Permission", "Snapshot"]

CANCELLED = (
    "the question was cancelled, or its deadline passed. What was spent stays spent; asking the same question again is"
    " free."
)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Resource limits of an engine: seconds for each question, and memory and threads for all questions together."""

    seconds: float = 600.0
    memory: str | None = None  # as 8GB; by default half of the machine's
    threads: int | None = None  # by default all cores

    @classmethod
    def of_environment(cls) -> Limits:
        """Return the limits that $DISCREET_SECONDS, $DISCREET_MEMORY and $DISCREET_THREADS set."""
        seconds, memory, threads = (os.environ.get(f"DISCREET_{each}") for each in ("SECONDS", "MEMORY", "THREADS"))
        if seconds and not re.fullmatch(r"\d{1,6}(\.\d{1,6})?", seconds, re.ASCII):
            raise NotUnderstood(
                "DISCREET_SECONDS is a number of seconds.", code="wrong-setting", instead="DISCREET_SECONDS=600"
            )
        if memory and not re.fullmatch(r"\d{1,9} ?[KMGT]i?B", memory, re.ASCII | re.IGNORECASE):
            raise NotUnderstood(
                "DISCREET_MEMORY is a number of bytes.", code="wrong-setting", instead="DISCREET_MEMORY=8GB"
            )
        if threads and not re.fullmatch(r"[1-9]\d{0,3}", threads, re.ASCII):
            raise NotUnderstood(
                "DISCREET_THREADS is a whole number.", code="wrong-setting", instead="DISCREET_THREADS=4"
            )
        return cls(
            seconds=float(seconds) if seconds else cls.seconds,
            memory=memory or None,
            threads=int(threads) if threads else None,
        )


class Cancel:
    """A cancellation token. It stops a question from any thread, or at a deadline; the question's cost stays spent."""

    def __init__(self, seconds: float = math.inf) -> None:
        self.deadline = time.monotonic() + seconds
        self._given_up, self._turn, self._listening = False, threading.Lock(), set[Callable[[], None]]()

    def __call__(self) -> None:
        """Cancel the question: call every listener, and let each later `check` raise `Interrupted`."""
        with self._turn:
            self._given_up, listening = True, list(self._listening)
        for each in listening:
            each()

    @property
    def cancelled(self) -> bool:
        """True if the question was cancelled, or its deadline has passed."""
        return self._given_up or time.monotonic() >= self.deadline

    def check(self) -> None:
        """Raise `Interrupted` if the question was cancelled, or its deadline has passed."""
        if self.cancelled:
            raise Interrupted(CANCELLED)

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` if the question is cancelled while the block runs, or was cancelled before it."""
        with self._turn:
            self._listening.add(listener)
            before = self._given_up
        if before:
            listener()
        try:
            yield
        finally:
            with self._turn:
                self._listening.discard(listener)


class Permission(Protocol):
    """Permission to read the data once, for the plan that was paid for: a receipt of the ledger."""

    def use(self, mechanism: Plan, *, dataset: str | None, version: str | None) -> Any:
        """Use the permission up, for `version` of `dataset`; return the plan on record."""


class Snapshot(Protocol):
    """The data in one state. Immutable, so all steps of a question read the same rows."""

    @property
    def catalogue(self) -> Catalogue:
        """The declared catalogue, with the values of the public tables in this state."""

    @property
    def version(self) -> str:
        """The name of this state in the ledger: a random one, which says nothing about rows."""

    def public(self, select: str, most: int) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        """Run a SELECT over the public tables alone; return its columns with their types, and at most `most` + 1 rows.

        The text is written from the tree of a question, and names public tables only.
        """

    def sql(self, plan: Plan) -> str:
        """Return the SQL that `plan` runs."""

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        """Return remarks on how `plan` would be run."""

    def check(self, plan: Plan) -> None:
        """Refuse a plan that the engine cannot run, before it is paid for and without looking at any row."""

    def aggregate(
        self, certificate: Certificate, permission: Permission, *, coins: Coins, cancel: Cancel
    ) -> tuple[Plan, ExactResult]:
        """Return the plan on record and its exact data. Nothing is read before `permission` has opened the data."""


class Engine(Protocol):
    """Opens data and aggregates them: the only code that reads personal data."""

    def snapshot(self) -> Snapshot:
        """Return a snapshot of the current data, opened once more if the data have changed."""

    @property
    def latest(self) -> Snapshot:
        """The snapshot opened last, for explanations, which open nothing."""

    def build_index(self, coins: Coins, progress: Callable[[int, int], None] | None) -> Path:
        """Build the unit index of the current data; return its path."""

    def drop_index(self) -> bool:
        """Delete the unit index; return True if there was one."""

    def close(self) -> None:
        """Close the data."""
