"""Which module an interpreter of Python runs by its name: `python3 -m http.server`."""

from __future__ import annotations

from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.manuals import option_parser


def module(run: ProgramRun) -> tuple[str, ...]:
    """The module with its words; empty if the program runs none, or is no such interpreter."""
    if "py" not in run.name:
        return ()
    given = next((word for words in option_parser.readings("python", run.argv) for word in words.values("-m")), None)
    return (given.text, *run.argv[given.at + 1 :]) if given is not None else ()
