"""Who else has a say on tool calls: all `before_tool_call` hooks in their order of execution, as OpenClaw lists them."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from toolguard_cli.checks.check import Check, Subject
from toolguard_cli.paths import PLUGIN_ID

LIMIT_SECONDS = 60
HOOK = "before_tool_call"
ID = "hook-order"


def last(subject: Subject) -> Check:
    """Hooks run from the highest priority to the lowest, equal ones as they were registered."""
    if not subject.openclaw:
        return Check(ID, "warn", "cannot be told: no openclaw on PATH", "run this where the gateway's openclaw is on PATH")
    try:
        hooks = _hooks(subject)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return Check(ID, "warn", f"OpenClaw does not list its hooks: {error}", "openclaw plugins inspect --all --runtime")
    told = ", then ".join(f"{plugin} ({priority})" for plugin, priority in hooks)
    ours = [index for index, (plugin, _) in enumerate(hooks) if plugin == PLUGIN_ID]
    if not ours:
        return Check(ID, "error", f"toolguard is not among the hooks: {told or 'there are none'}", "toolguard install")
    after = ", ".join(plugin for plugin, _ in hooks[ours[-1] + 1 :])
    if after:
        return Check(
            ID, "error", f"{after} runs after the guard and can change what was judged: {told}",
            f"remove {after}, or raise the priority of its hook; until then changed calls end their run",
        )  # fmt: skip
    return Check(ID, "ok", f"the guard runs last: {told}")


def _hooks(subject: Subject) -> list[tuple[str, int]]:
    listed = _ask(subject)
    found = [
        (str(entry.get("plugin", {}).get("id", "?")), int(hook.get("priority", 0)))
        for entry in listed
        for hook in entry.get("typedHooks", [])
        if hook.get("name") == HOOK
    ]
    return sorted(found, key=lambda hook: -hook[1])


def _ask(subject: Subject) -> list[dict[str, Any]]:
    """Loads all plugins in a process of OpenClaw's own; takes some seconds."""
    places = subject.places
    where = {"OPENCLAW_STATE_DIR": str(places.state_dir), "OPENCLAW_CONFIG_PATH": str(places.config)}
    command = [*subject.openclaw, "plugins", "inspect", "--all", "--runtime", "--json"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, env={**os.environ, **where}
    )
    start = done.stdout.find("[\n")
    if done.returncode != 0 or start < 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise ValueError(words[-1][:200] if words else f"it ended with code {done.returncode}")
    found: list[dict[str, Any]] = json.loads(done.stdout[start:])
    return found
