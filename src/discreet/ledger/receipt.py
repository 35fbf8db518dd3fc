"""A receipt: permission to look at the data once, for the mechanism that was paid for."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.record import write
from discreet.errors import NotAllowed

__all__ = ["Receipt"]


class Receipt:
    """Proof that a charge is on disk. An engine asks `use` before it reads a row; a receipt can be used once.

    What may run is the mechanism on record, read back from its text: `use` returns it. `answer` is there when the same
    question was answered before: then nothing was charged, and there is nothing to look at. A receipt for a question
    with a key opens the data inside `Ledger.answer` only, which keeps what comes out before anybody sees it. A receipt
    stays in the process that got it and cannot be copied.
    """

    def __init__(
        self, *, ledger: str, entry: int, charge: int, text: str, mechanism: Mechanism, cost: Loss, keyed: bool
    ) -> None:
        self.entry, self.charge, self.mechanism, self.cost = entry, charge, mechanism, cost
        self.answer: bytes | None = None
        self._ledger, self._text = ledger, text
        self._open = not keyed
        self._unused = threading.Lock()
        self._process = os.getpid()

    @property
    def used(self) -> bool:
        """Whether it has opened the data already."""
        return self._unused.locked()

    def use(self, mechanism: Mechanism) -> Mechanism:
        """Open the data for this very mechanism, once; returns the one on record."""
        if self.answer is not None:
            raise NotAllowed("this question was answered before; its answer is kept.", instead="read receipt.answer")
        if self._process != os.getpid():
            raise NotAllowed("a receipt stays in the process that got it.", instead="spend in this process")
        if write(mechanism) != self._text:
            raise NotAllowed("this receipt is for another mechanism.", instead="spend on the one you want to run")
        if not self._open:
            raise NotAllowed(
                "the answer to a question with a key is kept before it is shown.",
                instead="look at the data inside ledger.answer(receipt, look), or spend without a key",
            )
        if not self._unused.acquire(blocking=False):
            raise NotAllowed("this receipt was used before.", instead="spend again: every look at the data is paid for")
        return self.mechanism

    def belongs_to(self, ledger: str) -> bool:
        """Whether it came from the ledger with this identity."""
        return self._ledger == ledger

    @contextmanager
    def opened(self) -> Iterator[None]:
        """For the length of an answer, which is kept."""
        before, self._open = self._open, True
        try:
            yield
        finally:
            self._open = before

    def __repr__(self) -> str:
        state = "answered" if self.answer is not None else "used" if self.used else "unused"
        return f"<receipt for entry {self.entry}: {self.cost}, {state}>"

    def __reduce__(self) -> NoReturn:
        raise NotAllowed("a receipt cannot be copied.", instead="spend where the data is read")
