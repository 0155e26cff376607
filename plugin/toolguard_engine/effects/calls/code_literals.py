"""The paths that stand in code as literals: a program in any language may take from such a file what it does."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.commands.handed_code import LANGUAGES_BY_ENDING
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.model.work_limit import TooIntricate

MAX_LITERALS = 1_024
"""Of all code together, counted before it is known whether there is a file."""

STEP_CHARACTERS = 64
"""Of code that cost one step."""

_LITERAL = lazy_re.compile(r"""(["'`])(?=([\w ./~@%+,:=-]{1,200})\1)""")
"""It consumes the first quote only, so an apostrophe before it hides none."""

_SHELL_ENDINGS = tuple(ending for ending, language in LANGUAGES_BY_ENDING.items() if language == "shell")
"""Shell scripts are read word by word, so what they read is known better."""


def paths(reading: CallReading, runs: tuple[ProgramRun, ...], where: Where) -> list[str]:
    """Those of all code. A relative path is meant from the folder of the program, or of the script. Raises `TooIntricate`,
    also if there are more than `MAX_LITERALS`."""
    pairs = list[tuple[str, str]]()
    for code, folders in _codes(reading, runs):
        reading.work.spend(len(code) // STEP_CHARACTERS)
        literals = dict.fromkeys([text for _, text in _LITERAL.findall(code) if "://" not in text])
        if len(pairs) + len(literals) * len(folders) > MAX_LITERALS:
            raise TooIntricate
        pairs += [(literal, folder) for literal in literals for folder in folders]
    return list(dict.fromkeys([normal(literal, where, folder) for literal, folder in pairs]))


def _codes(reading: CallReading, runs: tuple[ProgramRun, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is run, with the folders that paths in it may be meant from."""
    folders = dict[str, None]()
    for program in runs:
        if UNKNOWN not in program.cwd and code_sources.language(program.name):
            folders[program.cwd] = None
            if (inline := code_sources.source(program)) is not None:
                yield inline[1], (program.cwd,)
    for path, file in reading.running.judged.items() if folders else ():
        if not path.endswith(_SHELL_ENDINGS):
            yield file.text, (*folders, path.rpartition("/")[0])
