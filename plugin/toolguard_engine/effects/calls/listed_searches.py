"""Searches whose results a call shows, and those that delete what the same search has shown before in the session."""

from __future__ import annotations

from itertools import pairwise

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.manuals import manual_catalogue

_FIND = program_catalogue.programs("find")
_SORTS = program_catalogue.programs("line_sorter")
_DELETES = "-delete"
"""At the end of a search it deletes what the search would show, and no folder with anything in it."""

_BETWEEN = "\x1f"
_SHOWS = manual_catalogue.spelled("find", "prints")


def shown(runs: tuple[ProgramRun, ...], where: Where) -> list[str]:
    """The searches of which the result is all that they find. One that only counts or shows the first of it is none."""
    last = runs[-1:]
    return [
        _key(run, run.argv[1:-1] if run.argv[-1] in _SHOWS else run.argv[1:], where)
        for run, following in (*pairwise(runs), *((run, None) for run in last))
        if run.name in _FIND and _is_shown(run, following)
    ]


def _is_shown(run: ProgramRun, following: ProgramRun | None) -> bool:
    is_sorted = following is not None and following.name in _SORTS and not following.piped and not following.redirects
    return not run.via and not run.redirects and (is_sorted or not run.piped)


def of_deletion(program: ProgramRun | None, where: Where) -> str:
    """The search of a program that deletes what it finds; empty for others."""
    if program is None or program.name not in _FIND or program.via:
        return ""
    return _key(program, program.argv[1:-1], where) if program.argv[-1] == _DELETES else ""


def _key(program: ProgramRun, words: tuple[str, ...], where: Where) -> str:
    folder = normal(".", where, program.cwd)
    text = _BETWEEN.join((folder, *words))
    return "" if UNKNOWN in text or not folder.startswith("/") else text
