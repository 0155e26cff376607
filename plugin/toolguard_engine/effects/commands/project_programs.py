"""Package managers, and `git` with its hooks: what they run besides what the table of runners says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from posixpath import join

from toolguard_engine.effects.commands.linked_repositories import linked_repository
from toolguard_engine.effects.commands.package_scripts import PACKAGE
from toolguard_engine.effects.commands.runner_files import found_file
from toolguard_engine.effects.commands.walk import Special, Walk
from toolguard_engine.effects.commands.walk_state import is_away
from toolguard_engine.effects.facts.command import ProgramRun, StdinSource
from toolguard_engine.effects.manuals import option_parser, wrapper_catalogue
from toolguard_engine.effects.syntax import project_files
from toolguard_engine.effects.syntax.shell_state import ShellState

_LONGEST_SHARED = 300
"""Characters of a folder whose paths of hooks are shared by all commands that are kept."""

_HOOKS = {
    "commit": ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"),
    "push": ("pre-push",),
    "merge": ("pre-merge-commit", "commit-msg", "post-merge"),
    "pull": ("post-merge", "pre-rebase", "post-checkout"),
    "checkout": ("post-checkout",),
    "switch": ("post-checkout",),
    "rebase": ("pre-rebase", "post-rewrite", "post-checkout"),
    "am": ("applypatch-msg", "pre-applypatch", "post-applypatch"),
}


def _package(walk: Walk, program: ProgramRun, state: ShellState) -> StdinSource | None:
    """A package manager that runs another program, sets a script, or is an interpreter as well."""
    if wrapper_catalogue.read(program.name, program.argv).runs:
        return walk.run_wrapped(program, state)
    if program.argv[1:3] == ("pkg", "set"):
        folder = option_parser.value(program.argv, ("--prefix", "-C", "--dir", "--cwd"))
        for word in program.argv[3:]:
            name, sign, text = word.removeprefix("scripts.").partition("=")
            if sign and name != word.partition("=")[0]:
                walk.written.append(f'"{name}": {json.dumps(text)}', join(folder, PACKAGE), program.cwd)
    if program.name == "bun":
        walk.code(program, state)
    return None


def hooks(walk: Walk, program: ProgramRun, state: ShellState) -> None:
    """The hooks of a repository that an agent may have made, or that this command names."""
    if _HOOKS.keys().isdisjoint(program.argv) or "--no-verify" in program.argv:
        return
    verb = next((word for word in program.argv[1:] if word in _HOOKS), "")
    if not verb:
        return
    for folder in _hook_folders(walk, program, _HOOKS[verb]):
        for name in _HOOKS[verb]:
            if file := found_file(walk, (name,), folder, program):
                walk.scripted(file, program.with_words((join(folder, name),), name), state.fork("git"))


def _set_hook_folders(walk: Walk, program: ProgramRun) -> Iterator[str]:
    """The folders that this command sets as that of the hooks, by an option of git or with `git config`."""
    yield from (word.partition("=")[2] for word in program.argv if word.lower().startswith("core.hookspath="))
    for earlier in walk.runs:
        if earlier.name == "git" and "config" in earlier.argv and earlier is not program:
            at = next((at for at, word in enumerate(earlier.argv) if word.lower() == "core.hookspath"), 0)
            yield from (earlier.argv[at + 1 : at + 2] if at else ())


def _hook_folders(walk: Walk, program: ProgramRun, names: tuple[str, ...]) -> Iterator[str]:
    for folder in _set_hook_folders(walk, program):
        yield from _with_own(folder)
    if walk.running is None or is_away(program):
        return
    for root in walk.running.above(program.cwd):
        for config in (f"{root}/.git/config", "~/.gitconfig"):
            yield from _configured(walk, program, root, config, names)
        for folder in (f"{root}/.git", linked_repository(walk, root)):
            paths = _hooks(folder, names) if len(folder) <= _LONGEST_SHARED else _hooks.__wrapped__(folder, names)
            if paths and not walk.running.are_untouched(paths) and any(walk.running.is_brought(path, "") for path in paths):
                yield f"{folder}/hooks"


@lru_cache(maxsize=64)
def _hooks(folder: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Shared by all commands that are kept: each one of Git asks for some thirty of them."""
    return tuple(f"{folder}/hooks/{name}" for name in names) if folder else ()


def _configured(walk: Walk, program: ProgramRun, root: str, config: str, names: tuple[str, ...]) -> Iterator[str]:
    """The folder of hooks that a config file names, if an agent made that file or one of these hooks. Whatever call set it,
    Git runs what is in it; a folder that the project itself chose has the person's own hooks."""
    running = walk.running
    if running is None or (file := running.text(config, "", sure=False)) is None:
        return
    for _, value in project_files.settings(file.text.replace("\n\t", "\n"), r"(?i:hooksPath)"):
        folder = value if value.startswith(("/", "~")) else f"{root}/{value}"
        mades = (f"{above}/{name}" for above in _with_own(folder) for name in names)
        if running.is_made_at(config, "") or any(running.is_brought(path, program.cwd) for path in mades):
            yield from _with_own(folder)


def _with_own(folder: str) -> Iterator[str]:
    """The hooks of husky are those in the folder above, which its own ones start."""
    yield folder
    if folder.rstrip("/").endswith("/_"):
        yield folder.rstrip("/")[:-2]


PROGRAMS: dict[str, Special] = dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package)
