"""The folder in which a call runs."""

from __future__ import annotations

from typing import Any

from toolguard_engine.effects.facts.places import Where
from toolguard_engine.model.call import Call, Host


def where_of(call: Call, params: dict[str, Any], host: Host) -> Where:
    """Where a call runs. `params`: those that may name a working directory."""
    folder = named_folder(params) or call.cwd
    if folder and call.cwd and not folder.startswith(("/", "~", "$")):
        folder = f"{call.cwd}/{folder}"
    return Where(host.home, folder, call.cwd, host.state_dir)


def named_folder(params: dict[str, Any]) -> str:
    """The working directory that the parameters name; empty if they name none. Of several that it may be, the last one."""
    given = params.get("workdir") or params.get("cwd")
    if isinstance(given, list) and given:
        given = given[-1]
    return given if isinstance(given, str) else ""
