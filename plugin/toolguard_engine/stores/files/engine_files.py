"""Running engines: each keeps a small file about itself, `<state dir>/toolguard/engines/<pid>.json`.

`status` and `doctor` read them. The file of an ended process is moved to `last-engine.json`, so that its findings about the
gateway are still known after a short `agent --local` run. While the start of an engine takes long, the gateway part keeps
`<gateway pid>.starting` beside them (`plugin/gateway/start_watch.mjs`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from toolguard_engine.stores import atomic, disk, system_calls
from toolguard_engine.stores.engines import EngineInfo, EngineStart
from toolguard_engine.stores.state_files import LAST_ENGINE as LAST
from toolguard_engine.stores.state_files import UNDO

MAX_BYTES = 1024 * 1024
T = TypeVar("T")
STARTING = ".starting"


def folder(state_dir: Path) -> Path:
    return atomic.own_folder(state_dir) / "engines"


def publish(state_dir: Path, info: EngineInfo) -> None:
    """Writes this engine's file. Raises `OSError`."""
    place = folder(state_dir)
    for made in (atomic.own_folder(state_dir), place):
        disk.make_folder(made)
    atomic.replace(place / f"{info.pid}.json", msgspec.json.encode(info), durable=False)


def retire(state_dir: Path, pid: int) -> None:
    """This engine has ended: its file becomes the last one."""
    path = folder(state_dir) / f"{pid}.json"
    with suppress(FileNotFoundError):  # two engines may sweep at once
        disk.rename(path, atomic.own_folder(state_dir) / LAST)


def sweep(state_dir: Path) -> None:
    """Retires the files of engines that were killed, the newest last, and removes what killed processes left half written.
    Raises `OSError`."""
    own = atomic.own_folder(state_dir)
    inner = [place for place in own.glob("*/") if place.name != UNDO]  # that may have 100,000, and prunes itself
    atomic.clear_abandoned(state_dir, own, *(place for above in inner for place in above.glob("**/")))
    known = [path for path in atomic.listed(folder(state_dir), end=".json") if atomic.is_there(path)]
    files = {path: disk.look(path).st_mtime for path in known}
    for path in sorted(files, key=lambda path: files[path]):
        if path.stem.isdecimal() and not alive(int(path.stem)):
            retire(state_dir, int(path.stem))
    for path in atomic.listed(folder(state_dir), end=STARTING):
        if path.stem.isdecimal() and system_calls.command_line(int(path.stem)) == "":
            atomic.remove(path)


def starting(state_dir: Path) -> list[EngineStart]:
    """Starts that take long, also of gateways that were killed."""
    starts = [_read(path, EngineStart) for path in atomic.listed(folder(state_dir), end=STARTING)]
    return [start for start in starts if start]


def running(state_dir: Path) -> list[EngineInfo]:
    """The engines that run now."""
    return [info for info in unretired(state_dir) if alive(info.pid)]


def unretired(state_dir: Path) -> list[EngineInfo]:
    """Those that run, and those that were killed."""
    engines = [read(path) for path in atomic.listed(folder(state_dir), end=".json")]
    return [info for info in engines if info]


def noted(state_dir: Path) -> list[EngineInfo]:
    """All engines on record, whether or not they run."""
    engines = [read(path) for path in (*atomic.listed(folder(state_dir), end=".json"), atomic.own_folder(state_dir) / LAST)]
    return [info for info in engines if info]


def last(state_dir: Path) -> EngineInfo | None:
    """The engine that ended last, if its file can be read."""
    return read(atomic.own_folder(state_dir) / LAST)


def read(path: Path) -> EngineInfo | None:
    return _read(path, EngineInfo)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(atomic.read_bounded(path, MAX_BYTES), type=kind)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def unreadable(state_dir: Path) -> list[Path]:
    """Files of engines that cannot be read, or their folder."""
    place = folder(state_dir)
    if atomic.may_be_there(place) and not (atomic.is_folder(place) and os.access(place, os.R_OK | os.W_OK | os.X_OK)):
        return [place]
    known = [*atomic.listed(place, end=".json"), atomic.own_folder(state_dir) / LAST]
    return [path for path in known if read(path) is None and atomic.may_be_there(path)]


def alive(pid: int) -> bool:
    """Whether this process is a running engine. One that cannot be examined counts as alive."""
    command = system_calls.command_line(pid)
    return command is None or "toolguard_engine" in command


class EngineFiles:
    """The engines of one state directory, each in a file of its own."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def publish(self, info: EngineInfo) -> None:
        publish(self._state_dir, info)

    def retire(self, pid: int) -> None:
        retire(self._state_dir, pid)

    def sweep(self) -> None:
        sweep(self._state_dir)

    def running(self) -> list[EngineInfo]:
        return running(self._state_dir)

    def starting(self) -> list[EngineStart]:
        return starting(self._state_dir)

    def unretired(self) -> list[EngineInfo]:
        return unretired(self._state_dir)

    def noted(self) -> list[EngineInfo]:
        return noted(self._state_dir)

    def last(self) -> EngineInfo | None:
        return last(self._state_dir)

    def unreadable(self) -> list[Path]:
        return unreadable(self._state_dir)
