"""A receipt: permission to look at the data once, for the mechanism that was paid for."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Any, NoReturn

from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.errors import NotAllowed

__all__ = ["Receipt"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Receipt:
    """Proof that a charge is on disk. An engine asks `use` before it reads a row; a receipt can be used once.

    `answer` is there when the same question was answered before: then nothing was charged, and there is nothing to
    look at. A receipt stays in the process that got it and cannot be copied.
    """

    ledger: str
    entry: int
    charge: int
    mechanism: Mechanism
    cost: Loss
    answer: bytes | None
    _unused: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _process: int = field(default_factory=os.getpid, repr=False)

    @property
    def used(self) -> bool:
        """Whether it has opened the data already."""
        return self._unused.locked()

    def use(self, mechanism: Mechanism) -> None:
        """Open the data for this very mechanism, once."""
        if self.answer is not None:
            raise NotAllowed("this question was answered before; its answer is kept.", instead="read receipt.answer")
        if self._process != os.getpid():
            raise NotAllowed("a receipt stays in the process that got it.", instead="spend in this process")
        if type(mechanism) is not type(self.mechanism) or mechanism != self.mechanism:
            raise NotAllowed("this receipt is for another mechanism.", instead="spend on the one you want to run")
        if not self._unused.acquire(blocking=False):
            raise NotAllowed("this receipt was used before.", instead="spend again: every look at the data is paid for")

    def __reduce__(self) -> NoReturn:
        raise NotAllowed("a receipt cannot be copied.", instead="spend where the data is read")

    def __copy__(self) -> Any:
        return self.__reduce__()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__reduce__()
