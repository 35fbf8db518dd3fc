"""Replay the same coins on two neighbouring secrets: any difference except in the released numbers is a leak.

    >>> import discreet as dp
    >>> from discreet.lab import replay
    >>> noise = dp.Laplace(epsilon=1, sensitivity=1)
    >>> replay.compare(noise.release, 41, 42, additive=True).differences
    ()
    >>> def local(x, coins):
    ...     return dp.Laplace(epsilon=1, sensitivity=x).release(x, coins)
    >>> print(replay.compare(local, 41, 42, additive=True).describe())
    scale: two runs with different coins differ otherwise on one secret than on the other

A run is a function of a secret and of coins. Its transcript has all that an outsider can see but the numbers: how many
coins were drawn, call by call (which is time), the error it ended in, and the form of what it returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from numbers import Number as AnyNumber
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import positive_integer
from discreet.errors import NotUnderstood, Refusal

__all__ = ["Replay", "Tape", "Transcript", "compare", "transcript"]

MAX_TAPE_BYTES = 1 << 28  # bytes of a tape
FLOAT_TOLERANCE = Fraction(1, 10**9)  # relative; numbers that were computed in floats

Run = Callable[[Any, Coins], Any]


class Tape(Coins):
    """Coins that are remembered, so that they can be played again; every draw is recorded."""

    def __init__(self, source: Coins = SYSTEM) -> None:
        self._source, self._kept, self._at = source, bytearray(), 0
        self.draws: list[int] = []

    def again(self) -> Tape:
        """Return the same tape from its beginning."""
        tape = Tape(self._source)
        tape._kept = self._kept
        return tape

    def flip(self, count: int) -> NDArray[np.uint8]:
        end = self._at + count
        if end > MAX_TAPE_BYTES:
            raise NotUnderstood(
                "this run draws more coins than a tape can hold.",
                code="wrong-argument",
                instead="audit a smaller question",
            )
        if end > len(self._kept):
            self._kept += self._source.flip(end - len(self._kept)).tobytes()
        piece = np.frombuffer(bytes(self._kept[self._at : end]), np.uint8).copy()
        self._at = end
        self.draws.append(count)
        return piece


@dataclass(frozen=True)
class Transcript:
    """The part of a run that an outsider sees, apart from released numbers; and those numbers, for further checks."""

    draws: tuple[int, ...]
    ended: str
    form: Any
    numbers: tuple[Any, ...]


def transcript(run: Run, secret: Any, tape: Tape) -> Transcript:
    """Run on a tape and return the transcript."""
    try:
        returned, ended = run(secret, tape), "returned"
    except Refusal as refusal:
        returned, ended = None, f"refused: {refusal.reason}"
    except Exception as problem:  # whatever it is, an outsider sees it
        returned, ended = None, f"raised {type(problem).__name__}: {problem}"
    numbers: list[Any] = []
    form = _form(returned, numbers)
    return Transcript(tuple(tape.draws), ended, form, tuple(numbers))


def _form(value: Any, numbers: list[Any]) -> Any:
    """Return the value without its numbers, of which only the types stay; append the numbers to the list."""
    if isinstance(value, np.ndarray):
        return ("array", value.shape, [_form(each, numbers) for each in value.ravel().tolist()])
    if isinstance(value, (bool, np.bool_)):
        numbers.append(int(value))
        return "bool"
    if isinstance(value, (AnyNumber, np.number)):
        usual = math.isfinite(value) if isinstance(value, (float, np.floating)) else True
        numbers.append(value if usual else 0)
        return type(value).__name__ if usual else str(value)
    if isinstance(value, Mapping):
        return [(key, _form(each, numbers)) for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [_form(each, numbers) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return [(each.name, _form(getattr(value, each.name), numbers)) for each in fields(value)]
    return value if value is None or isinstance(value, str) else f"{type(value).__name__} {value}"


@dataclass(frozen=True)
class Replay:
    """The differences between two neighbours under the same coins."""

    differences: tuple[str, ...]
    tapes: int

    @property
    def same(self) -> bool:
        """True if there is no forbidden difference."""
        return not self.differences

    def describe(self) -> str:
        """Return all differences, or that there are none."""
        return "; ".join(self.differences) or f"{self.tapes} replays on neighbours: no difference but in the numbers"


def compare(
    run: Run,
    secret: Any,
    neighbour: Any,
    *,
    tapes: int = 8,
    additive: bool = False,
    draws: bool = True,
    coins: Coins = SYSTEM,
) -> Replay:
    """Run on both secrets with the same coins, several times over, and return what differs.

    Given    nothing but numbers may differ. `additive` says that the run adds noise to exact numbers; draws=False
             allows that another number of coins is drawn.
    Promise  coins drawn, errors and forms are compared; and, where the noise is added, its scale. No false alarm, but
             where an exact sampler needs more bits on one secret only: once in some billion draws.
    Because  with the same coins and the same laws the noise is the same. So two tapes change an additive release by the
             same amount on both secrets, whatever the exact numbers are; if not, the noise depends on the secret.
    """
    found: dict[str, str] = {}
    pairs = []
    for _ in range(positive_integer(tapes, "tapes")):
        tape = Tape(coins)
        one, other = transcript(run, secret, tape), transcript(run, neighbour, tape.again())
        pairs.append((one, other))
        for what in ("ended", "draws", "form") if draws else ("ended", "form"):
            a, b = getattr(one, what), getattr(other, what)
            if a != b and (what == "ended" or one.ended == other.ended):
                found.setdefault(what, _SAYS[what](a, b))
        if found:
            break
    if additive and not found and not _steady(pairs):
        found["scale"] = "scale: two runs with different coins differ otherwise on one secret than on the other"
    return Replay(tuple(found.values()), len(pairs))


def _ended(a: str, b: str) -> str:
    return f"control flow: one run {_cut(a)}, the other {_cut(b)}"


def _draws(a: tuple[int, ...], b: tuple[int, ...]) -> str:
    return f"coins: {sum(a):,} bytes in {len(a):,} draws on one secret, {sum(b):,} in {len(b):,} on the other"


def _shape(a: Any, b: Any) -> str:
    return f"form: {_cut(str(a))} on one secret, {_cut(str(b))} on the other"


_SAYS: dict[str, Callable[[Any, Any], str]] = {"ended": _ended, "draws": _draws, "form": _shape}


def _cut(text: str) -> str:
    return text if len(text) <= 100 else text[:99] + "…"


def _steady(pairs: list[tuple[Transcript, Transcript]]) -> bool:
    """Return True if the difference between the two secrets is the same on every tape."""
    moved = [[_exact(b) - _exact(a) for a, b in zip(x.numbers, y.numbers, strict=True)] for x, y in pairs]
    sizes = [[max(abs(_exact(a)), Fraction(1)) for a in x.numbers] for x, _ in pairs]
    return all(
        abs(now - first) <= FLOAT_TOLERANCE * size
        for row, size_row in zip(moved, sizes, strict=True)
        for now, first, size in zip(row, moved[0], size_row, strict=True)
    )


def _exact(value: Any) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(value.item() if isinstance(value, np.generic) else value)
