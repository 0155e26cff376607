"""The table of programs that run what stands in files, and of environment variables that have programs do so.

It is maintained in `runners.toml`, which explains its keys at the top. `scripts/build_manifest` makes `runners.json` from
it, with all roles resolved.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from toolguard_engine import packaged
from toolguard_engine.effects.facts import program_catalogue

SOURCE = "runners.toml"
MADE = "runners.json"
_LISTS = frozenset({"unless", "texts", "options", "operands", "folder", "keys"})


class Runner(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one program reads in one language. `verbs`: words of which one group must be given; `reads`: groups of names, of
    each of which the first that is there counts; everything else is as in `runners.toml`."""

    programs: tuple[str, ...]
    language: str
    verbs: tuple[tuple[str, ...], ...] = ()
    unless: tuple[str, ...] = ()
    reads: tuple[tuple[str, ...], ...] = ()
    options: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    operands: tuple[str, ...] = ()
    places: str = ""
    folder: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    instead: bool = False
    inside: bool = False
    below: bool = False
    above: bool = False
    stdin: bool = False
    picks: bool = False
    search: bool = False
    always: bool = False


SETTINGS = frozenset({"git", "ssh", "vim", "npmrc"})
"""Languages of files that programs read all the time."""

VERB_WITHIN = 10
"""Words of a program among which its verb is: global options with values stand before it."""


def has_verb(row: Runner, argv: tuple[str, ...]) -> bool:
    """Whether a program is given the words with which it reads by this row."""
    if not row.verbs:
        return True
    return any(map(frozenset(argv[1:VERB_WITHIN]).issuperset, row.verbs))


class RunVariable(msgspec.Struct, frozen=True, omit_defaults=True):
    """`runs`: the command that does what these variables have programs do."""

    names: tuple[str, ...]
    runs: str
    each: str = ""


class RunnerTable(msgspec.Struct, frozen=True):
    runners: tuple[Runner, ...]
    variables: tuple[RunVariable, ...]


def runners(program: str) -> tuple[Runner, ...]:
    """What a program reads; empty if it is not in the table."""
    return _by_program().get(program, ())


def variable(name: str) -> RunVariable | None:
    return _by_name().get(name)


@cache
def load() -> RunnerTable:
    """The bundled table, read once from JSON."""
    return msgspec.json.decode(packaged.FOLDER.joinpath(MADE).read_bytes(), type=RunnerTable)


@cache
def _by_program() -> dict[str, tuple[Runner, ...]]:
    by_program: dict[str, tuple[Runner, ...]] = {}
    for runner in load().runners:
        for name in runner.programs:
            by_program[name] = (*by_program.get(name, ()), runner)
    return by_program


@cache
def _by_name() -> dict[str, RunVariable]:
    return {name: variable for variable in load().variables for name in variable.names}


def from_toml() -> RunnerTable:
    """The table from its source. Raises `ValueError` as `parse` does."""
    return parse(tomllib.loads(packaged.FOLDER.joinpath(SOURCE).read_text("utf-8")))


def parse(table: Mapping[str, Any]) -> RunnerTable:
    """Raises `ValueError` for an unknown key, a repeated program or variable, or a row that reads nothing."""
    variables = tuple(_variable(row) for row in table["variable"])
    names = [name for variable in variables for name in variable.names]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"variables with two rows: {', '.join(twice)}")
    return RunnerTable(tuple(_runner(row) for row in table["runner"]), variables)


def _runner(row: Mapping[str, Any]) -> Runner:
    given: dict[str, Any] = {key: tuple(value.split()) if key in _LISTS else value for key, value in row.items()}
    given["programs"] = _programs(row["programs"])
    given["verbs"] = tuple(tuple(part.split()) for part in row.get("verbs", "").split(",") if part.strip())
    given["reads"] = tuple(tuple(part.split("|")) for part in row.get("reads", "").split())
    try:
        runner = msgspec.convert(given, Runner, strict=True)
    except msgspec.ValidationError as error:
        raise ValueError(f"the row of {row['programs']}: {error}") from None
    if unknown := given.keys() - set(Runner.__struct_fields__):
        raise ValueError(f"the row of {row['programs']} has unknown keys: {', '.join(sorted(unknown))}")
    if not (runner.reads or runner.options or runner.operands or runner.stdin or runner.texts):
        raise ValueError(f"the row of {row['programs']} reads nothing")
    return runner


def _programs(names: str) -> tuple[str, ...]:
    programs: list[str] = []
    for name in names.split():
        role = name.removeprefix("role:")
        programs += sorted(program_catalogue.programs(role)) if role != name else [name]
    if len(programs) != len(set(programs)):
        raise ValueError(f"the row of {names} names a program twice")
    return tuple(programs)


def _variable(row: Mapping[str, Any]) -> RunVariable:
    if row.keys() - set(RunVariable.__struct_fields__) or not re.search(r"\{(?:words|text|file|program)\}", row["runs"]):
        raise ValueError(f"the row of {row['names']} has unknown keys, or runs nothing of its value")
    return RunVariable(tuple(row["names"].split()), row["runs"], row.get("each", ""))


def encode(table: RunnerTable) -> str:
    """JSON with one row per line."""
    rows = (",\n".join(msgspec.json.encode(runner).decode() for runner in part) for part in (table.runners, table.variables))
    return '{{"runners": [\n{}\n],\n"variables": [\n{}\n]}}\n'.format(*rows)
