"""Which content of the person's files a call may destroy: what must be saved before it runs, so that it can be undone.

Only places where a person keeps files count: their home folder, the workspaces, disks of their own. Temporary folders,
credentials, the inside of `.git` and what can be built again do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from toolguard_engine.effects.calls import made_files
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, normal, place
from toolguard_engine.effects.programs import uncommitted_losses

MAX_REPLACED = 100
_OWN_PLACES = frozenset({"", "home", "in-home", "startup", "workspace", "in-workspace"})
_GIT = "git"
_REMOVES = frozenset({"delete", "discard"})
_REPLACES = frozenset({"write", "empty", "mcp-write", "link"})
_IN_PLACE = frozenset({"mirror", "erases", "wiped"})
"""Flags of effects that may give a file other content before it goes."""


class ReplacedContent(msgspec.Struct, frozen=True):
    """`path`: absolute, may have wildcards. `removed`: it goes, with all that is in it; `rewritten`: the same, but other
    content may come into the same files first. `replaced`: a file gets other content. `moved`: `path` goes to `target`.
    `copied`: files below `path` may replace those with the same names below `target`; `merged`: also if `target` is a folder
    already (`cp -r x/. y`). `changed`, `untracked`: Git discards what no commit has below `path`; `reset`, `stashed`: the
    changes, the stashes of the repository that `path` is in."""

    way: Literal["removed", "rewritten", "replaced", "moved", "copied", "reset", "changed", "untracked", "stashed"]
    path: str
    target: str = ""
    merged: bool = False


def may_replace(reading: CallReading) -> bool:
    """A quick look: whether it is worth the while to ask `replaced_content`."""
    if reading.tool_effects:
        return True
    return bool(reading.commands) and (any(reading.command_effects) or any(_git_runs(reading)))


def _git_runs(reading: CallReading) -> Iterator[ProgramRun]:
    return (run for found in reading.command_readings for run in found.runs if run.name == _GIT)


def replaced_content(reading: CallReading) -> tuple[ReplacedContent, ...]:
    """Returns the first `MAX_REPLACED`, each once."""
    contents = dict.fromkeys(_all(reading))
    return tuple(list(contents)[:MAX_REPLACED])


def _all(reading: CallReading) -> Iterator[ReplacedContent]:
    if not reading.executes:
        yield from _of_effects(reading.tool_effects, reading.where)
    if not reading.commands:
        return
    where = reading.command_where
    for run in _git_runs(reading):
        yield from _of_git(run, where)
    for effects in reading.command_effects:
        yield from _of_effects(effects, where)
    if any(effect.kind == "move" or "copied" in effect.flags for effects in reading.command_effects for effect in effects):
        yield from _landings(reading, where)


def _of_git(run: ProgramRun, where: Where) -> Iterator[ReplacedContent]:
    for way, path in uncommitted_losses.losses(run, where):
        if place(path, where) in _OWN_PLACES:
            yield ReplacedContent(way, path)


def _of_effects(effects: tuple[Effect, ...], where: Where) -> Iterator[ReplacedContent]:
    for effect in effects:
        if effect.kind not in _REMOVES and effect.kind not in _REPLACES:
            continue
        if effect.kind == "discard" and effect.program is not None and effect.program.name == _GIT:
            continue  # `_of_git` knows better what goes
        path = _absolute(effect.target, where, effect.program.cwd if effect.program is not None else "")
        if not path or effect.place not in _OWN_PLACES:
            continue
        if effect.kind in _REMOVES or "deletes" in effect.flags:
            yield ReplacedContent("rewritten" if effect.flags & _IN_PLACE else "removed", path)
        elif "append" not in effect.flags:
            yield ReplacedContent("replaced", path)


def _landings(reading: CallReading, where: Where) -> Iterator[ReplacedContent]:
    """What is moved or copied, as far as it is known where to."""
    for change in made_files.possible_changes(reading):
        if change.kind not in ("moved", "copied") or not change.source.startswith("/") or UNKNOWN in change.source:
            continue
        if not made_files.is_known(change.path):
            continue
        if place(change.path, where) in _OWN_PLACES or (
            change.kind == "moved" and place(change.source, where) in _OWN_PLACES
        ):
            way: Literal["moved", "copied"] = "moved" if change.kind == "moved" else "copied"
            yield ReplacedContent(way, change.source, change.path, change.merged)


def _absolute(path: str, where: Where, cwd: str) -> str:
    """Empty for what is not known well enough to be found."""
    full = normal(path, where, cwd)
    return full if full.startswith("/") and UNKNOWN not in full and not full.startswith(("/~", "/$")) else ""
