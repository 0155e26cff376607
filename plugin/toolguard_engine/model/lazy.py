"""An attribute that is worked out on first use and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """`functools.cached_property` without the lock that Python 3.11 takes: for objects of one thread, on a hot path."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, _: type | None = None) -> T:
        value = owner.__dict__[self._name] = self._make(owner)
        return value
