"""Runs the commands that stand in a file."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts.command import FilePlace, ProgramRun
from toolguard_engine.effects.syntax.project_files import MAX_LINES, Lines
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.model.lazy import FAILURES

MAX_TEXT = 65_536
PARSED_CHARACTERS = 32
"""Of a file with commands, for one step of work: it is split into them by patterns."""


def fixed_lines(lines: Lines) -> Callable[[str], Lines]:
    """Finds these commands in any text, for `run_lines`."""
    return lambda _: lines


def run_lines(  # noqa: PLR0913 - what is run, and how it is read
    walk: Walk,
    file: FilePlace,
    read: Callable[[str], Lines],
    state: ShellState,
    program: ProgramRun,
    key: str = "",
    *,
    sure: bool = True,
    forks: bool = True,
) -> None:
    """Runs the commands that `read` finds in a file, within limits of their own: what fails in it is a flaw of this file.
    `key`: the part of the file; `sure`: they are commands, not texts that may be some; `forks`: `state` is not yet that of
    the program."""
    running = walk.running
    if running is not None and not running.enter(file, key or read.__name__):
        return
    inner = type(walk)(walk.specials, running, file)
    inner.file = None
    inner.goes_on_from(walk)
    outer, state.work = state.work, state.work if running is None else running.work
    try:
        state.work.spend(len(file.text[:MAX_TEXT]) / PARSED_CHARACTERS)
        lines = read(file.text[:MAX_TEXT])
        if len(lines) > MAX_LINES:
            inner.flaws.add("long")
        for at, text in lines[:MAX_LINES]:
            inner.here = replace(file, at=at)
            inner.text(text, state.fork(program.name) if forks else state.fork(), None, piped=False, pipeline=0)
    except FAILURES:
        inner.flaws.add("intricate")
    if len(file.text) > MAX_TEXT:
        inner.flaws.add("long")
    state.work = outer
    walk.pipelines = inner.pipelines
    walk.runs += inner.runs
    own = inner.flaws if sure else inner.flaws - {"broken"}
    walk.takes_flaws(inner, own if file.made else set())
    if running is not None:
        running.leave(file, inner.flaws, key or read.__name__)
