"""An attribute that is worked out on first use and kept, also if working it out fails."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from toolguard_engine.model.work_limit import TooIntricate

T = TypeVar("T")
P = ParamSpec("P")

FAILURES = (TooIntricate, MemoryError, RecursionError)
"""How judging a call fails that is too much to look at. A bug is any other exception."""


class Lazy(Generic[T]):
    """`functools.cached_property` without the lock that Python 3.11 takes: for objects of one thread, on a hot path.

    What has failed once fails again with the same kind of exception. A second attempt would start from what the first one
    has left half done, and whoever asks then would take less than everything for the whole.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self._failed = f"{make.__name__}: failed"
        self.__doc__ = make.__doc__

    def __get__(self, owner: Any, _: type | None = None) -> T:
        known = owner.__dict__
        if self._failed in known:
            raise known[self._failed]
        try:
            value = known[self._name] = self._make(owner)
        except FAILURES as failure:
            known[self._failed] = type(failure)
            raise
        return value


class LazyValue(Lazy[T]):
    """A lazy value that outlives a call: what fails leaves nothing half done, and is worked out anew the next time."""

    def __get__(self, owner: Any, _: type | None = None) -> T:
        value = owner.__dict__[self._name] = self._make(owner)
        return value


def kept(make: Callable[[Any], T]) -> Callable[[Any], T]:
    """The same for a function of an object that knows nothing of it: what it returns is kept with the object."""
    name, failed = f"{make.__module__}.{make.__name__}", f"{make.__module__}.{make.__name__}: failed"

    @wraps(make)
    def recall(owner: Any) -> T:
        known = owner.__dict__
        if name in known:
            value: T = known[name]
            return value
        if failed in known:
            raise known[failed]
        try:
            value = known[name] = make(owner)
        except FAILURES as failure:
            known[failed] = type(failure)
            raise
        return value

    return recall


def kept_with(make: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """`LazyValue` for a function of a value that knows nothing of it, with the arguments that it was last given."""
    name = f"{make.__module__}.{make.__name__}"

    @wraps(make)
    def recall(owner: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        last: tuple[object, object, T] | None = owner.__dict__.get(name)
        if last is not None and last[0] == args and last[1] == (kwargs or None):
            return last[2]
        value = make(owner, *args, **kwargs)
        owner.__dict__[name] = (args, kwargs or None, value)
        return value

    return recall
