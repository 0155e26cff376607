"""The catalogue of programs and gateway tools: the only source of sets of such names.

It is maintained in `programs.toml`, which states its rules at the top. `scripts/build_manifest` makes two files from it,
with all includes resolved, those of manuals as well: `programs.json` for the engine, and `catalogue.json` for the gateway
plugin, with all tools and the program roles that the plugin uses.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from toolguard_engine import packaged
from toolguard_engine.effects.facts.letter_case import folded
from toolguard_engine.effects.manuals import manual_catalogue

SOURCE = "programs.toml"
MADE = "programs.json"
GATEWAY_PROGRAMS = ("near_lister", "off_host")
"""Program roles that the gateway plugin uses."""

_KEYS = frozenset({"means", "includes", "manuals", "names"})

Roles = dict[str, frozenset[str]]


class ProgramCatalogue(msgspec.Struct, frozen=True):
    """The names that have each role."""

    programs: Roles
    tools: Roles
    words: Roles = {}
    """What stands in the names, parameters and values of tools that nobody describes."""


def programs(*roles: str) -> frozenset[str]:
    """The programs that have one of these roles. Raises `KeyError` for an unknown role."""
    return _union(load().programs, roles)


def kind(name: str) -> str:
    """The program that one of this name does the same as, however it is spelled; itself if its manual names none."""
    return manual_catalogue.kind(folded(name))


def tools(*roles: str) -> frozenset[str]:
    """The gateway tools that have one of these roles. Raises `KeyError` for an unknown role."""
    return _union(load().tools, roles)


def words(*roles: str) -> frozenset[str]:
    """The words that have one of these roles. Raises `KeyError` for an unknown role."""
    return _union(load().words, roles)


@cache
def load() -> ProgramCatalogue:
    """The bundled catalogue, read once from JSON."""
    return msgspec.json.decode(packaged.FOLDER.joinpath(MADE).read_bytes(), type=ProgramCatalogue)


def from_toml() -> ProgramCatalogue:
    """The catalogue from its TOML source. Raises `ValueError` as `parse` does."""
    return parse(source())


def source() -> dict[str, Any]:
    """The tables of `programs.toml`."""
    return tomllib.loads(packaged.FOLDER.joinpath(SOURCE).read_text("utf-8"))


def parse(table: Mapping[str, Any]) -> ProgramCatalogue:
    """Raises `ValueError` for a role without a meaning or names, a repeated name, or an unknown `includes`."""
    return ProgramCatalogue(_roles(table["programs"]), _roles(table["tools"]), _roles(table.get("words", {})))


def encode(catalogue: ProgramCatalogue) -> str:
    """JSON with one role per line."""
    words = f', "words": {_encoded(catalogue.words)}' if catalogue.words else ""
    return f'{{"programs": {_encoded(catalogue.programs)}, "tools": {_encoded(catalogue.tools)}{words}}}\n'


def for_gateway(catalogue: ProgramCatalogue) -> ProgramCatalogue:
    """The part of the catalogue that the gateway plugin needs."""
    return ProgramCatalogue({role: catalogue.programs[role] for role in GATEWAY_PROGRAMS}, catalogue.tools)


def _union(known: Roles, roles: tuple[str, ...]) -> frozenset[str]:
    first, *others = (known[role] for role in roles)
    return first.union(*others) if others else first


def _roles(table: Mapping[str, Mapping[str, Any]]) -> Roles:
    roles: Roles = {}
    for role in table:
        _resolve(role, table, roles, ())
    return {role: roles[role] for role in table}


def _resolve(role: str, table: Mapping[str, Mapping[str, Any]], roles: Roles, above: tuple[str, ...]) -> frozenset[str]:
    if role in roles:
        return roles[role]
    if role not in table or role in above:
        raise ValueError(f"{above[-1]!r} includes {role!r}, which is not a role or includes it in turn")
    entry = table[role]
    if not entry.get("means") or not entry.keys() <= _KEYS:
        raise ValueError(f"{role!r} needs a meaning, and may otherwise have only includes, manuals and names")
    names = entry.get("names", "").split()
    included = [_resolve(other, table, roles, (*above, role)) for other in entry.get("includes", ())]
    included += [_doing(deed) for deed in entry.get("manuals", "").split()]
    whole = frozenset(names).union(*included)
    whole = whole.union(*(kin for base, kin in _kinds().items() if base in whole))
    if len(names) != len(set(names)) or not whole:
        raise ValueError(f"{role!r} has a repeated name, or no names")
    if repeated := sorted(frozenset(names) & frozenset[str]().union(*included)):
        raise ValueError(f"{role!r} repeats names from its includes: {', '.join(repeated)}")
    roles[role] = whole
    return whole


@cache
def _kinds() -> dict[str, list[str]]:
    """The programs that do what another one does, as the manuals are in TOML."""
    return manual_catalogue.kinds(manual_catalogue.from_toml())


@cache
def _doing(deed: str) -> frozenset[str]:
    """The programs whose manuals, as they are in TOML, say that they do this."""
    return frozenset(
        name for manual in manual_catalogue.from_toml() if deed in manual_catalogue.deeds(manual) for name in manual.names
    )


def _encoded(roles: Roles) -> str:
    lines = (f'"{role}": {msgspec.json.encode(sorted(names)).decode()}' for role, names in roles.items())
    return "{\n" + ",\n".join(lines) + "\n}"
