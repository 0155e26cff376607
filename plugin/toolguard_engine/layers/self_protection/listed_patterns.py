"""The patterns of files that a program takes or leaves out, as far as files with such patterns were read (`tar -X list`)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.manuals.command_words import ParsedWord
from toolguard_engine.layers.self_protection.scene import CommandScene, is_elsewhere, resolved, targets

MAX_LISTS = 4
MAX_LINES = 200
_COMMENTS = ("#", ";")
_EXCEPTIONS = ("+", "!", "P", "R", "include", "show", "merge", ".", ":", "dir-merge", "protect", "risk", "clear")
_WRITE_BY_OPTION = program_catalogue.programs("reader_with_options", "copies_to_operand") | {"find", "yq"}
_HARMLESS = (program_catalogue.programs("path_reader") | {"export", "mkdir", "set"}) - _WRITE_BY_OPTION
"""Programs that write no list."""


class PatternList(NamedTuple):
    """One list, by the position of its name. `may_have_exceptions`: a line of it may take an exclusion back."""

    at: int
    patterns: tuple[str, ...]
    may_have_exceptions: bool


def excluded(run: ProgramRun, scene: CommandScene) -> list[PatternList]:
    """What lists say is left out; no patterns where the list is not known."""
    return list(_lists(run, ("exclude-from", "filter-from"), scene))


def included(run: ProgramRun, scene: CommandScene) -> list[PatternList]:
    """What lists say is taken, and nothing else."""
    return list(_lists(run, ("include-from",), scene))


def _lists(run: ProgramRun, roles: tuple[str, ...], scene: CommandScene) -> Iterator[PatternList]:
    known = [{word: role for role in roles for word in words.named(role)} for words in run.readings]
    for number, (word, role) in enumerate(
        {word: role for known_roles in known for word, role in known_roles.items()}.items()
    ):
        is_sure = number < MAX_LISTS and all(word in known_roles for known_roles in known)
        text = _text(word, run, scene) if is_sure else None
        if text is None:
            yield PatternList(word.at, (), may_have_exceptions=True)
        else:
            yield PatternList(word.at, *_read(text, signs=role == "filter-from"))


def _text(word: ParsedWord, run: ProgramRun, scene: CommandScene) -> str | None:
    """The content of a list as it is when the program reads it; None if it is not known."""
    if UNKNOWN in word.text or UNKNOWN in run.cwd or is_elsewhere(run) or not all(map(_leaves_files, _others(run, scene))):
        return None
    return scene.lists.text(resolved(word.text, scene.host, scene.here(run)))


def _others(run: ProgramRun, scene: CommandScene) -> Iterator[ProgramRun]:
    return (other for other in scene.runs if other is not run and not scene.is_wrapper(other))


def _leaves_files(run: ProgramRun) -> bool:
    return run.name in _HARMLESS and not targets(run)


def _read(text: str, *, signs: bool) -> tuple[tuple[str, ...], bool]:
    """The patterns, and whether there may be other rules. `signs`: a pattern may have a minus before it."""
    lines = [line for line in (line.strip() for line in islice(text.splitlines(), MAX_LINES + 1)) if line]
    rules = [line for line in lines if not line.startswith(_COMMENTS)]
    others = len(lines) > MAX_LINES or any(line.startswith(_EXCEPTIONS) and not _is_name(line) for line in rules)
    return tuple(line.removeprefix("- " if signs else "") for line in rules[:MAX_LINES]), others


def _is_name(line: str) -> bool:
    """Whether it is a pattern although it begins like a rule: a rule has a blank or a comma behind its name."""
    return line[0] not in "+!" and " " not in line and "," not in line
