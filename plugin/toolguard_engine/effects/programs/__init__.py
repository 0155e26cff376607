"""The effects of single programs. Each module has `PROGRAMS`, a table from a program's name to the function that finds them.

`file_programs`, `file_readers`, `system_programs`, `archives`, `unpacking`: files and the system. `network_programs`,
`web_programs`, `curl` (with `web_requests`, `sent_data`): other machines. `code_text`: code. `sql`,
`sql_meta_commands`: databases. `gateway_programs`: the gateway. `wrappers`: programs that run another. `unknown_programs`,
`handed_keys`: programs that nobody knows. `rebuilt_text`: texts that a pipeline takes apart and joins. Options are read by
manuals (`effects.manuals`). The functions here make effects on paths, with a path's place and marks, in the same way
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.place_names import is_secret_name
from toolguard_engine.effects.facts.places import Where, classify, is_simple, place
from toolguard_engine.effects.manuals.command_words import CommandWords


class Act(Protocol):
    def __call__(self, program: ProgramRun, where: Where, /) -> Iterable[Effect]: ...


class ManualAct(Protocol):
    def __call__(self, program: ProgramRun, words: CommandWords, where: Where, /) -> Iterable[Effect]: ...


def by_manual(act: ManualAct) -> Act:
    """The act for programs with a manual. It goes through all readings of a command line: the strictest counts. A program
    without one has one reading."""

    def acts(program: ProgramRun, where: Where, /) -> Iterable[Effect]:
        if len(program.readings) <= 1:
            return act(program, program.words, where)
        effects = list(dict.fromkeys(effect for words in program.readings for effect in act(program, words, where)))
        return [*effects, Effect("flood", program=program)] if any(words.doubtful for words in program.readings) else effects

    return acts


_TO_HARDWARE = frozenset(["write", "empty", "move-in"])
_MANY = 64
MAX_PATHS = 500
"""Paths that are examined; any more are reported as a `flood`."""
_FURTHEST = 4_000

_SECRET = frozenset(["credentials", "device"])


def effect_on(kind: str, path: str, program: ProgramRun | None, where: Where, flags: Iterable[str] = ()) -> Effect:
    """An effect on a path. Writing to a device is `device-write`."""
    where_to, plain = classify(path, where, program.cwd if program else "")
    if where_to == "device" and kind in _TO_HARDWARE:
        kind = "device-write"
    return Effect(kind, path, where_to, _both(plain, frozenset(flags)) if flags else plain, program)


@lru_cache(maxsize=512)
def _both(plain: frozenset[str], flags: frozenset[str]) -> frozenset[str]:
    """One object for the same flags: effects are kept with the commands that were read."""
    return plain | flags


def write_effects(path: str, program: ProgramRun | None, where: Where, *flags: str) -> Iterator[Effect]:
    """The effect of writing a file; none if the output goes to the terminal or is discarded."""
    if path and path != "-":
        effect = effect_on("write", path, program, where, flags)
        if effect.place != "null":
            yield effect


def secrets_read(paths: Iterable[str], program: ProgramRun | None, where: Where, *flags: str) -> Iterator[Effect]:
    """Reads of credentials and raw devices. Reading anything else is not an effect."""
    listed = worth_checking(paths)
    if len(listed) > MAX_PATHS:
        yield Effect("flood", program=program)
        listed = listed[:MAX_PATHS] + [
            path for path in listed[MAX_PATHS:_FURTHEST] if path[:1] in "/~$." or is_secret_name(path)
        ]
    for path in listed:
        if path and place(path, where, program.cwd if program else "") in _SECRET:
            yield effect_on("read", path, program, where, flags)


def worth_checking(paths: Iterable[str]) -> list[str]:
    """The paths to examine: in a long list, bare names in the current folder are dropped after the first ones."""
    listed = list(paths)
    if len(listed) <= _MANY:
        return listed
    return listed[:_MANY] + [
        path for path in listed[_MANY:] if not is_simple(path) or is_secret_name(path.rpartition("/")[2])
    ]


def operands(program: ProgramRun) -> list[str]:
    """The words that are not options. What `xargs` and the like would append counts as one unknown word."""
    words = list(program.words.texts)
    if not words and any(name in _ADD_WORDS for name in program.via):
        return [UNKNOWN]
    return words


_ADD_WORDS = program_catalogue.programs("word_adder")
