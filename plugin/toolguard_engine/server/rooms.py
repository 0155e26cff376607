"""The rooms in which the commands of agents run: one for each set of rules, held by a process of its own.

A command enters a room with the script `enter`. Commands that run in a room keep it when its keeper, or the engine, ends.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from toolguard_engine.containment.rules import OUTSIDE, RoomRule, behind
from toolguard_engine.server import room_causes, sandbox_profiles
from toolguard_engine.server.room_causes import RoomCause
from toolguard_engine.server.room_watch import RoomWatch
from toolguard_engine.server.sandbox_profiles import SandboxProfile
from toolguard_engine.stores import system_calls

KEEPER = Path(__file__).with_name("room_keeper.py").read_text("utf-8")
"""Run as text: the package may be replaced or removed while the engine runs."""
ENTER = Path(__file__).with_name("enter")
"""`enter [--wdns] PID SHELL [ARGUMENT]...`; run it with `/bin/sh`, an installation may lose the executable bit."""

IS_MACOS = system_calls.NAME == "darwin"
MAX_ROOMS = 8
MAX_RETIRED = 2
MAX_KNOWN = 100
"""Sets of doors whose rules are remembered."""
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
        seen) [ -f "$2" ] && [ -s "$2" ] && { command : < "$2"; } 2> /dev/null && printf "can read %s\\n" "$2" ;;
        changed) [ -w "$2" ] && printf "can write to %s\\n" "$2" ;;
    esac
    shift 2
done
"""

RulesOf = Callable[[str], tuple[RoomRule, ...]]


class _Held(NamedTuple):
    """The rules `of` an agent, those that hold for a command, and the number of these."""

    of: tuple[RoomRule, ...]
    rules: tuple[RoomRule, ...]
    number: int


class RoomError(Exception):
    """A room could not be made; the text says why."""


class Rooms:
    """`rules_of`: the rules for an agent's commands; none: its commands run outside. `python`: runs the keepers."""

    def __init__(self, rules_of: RulesOf, folder: Path | None = None, python: str = sys.executable) -> None:
        """`folder`: where profiles lie, on macOS."""
        self._rules_of = rules_of
        self._folder = folder if IS_MACOS else None
        self._python = python
        self._held: dict[tuple[str, frozenset[str]], _Held] = {}
        self._keepers: OrderedDict[int, _Keeper | SandboxProfile] = OrderedDict()
        """By the number of their rules in `_numbers`, as to compare all rules takes too long for each command."""
        self._numbers: dict[tuple[RoomRule, ...], int] = {}
        self._retired: deque[_Keeper | SandboxProfile] = deque()
        self.cause: RoomCause | None = None
        """Why the last room could not be made; None if it could."""

    def entrance(self, agent: str, doors: frozenset[str] = frozenset()) -> int:
        """The process whose room the command enters; 0 if there can be none, -1 if the command runs outside."""
        held = None if OUTSIDE in doors else self._behind(agent, doors)
        if held is None or not held.rules:
            return _OUTSIDE
        keeper = self._keepers.get(held.number)
        if keeper is None or not keeper.is_current():
            keeper = self._renewed(held)
        if keeper is None:
            return _NOBODY
        self._keepers.move_to_end(held.number)
        return keeper.pid

    def _behind(self, agent: str, doors: frozenset[str]) -> _Held:
        """What holds of an agent's rules with these doors. Worked out once for each object that `rules_of` returns."""
        rules = self._rules_of(agent)
        known = self._held.get((agent, doors))
        if known is None or known.of is not rules:
            if len(self._held) >= MAX_KNOWN or len(self._numbers) >= MAX_KNOWN:
                self._forget()
            held = behind(rules, doors)
            known = _Held(rules, held, self._numbers.setdefault(held, len(self._numbers)))
            self._held[agent, doors] = known
        return known

    def _renewed(self, held: _Held) -> _Keeper | SandboxProfile | None:
        """A new room takes the place of one whose keeper is gone, or in which a rule does not hold any more."""
        self._retire(self._keepers.pop(held.number, None))
        if standing := room_causes.standing():
            self.cause = standing
            return None
        try:
            keeper = SandboxProfile(held.rules, self._folder) if self._folder else _Keeper(held.rules, self._python)
        except (RoomError, OSError) as error:
            self.cause = room_causes.identify(str(error))
            return None
        self.cause = None
        self._keepers[held.number] = keeper
        if len(self._keepers) > MAX_ROOMS:
            self._retire(self._keepers.popitem(last=False)[1])
        return keeper

    def _retire(self, keeper: _Keeper | SandboxProfile | None) -> None:
        """Ends it later: a command that was told its room may not have entered yet."""
        if keeper is not None:
            self._retired.append(keeper)
        while len(self._retired) > MAX_RETIRED:
            self._retired.popleft().close()

    def proven(self, agent: str, doors: frozenset[str]) -> int:
        """The same as `entrance` for a room in which a probe could do nothing that the rules deny; else 0 or -1."""
        pid = self.entrance(agent, doors)
        keeper = self._keepers.get(self._behind(agent, doors).number) if pid > 0 else None
        if keeper is None:
            return min(pid, 0)
        if keeper.is_proven is None:
            keeper.is_proven = not self.probe(agent, doors)
        return pid if keeper.is_proven else _NOBODY

    def probe(self, agent: str = "", doors: frozenset[str] = frozenset()) -> str:
        """What a command of this agent could still read or write although a rule denies it, or why there is no room; empty
        if the rules hold."""
        pid = self.entrance(agent, doors)
        if pid == _OUTSIDE:
            return "commands are not contained"
        if pid == _NOBODY:
            return self.cause.text if self.cause else "there is no room"
        tried = [word for pair in islice(_denied(self._behind(agent, doors).rules), MAX_PROBED) for word in pair]
        command = [*self.entering(pid), "/bin/sh", "-c", _PROBE, "probe", *tried]
        try:
            done = subprocess.run(command, cwd="/", env={}, capture_output=True, timeout=PROBE_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"a command could not enter: {error}"
        lines = (done.stdout or done.stderr).decode(errors="replace").splitlines()
        return lines[0] if lines else "" if done.returncode in (0, 1) else f"a command in it ended with {done.returncode}"

    def entering(self, pid: int) -> list[str]:
        """What stands before a command that runs in this room."""
        if self._folder:
            return [sandbox_profiles.PROGRAM, "-f", str(sandbox_profiles.file_of(self._folder, pid))]
        return ["/bin/sh", str(ENTER), str(pid)]

    def _forget(self) -> None:
        while self._keepers:
            self._retire(self._keepers.popitem(last=False)[1])
        self._held.clear()
        self._numbers.clear()

    def close(self) -> None:
        """Ends all keepers. Commands that run keep their rooms, and the next one makes a new one."""
        self._forget()
        while self._retired:
            self._retired.popleft().close()


class _Keeper:
    """A process that holds a room. Raises `RoomError` or `OSError` if there can be none."""

    def __init__(self, rules: tuple[RoomRule, ...], python: str) -> None:
        self._rules = rules
        self._watch = RoomWatch(rules)
        self._process = subprocess.Popen(
            [python, "-I", "-S", "-c", KEEPER], cwd="/", env={}, start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
        )  # fmt: skip
        self.pid = self._process.pid
        self.is_proven: bool | None = None
        """Whether a probe in it could do nothing that the rules deny; None if none has tried."""
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
        return self._process.poll() is None and self._watch.is_current()

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._process.kill()
        self._process.wait()


def _denied(rules: tuple[RoomRule, ...]) -> Iterator[tuple[str, str]]:
    """What the rules deny of what exists: (`seen` or `changed`, path)."""
    for rule in rules:
        if rule.kind == "read-only":
            yield "changed", str(rule.path)
        elif rule.kind == "hide" and not rule.door:
            shown = [own_rule.path for own_rule in rules if own_rule.kind in ("show", "read-only", "write")]
            yield from (("seen", str(path)) for path in _files(rule.path) if not _is_shown(path, shown))


def _files(path: Path) -> Iterator[Path]:
    """A file, or the files in a folder and in the folders in it."""
    yield path
    for entry in _entries(path):
        yield entry
        if not entry.is_symlink():
            yield from _entries(entry)


def _entries(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.iterdir())[:MAX_PROBED]
    return []


def _is_shown(path: Path, shown: list[Path]) -> bool:
    return any(path == folder or folder in path.parents for folder in shown)
