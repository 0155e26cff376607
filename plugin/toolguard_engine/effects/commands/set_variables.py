"""What programs do because of environment variables (`runner_table`)."""

from __future__ import annotations

from itertools import islice
from posixpath import join
from shlex import quote, split

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import runner_table
from toolguard_engine.effects.commands.runner_files import concerns, name_pattern
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.syntax.shell_state import ShellState

MAX_PARTS = 400
_HARMLESS = lazy_re.compile(r"-j\d{0,3}|-[skBwn]{1,4}|--?[a-z][a-z-]{2,60}(?:[=:][\w,]{1,40})?|-[XW]\w{1,30}|\d{1,9}")


def run_variable(walk: Walk, name: str, value: str, program: ProgramRun, state: ShellState) -> None:
    """What programs do because of a variable. Each setting is walked once."""
    row = runner_table.variable(name)
    if row is None or not value:
        return
    for part in islice(value.split(row.each), MAX_PARTS) if row.each else (value,):
        if not part or UNKNOWN in part or (name, part) in walk.set_variables:
            continue
        walk.set_variables.add((name, part))
        if _matters(walk, row.runs, part, program):
            text = row.runs.replace("{text}", quote(part)).replace("{file}", quote(part))
            text = text.replace("{words}", part).replace("{program}", part)
            walk.inner_text(text, replace(program, piped=False, stdin=None), state.fork(name))


def _matters(walk: Walk, runs: str, value: str, program: ProgramRun) -> bool:
    """Whether a value has a program do more than another setting of its own, or run more than what a person put there."""
    if "{words}" in runs:
        return not all(_HARMLESS.fullmatch(word) for word in value.split())
    if "{program}" in runs:
        return concerns(walk, (_words(value) or [""])[0], program)
    named = (word[word.index("{file}") :].rstrip(";") for word in runs.split() if "{file}" in word)
    paths = [word.replace("{file}", value) for word in named]
    for path in paths:
        walk.will_run(path, program)
    return not paths or any(_may_concern(walk, path, program) for path in paths)


def _may_concern(walk: Walk, path: str, program: ProgramRun) -> bool:
    """Whether an agent made a file, or a file in the folder with this name."""
    if concerns(walk, path, program):
        return True
    return walk.running is not None and bool(
        walk.running.made_named(name_pattern(("*",), below=False), join(program.cwd, path))
    )


def _words(text: str) -> list[str]:
    try:
        return split(text)
    except ValueError:
        return text.split()
