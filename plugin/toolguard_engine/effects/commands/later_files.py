"""When a command runs files: at once, or at any time while it runs. `Walk` notes it, for programs that run on."""

from __future__ import annotations

MAX_SOUGHT = 200
"""Paths of which it is asked whether an agent made the file there."""

MAX_PATTERNS = 8
MAX_NAMED = 500
_READ_FIRST = (".json", ".toml", ".yaml", ".yml", ".lock", "akefile")
"""Files that describe a project: what runs from them has read them before it does anything."""


class LaterFiles:
    """What programs of one command may run later; paths are absolute."""

    __slots__ = (
        "_has_waited", "_may_wait", "again", "fed", "goes_on", "in_variables", "late", "lines", "loaded", "loops", "named",
        "sought",
    )  # fmt: skip

    def __init__(self) -> None:
        self.goes_on = False
        """Whether the command starts something that may outlive it."""
        self.loops = 0
        """Loops and watchers around the program that is being walked."""
        self._has_waited = False
        self._may_wait = False
        self.late: dict[str, None] = {}
        """The paths that may be read long after the command has begun."""
        self.lines: dict[str, None] = {}
        """Those that a shell reads line by line as it runs them."""
        self.again: dict[str, None] = {}
        """Those that are opened long after the command has begun, perhaps again and again."""
        self.fed: dict[str, str] = {}
        """The files whose text reaches a program that runs its input, changed by others on the way, and that program."""
        self.in_variables: dict[str, None] = {}
        """Files whose lines are in variables, as words of the command."""
        self.loaded: dict[str, str] = {}
        """Patterns of files that a program loads when it needs them, and the program that runs them then; empty if they are
        started by their own path."""
        self.named: dict[str, str] = {}
        """The paths of all scripts that are run by their names, and the program that runs each of them; empty where it is
        started by its own path."""
        self.sought: dict[str, None] = {}
        """The paths of files that are run if an agent made them."""

    def passes(self, *, is_instant: bool) -> None:
        """A program begins, after the one before it."""
        self._has_waited = self._has_waited or self._may_wait
        self._may_wait = not is_instant

    def reads(self, path: str, *, line_by_line: bool = False) -> None:
        """The program that is being walked runs a file."""
        if line_by_line:
            self.lines[path] = None
        if self.loops or self._has_waited:
            self.again[path] = None
        if line_by_line or self.loops or (self._has_waited and not path.endswith(_READ_FIRST)):
            self.late[path] = None

    def feeds(self, path: str, program: str) -> None:
        """A program runs what it is given of a file, as it is or not."""
        if path in self.fed or len(self.fed) < MAX_NAMED:
            self.fed.setdefault(path, program)
            self.late[path] = None
            self.lines[path] = None
            self.again[path] = None

    def may_load(self, pattern: str, runner: str) -> None:
        if pattern in self.loaded or len(self.loaded) < MAX_PATTERNS:
            self.loaded[pattern] = runner

    def runs(self, path: str, runner: str) -> None:
        if len(self.named) < MAX_NAMED:
            self.named.setdefault(path, runner)

    def seeks_all(self, paths: tuple[str, ...]) -> None:
        if len(self.sought) >= MAX_SOUGHT:
            return
        if len(self.sought) + len(paths) <= MAX_SOUGHT:
            self.sought.update(dict.fromkeys(paths))
        else:
            for path in paths:
                self.seeks(path)

    def seeks(self, path: str) -> None:
        if len(self.sought) < MAX_SOUGHT:
            self.sought[path] = None
