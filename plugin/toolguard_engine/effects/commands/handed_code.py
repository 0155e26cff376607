"""Programs that nobody knows, and that are named code which an agent wrote: it is judged as if they ran it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from functools import cache
from itertools import islice

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import interpreters, runner_table
from toolguard_engine.effects.commands.read_files import walk_file
from toolguard_engine.effects.commands.runner_files import MAX_WORDS, found_file
from toolguard_engine.effects.commands.runner_table import Runner
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.commands.walk_state import is_away
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.languages import language_catalogue
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs.wrappers import WRAPPERS
from toolguard_engine.effects.syntax.shell_state import ShellState

_SEARCHED = word_set(
    ".groovy .gradle .java .kt .kts .scala .sc .clj .cljs .nix .tcl .exp .jl .el .lisp .scm .ss .rkt .hy .fnl .janet .ml .hs"
    " .fsx .fs .cs .erl .escript .exs .raku .p6 .nim .cr .d .v .odin .zig .rs .go .swift .dart .pas .f90 .c .cc .cpp .cxx"
    " .m .r"
)
"""Of languages whose files are searched."""
LANGUAGES_BY_ENDING = {
    **dict.fromkeys((".sh", ".bash", ".zsh", ".ksh", ".command"), "shell"),
    **{ending: language.runs for ending, language in language_catalogue.BY_ENDING.items()},
    **dict.fromkeys(sorted(_SEARCHED), "code"),
}


def _ending(path: str) -> str:
    return path[path.rfind(".") :].lower() if "." in path.rpartition("/")[2] else ""


def program_of(path: str) -> str:
    """The program that runs a file of this name; empty if none is known."""
    return LANGUAGES_BY_ENDING.get(_ending(path), "")


@cache
def known_programs() -> frozenset[str]:
    """Programs whose arguments are understood; what they are named is read, copied or run in ways that are known."""
    checkers = program_catalogue.programs("code_checker")
    return checkers.union(
        program_catalogue.programs("understood"), manual_catalogue.movers(), WRAPPERS, interpreters.PROGRAMS
    )


_RUNS = lazy_re.compile(
    r"--?[a-z-]{0,40}(?:program|command|exec|script|hook|renderer|askpass|loader|plugin|require|startup|preload|pinentry|wrapper"
    r"|runner|interpreter)[a-z-]{0,20}|--pre"
)
"""Options by whose names a program says that it runs or loads the value."""


def run_handed_code(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """Code that an agent wrote and that is named to a program which nobody knows, or to an option that says that it runs."""
    if not (program.argv[1:] or program.assigns) or is_away(program) or UNKNOWN in program.name:
        return
    if program.origin is not None and not program.origin.made:
        return
    if "/" in program.argv[0] and _is_made(walk, program.argv[0], program):  # what it does is read
        return
    given = _of_options(program) if _is_known(walk, program.name) else _of_all(program)
    paths = (*given, *_of_variables(program))
    for path in dict.fromkeys(paths) if paths else ():
        ending = _ending(path)
        language = LANGUAGES_BY_ENDING.get(ending, "") if ending else "shell"
        if path and language and not GLOB.search(path) and _is_made(walk, path, program):
            _perhaps_run(walk, path, language, program, state)


def _perhaps_run(walk: Walk, path: str, language: str, program: ProgramRun, state: ShellState) -> None:
    """Judges what a file does, unless it has neither an ending nor a first line that says what it is."""
    file = found_file(walk, (path,), "", program)
    if file is None or not (_ending(path) or file.text.startswith("#!")):
        return
    before, made = set(walk.flaws), set(walk.made_flaws)
    with walk.running.perhaps() if walk.running is not None else nullcontext():
        walk_file(walk, file, Runner((program.name,), language), program, state)
    walk.made_flaws &= made
    walk.flaws &= before  # whether it runs the file is not known, so one that is long is no reason to ask


def _is_known(walk: Walk, name: str) -> bool:
    """Whether it is known what the program does with what it is named."""
    if name in known_programs() or name in walk.specials or runner_table.runners(name):
        return True
    return INTERPRETER.fullmatch(name) is not None


def _is_made(walk: Walk, path: str, program: ProgramRun) -> bool:
    made = walk.running is not None and walk.running.is_made_at(path, program.cwd)
    return made or walk.written.text(path, program.cwd) is not None


def _of_all(program: ProgramRun) -> Iterator[str]:
    yield from program.words.texts[:MAX_WORDS]
    yield from (value.text for _, value in islice(program.words.options, MAX_WORDS))


def _of_options(program: ProgramRun) -> Iterable[str]:
    argv = program.argv[:MAX_WORDS]
    running = list(filter(_RUNS.fullmatch, option_parser.names(argv)))
    return option_parser.values(argv, running) if running else ()


def _of_variables(program: ProgramRun) -> list[str]:
    """The values of variables for the program, or of settings among its words: `X_PAGER=./x less`, `configure CC=./x`."""
    settings = [_SETTING.fullmatch(word) for word in program.argv[1:MAX_WORDS] if "=" in word]
    values = [match[1] for match in settings if match is not None] if settings else []
    return [value for _, value in program.assigns[:MAX_WORDS]] + values if program.assigns else values


_SETTING = lazy_re.compile(r"(?:-D)?[A-Za-z_][\w.-]{0,60}=[\"']?([^\"']{1,400})[\"']?")
