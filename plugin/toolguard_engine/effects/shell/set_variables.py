"""What programs do because of environment variables (`runner_table`)."""

from __future__ import annotations

import re
from itertools import islice
from posixpath import join
from shlex import quote, split

from msgspec.structs import replace

from toolguard_engine.effects.shell import runner_table
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.shell.expand import ShellState
from toolguard_engine.effects.shell.runner_files import MAX_FILES, concerns, name_pattern
from toolguard_engine.effects.shell.walk import Walk

_HARMLESS = re.compile(r"-j\d{0,3}|-[skBwn]{1,4}|--?[a-z][a-z-]{2,60}(?:[=:][\w,]{1,40})?|-[XW]\w{1,30}|\d{1,9}")


def run_variable(walk: Walk, name: str, value: str, run: ProgramRun, state: ShellState) -> None:
    """What programs do because of a variable. Each setting is walked once."""
    row = runner_table.variable(name)
    if row is None or not value or (walk.running is None and not walk.files and "{words}" not in row.runs):
        return
    for part in islice(value.split(row.each), MAX_FILES) if row.each else (value,):
        if not part or UNKNOWN in part or (name, part) in walk.set_variables:
            continue
        walk.set_variables.add((name, part))
        if "{program}" in row.runs and not concerns(walk, (_words(part) or [""])[0], run):
            continue
        if "{words}" in row.runs and all(_HARMLESS.fullmatch(word) for word in part.split()):
            continue
        if "{file}" in row.runs and row.runs.startswith(("ld.so", "git")) and not _may_concern(walk, part, run):
            continue
        text = row.runs.replace("{words}", part).replace("{file}", quote(part)).replace("{program}", part)
        walk.inner_text(text, replace(run, piped=False, stdin=None), state.fork(name))


def _may_concern(walk: Walk, path: str, run: ProgramRun) -> bool:
    if walk.running is None:
        return bool(walk.files)
    return concerns(walk, path, run) or bool(walk.running.made_named(name_pattern(("*",), below=False), join(run.cwd, path)))


def _words(text: str) -> list[str]:
    try:
        return split(text)
    except ValueError:
        return text.split()
