"""What the program behind a rule works on, so that a person can be shown what is there before they decide."""

from __future__ import annotations

from toolguard_engine.effects.calls.path_owners import sets_git_variable
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import CARRIED, UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.effects.landings import checked_out_files
from toolguard_engine.effects.programs.wrappers import AWAY
from toolguard_engine.model.held_details import MAX_TARGET
from toolguard_engine.wording.redact import redact_text

_SQLITE = program_catalogue.programs("sqlite")


def place(program: ProgramRun, reading: CallReading) -> str:
    """The absolute path of the database file, git's working tree, or else the folder that a program works in; empty where
    that is not certain: another machine, a repository that is named apart from its files, an unknown folder."""
    if CARRIED in program.via or not AWAY.isdisjoint(program.via):
        return ""
    words = program.words
    if program.name in _SQLITE:
        named = next(iter(words.texts), "")
    elif program.name == "git":
        named = "" if _names_repository(program, reading) else checked_out_files.working_tree(program, words)[0]
    else:
        named = words.one("folder") or "."
    return shown(normal(named, reading.command_where, program.cwd)) if named else ""


def _names_repository(program: ProgramRun, reading: CallReading) -> bool:
    return bool(checked_out_files.repository(program, program.words)) or any(map(sets_git_variable, reading.runs))


def shown(path: str) -> str:
    """The path as it may stand in the details of a hold; empty where a part is not known, secret or too long."""
    return path if len(path) <= MAX_TARGET and UNKNOWN not in path and redact_text(path) == path else ""
