"""A property that is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["once"]

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801
    """Computed on first use and kept. Two threads may compute it twice, to the same value.

    Not functools.cached_property: before Python 3.12 that holds a lock, and a child forked meanwhile waits forever.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        value = instance.__dict__[self.name] = self.compute(instance)
        return value
