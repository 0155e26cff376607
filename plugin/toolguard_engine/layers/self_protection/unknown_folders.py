"""Which folders the unknown words of a command may mean, for what would land there.

A variable that the command never sets is probably empty; what a program reads in a file may be anything.
"""

from __future__ import annotations

from functools import cached_property

from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.programs.file_readers import found_in
from toolguard_engine.layers.self_protection.scene import MAX_FOLDERS, CommandScene, resolved

UNDECIDED = frozenset({"git", "patch"})
"""What they put in a folder is decided by a repository or a patch."""


class UnknownFolders:
    """The unknown folders of one command, each of which is judged once."""

    def __init__(self, scene: CommandScene) -> None:
        self._scene = scene

    def of_run(self, run: ProgramRun) -> list[str]:
        """The folder that it runs in, and those that may be if unknown words of `cd` are empty."""
        folders = [self._scene.here(run)]
        if run.via[-1:] == ("find",):
            folders += self._searched
        if UNKNOWN not in run.cwd:
            return folders
        is_read = self._enters_any and run.name not in UNDECIDED
        words = [*self._entered, *(["~", self._scene.protected.state] if is_read else [])]
        if run.cwd.strip(UNKNOWN):
            words = [run.cwd] if words or run.name not in UNDECIDED else []
        return folders + [self._resolved(word.replace(UNKNOWN, "") or "~") for word in words[:MAX_FOLDERS]]

    def may_be_any(self, folder: str, run: ProgramRun) -> bool:
        """Whether a folder of which nothing is known may be one above a protected place: the root, if variables that were
        never set are empty, or what another program reads somewhere. One that was just made, or is listed, is not."""
        if UNKNOWN not in folder or folder.strip(f"{UNKNOWN}/."):
            return False
        if run.unset:
            return "/" in folder
        feeds = [feed for at, feed in run.given if folder in run.argv[at]]
        if feeds:
            return any(not _PRINT_NEW.issuperset(feed.programs) for feed in feeds)
        return self._reads_any

    def _resolved(self, word: str) -> str:
        return resolved(word, self._scene.host, self._scene.start)

    @cached_property
    def _entered(self) -> list[str]:
        """The words of `cd` that have variables which were never set."""
        runs = (run for run in self._scene.runs if run.name in _ENTERS)
        return [run.argv[at] for run in runs for at in run.unset if run.argv[at:]][:MAX_FOLDERS]

    @cached_property
    def _enters_any(self) -> bool:
        """Whether `cd` is given what a program reads somewhere."""
        feeds = (feed for run in self._scene.runs if run.name in _ENTERS for _, feed in run.given)
        return any(not _PRINT_OWN.issuperset(feed.programs) for feed in feeds)

    @cached_property
    def _reads_any(self) -> bool:
        return any(map(_tells, self._scene.runs))

    @cached_property
    def _searched(self) -> list[str]:
        """The folders whose files `find -execdir` runs a program beside."""
        finds = [run for run in self._scene.runs if run.name == "find" and run.words.has("-execdir", "-okdir")]
        words = [word for run in finds for word in found_in(run)[0]]
        return [self._resolved(word) for word in words[:MAX_FOLDERS] if UNKNOWN not in word]


_ENTERS = frozenset({"cd", "pushd"})


def _tells(run: ProgramRun) -> bool:
    """Whether what it prints, or reads into variables, may be any text: of a file, of code, of another machine."""
    if run.name in _READ:
        fed = run.stdin is not None and bool(run.stdin.files)
        return fed or any(redirect.kind == "read" for redirect in run.redirects)
    if run.name == "xargs" and run.words.has("--arg-file"):
        return True
    if run.name in _LIST or not (run.piped or "$()" in run.via):
        return False
    return run.name not in _PASS_ON or run.stdin is None


_READ = frozenset({"read", "mapfile", "readarray"})
_LIST = frozenset(
    {"ls", "find", "fd", "seq", "echo", "printf", "mktemp", "mkdir", "git", "dirname", "pwd", "cd", "xargs", "nproc"}
)
_PASS_ON = frozenset({"grep", "sort", "uniq", "head", "tail", "tr", "cut", "wc", "sed", "awk", "tac", "shuf"})
"""Programs that print lines of their input, if they have one."""

_PRINT_NEW = frozenset({"mktemp", "mkdir"})
"""Programs that print the path of a folder that they make."""

_PRINT_OWN = _PRINT_NEW | {"git", "dirname", "pwd", "cd", "npm", "pnpm", "yarn", "brew", "go"}
"""Those that usually print a folder of the project."""
