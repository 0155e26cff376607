"""Whether the kernel keeps a command from the guard's own places, whatever it does in the room that it enters: pure.

Only then may a verdict count on it. A program that is unknown, or has another one act for it, may reach outside of a room.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Final

from toolguard_engine import lazy_re
from toolguard_engine.containment import credential_doors, masked_sockets
from toolguard_engine.containment.doors import inner_doors, needs_outside
from toolguard_engine.containment.known_programs import is_known
from toolguard_engine.containment.profile import STATE_NAMES
from toolguard_engine.containment.rules import RoomRule, behind
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import protected_paths
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.program_catalogue import programs
from toolguard_engine.effects.programs.wrappers import AWAY
from toolguard_engine.model.call import NOTHING_KEPT, Host, Keeping, Kept

_LEADING_OUT: Final = frozenset(
    {
        masked_sockets.DOCKER, masked_sockets.PODMAN, masked_sockets.MACHINES, masked_sockets.TASKS, masked_sockets.TMUX,
        masked_sockets.BUS,
    }
)  # fmt: skip
"""Doors to programs that do outside what they are asked."""

_ACT_ELSEWHERE: Final = (
    programs(
        "session_elsewhere", "terminal_multiplexer", "multiplexer", "terminal", "service", "coding_agent", "server_client",
        "task_starter", "machine_manager",
    )
    | AWAY
)  # fmt: skip
_OF_WINDOWS: Final = ".exe"
"""Programs of this name run outside of Linux, in WSL."""
_ASK_OTHERS: Final = lazy_re.compile(
    r"localhost|loopback|\b127\.|::1\b|\b0\.0\.0\.0\b|\b0x7f|\b\d{9,10}\b|\.sock(?:et)?\b|unix:|unix-socket|AF_UNIX|emacsclient"
    r"|--(?:remote|server)\b|HOSTNAME|hostname|\.local\b|\[f[cde][0-9a-f]{2}:"
    r"|(?<![\d.])(?:10(?:\.\d{1,3}){3}|(?:192\.168|169\.254|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2})(?![\d.])",
    re.IGNORECASE,
)
"""What may be an address of this machine, sockets, and ways to have an editor that runs already do something: the program
behind it may have been started outside."""

_MAKES_LINKS: Final = lazy_re.compile(r"\bg?ln\b|link|junction|\bcp\b[^;&|\n]{0,200}\s-[A-Za-z]{0,9}[sl]", re.IGNORECASE)
"""A link to what is hidden in a room can be made there, and what follows it may run outside."""

_KEEPS_OLD: Final = frozenset({"git"})
"""Has old contents of files, and takes what it does not find for deleted."""

Exists = Callable[[str], bool]


def kept(reading: CallReading, rules: Iterable[RoomRule], exists: Exists) -> Kept:
    """What is kept from a command that enters the room of these rules with its `inner_doors`. `exists`: of a path."""
    if not reading.executes or needs_outside(reading) or not all(_acts_itself(run) for run in reading.runs):
        return NOTHING_KEPT
    if any(seen.unread for seen in reading.command_readings):
        return NOTHING_KEPT
    if any(_ASK_OTHERS.search(text) or _MAKES_LINKS.search(text) for text in _texts(reading)):
        return NOTHING_KEPT
    doors = inner_doors(reading)
    return NOTHING_KEPT if doors & _LEADING_OUT else by_rules(behind(rules, doors), reading.host, exists)


def by_rules(rules: Iterable[RoomRule], host: Host, exists: Exists) -> Kept:
    """What these rules keep from every command."""
    kinds: dict[PurePath, set[str]] = {}
    for rule in rules:
        kinds.setdefault(rule.path, set()).add(rule.kind)
    places = protected_paths.protected_on(host)
    secrets, files = (_paths(rule_paths, host, exists) for rule_paths in (places.keys, places.places))
    if not all(_is_masked(path, kinds, ("hide",), exists) for path in secrets):
        return NOTHING_KEPT
    kept: set[Keeping] = {"secrets"}
    if all(_is_masked(path, kinds, ("hide", "read-only"), exists) for path in files):
        kept.add("files")
    if all("hide" in kinds.get(PurePath(path), ()) for _, path in credential_doors.places(host.home)):
        kept.add("credentials")
    return frozenset(kept)


def _paths(named: Iterable[tuple[str, ...]], host: Host, exists: Exists) -> list[PurePath]:
    """Leave out an older release's state that is not there: no guard looks for its files in it."""
    state = protected_paths.protected_on(host).state
    others = [PurePath(host.home, name) for name in STATE_NAMES]
    absent = {path for path in others if str(path) != state and not exists(str(path))}
    return [path for path in (PurePath("/", *parts) for parts in named) if absent.isdisjoint(path.parents)]


def _is_masked(path: PurePath, kinds: dict[PurePath, set[str]], masks: tuple[str, ...], exists: Exists) -> bool:
    """Ask the innermost rule around it that lies on something: what is not there may come up while the command runs."""
    around = next((parent for parent in (path, *path.parents) if parent in kinds and exists(str(parent))), path)
    return exists(str(around)) and not kinds.get(around, set()).isdisjoint(masks)


def _acts_itself(run: ProgramRun) -> bool:
    """Whether it is a known program that does what it does in its room."""
    if not is_known(run) or run.name in _KEEPS_OLD or not _ACT_ELSEWHERE.isdisjoint((run.name, *run.via)):
        return False
    if run.argv[0].lower().endswith(_OF_WINDOWS):
        return False
    return not any(words.trait("deletes") or "deletes" in words.does for words in run.readings if words.named("target"))


def _texts(reading: CallReading) -> Iterable[str]:
    yield from reading.commands
    for run in reading.runs:
        yield "\n".join(run.argv)
        if run.stdin is not None and run.stdin.text:
            yield run.stdin.text
