"""Whether plain tools touch nothing that commands could have put there: pure.

What runs outside of a room follows links and reads what lies at a path when it gets there, and programs in the room may have
made a link, or still change what is there. So what a plain tool is named must lie where no command in a room can write.
"""

from __future__ import annotations

from typing import Final

from toolguard_engine import lazy_re
from toolguard_engine.containment import room_tables
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.effects.manuals.command_words import GivenOption

_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a name
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/private/tmp", _SHARED_MEMORY, "/run/user", "/var/folders")  # noqa: S108 - names
_NAMES_FILE: Final = lazy_re.compile(r"--?[\w-]{0,20}(?:file|from|reference|output|fprint|fls|args)")
"""Options by which plain tools read or write a further file."""

_PLAIN_SCRIPT: Final = lazy_re.compile(
    r"(?:[\d$]{0,9}(?:,[\d$]{1,9})?[pdq]|s([/|#,])(?:(?!\1)[^\n;]){0,200}\1(?:(?!\1)[^\n;]){0,200}\1[gipI\d]{0,4})"
)
"""What a script of `sed` may be that reads and writes no other file and runs nothing."""

_FOLLOWS: Final = lazy_re.compile(r"--(?:deref|recursive|follow)|-(?!-)[^LRH]{0,200}[LRH]")
"""Options with which a search follows links, or reads all that lies below."""

_UNSAFE: Final = frozenset({"reopens", "stores"})
_FURTHER: Final = frozenset({"config", "exclude-from", "folder", "input", "names", "output", "pattern-from", "script-from"})
"""Roles of options whose value is a further file, or a program in one."""


def are_out_of_reach(reading: CallReading, plain: frozenset[str]) -> bool:
    """Whether the words of these programs, and all redirections of the command, name only such places."""
    return all(
        _are_redirections(program, reading) and (program.name not in plain or _are_words(program, reading))
        for program in reading.runs
    )


def _are_redirections(program: ProgramRun, reading: CallReading) -> bool:
    targets = (redirect.target for redirect in program.redirects if redirect.kind != "text" and redirect.target[:1] != "&")
    return all(_lies_out_of_reach(target, program, reading) for target in targets)


def _are_words(program: ProgramRun, reading: CallReading) -> bool:
    tools, words = room_tables.load().tools, program.words
    if program.name in tools.no_files:
        return True
    if program.name not in tools.listing and any(map(_FOLLOWS.match, program.argv[1:])):
        return False
    if any(map(_NAMES_FILE.match, program.argv[1:])) or any(map(_names_file, words.given)):
        return False
    if program.name == "sed" and not all(_PLAIN_SCRIPT.fullmatch(word.text) for word in words.named("script")):
        return False
    texts = {id(word) for word in words.named("pattern", "script")}
    return all(_lies_out_of_reach(word.text, program, reading) for word in words.operands if id(word) not in texts)


def _names_file(option: GivenOption) -> bool:
    return option.entry.role in _FURTHER or not _UNSAFE.isdisjoint(option.entry.traits)


def _lies_out_of_reach(word: str, program: ProgramRun, reading: CallReading) -> bool:
    host, where = reading.host, reading.command_where
    path = normal(word, where, program.cwd)
    if UNKNOWN in path or path[:1] != "/" or GLOB.search(path.rpartition("/")[0]):
        return False
    if path == host.config_path or (_is_below(path, "/dev") and not _is_below(path, _SHARED_MEMORY)):
        return True
    state = host.state_dir.rstrip("/")
    if state and (path == state or path.startswith(f"{state}/")):
        first = path[len(state) + 1 :].partition("/")[0]
        shown = room_tables.load().state.shown
        is_agents = first in shown or first.startswith("workspace") or _is_below(path, reading.call.cwd)
        return not is_agents
    return not any(_is_below(path, folder) for folder in (host.home, reading.call.cwd, *_TEMPORARY))


def _is_below(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(f"{folder.rstrip('/')}/"))
