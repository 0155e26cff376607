"""Programs that run other programs, and which one runs in the end."""

from __future__ import annotations

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.manuals import wrapper_catalogue

WRAPPERS = wrapper_catalogue.names()
AWAY = wrapper_catalogue.away()
_LIST_RUNNERS = program_catalogue.programs("list_runner")
SHELLS = program_catalogue.programs("shell")


def only_runs(name: str) -> bool:
    """Whether all words of a program are another one's, but for options. What that does is judged by itself."""
    return name in _LIST_RUNNERS or (name in WRAPPERS and not wrapper_catalogue.verbs(name))


def started(argv: tuple[str, ...]) -> str:
    """The name of the program that runs in the end, where `nice`, `timeout` and the like start it; empty if none can be
    seen."""
    while argv and (name := argv[0].rpartition("/")[2]) in WRAPPERS:
        reading = wrapper_catalogue.read(name, argv)
        if not reading.runs or reading.texts or reading.wrapper.joined:
            return ""
        at = reading.at
        while name == "env" and "=" in "".join(argv[at : at + 1]):
            at += 1
        argv = argv[at:]
    return argv[0].rpartition("/")[2] if argv else ""
