"""What an engine reports about itself."""

from __future__ import annotations

import os
from typing import Any

import msgspec


class EngineInfo(msgspec.Struct, rename="camel"):
    """Times are seconds since 1970. `namespaces`: its user and PID namespaces; empty if the system has none.
    `replaced`: that the package was replaced or removed since the engine started, and what to do. `published`: when this was
    written. `settings`: the digests of the settings in force that are not defaults (`settings.digests`)."""

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
    replaced: str = ""
    published: float = 0.0
    settings: dict[str, str] = {}


def describe(info: EngineInfo) -> dict[str, Any]:
    """For `--json`: as on disk."""
    value: dict[str, Any] = msgspec.to_builtins(info)
    return value


def namespaces() -> list[str]:
    """The user and PID namespaces of this process."""
    try:
        return [os.readlink(f"/proc/self/ns/{kind}") for kind in ("user", "pid")]  # noqa: PTH115 - the text is not a path
    except OSError:
        return []
