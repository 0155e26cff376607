"""The folder in which a call runs."""

from __future__ import annotations

from typing import Any

from toolguard_engine.effects.shell.places import Where
from toolguard_engine.model.call import Call, Host


def where_of(call: Call, params: dict[str, Any], host: Host) -> Where:
    """Where a call runs. `params`: those that may name a working directory."""
    given = params.get("workdir") or params.get("cwd")
    folder = given if isinstance(given, str) else call.cwd
    if folder and call.cwd and not folder.startswith(("/", "~", "$")):
        folder = f"{call.cwd}/{folder}"
    return Where(host.home, folder, call.cwd, host.state_dir)
