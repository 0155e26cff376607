"""Where a command may put files whose text it does not show: `git stash pop`, `tar xf a.tar`, `split`, `xxd -r a b`.

Asked where a file counts that a program of an earlier call reads as it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from toolguard_engine.effects.commands.made_then_run import UnknownChange
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.landings import landings
from toolguard_engine.effects.landings.landing import split_host
from toolguard_engine.effects.manuals import manual_catalogue, option_parser

MAX_LANDINGS = 20
"""Of one program."""

_OUTPUTS = manual_catalogue.spelled("(any)", "writes")
_CUT_UP = {"split": "x", "gsplit": "x", "csplit": "xx", "gcsplit": "xx"}
"""Programs that cut a file up, and how the names of the pieces begin unless the command says so."""

_WRITES_SECOND = frozenset({"uniq", "xxd"})
"""Programs that write what their second operand names."""


def unknown_landings(commands: Sequence[Reading], where: Where) -> Iterator[UnknownChange]:
    for command in commands:
        for at, program in enumerate(command.runs):
            yield from _landed(program, command.runs[max(0, at - 1) : at], at, where)
            for path in _named(program):
                yield UnknownChange(normal(path, where, program.cwd), at, landed=True)


def _landed(program: ProgramRun, before: tuple[ProgramRun, ...], at: int, where: Where) -> Iterator[UnknownChange]:
    for landing in islice(landings(program, before), MAX_LANDINGS):
        if _is_unknown(landing.source) and landing.overwrites and not landing.host and landing.when != "absolute-names":
            path = normal(landing.path, where, program.cwd)
            yield UnknownChange(path, at, landed=True)
            if landing.deep:
                yield UnknownChange(path, at, below=True, landed=True)


def _is_unknown(source: str) -> bool:
    """Whether it is chosen by something else, or lies on another machine."""
    return source.startswith(UNKNOWN) or "://" in source or bool(split_host(source)[0])


def _named(program: ProgramRun) -> Iterator[str]:
    """The files that a program writes by its words alone."""
    words = program.words.texts
    if (beginning := _CUT_UP.get(program.name)) is not None:
        prefixes = [value.text for value in program.words.values("--prefix")]
        prefixes += words[-1:] if program.name in ("split", "gsplit") else ()  # or that is what it cuts up
        yield from (f"{prefix}{UNKNOWN}" for prefix in (*prefixes, beginning))
    yield from filter(None, option_parser.values(program.argv, _OUTPUTS))
    if program.name in _WRITES_SECOND and words:
        yield words[-1]
