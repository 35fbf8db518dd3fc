"""A receipt: permission to read the data once, for the mechanism that was paid for."""

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
from discreet.ledger.facts import Charge

__all__ = ["Receipt"]


class Receipt:
    """Proof that a charge is on disk. An engine calls `use` before it reads a row; a receipt can be used once.

    Only the mechanism on record may run, read back from its text: `use` returns it. `answer` is set when the same
    question was answered before: then nothing was charged, and the data are not read. A receipt for a question with a
    key opens the data inside `Ledger.answer` only, which keeps the answer before it is shown. A receipt stays in the
    process that got it and cannot be copied.
    """

    def __init__(
        self,
        *,
        ledger: str,
        question: Charge,
        entry: int,
        charge: int,
        mechanism: Mechanism,
        cost: Loss,
        answer: bytes | None,
    ) -> None:
        self.entry, self.charge, self.mechanism, self.cost, self.answer = entry, charge, mechanism, cost, answer
        self.dataset, self.version, self.analyst = question.dataset, question.version, question.analyst
        self.key = question.key
        self._ledger, self._question = ledger, question
        self._unused, self._answering = threading.Lock(), threading.Lock()
        self._process = os.getpid()

    @property
    def used(self) -> bool:
        """True if the receipt has opened the data already."""
        return self._unused.locked()

    def use(self, mechanism: Mechanism, *, dataset: str | None = None, version: str | None = None) -> Mechanism:
        """Open the data for this very mechanism, once; return the one on record.

        An engine names the data set that it is about to read, and its version: the receipt must be for those.
        """
        if self.answer is not None:
            raise NotAllowed(
                "this question was answered before; its answer is kept.",
                code="receipt-used",
                instead="read receipt.answer",
            )
        if self._process != os.getpid():
            raise NotAllowed(
                "a receipt stays in the process that got it.", code="receipt-copied", instead="spend in this process"
            )
        if write(mechanism) != self._question.mechanism:
            raise NotAllowed(
                "this receipt is for another mechanism.",
                code="wrong-receipt",
                instead="spend on the one you want to run",
            )
        if dataset not in (None, self.dataset) or version not in (None, self.version):
            raise NotAllowed(
                "this receipt is for other data.", code="wrong-receipt", instead="spend on the data set that is read"
            )
        if self._question.key is not None and not self._answering.locked():
            raise NotAllowed(
                "the answer to a question with a key is kept before it is shown.",
                code="wrong-receipt",
                instead="look at the data inside ledger.answer(receipt, look), or spend without a key",
            )
        if not self._unused.acquire(blocking=False):
            raise NotAllowed(
                "this receipt was used before.",
                code="receipt-used",
                instead="spend again: every look at the data is paid for",
            )
        return self.mechanism

    @contextmanager
    def answering(self, ledger: str, dataset: str | None) -> Iterator[None]:
        """Mark the receipt as being answered, by this ledger and about this data set, while the block runs."""
        if (self._ledger, self.dataset) != (ledger, dataset):
            raise NotAllowed(
                "this receipt is from another ledger, or for other data.",
                code="wrong-receipt",
                instead="answer it there",
            )
        if not self._answering.acquire(blocking=False):
            raise NotAllowed(
                "this receipt is being answered.",
                code="receipt-used",
                instead="spend again: the question is paid for once",
            )
        try:
            yield
        finally:
            self._answering.release()

    def __repr__(self) -> str:
        state = "answered" if self.answer is not None else "used" if self.used else "unused"
        return f"<receipt for entry {self.entry}: {self.cost}, {state}>"

    def __reduce__(self) -> NoReturn:
        raise NotAllowed("a receipt cannot be copied.", code="receipt-copied", instead="spend where the data is read")
