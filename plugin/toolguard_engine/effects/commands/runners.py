"""What programs run that stands in files: finds the files that a program reads by the table (`runner_table`), and walks what
they say. Programs that the table does not have are judged by the code that they are handed, if an agent wrote it."""

from __future__ import annotations

from posixpath import join

from toolguard_engine.effects.commands import package_scripts, runner_table
from toolguard_engine.effects.commands.carried_commands import (
    SHELL_TEXT,
    carriers_known,
    run_carried_commands,
    run_carried_shell,
    run_compiled_input,
)
from toolguard_engine.effects.commands.handed_code import run_handed_code
from toolguard_engine.effects.commands.read_files import walk_file
from toolguard_engine.effects.commands.runner_files import MAX_WORDS, names_in, option_values, read_files
from toolguard_engine.effects.commands.runner_table import Runner
from toolguard_engine.effects.commands.set_variables import run_variable
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import FilePlace, ProgramRun, StdinSource
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.model.work_limit import steps_to_build

_COMPILERS = program_catalogue.programs("source_compiler") | {"go"}


def run_read_files(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """Walks what a program reads and runs."""
    rows = runner_table.runners(program.name)
    nothing_made = not walk.written.texts and (walk.running is None or walk.running.was_empty)
    for row in rows:
        if _applies(row, program):
            _by_row(walk, row, program, state)
    if not nothing_made:
        run_handed_code(walk, program, state)


def _applies(row: Runner, program: ProgramRun) -> bool:
    if not runner_table.has_verb(row, program.argv):
        return False
    return not row.unless or not any(
        word.startswith(each) and not word.endswith("=none") for word in program.argv[1:MAX_WORDS] for each in row.unless
    )


def _by_row(walk: Walk, row: Runner, program: ProgramRun, state: ShellState) -> None:
    if row.language == "package":
        package_scripts.run_scripts(walk, row, program, state)
        return
    seen = set[str]()
    folder = next(option_values(program, row.folder), "") if row.folder else ""
    inner = _in_folder(state, folder)
    for file in read_files(walk, row, program, folder):
        if file.path not in seen:
            seen.add(file.path)
            runs_itself = walk.running is not None and walk.running.is_running(file.path)
            walk_file(walk, file, row, program, inner)
            if not runs_itself:  # what it takes in is judged around this
                _taken_in(walk, file, row, program, inner, seen)
    for text in option_values(program, row.texts) if row.texts else ():
        walk_file(walk, FilePlace("an option", "-", text, made=True), row, program, inner)
    if row.stdin:
        _at_input(walk, row, program, inner)


def _taken_in(walk: Walk, file: FilePlace, row: Runner, program: ProgramRun, state: ShellState, seen: set[str]) -> None:
    """Files that a file names, which an agent made as well: `extends`, `include`, `apply from` of any language."""
    if walk.running is None or row.language in _FOLLOWED_ELSEWHERE:
        return
    if file.made:
        state.work.spend(steps_to_build(len(file.text)))
    for path in names_in(file):
        if path not in seen and walk.running.is_made_at(path, program.cwd):
            seen.add(path)
            if taken := walk.running.text(path, program.cwd, sure=False):
                walk_file(walk, taken, row, program, state)


_FOLLOWED_ELSEWHERE = frozenset({"shell", "opaque", "make", "git", "vim", "node", "python3", "ruby", "perl", "lua", "swift"})
"""Languages that follow what they take in by themselves, or do not say it by names of files."""


def _in_folder(state: ShellState, folder: str) -> ShellState:
    if not folder:
        return state
    inner = state.fork()
    inner.cwd = join(state.cwd, folder)
    return inner


def _at_input(walk: Walk, row: Runner, program: ProgramRun, state: ShellState) -> None:
    for file in walk.fed_files(program):
        walk_file(walk, file, row, program, state)
    if text := walk.fed(program):
        walk_file(walk, FilePlace("standard input", "/dev/stdin", text, made=True), row, program, state)


def ran(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """The handler of all programs, and of `=` for variables that are set (`Walk.specials`)."""
    if program.name == "=":
        for name, value in program.assigns:
            run_variable(walk, name, value, program, state)
    else:
        run_read_files(walk, program, state)
        if program.name not in carriers_known():
            run_carried_commands(walk, program, state)
        elif program.stdin is not None and program.name in _COMPILERS:
            run_compiled_input(walk, program, state)
        elif not SHELL_TEXT.isdisjoint(program.argv):
            run_carried_shell(walk, program, state)
    return None
