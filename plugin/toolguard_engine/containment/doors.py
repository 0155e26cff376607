"""Which doors of a room a command needs, by what was read of it: pure. An unknown program opens none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from toolguard_engine.containment import credential_doors, masked_sockets, plain_words, room_tables
from toolguard_engine.containment.profile import STATE_NAMES
from toolguard_engine.containment.rules import OUTSIDE, STARTUP
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.facts.program_catalogue import programs
from toolguard_engine.effects.facts.protected_paths import CONFIG_NAMES
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.host.plugin_state import PLUGIN_ID

_ROLES: Final = {
    masked_sockets.DOCKER: "container",
    masked_sockets.PODMAN: "container",
    masked_sockets.TMUX: "terminal_multiplexer",
    masked_sockets.BUS: "bus_client",
    masked_sockets.SSH_AGENT: "agent_key_user",
    masked_sockets.GPG: "gpg_user",
}
_NEED_RIGHTS: Final = programs("rights_changer")
_LOOK_OUTSIDE: Final = programs("process_inspector", "gateway_cli") | {PLUGIN_ID}
"""What they show or ask lies outside of the room."""

_PLAIN: Final = programs("plain_tool")
_BUILTIN: Final = programs("words_only", "shell_only") | word_set("jobs wait")
"""What a shell does itself: there is no program of this name, or it does not matter which one there is."""

IsTrusted = Callable[[str], bool]
"""Whether the program that a shell finds by this name is one that no agent can have put there."""


def doors(reading: CallReading, is_trusted: IsTrusted, *, approved: bool = False) -> frozenset[str]:
    """The doors of a call that was allowed. `approved`: a person saw it and let it run."""
    if _belongs_outside(reading, is_trusted, approved=approved):
        return frozenset((OUTSIDE,))
    opens_startup = _changes_startup(reading) and (approved or not _has_unknown_code(reading))
    return inner_doors(reading) | ({STARTUP} if opens_startup else frozenset())


def inner_doors(reading: CallReading) -> frozenset[str]:
    """The doors of a call that enters a room in any case."""
    return frozenset[str]().union(*map(_of_run, reading.runs))


def needs_outside(reading: CallReading) -> bool:
    """Whether something in it works outside of a room only."""
    names = {run.name for run in reading.runs}
    return not names.isdisjoint(_NEED_RIGHTS | _LOOK_OUTSIDE) or _changes_startup(reading)


def _belongs_outside(reading: CallReading, is_trusted: IsTrusted, *, approved: bool) -> bool:
    names = {run.name for run in reading.runs}
    outside = names & (_NEED_RIGHTS | _LOOK_OUTSIDE)
    if not all(map(is_trusted, outside)) or not all(is_known(run) for run in reading.runs if run.name in outside):
        return False
    if not plain_words.are_out_of_reach(reading, _PLAIN):
        return False
    if (approved and _changes_the_gateway(reading)) or not names.isdisjoint(_NEED_RIGHTS):
        return approved or not _has_unknown_code(reading)
    if not names <= _LOOK_OUTSIDE | _PLAIN or _has_unknown_code(reading):
        return False
    return bool(outside) or (_names_the_gateway(reading) and all(map(is_trusted, names - _BUILTIN)))


def _names_the_gateway(reading: CallReading) -> bool:
    """Whether the text names the state or the config of the gateway: with plain tools alone it was judged as a whole, and a
    person who asks what is in there, or to change it, gets an answer."""
    host = reading.host
    marks = {path.rpartition("/")[2] for path in (host.state_dir, host.config_path) if path} | {*CONFIG_NAMES, *STATE_NAMES}
    return any(mark in command for command in reading.commands for mark in marks)


def _changes_startup(reading: CallReading) -> bool:
    """Whether the text says that it changes start-up files."""
    return any(effect.place == "startup" and effect.kind != "read" for effect in _effects(reading))


def _changes_the_gateway(reading: CallReading) -> bool:
    """Whether the text says that it changes files of the gateway."""
    return any(effect.target and protected_paths.kind(effect.target, reading.host) for effect in _effects(reading))


def _effects(reading: CallReading) -> Iterator[Effect]:
    return (effect for found in reading.command_effects for effect in found)


def _has_unknown_code(reading: CallReading) -> bool:
    """Whether the command runs a program or a file of which nothing was known when it was judged, or a program that is not
    the one of its name."""
    if any(seen.unread or seen.flaws for seen in reading.command_readings):
        return True
    return any(not is_known(run) for run in reading.runs)


def is_known(run: ProgramRun) -> bool:
    """Whether toolguard has the program in one of its lists, and it is found where the system has it."""
    called, tables = run.argv[0], room_tables.load()
    if "/" in called and not called.startswith(tables.system.programs):
        return False
    return run.name in _known_programs() and run.name not in tables.shell.renaming and not _sets_path(run)


def _sets_path(run: ProgramRun) -> bool:
    given = run.argv[1:] if run.name in room_tables.load().shell.setting else ()
    return any(name == "PATH" for name, _ in run.assigns) or any(word.startswith("PATH") for word in given)


@cache
def _known_programs() -> frozenset[str]:
    return program_catalogue.programs("understood") | manual_catalogue.movers() | credential_doors.owners() | _LOOK_OUTSIDE


def _of_run(run: ProgramRun) -> frozenset[str]:
    if not is_known(run) or (run.name == "git" and run.argv[1:2] and run.argv[1] in room_tables.load().git.quiet):
        return frozenset()
    own = frozenset(door for door, role in _ROLES.items() if run.name in programs(role))
    return own | frozenset(credential_doors.opened_by(run.name))
