"""What git knows of a held call: whether the files are tracked, what of them is not committed, what a forced push would
drop. Only commands of git that run no program of the repository's own configuration (no hook, filter or file system
monitor, transport), because an agent may have written that."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from subprocess import TimeoutExpired

from toolguard_cli.system import subprocesses
from toolguard_cli.system.subprocesses import Completed
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.model.held_details import HeldEffect
from toolguard_engine.wording.printable import counted

SECONDS, MOST_SECONDS = 2.0, 10.0
"""For one question, and for all about a call."""

MAX_NAMES, MAX_STASHES, MAX_SUBJECT = 8, 2, 80

_SAFE = (
    "git",
    "--no-optional-locks",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.pager=cat",
    "-c",
    "log.showSignature=false",
)
_ENVIRONMENT = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
"""Nothing is fetched: git gets a missing object from where the repository says, which may be a program."""

_LOSES = frozenset(["delete", "empty", "move", "write"])


class GitFacts:
    """Asks git about one call. `seconds`: for all questions together; after them it answers nothing more."""

    def __init__(self, seconds: float = MOST_SECONDS) -> None:
        self._end = time.monotonic() + seconds

    def describe(self, effect: HeldEffect) -> str:
        """What git knows of a path that would be lost; empty where git knows nothing of it, or did not answer in time."""
        if effect.kind not in _LOSES or not effect.path or not os.path.lexists(effect.path):
            return ""
        path = Path(effect.path)
        folder = path if path.is_dir() and not path.is_symlink() else path.parent
        known = self._ask(folder, "ls-files", "--debug", "-z", "--", effect.path)
        if known is None:
            return ""
        if known.code != 0:
            return "not in a git repository" if effect.kind == "delete" else ""
        tracked = _tracked(known.output)
        if not tracked:
            return "not tracked by git"
        changed, staged = _changed(folder, tracked), self._staged(folder, effect.path)
        return ", ".join(
            [
                f"{len(tracked):,} tracked by git",
                *([f"{len(changed):,} changed since the last git add"] if changed else []),
                *([f"{len(staged):,} not committed"] if staged else []),
            ]
        )

    def _staged(self, folder: Path, path: str) -> set[str]:
        """What is added of a path and not committed, by its name below the folder."""
        names = self._output(folder, "diff-index", "--cached", "--name-only", "--relative", "-z", "HEAD", "--", path)
        return set(filter(None, names.split("\0")))

    def forced_push(self, tree: str) -> str:
        """How many commits of the branch's upstream a forced push of it would drop, by what was last fetched."""
        dropped = self._output(tree, "rev-list", "--count", "HEAD..@{upstream}").strip()
        return f"{dropped} commits of the upstream branch would be dropped (as last fetched)" if _some(dropped) else ""

    def only_here(self, tree: str, names: list[str]) -> str:
        """How many commits are on these branches alone; names that are no branch do not count."""
        branches = [name for name in names[:MAX_NAMES] if self._is_branch(tree, name)]
        excluded = [f"--exclude={name}" for name in branches]
        heads = [f"refs/heads/{name}" for name in branches]
        others = ("--not", *excluded, "--branches", "--tags", "--remotes")
        number = self._output(tree, "rev-list", "--count", *heads, *others).strip() if branches else ""
        return f"{counted(int(number), 'commit')} on no other branch" if _some(number) else ""

    def _is_branch(self, tree: str, name: str) -> bool:
        return not GLOB.search(name) and bool(self._output(tree, "rev-parse", "--verify", "-q", f"refs/heads/{name}"))

    def stashes(self, tree: str) -> str:
        """What is stashed, the newest first."""
        lines = self._output(tree, "stash", "list", "--format=%gs").splitlines()
        shown = "; ".join(line[:MAX_SUBJECT] for line in lines[:MAX_STASHES])
        return f"{len(lines):,} stashed: {shown}{'; ...' if len(lines) > MAX_STASHES else ''}" if lines else ""

    def uncommitted(self, tree: str) -> str:
        """How many of the files that git knows in a working tree have changes that are not committed."""
        folder, tracked = Path(tree), _tracked(self._output(tree, "ls-files", "--debug", "-z"))
        number = len(_changed(folder, tracked) | self._staged(folder, ".")) if tracked else 0
        return f"{counted(number, 'file')} with changes that are not committed" if number else ""

    def _output(self, folder: Path | str, *command: str) -> str:
        if not folder or not Path(folder).is_dir():
            return ""
        done = self._ask(Path(folder), *command)
        return done.output if done and done.code == 0 else ""

    def _ask(self, folder: Path, *command: str) -> Completed | None:
        """None if there was no answer."""
        limit = min(SECONDS, self._end - time.monotonic())
        if limit <= 0:
            return None
        try:
            return subprocesses.ask([*_SAFE, "-C", str(folder), *command], limit, env=os.environ | _ENVIRONMENT)
        except (OSError, ValueError, TimeoutExpired):
            return None


def _tracked(listing: str) -> list[tuple[str, int, int]]:
    """Name, time of the last change in seconds and size of each file, as `git ls-files --debug -z` prints them: each name
    with a NUL behind it, then its facts in lines."""
    parts = listing.split("\0")
    names = [part.rpartition("\n")[2] for part in parts[:-1]]
    known = [(_MTIME.search(part), _SIZE.search(part)) for part in parts[1:]]
    return [(name, int(when[1]), int(size[1])) for name, (when, size) in zip(names, known, strict=True) if when and size]


def _changed(folder: Path, tracked: list[tuple[str, int, int]]) -> set[str]:
    """The names of files that are not as git last saw them."""
    return {name for name, when, size in tracked if _is_changed(folder / name, when, size)}


def _some(number: str) -> bool:
    return number.isdecimal() and int(number) > 0


_MTIME, _SIZE = re.compile(r"^  mtime: (\d+)", re.MULTILINE), re.compile(r"^  size: (\d+)", re.MULTILINE)


def _is_changed(path: Path, when: int, size: int) -> bool:
    try:
        status = path.lstat()
    except OSError:
        return True
    return int(status.st_mtime) != when or status.st_size != size
