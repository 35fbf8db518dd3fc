"""Caches: a property that is computed once, and the most recent results by key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["Recent", "once"]

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")


class once(Generic[T]):  # noqa: N801
    """A property that is computed on first use and kept. Two threads may compute it twice, to the same value.

    Not functools.cached_property: before Python 3.12 that holds a lock, and a child forked meanwhile waits forever.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        value = instance.__dict__[self.name] = self.compute(instance)
        return value


class Recent(Generic[K, V]):
    """The most recent results of a computation, by key. Threads may compute one twice, but never see half of it.

    Because  the dictionary is replaced as a whole, and never changed; so no lock is held, and none is lost by a fork.
    """

    def __init__(self, most: int) -> None:
        self._most, self._there = most, dict[K, V]()

    def get(self, key: K, compute: Callable[[], V]) -> V:
        """Return the result for `key`; compute it if it is not kept."""
        try:
            return self._there[key]
        except KeyError:
            value = compute()
            self._there = dict([*self._there.items(), (key, value)][-self._most :])
            return value
