"""The rooms in which the commands of agents run: one for each set of rules, held by a process of its own.

A command enters a room with the script `enter`. Commands that run in a room keep it when its keeper, or the engine, ends.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from toolguard_engine.containment.rules import OUTSIDE, RoomRule, behind
from toolguard_engine.server import room_causes
from toolguard_engine.server.room_causes import RoomCause

KEEPER = Path(__file__).with_name("room_keeper.py").read_text("utf-8")
"""Run as text: the package may be replaced or removed while the engine runs."""
ENTER = Path(__file__).with_name("enter")
"""`enter PID SHELL [ARGUMENT]...`; run it with `/bin/sh`, an installation may lose the executable bit."""

MAX_ROOMS = 8
MAX_REPLY = 4096
MAX_PROBED = 200
READY_SECONDS = 2.0
"""Within which a keeper has made its room: it takes 10 to 30 ms of a processor."""
PROBE_SECONDS = 10.0

_NOBODY = 0
_OUTSIDE = -1
_PROBE = """
while [ $# -gt 1 ]; do
    case $1 in
        seen) [ -s "$2" ] && printf "can read %s\\n" "$2" ;;
        changed) [ -w "$2" ] && printf "can write to %s\\n" "$2" ;;
    esac
    shift 2
done
"""

RulesOf = Callable[[str], tuple[RoomRule, ...]]
Identities = tuple[tuple[int, int, int] | None, ...]


class RoomError(Exception):
    """A room could not be made; the text says why."""


class Rooms:
    """`rules_of`: the rules for an agent's commands; none: its commands run outside. `python`: runs the keepers."""

    def __init__(self, rules_of: RulesOf, python: str = sys.executable) -> None:
        self._rules_of = rules_of
        self._python = python
        self._keepers: OrderedDict[tuple[RoomRule, ...], _Keeper] = OrderedDict()
        self.cause: RoomCause | None = None
        """Why the last room could not be made; None if it could."""

    def entrance(self, agent: str, doors: frozenset[str] = frozenset()) -> int:
        """The process whose room the command enters; 0 if there can be none, -1 if the command runs outside."""
        rules = () if OUTSIDE in doors else behind(self._rules_of(agent), doors)
        if not rules:
            return _OUTSIDE
        keeper = self._keepers.get(rules)
        if keeper is None or not keeper.is_current():
            keeper = self._renewed(rules)
        if keeper is None:
            return _NOBODY
        self._keepers.move_to_end(rules)
        return keeper.pid

    def _renewed(self, rules: tuple[RoomRule, ...]) -> _Keeper | None:
        """A new room takes the place of one whose keeper is gone, or in which a rule does not hold any more."""
        with suppress(KeyError):
            self._keepers.pop(rules).close()
        if standing := room_causes.standing():
            self.cause = standing
            return None
        try:
            keeper = _Keeper(rules, self._python)
        except (RoomError, OSError) as error:
            self.cause = room_causes.of(str(error))
            return None
        self.cause = None
        self._keepers[rules] = keeper
        if len(self._keepers) > MAX_ROOMS:
            self._keepers.popitem(last=False)[1].close()
        return keeper

    def probe(self, agent: str = "") -> str:
        """What a command of this agent could still read or write although a rule denies it, or why there is no room; empty
        if the rules hold."""
        pid = self.entrance(agent)
        if pid == _OUTSIDE:
            return "commands are not contained"
        if pid == _NOBODY:
            return self.cause.text if self.cause else "there is no room"
        tried = [word for pair in islice(_denied(self._rules_of(agent)), MAX_PROBED) for word in pair]
        command = ["/bin/sh", str(ENTER), str(pid), "/bin/sh", "-c", _PROBE, "probe", *tried]
        try:
            done = subprocess.run(command, cwd="/", env={}, capture_output=True, timeout=PROBE_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"a command could not enter: {error}"
        found = (done.stdout or done.stderr).decode(errors="replace").splitlines()
        return found[0] if found else "" if done.returncode in (0, 1) else f"a command in it ended with {done.returncode}"

    def close(self) -> None:
        while self._keepers:
            self._keepers.popitem()[1].close()


class _Keeper:
    """A process that holds a room. Raises `RoomError` or `OSError` if there can be none."""

    def __init__(self, rules: tuple[RoomRule, ...], python: str) -> None:
        self._rules = rules
        self._seen = _identities(rules)
        self._process = subprocess.Popen(
            [python, "-I", "-S", "-c", KEEPER], cwd="/", env={}, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        )  # fmt: skip
        self.pid = self._process.pid
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        parts = [part for rule in self._rules for part in (rule.kind.encode(), os.fsencode(rule.path))]
        self._process.stdin.write(b"\0".join(parts) + b"\0\0")
        if not select.select([self._process.stdout], [], [], READY_SECONDS)[0]:
            raise RoomError("its keeper did not answer")
        reply = self._process.stdout.read(MAX_REPLY)
        if reply != b"ready\n":
            raise RoomError(reply.decode(errors="replace").strip() or "its keeper ended")

    def is_current(self) -> bool:
        """Whether the keeper lives, and its room is what the rules say: a mask is lost if what it lies on is replaced."""
        return self._process.poll() is None and _identities(self._rules) == self._seen

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.kill()
        self._process.wait()


def _identities(rules: tuple[RoomRule, ...]) -> Identities:
    return tuple([_identity(rule) for rule in rules])


def _identity(rule: RoomRule) -> tuple[int, int, int] | None:
    """Of a folder whose files are copied, also when that changed. The keeper has all of them open, so that no number comes
    to stand for another file."""
    try:
        found = os.stat(rule.path)  # noqa: PTH116 - for each rule at each command
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns if rule.kind == "own" else 0


def _denied(rules: tuple[RoomRule, ...]) -> Iterator[tuple[str, str]]:
    """What the rules deny of what exists: (`seen` or `changed`, path)."""
    for rule in rules:
        if rule.kind == "read-only":
            yield "changed", str(rule.path)
        elif rule.kind == "hide" and not rule.door:
            shown = [each.path for each in rules if each.kind in ("show", "read-only", "write")]
            yield from (("seen", str(path)) for path in _files(rule.path) if not _is_shown(path, shown))


def _files(path: Path) -> Iterator[Path]:
    """A file, or the files in a folder and in the folders in it."""
    if not path.is_dir():
        yield path
        return
    with suppress(OSError):
        for each in sorted(path.iterdir()):
            if each.is_file():
                yield each
            elif each.is_dir() and not each.is_symlink():
                yield from (inner for inner in sorted(each.iterdir()) if inner.is_file())


def _is_shown(path: Path, shown: list[Path]) -> bool:
    return any(path == each or each in path.parents for each in shown)
