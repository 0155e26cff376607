"""The principles `console`, `trusts`, `rights`, `halts` and `sinks`: what a program keeps or runs for somebody.

A line for a console or a server, in an option or at the input, begins with a word that destroys; others are pairs of words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.programs import handed_keys, principles

Words = tuple[str, ...]

MAX_LINES = 20
MAX_LINE = 200
_VERBS_AT = 4
_ASSIGNED = principles.pattern("destroys", "assigned")
_OPTION = principles.pattern("console", "option")
_LINE = principles.pattern("console", "line")
_PROSE = principles.pattern("console", "prose")
"""Words of a sentence rather than a line."""

_GIVES = principles.pattern("rights", "gives")
_RIGHTS = principles.pattern("rights", "rights")
_ACCOUNTS = principles.pattern("rights", "accounts")
_MOVED = principles.pattern("rights", "moved")
_READS_RIGHTS = principles.pattern("rights", "reads")
_JOINED = lazy_re.compile(r"[a-z]{1,30}(?:[.:][a-z]{1,30}){1,3}|[a-z]{1,30}(?:[-_][a-z]{1,30}){1,3}")
"""Words that other programs take apart: `vm.destroy`, `topic:empty`, `grant-role`."""
_SIGNS = lazy_re.compile(r"[.:_-]")


def verbs(words: list[str]) -> list[str]:
    """The words that are no settings, those joined by a dot or a colon one by one."""
    return [
        part
        for word in words
        if _JOINED.fullmatch(word) or not _ASSIGNED.fullmatch(word)
        for part in (_SIGNS.split(word) if (":" in word or "." in word) and _JOINED.fullmatch(word) else (word,))
    ]


def trusts(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    lower = [word.lower() for word in words]
    act = next(filter(_INSTALLS.fullmatch, lower), "")
    return f"{act} {lower[-1]}" if act and any(map(_AUTHORITY.fullmatch, (program.name.lower(), *lower))) else ""


_INSTALLS = principles.pattern("trusts", "installs")
_AUTHORITY = principles.pattern("trusts", "authority")


def console(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    if (" " not in "".join(words) and not program.stdin_text) or handed_keys.runs_scripts(program.name):
        return ""  # what is given to an interpreter is read as code, and `del` in it deletes a value
    return next((line[:MAX_LINE] for line in _lines(words, program) if _LINE.match(line) and not _PROSE.search(line)), "")


def _lines(words: Words, program: ProgramRun) -> Iterator[str]:
    for before, after in itertools.pairwise(words):
        if " " in after and _OPTION.fullmatch(before):
            yield after.lower()
    if fed := program.stdin_text:
        yield from fed[: MAX_LINES * MAX_LINE].lower().split("\n", MAX_LINES)[:MAX_LINES]


def rights(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    lower = [word.lstrip("/") for word in " ".join(words).lower().split()]
    if moved := next(filter(_MOVED.fullmatch, lower), ""):
        return moved
    first = [part for word in lower[:_VERBS_AT] for part in (_SIGNS.split(word) if _JOINED.fullmatch(word) else (word,))]
    if any(map(_READS_RIGHTS.fullmatch, first)) or not any(map(_GIVES.fullmatch, first)):
        return ""
    if not any(map(_ACCOUNTS.fullmatch, first)):
        return ""
    return next(filter(_RIGHTS.fullmatch, (part for word in lower for part in (word, word.rpartition("=")[2]))), "")


_POWER = principles.pattern("halts", "power")
_OFF = principles.pattern("halts", "off")
_ALONE = principles.pattern("halts", "alone")
_STOPS = principles.pattern("halts", "stops")
_EVERYTHING = principles.pattern("halts", "everything")
_STATE = principles.pattern("halts", "state")
_READS = principles.pattern("halts", "reads")


def halts(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    """A machine that is switched off, or everything that runs."""
    lower = [word.lower() for word in words]
    if any(map(_READS.fullmatch, (program.name, *lower[:_VERBS_AT]))):
        return ""
    if alone := next(filter(_ALONE.fullmatch, lower[:_VERBS_AT]), ""):
        return alone
    for one, other in itertools.pairwise(lower):
        if (_POWER.fullmatch(one) and _OFF.fullmatch(other)) or (_STOPS.fullmatch(one) and _EVERYTHING.fullmatch(other)):
            return f"{one} {other}"
    every = any(word.endswith(("=all", "=*")) for word in lower)
    return next(filter(_STATE.fullmatch, lower), "") if every else ""


_SINK = principles.pattern("sinks", "sink")


def sinks(words: Words, program: ProgramRun, where: Where) -> str:  # noqa: ARG001 - the form of all principles
    """A machine outside that is to get what a program handles."""
    return next(filter(_SINK.fullmatch, words), "")
