"""All programs that a command line runs: walks the tree of `parse` in execution order and unwraps wrappers.

The entry point is `read`. Texts that become commands (`sh -c`, `eval`, here-documents and pipes to a shell, literals in
interpreter code) are parsed by the same grammar, up to limits of depth, size and work; reaching one is noted in the flaws.
Loops over known words are unrolled; functions and aliases are followed. Nothing is cached: `effects.reading` keeps what a
call was read as.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from toolguard_engine.effects.commands import renamed_programs
from toolguard_engine.effects.commands.run_files import RunFiles
from toolguard_engine.effects.commands.specials import SPECIALS
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Reading, StdinSource
from toolguard_engine.effects.syntax import windows_shells
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.model.work_limit import WorkLimit

_NONE: frozenset[Any] = frozenset()
_FIRST = frozenset({1})
"""Readings are kept, and each small set takes 216 bytes."""


def read(
    command: str,
    variables: tuple[tuple[str, str], ...] = (),
    work: WorkLimit | None = None,
    running: RunFiles | None = None,
) -> Reading:
    """What `command` would run. `variables`: environment variables that the call itself sets. `work`: what this may cost.
    `running`: the files of this machine; those that the command runs are read."""
    if work is None:
        work = WorkLimit()
        work.admit(len(command))
    walk = Walk(SPECIALS, running)
    state = ShellState(variables=dict(variables), work=work)
    for name, value in variables:
        walk.variable_set(name, value, ProgramRun((":",), ":"), state)
    for_windows = windows_shells.as_powershell(command)
    walk.text(command.replace(UNKNOWN, "?"), state, None, piped=False, pipeline=0)
    if for_windows:
        walk.start(ProgramRun(("pwsh", "-Command", for_windows), "pwsh"), state)
    if running is not None and running.overwritten:
        _judge_as_they_lie(walk, running, state)
    unread = () if running is None or not running.unread else tuple(running.unread.values())
    return Reading(
        tuple(renamed_programs.resolved(walk.runs, running)),
        frozenset(walk.flaws) if walk.flaws else _NONE,
        unread,
        (*walk.written.replaced, *walk.written.texts.items()) if walk.written.texts else (),
        None if running is None else running.scripts(walk.written.opaque),
        (_FIRST if walk.loose == _FIRST else frozenset(walk.loose)) if walk.loose else _NONE,
        frozenset(walk.repeated) if walk.repeated else _NONE,
    )


def _judge_as_they_lie(walk: Walk, running: RunFiles, state: ShellState) -> None:
    """Adds what the programs would run that run files which the command may not have changed after all."""
    with running.as_they_lie():
        for program, word in tuple(running.overwritten):
            for text in (None, *walk.written.earlier_texts(word, program.cwd)):
                again = Walk(SPECIALS, running)
                if text is not None:
                    again.written.assume(word, program.cwd, text)
                fed = (
                    program.stdin
                    if program.stdin is None
                    else StdinSource(None, program.stdin.programs, program.stdin.files)
                )
                again.start(replace(program, stdin=fed), state)
                walk.runs += again.runs
                walk.flaws |= again.flaws
