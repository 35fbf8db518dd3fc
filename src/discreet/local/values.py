"""How many values there are to choose from."""

from __future__ import annotations

from discreet.core.exact import whole
from discreet.errors import NotUnderstood

__all__ = ["values_of"]

MOST = 1 << 31


def values_of(k: object) -> int:
    """A number of values: at least two, and fewer than 2^31."""
    read = whole(k, "k")
    if read < 2 or read >= MOST:
        raise NotUnderstood("k counts the values: at least two, and fewer than 2^31.", instead="for example k=10")
    return read
