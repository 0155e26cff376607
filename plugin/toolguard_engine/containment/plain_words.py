"""Whether plain tools touch nothing that commands could have put there: pure.

What runs outside of a room follows links and reads what lies at a path when it gets there, and programs in the room may have
made a link, or still change what is there. So what a plain tool is named must lie where no command in a room can write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolguard_engine import lazy_re
from toolguard_engine.containment import room_tables
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.places import normal

_SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108 - a name
_TEMPORARY: Final = ("/tmp", "/var/tmp", "/private/tmp", _SHARED_MEMORY, "/run/user", "/var/folders")  # noqa: S108 - names
_NAMES_FILE: Final = lazy_re.compile(r"--?[\w-]{0,20}(?:file|from|reference|output|fprint|fls|args)")
"""Options by which plain tools read or write a further file."""

_PLAIN_SCRIPT: Final = lazy_re.compile(
    r"(?:[\d$]{0,9}(?:,[\d$]{1,9})?[pdq]|s([/|#,])(?:(?!\1)[^\n;]){0,200}\1(?:(?!\1)[^\n;]){0,200}\1[gipI\d]{0,4})"
)
"""What a script of `sed` may be that reads and writes no other file and runs nothing."""

_FOLLOWING: Final = frozenset("LRH")
"""Letters of options with which a search follows links, or reads all that lies below."""


def are_out_of_reach(reading: CallReading, plain: frozenset[str]) -> bool:
    """Whether the words of these programs, and all redirections of the command, name only such places."""
    return all(
        _are_redirections(program, reading) and (program.name not in plain or _are_words(program, reading))
        for program in reading.runs
    )


def _are_redirections(program: ProgramRun, reading: CallReading) -> bool:
    targets = (each.target for each in program.redirects if each.kind != "text" and each.target[:1] != "&")
    return all(_lies_out_of_reach(target, program, reading) for target in targets)


def _are_words(program: ProgramRun, reading: CallReading) -> bool:
    tools = room_tables.load().tools
    if program.name in tools.no_files:
        return True
    if program.name not in tools.listing and any(map(_follows, program.argv[1:])):
        return False
    letters = tools.files_in.get(program.name, "")
    if any(_NAMES_FILE.match(word) or _has_letter(word, letters) for word in program.argv[1:]):
        return False
    if program.name == "sed" and not all(_PLAIN_SCRIPT.fullmatch(word.text) for word in program.words.named("script")):
        return False
    return all(_lies_out_of_reach(word, program, reading) for word in _operands(program))


def _has_letter(word: str, letters: str) -> bool:
    return word[:1] == "-" and word[1:2] != "-" and not set(letters).isdisjoint(word[1:])


def _follows(word: str) -> bool:
    if word.startswith("--"):
        return word.startswith(("--deref", "--recursive", "--follow"))
    return word[:1] == "-" and not _FOLLOWING.isdisjoint(word[1:])


def _operands(program: ProgramRun) -> Iterator[str]:
    """The words that may be files: neither options and their values nor patterns."""
    tools, words = room_tables.load().tools, program.words
    patterns = {id(word) for word in words.named("pattern", "script")}
    valued = tools.valued.get(program.name, "")
    skipped = 1 if program.name in tools.script_first else 0
    for word in words.operands:
        before = program.argv[word.at - 1] if 0 < word.at < len(program.argv) else ""
        if id(word) in patterns or (before[:1] == "-" and before[1:2] != "-" and before[-1:] in valued and valued):
            continue
        if skipped:
            skipped -= 1
            continue
        yield word.text


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
    return not any(_is_below(path, each) for each in (host.home, reading.call.cwd, *_TEMPORARY))


def _is_below(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(f"{folder.rstrip('/')}/"))
