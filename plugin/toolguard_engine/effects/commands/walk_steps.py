"""What it costs to judge a program, in steps of work."""

from __future__ import annotations

from functools import lru_cache

from toolguard_engine.effects.commands import runner_table
from toolguard_engine.effects.commands.runner_table import SETTINGS, Runner
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.syntax.outputs import known_text

PROGRAM, WORD, PATTERN, GROUP, EXPANSION = 13, 0.375, 8, 20, 8
"""Steps of work for each program that runs, each of its words (again for each slash in them) and wildcard patterns, each
compound command, each command or assignment with expansions. `scripts/bench steps` measures what they cost."""

AGAIN = 4
"""Steps for a passive program that is like one before."""

LIKE = 0.5
"""Of the steps of a program, what one that is like another before it takes."""

MANUAL, MOVES, ROW, WRITTEN, FED = 26, 15, 14, 20, 12
"""More steps for a program with a manual, for one that moves files by it, for each row of the table of runners by which it
reads (half of it for settings) and each redirection, and for its input."""

OPTION, FEW_WORDS = 4, 50
"""Steps for each option of a program, which its manual reads several times, behind so many words."""

CHARACTERS = 16
"""Of a program's words and input, for one step of work."""


def steps_of(program: ProgramRun) -> float:
    """What the words and texts of a program cost everything that judges it."""
    text = "\n".join(program.argv)
    characters = len(text) + len(program.cwd)
    for redirect in program.redirects:
        characters += len(redirect.target) + WRITTEN * CHARACTERS
    for _, value in program.assigns:
        characters += len(value) + CHARACTERS
    if program.stdin is not None:
        characters += len(known_text(program.stdin) or "") + FED * CHARACTERS
    of_program, of_word, rows = _steps_of_program(program.name)
    steps = of_program + len(program.argv) * of_word
    for row in rows:
        if runner_table.has_verb(row, program.argv):
            steps += _steps_of_row(row)
    steps += text.count("/") * WORD + characters / CHARACTERS
    if len(program.argv) > FEW_WORDS:
        steps += OPTION * "\n".join(program.argv[FEW_WORDS - 1 :]).count("\n-")
    if "*" in text or "?" in text or "[" in text:
        steps += PATTERN * sum(1 for word in program.argv if GLOB.search(word))
    return steps


@lru_cache(maxsize=1024)
def _steps_of_program(name: str) -> tuple[float, float, tuple[Runner, ...]]:
    """The steps of a program by its name: in all, and for each of its words; and the rows by which it reads with certain
    words only."""
    manual, rows = manual_catalogue.manual(name), runner_table.runners(name)
    moves = manual is not None and not manual.verbs and name in manual_catalogue.movers()
    steps = MANUAL * (manual is not None) + MOVES * moves + sum(_steps_of_row(row) for row in rows if not row.verbs)
    return steps, WORD + (manual is not None), tuple(row for row in rows if row.verbs)


def _steps_of_row(row: Runner) -> float:
    return ROW / 2 if row.language in SETTINGS else ROW
