"""Which doors of a room a command needs, by what was read of it: pure. An unknown program opens none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from toolguard_engine import lazy_re
from toolguard_engine.containment import credential_doors, masked_sockets, plain_words, room_tables, unknown_code
from toolguard_engine.containment.known_programs import LOOK_OUTSIDE, NEED_RIGHTS, is_known
from toolguard_engine.containment.profile import STATE_NAMES
from toolguard_engine.containment.rules import OUTSIDE, STARTUP
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import protected_paths
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.facts.program_catalogue import programs
from toolguard_engine.effects.facts.protected_paths import CONFIG_NAMES

_ROLES: Final = {
    masked_sockets.DOCKER: "container",
    masked_sockets.PODMAN: "container",
    masked_sockets.MACHINES: "machine_manager",
    masked_sockets.TASKS: "task_starter",
    masked_sockets.TMUX: "terminal_multiplexer",
    masked_sockets.BUS: "bus_client",
    masked_sockets.SSH_AGENT: "agent_key_user",
    masked_sockets.GPG: "gpg_user",
}
_ELEVATORS: Final = programs("elevator")
_CONTAINERS: Final = programs("container")
_PLAIN: Final = programs("plain_tool")
_BUILTIN: Final = programs("words_only", "shell_only") | word_set("jobs wait")
"""What a shell does itself: there is no program of this name, or it does not matter which one there is."""

_EVALUATES: Final = lazy_re.compile(r"\w\[[^\]\n]{0,200}(?:\$\(|`)|\bfor\s+[A-Z_]|\bprintf\s[^;|&\n]{0,200}-v")
"""Where a shell runs what stands in a text, or sets a variable that programs may know."""

_LEADS_ASTRAY: Final = lazy_re.compile(
    r"--?(?:profile|dev|config|container|state-dir)\b|-{0,2}[\w,=-]{0,60}(?:command|pass|prog|program|helper)="
)
"""Options by which a program reads another configuration, or runs another program."""

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
    return not names.isdisjoint(NEED_RIGHTS | LOOK_OUTSIDE) or _changes_startup(reading)


def _belongs_outside(reading: CallReading, is_trusted: IsTrusted, *, approved: bool) -> bool:
    names = {run.name for run in reading.runs}
    outside = names & (NEED_RIGHTS | LOOK_OUTSIDE)
    if not all(map(is_trusted, outside)) or not all(is_known(run) for run in reading.runs if run.name in outside):
        return False
    if not plain_words.are_out_of_reach(reading, _PLAIN):
        return False
    if approved and (_changes_the_gateway(reading) or not names.isdisjoint(NEED_RIGHTS)):
        return True
    if not all(map(_may_go_along, reading.runs)) or any(map(_EVALUATES.search, reading.commands)):
        return False
    if _has_unknown_code(reading) or unknown_code.why(reading, is_trusted):
        return False
    return bool(outside) or (_names_the_gateway(reading) and all(map(is_trusted, names - _BUILTIN)))


def _may_go_along(run: ProgramRun) -> bool:
    """Whether it may run beside a program that belongs outside: it runs no code of a file and reads no settings that would.
    What root runs, and what runs in a container, could do so anyway."""
    if any(name not in room_tables.load().shell.harmless for name, _ in run.assigns):
        return False
    if run.name in LOOK_OUTSIDE | NEED_RIGHTS and any(map(_LEADS_ASTRAY.match, run.argv[1:])):
        return False
    if run.name in LOOK_OUTSIDE | NEED_RIGHTS | _PLAIN or not _ELEVATORS.isdisjoint(run.via):
        return True
    return run.name in _CONTAINERS and not NEED_RIGHTS.isdisjoint(run.via)


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
    return (effect for effects in reading.command_effects for effect in effects)


def _has_unknown_code(reading: CallReading) -> bool:
    """Whether the command runs a program or a file of which nothing was known when it was judged, or a program that is not
    the one of its name."""
    if any(seen.unread or seen.flaws for seen in reading.command_readings):
        return True
    return any(not is_known(run) for run in reading.runs)


def _of_run(run: ProgramRun) -> frozenset[str]:
    if not is_known(run) or (run.name == "git" and run.argv[1:2] and run.argv[1] in room_tables.load().git.quiet):
        return frozenset()
    own = frozenset(door for door, role in _ROLES.items() if run.name in programs(role))
    return own | frozenset(credential_doors.opened_by(run.name))
