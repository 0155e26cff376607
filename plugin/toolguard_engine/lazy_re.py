"""Regular expressions that are compiled when they are first used, not when their module is imported.

There are nearly a thousand, and compiling them took a third of the time until the engine was ready. After that, the engine
compiles the rest while it has nothing else to do (`unused`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any, AnyStr, Generic, cast

_waiting: dict[int, LazyPattern[Any]] = {}
"""Those that were never used, by identity."""


class LazyPattern(Generic[AnyStr]):
    """Has the attributes of a compiled pattern, which it looks up there when they are first used."""

    __slots__ = (
        "_flags",
        "compiled",
        "findall",
        "finditer",
        "flags",
        "fullmatch",
        "groupindex",
        "groups",
        "match",
        "pattern",
        "scanner",
        "search",
        "split",
        "sub",
        "subn",
    )
    compiled: re.Pattern[AnyStr]
    pattern: AnyStr

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags
        _waiting[id(self)] = self

    def __getattr__(self, name: str) -> Any:
        """Called for a slot that is still empty."""
        if name == "compiled":
            self.compiled = re.compile(self.pattern, self._flags)
            _waiting.pop(id(self), None)
            return self.compiled
        value = getattr(self.compiled, name)
        setattr(self, name, value)
        return value


def compile(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:  # noqa: A001 - stands where `re.compile` would
    """Compiles a pattern of a module at its first use. Functions of `re` do not take it; its methods are there."""
    return cast("re.Pattern[AnyStr]", LazyPattern(pattern, flags))


def unused() -> Iterator[None]:
    """Compiles those that were never used, one at each step. Then the modules hold the compiled patterns themselves: using
    one takes 0.1 microseconds less."""
    for pattern in list(_waiting.values()):
        _ = pattern.compiled
        yield
    for name, module in list(sys.modules.items()):
        if name.startswith("toolguard_"):
            _put_in_place(vars(module))
            yield


def _put_in_place(names: dict[Any, Any]) -> None:
    for name, value in list(names.items()):
        if isinstance(value, LazyPattern):
            names[name] = value.compiled
        elif type(value) is dict and any(isinstance(item, LazyPattern) for item in value.values()):
            _put_in_place(value)
