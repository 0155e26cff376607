"""What the program behind a rule works on, so that a person can be shown what is there before they decide."""

from __future__ import annotations

import re

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.path_owners import sets_git_variable
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import CARRIED, UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.effects.landings import checked_out_files
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs.wrappers import AWAY
from toolguard_engine.effects.syntax.outputs import known_text
from toolguard_engine.model.held_details import MAX_TARGET
from toolguard_engine.wording.redact import redact_text

_SQLITE = program_catalogue.programs("sqlite")
_GIT = "git"

_ELSEWHERE = lazy_re.compile(r"^\s{0,99}\.|\b(?:attach|detach)\b|\w\"?\s{0,99}\.\s{0,99}\"?\w", re.IGNORECASE | re.MULTILINE)
"""What may bring another database into a shell of SQLite (`.open x`, `ATTACH`), or names a table of one (`other.users`)."""


def place(program: ProgramRun, reading: CallReading) -> str:
    """The absolute path of git's working tree or of SQLite's database file; empty for other programs, and where that is not
    certain: another machine, a repository that is named apart from its files, a file that is opened later."""
    if CARRIED in program.via or not AWAY.isdisjoint(program.via):
        return ""
    words = program.words
    if program.name in _SQLITE:
        named = _database(program, words)
    elif program.name == _GIT and not _names_repository(program, reading):
        named = checked_out_files.working_tree(program, words)[0]
    else:
        named = ""
    return shown(normal(named, reading.command_where, program.cwd)) if named else ""


def _database(program: ProgramRun, words: CommandWords) -> str:
    file, *statements = words.texts or ("",)
    is_plain = not words.unknown and all("harmless" in option.entry.traits for option in words.given)
    fed = program.stdin_text or (known_text(program.stdin) if program.stdin else "")
    is_read = is_plain and fed is not None and not any(map(_ELSEWHERE.search, (*statements, fed)))
    return file if is_read else ""


def _names_repository(program: ProgramRun, reading: CallReading) -> bool:
    return bool(checked_out_files.repository(program, program.words)) or any(map(sets_git_variable, reading.runs))


def shown(path: str) -> str:
    """The path as it may stand in the details of a hold; empty where a part is not known, secret or too long."""
    return path if len(path) <= MAX_TARGET and UNKNOWN not in path and redact_text(path) == path else ""
