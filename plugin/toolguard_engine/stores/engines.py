"""What an engine reports about itself."""

from __future__ import annotations

from typing import Any

import msgspec


class EngineInfo(msgspec.Struct, rename="camel"):
    """Times are seconds since 1970. `namespaces`: its user and PID namespaces; empty if the system has none.
    `replaced`: that the package was replaced or removed since the engine started, and what to do. `published`: when this was
    written. `settings`: the digests of the settings in force that are not defaults (`settings.digests`). `contained`:
    commands are, as a probe has shown; `uncontained`: why they are not although they should be, with `way_out`.
    `unrehearsed`: why commands cannot be rehearsed although they should be."""

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
    contained: bool = False
    uncontained: str = ""
    way_out: str = ""
    unrehearsed: str = ""


class EngineStart(msgspec.Struct, rename="camel"):
    """An engine that takes long to start, as the gateway part reports it. `since`: when the first attempt began, in seconds
    since 1970. `failed`: attempts that took too long and were ended. `works`: the engine says that it works. `limit`: the
    seconds that this attempt may take."""

    gateway_pid: int
    since: float
    failed: int = 0
    works: bool = False
    limit: float = 0.0


def describe(info: EngineInfo) -> dict[str, Any]:
    """Describes an engine for `--json`, as on disk."""
    value: dict[str, Any] = msgspec.to_builtins(info)
    return value
