"""The manuals of all programs that have one, loaded when the first is asked for.

`scripts/build_manifest` makes `manuals.json` from `manuals/*.toml`.
"""

from __future__ import annotations

import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
from msgspec import structs

from toolguard_engine import packaged
from toolguard_engine.effects.manuals import manual_form, manual_kinds
from toolguard_engine.effects.manuals.manual_form import DEEDS, Manual, OptionEntry

MADE = "manuals.json"
_NO_DEEDS = frozenset({"runs", "instructs", "reads-names", "reads-rules", "reloads"})
"""What may be said of a program whose manual does not say what it does with files."""


_OPTIONS: dict[OptionEntry, OptionEntry] = {}
_TRAITS: dict[frozenset[str], frozenset[str]] = {}
"""What the manuals have in common, which is most of what they hold."""


class _Index(msgspec.Struct, frozen=True):
    """`manuals`: by the names of each program; `does`: those that may do something; `kinds`: those that do
    what another program does."""

    manuals: dict[str, msgspec.Raw]
    does: dict[str, frozenset[str]]
    kinds: dict[str, tuple[str, ...]] = {}


def load() -> None:
    """Reads what is needed of all manuals, and the type that they are decoded into."""
    _named()
    msgspec.json.Decoder(Manual)


def manual(program: str) -> Manual | None:
    """The manual of a program by any of its names; None if it has none."""
    names = _named().get(program)
    return _manual(names) if names else None


@cache
def _manual(names: tuple[str, ...]) -> Manual:
    """Decoded when it is first asked for: most commands need none of them."""
    made = msgspec.json.decode(_index().manuals[" ".join(names)], type=Manual)
    for usage in (made.usage, *made.verbs.values()):
        structs.force_setattr(usage, "options", tuple(map(_shared, usage.options)))
    return made


def _shared(option: OptionEntry) -> OptionEntry:
    """The same option, as the same object in all manuals: many have it."""
    known = _OPTIONS.get(option)
    if known is None:
        names = tuple(map(sys.intern, option.names))
        traits = _TRAITS.setdefault(option.traits, option.traits)
        known = OptionEntry(names, option.takes, option.role, traits)
        _OPTIONS[known] = known
    return known


def aliases(program: str) -> tuple[str, ...]:
    """All names of a program and of others of its kind. Raises `KeyError` if it has no manual."""
    names = _named()[program]
    return names + _index().kinds.get(names[0], ())


def programs() -> frozenset[str]:
    """The names of all programs that have a manual."""
    return frozenset(_named())


def spelled(program: str, trait: str) -> frozenset[str]:
    """The spellings of a program's options with a trait. Raises `KeyError` if it has no manual."""
    known = _manual(_named()[program]).known("")
    return frozenset(name for name, entry in known.items() if trait in entry.traits)


def kind(program: str) -> str:
    """The program that this one does the same as; itself if its manual names none."""
    return _kinds().get(program, program)


@cache
def _kinds() -> dict[str, str]:
    return {name: base for base, names in _index().kinds.items() for name in names}


@cache
def movers() -> frozenset[str]:
    """The names of the programs of which the manual says what they do with files. Other manuals have only their options."""
    return frozenset().union(*(names for deed, names in _index().does.items() if deed not in _NO_DEEDS))


def doing(deed: str) -> frozenset[str]:
    """The names of the programs that do this by default, by a verb or by an option. Raises `KeyError` if none does."""
    return _index().does[deed]


@cache
def _named() -> dict[str, tuple[str, ...]]:
    return {name: tuple(names.split()) for names in _index().manuals for name in names.split()}


@cache
def _index() -> _Index:
    return msgspec.json.decode(packaged.FOLDER.joinpath(MADE).read_bytes(), type=_Index)


def from_toml() -> list[Manual]:
    """The manuals from their sources. Raises `ValueError` as `manual_form.parse` and `manual_kinds.check` do, and for a name
    with two manuals."""
    manuals = [manual for table in tables() for manual in manual_form.parse(table)]
    counts = Counter(name for manual in manuals for name in manual.names)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ValueError(f"{', '.join(twice)}: two manuals")
    manual_kinds.check(manuals)
    return manuals


def tables() -> Iterator[dict[str, Any]]:
    """The sources as they stand in TOML, one for each file."""
    sources = (path for path in packaged.FOLDER.joinpath("manuals").iterdir() if path.name.endswith(".toml"))
    for source in sorted(sources, key=lambda path: path.name):
        yield tomllib.loads(source.read_text("utf-8"))


_OF_ROLES = {
    "command": "runs",
    "exec": "runs",
    "remote-command": "runs",
    "names": "reads-names",
    "filter-from": "reads-rules",
}


def deeds(manual: Manual) -> frozenset[str]:
    """What a program does by default, by a verb or by an option; `runs` if it runs the value of an option, `instructs` if it
    does what a file says that an option names, `reads-names` if such a file lists what it reads, `reads-rules` if it has
    rules for that."""
    usages = (manual.usage, *manual.verbs.values())
    options = [option for usage in usages for option in usage.options]
    of_roles = (_OF_ROLES[option.role] for option in options if option.role in _OF_ROLES)
    return frozenset(of_roles).union(*(usage.does for usage in usages), *(option.traits for option in options))


def kinds(manuals: Iterable[Manual]) -> dict[str, list[str]]:
    """The names of the programs that do what another one does, by the name of that one."""
    by_kind: dict[str, list[str]] = {}
    for manual in manuals:
        if manual.kind:
            by_kind.setdefault(manual.kind, []).extend(manual.names)
    return by_kind


def encode(manuals: Iterable[Manual]) -> str:
    """JSON with one manual per line, and the programs by what they do."""
    listed = list(manuals)
    does = {
        deed: sorted(name for manual in listed if deed in deeds(manual) for name in manual.names)
        for deed in sorted(DEEDS | _NO_DEEDS)
    }
    lines = (
        f'"{" ".join(manual.names)}": {msgspec.json.encode(manual, order="deterministic").decode()}' for manual in listed
    )
    index = msgspec.json.encode({deed: names for deed, names in does.items() if names}).decode()
    index += ',\n"kinds": ' + msgspec.json.encode(kinds(listed)).decode()
    return '{"does": ' + index + ',\n"manuals": {\n' + ",\n".join(lines) + "\n}}\n"
