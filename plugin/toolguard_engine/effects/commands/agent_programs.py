"""Other agents. They may read whatever is in the folder they are started in without asking."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from msgspec.structs import replace

from toolguard_engine.effects.commands import interpreters
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import Act, effect_on

_AGENTS = program_catalogue.programs("coding_agent")
_SHOWS = manual_catalogue.spelled("(any)", "instead") | {"mcp", "doctor", "update", "auth", "login", "status", "models"}


def _starts(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`spawn` at the folder where the agent starts; nothing if it only prints information about itself."""
    if program.argv[1:2] and program.argv[1] in _SHOWS:
        return
    yield replace(effect_on("spawn", ".", program, where), target=_folder(program, where))
    feeds = [feed for _, feed in program.given] + ([program.stdin] if program.stdin else [])
    for feed in feeds:
        yield from (effect for effect in interpreters.hidden_text(program, feed, piped=False) if "fetched" in effect.flags)


def _folder(program: ProgramRun, where: Where) -> str:
    return program.cwd if program.cwd[:1] in ("/", "~") else posixpath.join(where.cwd, program.cwd) or "."


PROGRAMS: dict[str, Act] = dict.fromkeys(sorted(_AGENTS), _starts)
