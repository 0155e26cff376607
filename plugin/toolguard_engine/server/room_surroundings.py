"""Looks on this machine for what a room is made from."""

from __future__ import annotations

import os
import pwd
import shutil
import site
import stat
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from toolguard_engine.containment import masked_sockets
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.model.call import Host
from toolguard_engine.stores import gateway_config

MAX_ENTRIES = 200
"""Of a folder of the gateway's state."""


def look(host: Host, environment: Mapping[str, str]) -> RoomPlaces:
    """Looks at what a room of this gateway's commands needs to know. What cannot be read is left out."""
    config, _ = gateway_config.whole(host.config_path or f"{host.state_dir}/openclaw.json")
    workspaces = [*_configured(config, host.home), *_folders(host.state_dir, "workspace")]
    uid = os.getuid()
    return RoomPlaces(
        host=host,
        workspaces=tuple(dict.fromkeys(workspaces)),
        agents=tuple(Path(folder).name for folder in _folders(f"{host.state_dir}/agents")),
        uid=uid,
        user=_user(uid),
        runtime=environment.get("XDG_RUNTIME_DIR", ""),
        environment={name: environment[name] for name in masked_sockets.VARIABLES if name in environment},
        runs_elsewhere=_runs_elsewhere(config),
        interpreters=tuple(_interpreters(uid)),
        packages=tuple(_packages(uid)),
    )


def _interpreters(uid: int) -> Iterator[str]:
    """What the guard and the gateway are started with at their next start, where the user could change it: Python, its
    library, its folder of the user's own packages, from which it loads code at its start, and Node."""
    paths = [os.path.realpath(sys.executable), _library()]
    with suppress(OSError):
        paths.append(os.readlink(f"/proc/{os.getppid()}/exe"))  # noqa: PTH115 - a text
    if site.ENABLE_USER_SITE:
        paths.append(site.getusersitepackages())
    yield from dict.fromkeys(path for path in paths if _belongs_to(uid, path))


def _packages(uid: int) -> Iterator[str]:
    """The library's packages that a virtual environment does not load: they may be those of other programs."""
    folder = f"{_library()}/site-packages"
    if sys.prefix != sys.base_prefix and _belongs_to(uid, folder):
        yield folder


def _library() -> str:
    return os.path.realpath(sysconfig.get_path("stdlib"))


def _belongs_to(uid: int, path: str) -> bool:
    try:
        return os.stat(path).st_uid == uid  # noqa: PTH116 - a text
    except (OSError, ValueError):
        return False


def is_trusted(name: str, host: Host, path: str | None = None) -> bool:
    """Whether the program of this name belongs to root, or is one of the gateway's or the guard's own."""
    program = shutil.which(name, path=path)
    if not program:
        return False
    real = os.path.realpath(program)
    own = (*host.code, *host.guarded)
    return any(f"{real}/".startswith(f"{os.path.realpath(folder)}/") for folder in own) or _is_of_root(real)


def _is_of_root(path: str) -> bool:
    try:
        status = Path(path).stat()
    except OSError:
        return False
    return status.st_uid == 0 and not status.st_mode & stat.S_IWOTH


def _configured(config: Any, home: str) -> Iterator[str]:
    """The workspaces that the gateway's config names."""
    agents = config.get("agents") if isinstance(config, dict) else None
    if not isinstance(agents, dict):
        return
    listed, named = agents.get("list"), agents.get("entries")
    entries = [agents.get("defaults"), *(listed if isinstance(listed, list) else ())]
    entries += named.values() if isinstance(named, dict) else ()
    for entry in islice(entries, MAX_ENTRIES):
        path = entry.get("workspace") if isinstance(entry, dict) else None
        if isinstance(path, str) and "\0" not in path:
            yield os.path.normpath(home + path[1:] if path.startswith("~/") else path)


def _runs_elsewhere(config: Any) -> bool:
    """Whether a host of commands or a sandbox stands in the config, or that cannot be read."""
    if not isinstance(config, dict):
        return True
    agents, tools = config.get("agents", {}), config.get("tools", {})
    listed, named = (agents.get("list", []), agents.get("entries", {})) if isinstance(agents, dict) else (None, None)
    if not (isinstance(listed, list) and isinstance(named, dict) and isinstance(tools, dict)):
        return True
    entries = [agents.get("defaults", {}), *listed, *named.values()]
    return len(entries) > MAX_ENTRIES or any(map(_is_sent_elsewhere, (*entries, {"tools": tools})))


def _is_sent_elsewhere(entry: Any) -> bool:
    """Reads the settings of an agent, or of all."""
    sandbox, tools = (entry.get(name, {}) if isinstance(entry, dict) else None for name in ("sandbox", "tools"))
    execution = tools.get("exec", {}) if isinstance(tools, dict) else None
    if not isinstance(sandbox, dict) or not isinstance(execution, dict):
        return True
    return sandbox.get("mode", "off") != "off" or execution.get("host", "auto") not in ("auto", "gateway")


def _folders(parent: str, prefix: str = "") -> list[str]:
    folders = []
    with suppress(OSError, ValueError), os.scandir(parent) as entries:
        folders = [entry.path for entry in islice(entries, MAX_ENTRIES) if entry.name.startswith(prefix) and entry.is_dir()]
    return sorted(folders)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
