"""Program names that are not spelled out, such as `/bin/r?` and `r${X}m`, and the risky programs they may stand for."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import interpreters
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.letter_case import folded
from toolguard_engine.effects.programs import file_programs, file_readers, network_programs, sql, system_programs
from toolguard_engine.effects.programs.wrappers import SHELLS, WRAPPERS

MAX_GUESSES = 40
LONGEST = 60
_WILD = lazy_re.compile(r"[*?\[\0]")
_OTHERS = program_catalogue.programs("risky_spelling")
_KNOWN = sorted(
    {
        *(
            name
            for table in (file_programs, file_readers, system_programs, network_programs, interpreters, sql)
            for name in table.PROGRAMS
        ),
        *SHELLS, *WRAPPERS, *_OTHERS,
    }
)  # fmt: skip


def is_open(name: str) -> bool:
    """Whether a program's name may stand for several. A name that may be any program is not among them."""
    return _WILD.search(name) is not None and len(name) <= LONGEST and name not in ("[", "[[") and name.strip("*\0") != ""


_BUILTINS = program_catalogue.programs("shell_only")
_PROGRAMS = frozenset(_KNOWN).union(*program_catalogue.load().programs.values()) - _BUILTINS


@lru_cache(maxsize=1000)
def spelled(name: str) -> str:
    """The known program that runs under this name where file names ignore case: `RM`. A program of another spelling (`GET`)
    and what only a shell knows under its exact name are not among them."""
    real = folded(name)
    return real if name not in _PROGRAMS and real in _PROGRAMS else name


@lru_cache(maxsize=200)
def fitting(name: str) -> tuple[str, ...]:
    """The risky programs that a name may stand for, at most `MAX_GUESSES`."""
    match = re.compile(translate(folded(name).replace(UNKNOWN, "*"))).match
    return tuple([known for known in _KNOWN if match(known)][:MAX_GUESSES])
