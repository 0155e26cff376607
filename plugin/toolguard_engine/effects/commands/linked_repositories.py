"""Repositories of Git that lie elsewhere than in `.git`: a file of that name leads to them, or the folder is one itself.

Git runs programs that the settings of such a repository name (`core.fsmonitor`, `core.sshCommand`), and its hooks.
"""

from __future__ import annotations

from posixpath import join, normpath

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.read_files import walk_file
from toolguard_engine.effects.commands.runner_files import found_file
from toolguard_engine.effects.commands.runner_table import Runner
from toolguard_engine.effects.commands.walk import Walk
from toolguard_engine.effects.commands.walk_state import is_away
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.syntax.shell_state import ShellState

_SETTINGS = ("config", "config.worktree", "../../config")
"""The last one: of the repository that a working tree belongs to."""

_LINK = lazy_re.compile(r"gitdir:\s{0,9}(\S.{0,400})")
_GIT = Runner(("git",), "git")


def linked_repository(walk: Walk, root: str) -> str:
    """The repository that a file `.git` names; empty if there is no such file."""
    running = walk.running
    if running is None or (file := running.text(f"{root}/.git", "", sure=False)) is None:
        return ""
    match = _LINK.match(file.text)
    return normpath(join(root, match[1])) if match else ""


def linked(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """Walks the settings that an agent may have made."""
    if walk.running is None or is_away(program):
        return
    asked = next((value.text for value in program.words.values("-C")), "")
    for at, root in enumerate(walk.running.above(join(program.cwd, asked) if asked else program.cwd)):
        if folder := linked_repository(walk, root) or (root if at == 0 and asked else ""):
            _walk_settings(walk, folder, program, state)


def _walk_settings(walk: Walk, folder: str, program: ProgramRun, state: ShellState) -> None:
    for path in (normpath(f"{folder}/{name}") for name in _SETTINGS):
        if (
            walk.running is not None
            and walk.running.is_brought(path, "")
            and (file := found_file(walk, (path,), "", program))
        ):
            walk_file(walk, file, _GIT, program, state)
