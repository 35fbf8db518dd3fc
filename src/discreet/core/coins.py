"""Coins: the only source of randomness, and the method that turns it into exact draws.

Every sampler works as follows: a draw is a function of a uniform real number U of which 32 or 64 bits are known. If
every U with those bits leads to the same outcome, that outcome is exactly right. If not, `Uniform.sharpen` takes more
bits of the same U until it is. Floating point only ever proposes; what it cannot decide beyond its own error is decided
by ball arithmetic, so the distribution is exact for any libm whose error stays under the stated bound.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.core.exact import Ball, precision

__all__ = ["SYSTEM", "Coins", "System", "Uniform", "whole_part"]

T = TypeVar("T")
ZEROS = bytes(1 << 17)  # the plaintext that the cipher turns into a keystream, block by block


class Coins(ABC):
    """A source of independent fair bits. A sampler is a pure function of its coins, so a test can walk every branch."""

    @abstractmethod
    def flip(self, count: int) -> NDArray[np.uint8]:
        """Return `count` bytes of fair bits."""

    def words(self, count: int) -> NDArray[np.int64]:
        """Return `count` fair 64-bit words."""
        return self.flip(8 * count).view(np.int64)

    def halves(self, count: int) -> NDArray[np.uint32]:
        """Return `count` fair 32-bit words."""
        return self.flip(4 * count).view(np.uint32)

    def bits(self, count: int) -> int:
        """Return a fair whole number of `count` bits, a multiple of eight."""
        return int.from_bytes(self.flip(count // 8).tobytes(), "little")


class _Stream:
    """AES-256 in counter mode under a fresh key from the operating system."""

    def __init__(self, birth: int) -> None:
        self.birth = birth
        self.process = os.getpid()
        self.left = System.LIFETIME
        # Imported at the first draw: it takes a tenth of the time that importing discreet takes.
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # noqa: PLC0415

        key = os.urandom(48)
        self._cipher = Cipher(algorithms.AES(key[:32]), modes.CTR(key[32:])).encryptor()

    def flip(self, count: int) -> NDArray[np.uint8]:
        self.left -= count
        out = np.empty(count + 15, np.uint8)  # the cipher wants room for one more block
        room, zeros = memoryview(out.data), memoryview(ZEROS)
        for start in range(0, count, len(ZEROS)):
            self._cipher.update_into(zeros[: count - start], room[start:])
        return out[:count]


class System(Coins):
    """The operating system's entropy, stretched by a keystream cipher.

    Promise  bits that without the key cannot be told from fair ones; no two threads, processes or forked children
             ever share a stream; nothing is buffered, so nothing is left to read or to repeat.
    Because  AES-256-CTR is a pseudorandom function; each thread has a key of its own, renewed every 64 MiB, after
             every fork, and whenever the process id is not the one that made the key.
    """

    LIFETIME = 1 << 26

    def __init__(self) -> None:
        self._births = 0
        self._local = threading.local()
        os.register_at_fork(after_in_child=self._born)

    def _born(self) -> None:
        self._births += 1

    def flip(self, count: int) -> NDArray[np.uint8]:
        stream: _Stream | None = getattr(self._local, "stream", None)
        if stream is None or stream.left <= 0 or stream.birth != self._births or stream.process != os.getpid():
            stream = self._local.stream = _Stream(self._births)
        return stream.flip(count)

    def __repr__(self) -> str:
        return "SYSTEM"

    def __reduce__(self) -> str:
        return "SYSTEM"  # pickled by name: a key never leaves its process


SYSTEM = System()


class Uniform:
    """A uniform real number in [0, 1) of which some leading bits are known; more can be drawn."""

    def __init__(self, known: int, bits: int, coins: Coins) -> None:
        self.known, self.bits, self._coins = known, bits, coins

    def sharpen(self, bits: int = 64) -> None:
        """Draw more bits."""
        self.known = self.known << bits | self._coins.bits(bits)
        self.bits += bits

    def ball(self) -> Ball:
        """Return the ball of all numbers with the known bits."""
        return self.at(self.known, self.bits)

    @staticmethod
    def at(known: int, bits: int) -> Ball:
        """Return the ball [known, known + 1] / 2**bits."""
        return arb((2 * known + 1, -bits - 1), (1, -bits - 1))

    def decide(self, outcome: Callable[[Ball], T | None]) -> T:
        """Return the outcome that all remaining values of U agree on, after as many more bits as that takes.

        Given    `outcome` maps a ball to what every number in it leads to, or None when they may differ.
        Promise  the outcome of the real number U itself, for almost every U.
        Because  the known bits only shrink the ball around U, and the outcome is returned only when it is unanimous.
        """
        while True:
            with precision(self.bits + 64):
                decided = outcome(self.ball())
            if decided is not None:
                return decided
            self.sharpen()

    def below(self, level: Callable[[], Ball]) -> bool:
        """Return True if U is below `level()`: a coin with exactly that probability."""

        def outcome(u: Ball) -> bool | None:
            exact = level()
            return True if u < exact else False if u > exact else None

        return self.decide(outcome)


def whole_part(value: Ball) -> int | None:
    """Return the floor of every number in the ball, or None when they differ."""
    found: Any = value.floor().unique_fmpz() if value.is_finite() else None
    return None if found is None else int(found)
