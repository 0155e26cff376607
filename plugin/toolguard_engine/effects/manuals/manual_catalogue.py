"""The manuals of all programs that have one, loaded when the first is asked for.

`scripts/build_manifest` makes `manuals.json` from `manuals/*.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files

import msgspec

from toolguard_engine.effects.manuals import manual_form
from toolguard_engine.effects.manuals.manual_form import Manual

MADE = "manuals.json"
_DATA = files("toolguard_manifests")


@cache
def manual(program: str) -> Manual | None:
    """The manual of a program by any of its names; None if it has none."""
    raw = _raw().get(program)
    return msgspec.json.decode(raw, type=Manual) if raw is not None else None


def aliases(program: str) -> tuple[str, ...]:
    """All names of a program. Raises `KeyError` if it has no manual."""
    return _named()[program]


def programs() -> frozenset[str]:
    """The names of all programs that have a manual."""
    return frozenset(_raw())


@cache
def _raw() -> dict[str, msgspec.Raw]:
    """Each manual is decoded when it is first asked for: most commands need none of them."""
    return {name: raw for names, raw in _lines().items() for name in names.split()}


@cache
def _named() -> dict[str, tuple[str, ...]]:
    return {name: tuple(names.split()) for names in _lines() for name in names.split()}


@cache
def _lines() -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(_DATA.joinpath(MADE).read_bytes(), type=dict[str, msgspec.Raw])


def from_toml() -> Iterator[Manual]:
    """The manuals from their sources. Raises `ValueError` as `manual_form.parse` does, and for a name with two manuals."""
    seen: set[str] = set()
    sources = (each for each in _DATA.joinpath("manuals").iterdir() if each.name.endswith(".toml"))
    for source in sorted(sources, key=lambda each: each.name):
        for each in manual_form.parse(tomllib.loads(source.read_text("utf-8"))):
            if twice := seen.intersection(each.names):
                raise ValueError(f"{', '.join(sorted(twice))}: two manuals")
            seen.update(each.names)
            yield each


def encode(manuals: Iterable[Manual]) -> str:
    """JSON with one manual per line, by the names of its programs."""
    lines = (f'"{" ".join(each.names)}": {msgspec.json.encode(each, order="deterministic").decode()}' for each in manuals)
    return "{\n" + ",\n".join(lines) + "\n}\n"
