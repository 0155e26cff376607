"""How tables of library calls are written: rows of names and of what a call of them does."""

from __future__ import annotations

from collections.abc import Callable

from toolguard_engine.effects.languages.code_values import Unknown, Value, sources
from toolguard_engine.effects.languages.python.python_calling import Arguments, PythonCalling

Act = Callable[[PythonCalling, Arguments], Value]


def table(*rows: tuple[str, Act]) -> dict[str, Act]:
    """One entry for each of the space-separated names of a row."""
    return {name: act for names, act in rows for name in names.split()}


def constant(value: Value) -> Act:
    """A call that does nothing and returns this."""
    return lambda _, __: value


def passing(*more: str) -> Act:
    """A call whose result is made from its arguments. `more`: further sources of it."""
    return lambda _, given: Unknown(sources=(*more, *sources(*given.all)))
