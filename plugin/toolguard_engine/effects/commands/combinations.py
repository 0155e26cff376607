"""What all looks at several programs of one command have in common."""

from __future__ import annotations

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun

_LIST_RUNNERS = program_catalogue.programs("list_runner")
SOCKET = ("/dev/tcp/", "/dev/udp/")
MAX_SHOWN = 200
MAX_PARTNERS = 50
"""Programs that are compared with each other; comparing all would be quadratic."""


def line_wrapper(program: ProgramRun) -> str:
    """The wrapper that turns lines into words of this program."""
    return next((name for name in program.via if name in _LIST_RUNNERS), "") if program.via else ""
