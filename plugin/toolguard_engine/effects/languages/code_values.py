"""What is known of a value in Python code without running it.

Strings, bytes, numbers, lists, tuples and dictionaries stand for themselves; `UNKNOWN` is in a string for each part that
cannot be known. A path is a string. Sources say where a value is from: `file:PATH`, `program:NAME` (`env`: the environment;
`curl`: another machine; others: what that program prints), `secret:VARIABLE`, `decoded`, `encrypted`, `socket`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import msgspec
from msgspec import Struct, field

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, StdinSource
from toolguard_engine.effects.languages.code_deeds import FETCHED, SECRET

Value = Any
Sources = tuple[str, ...]

PART = "\ua66e"
"""Stands in code for `UNKNOWN`, which the parser refuses: a letter, so that it may be a name."""

MAX_TEXT = 65_536
MAX_ITEMS = 200
MAX_CHOICES = 4
MAX_SOURCES = 16

FROM_NETWORK = f"program:{FETCHED}"
FETCHERS = frozenset(f"program:{name}" for name in (FETCHED, *program_catalogue.programs("fetcher")))
"""Each of these programs prints what another machine sends."""

FROM_ENVIRONMENT = "program:env"
DECODED, ENCRYPTED, FROM_SOCKET = "decoded", "encrypted", "socket"


class Unknown(msgspec.Struct, frozen=True):
    """A value that cannot be known. `kind`: what it was made by (`requests.Session`, `file`); `text`: its path or address;
    `mode`: of an open file."""

    kind: str = ""
    sources: Sources = ()
    text: str = ""
    mode: str = ""


class Library(msgspec.Struct, frozen=True):
    """A module, or something in one, by its dotted name: `os.path.join`."""

    name: str


class Function(Struct, eq=False):
    """A function or class that the code defines. `names`: the variables around it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    names: dict[str, Value] = field(default_factory=dict)
    first: tuple[Value, ...] = ()


class Instance(Struct, eq=False):
    """An object of a class that the code defines."""

    made_by: Function
    names: dict[str, Value] = field(default_factory=dict)


class Either(msgspec.Struct, frozen=True):
    """One of several values, depending on a condition."""

    values: tuple[Value, ...]


class Sourced(str):
    """A string of which a part is from elsewhere."""

    sources: Sources = ()


NOTHING = Unknown()


def sourced(text: str, sources: Sources) -> str:
    """The text with its sources."""
    if not sources:
        return text
    value_of_text = Sourced(text[:MAX_TEXT])
    value_of_text.sources = sources[:MAX_SOURCES]
    return value_of_text


def choices(value: Value) -> tuple[Value, ...]:
    return value.values if isinstance(value, Either) else (value,)


def either(values: Iterable[Value]) -> Value:
    """The value, or one of them if they differ."""
    choices_of: list[Value] = []
    for value in values:
        choices_of += [
            choice for choice in choices(value) if not any(choice is known or _same(choice, known) for known in choices_of)
        ]
    if len(choices_of) > 1:
        choices_of = [choice for choice in choices_of if choice is not None and choice != NOTHING] or choices_of
    return choices_of[0] if len(choices_of) == 1 else Either(tuple(choices_of[:MAX_CHOICES]))


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and isinstance(one, str | int | Unknown | Library) and bool(one == other)


def texts(value: Value) -> list[str]:
    """The strings that a value may be, as words of a command."""
    return [_text(choice) for choice in choices(value)]


def text(value: Value) -> str:
    """The string that a value is; `UNKNOWN` if that is not known."""
    return _text(choices(value)[0])


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float):
        return UNKNOWN if isinstance(value, int) and value.bit_length() > MAX_BITS else str(value)
    return value.text or UNKNOWN if isinstance(value, Unknown) and value.kind in _NAMED else UNKNOWN


MAX_BITS = 512
_NAMED = frozenset({"file", "entry"})


def is_known(value: Value) -> bool:
    """Whether it is a text without unknown parts."""
    return isinstance(value, str | bytes) and UNKNOWN not in _text(value)


def sources(*values: Value) -> Sources:
    """Where the parts of these values are from."""
    sources_of: Sources = ()
    for value in values:
        kind = type(value)
        if kind in _WITHOUT:
            continue
        own = value.sources if kind is Unknown or kind is Sourced else _within(value)
        if own:
            sources_of = (*sources_of, *own) if sources_of else own
    return tuple(dict.fromkeys(sources_of))[:MAX_SOURCES] if len(sources_of) > 1 else sources_of


_WITHOUT = frozenset({str, int, bytes, bool, float, type(None), Library, Function})


MAX_WITHIN = 500
"""Parts that are looked at in one value."""


def _within(value: Value) -> Sources:
    """Objects may share parts or contain themselves: each is looked at once, and at most `MAX_WITHIN` are."""
    queue, seen = [value], {id(value)}
    names: dict[str, None] = {}
    for done, one in enumerate(queue):  # grows meanwhile
        if done >= MAX_WITHIN or len(names) >= MAX_SOURCES:
            break
        if isinstance(one, Sourced | Unknown):
            names.update(dict.fromkeys(one.sources))
        elif isinstance(one, list | tuple | Either | dict | Instance):
            parts = islice(_parts(one), MAX_ITEMS)
            fresh = [part for part in parts if type(part) not in _WITHOUT and id(part) not in seen]
            seen.update(map(id, fresh))
            queue += fresh
    return tuple(names)


def _parts(value: Value) -> Iterator[Value]:
    if isinstance(value, dict):
        return chain.from_iterable(value.items())
    if isinstance(value, Either):
        return iter(value.values)
    return iter(value.names.values() if isinstance(value, Instance) else value)


def items(value: Value) -> list[Value]:
    """The parts of a value."""
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, Either):
        return list(value.values)
    if isinstance(value, dict):
        return [part for pair in value.items() for part in pair]
    return list(value.names.values()) if isinstance(value, Instance) else []


def feed(*values: Value) -> StdinSource:
    """These values as what a program reads, writes or sends."""
    named = sources(*values)
    only = values[0] if len(values) == 1 else None
    known = _text(only) if is_known(only) else None
    programs = tuple(_program(source) for source in named if source.startswith(("program:", "secret:")))
    return StdinSource(known, programs, tuple(source.partition(":")[2] for source in named if source.startswith("file:")))


def _program(source: str) -> str:
    return SECRET if source.startswith("secret:") else source.partition(":")[2]
