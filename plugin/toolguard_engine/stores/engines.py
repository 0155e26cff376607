"""Who runs: each engine keeps one small file about itself while it lives, `<state dir>/toolguard/engines/<pid>.json`.

`status` and `doctor` read them. A file whose process is gone is moved to `last-engine.json`, so that what the last run
proved about the gateway is still known after a short `agent --local` run.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.stores import files

LAST = "last-engine.json"
MAX_BYTES = 1024 * 1024


class EngineInfo(msgspec.Struct, rename="camel"):
    """What an engine says about itself. Times are seconds since 1970. `namespaces`: those of users and of processes that it
    runs in; empty where the system has none."""

    pid: int
    gateway_pid: int
    gateway: str
    host: str
    version: str
    plugin: str
    started: float
    mode: str
    log_path: str
    config_error: str = ""
    log_error: str = ""
    judged: int = 0
    corrected: int = 0
    loops: int = 0
    stopped: int = 0
    held: int = 0
    blocked: int = 0
    approved: int = 0
    repeated: int = 0
    seams: dict[str, str] = {}
    namespaces: list[str] = []


def namespaces() -> list[str]:
    """Those of users and of processes that this process runs in."""
    try:
        return [os.readlink(f"/proc/self/ns/{kind}") for kind in ("user", "pid")]  # noqa: PTH115 - the text is no path
    except OSError:
        return []


def folder(state_dir: Path) -> Path:
    return files.own_folder(state_dir) / "engines"


def publish(state_dir: Path, info: EngineInfo) -> None:
    """Writes this engine's file. Raises `OSError`."""
    place = folder(state_dir)
    for made in (files.own_folder(state_dir), place):
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.replace(place / f"{info.pid}.json", msgspec.json.encode(info), durable=False)


def retire(state_dir: Path, pid: int) -> None:
    """This engine is gone: its file becomes the last known one."""
    path = folder(state_dir) / f"{pid}.json"
    with suppress(FileNotFoundError):  # two engines may sweep at once
        path.replace(files.own_folder(state_dir) / LAST)


def sweep(state_dir: Path) -> None:
    """Retires the files of engines that were killed, the newest last. Raises `OSError`."""
    found = {path: path.stat().st_mtime for path in folder(state_dir).glob("*.json") if path.exists()}
    for path in sorted(found, key=lambda path: found[path]):
        if path.stem.isdecimal() and not alive(int(path.stem)):
            retire(state_dir, int(path.stem))


def running(state_dir: Path) -> list[EngineInfo]:
    """The engines that live now."""
    found = [read(path) for path in sorted(folder(state_dir).glob("*.json"))]
    return [info for info in found if info and alive(info.pid)]


def noted(state_dir: Path) -> list[EngineInfo]:
    """All engines that are on record here, whether or not they live."""
    found = [read(path) for path in (*sorted(folder(state_dir).glob("*.json")), files.own_folder(state_dir) / LAST)]
    return [info for info in found if info]


def last(state_dir: Path) -> EngineInfo | None:
    """The engine that ended last, if its file is there and whole."""
    return read(files.own_folder(state_dir) / LAST)


def read(path: Path) -> EngineInfo | None:
    try:
        return msgspec.json.decode(files.read_bounded(path, MAX_BYTES), type=EngineInfo)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def unreadable(state_dir: Path) -> list[Path]:
    """What lies where engines tell about themselves, and tells nothing."""
    place = folder(state_dir)
    if os.path.lexists(place) and not (place.is_dir() and os.access(place, os.R_OK | os.W_OK | os.X_OK)):
        return [place]
    known = [*sorted(place.glob("*.json")), files.own_folder(state_dir) / LAST]
    return [path for path in known if read(path) is None and os.path.lexists(path)]


def alive(pid: int) -> bool:
    """Whether this process is an engine of ours that still runs."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return not Path("/proc/self").exists() and _signalled(pid)
    except OSError:
        return _signalled(pid)
    return b"toolguard_engine" in command


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def describe(info: EngineInfo) -> dict[str, Any]:
    """For `--json`: as it is on disk."""
    value: dict[str, Any] = msgspec.to_builtins(info)
    return value
