"""All `before_tool_call` hooks in their order of execution, as OpenClaw lists them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import Any

from toolguard_cli.doctor.check_types import Check, DoctorSubject, account
from toolguard_cli.system import subprocesses
from toolguard_cli.system.paths import PLUGIN_ID
from toolguard_engine.wording import printable

LIMIT_SECONDS = 120
MOST_WORDS = 200
UNKNOWN = {"guards": "unknown"}
HOOK = "before_tool_call"
ID = "hook-order"
ASK = ("plugins", "inspect", "--all", "--runtime", "--json")


def last(subject: DoctorSubject) -> Check:
    """Hooks run from the highest priority to the lowest, equal priorities in order of registration."""
    if subject.config is None or not subject.config.exists:
        return Check(ID, "warn", "unknown: there is no config that OpenClaw could load", "fix `config` first", UNKNOWN)
    if not subject.openclaw:
        return Check(ID, "warn", "unknown: no openclaw on PATH", "run this where the gateway's openclaw is on PATH", UNKNOWN)
    if subject.is_anothers:
        owner = account(subject.user)
        text = f"not checked: OpenClaw would write files owned by you into the state directory of {owner}"
        return Check(ID, "warn", text, f"sudo -u {shlex.quote(owner)} {subject.command('doctor')}", UNKNOWN)
    try:
        hooks = _hooks(_ask(subject))
    except (OSError, ValueError, RecursionError, subprocess.TimeoutExpired) as error:
        text = f"OpenClaw failed to list its hooks: {printable.plain(str(error))}"
        return Check(ID, "warn", text, f"openclaw {' '.join(ASK[:-1])}", UNKNOWN)
    data: dict[str, Any] = {"hooks": [{"plugin": plugin, "priority": priority} for plugin, priority in hooks]}
    order = ", then ".join(f"{plugin} ({priority})" for plugin, priority in hooks)
    ours = [index for index, (plugin, _) in enumerate(hooks) if plugin == PLUGIN_ID]
    if not ours:
        fix = subject.command("install")
        return Check(ID, "error", f"toolguard is not among the hooks: {order or 'there are none'}", fix, data)
    after = ", ".join(dict.fromkeys(plugin for plugin, _ in hooks[ours[-1] + 1 :]))
    if after:
        return Check(
            ID, "warn", f"{after} runs after the guard and can change calls that were judged: {order}",
            f"remove {after}, or raise the priority of its hook; until then, a changed call ends its run",
            {**data, "guards": "partly"},
        )  # fmt: skip
    return Check(ID, "ok", f"the guard runs last: {order}", data=data)


def _hooks(listed: Any) -> list[tuple[str, float]]:
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    hooks = [
        (_plugin(entry), _priority(hook))
        for entry in entries
        for hook in entry.get("typedHooks") or []
        if isinstance(hook, dict) and hook.get("name") == HOOK
    ]
    return sorted(hooks, key=lambda hook: -hook[1])


def _plugin(entry: dict[str, Any]) -> str:
    plugin = entry.get("plugin")
    return printable.plain(str(plugin.get("id", "?"))) if isinstance(plugin, dict) else "?"


def _priority(hook: dict[str, Any]) -> float:
    priority = hook.get("priority")
    return priority if isinstance(priority, int | float) else 0


def _ask(subject: DoctorSubject) -> Any:
    """Runs OpenClaw, which loads all plugins and opens its own database; takes some seconds."""
    places = subject.places
    where = {"OPENCLAW_STATE_DIR": str(places.state_dir), "OPENCLAW_CONFIG_PATH": str(places.config)}
    folder = places.state_dir if places.state_dir.is_dir() else None
    done = subprocesses.ask([*subject.openclaw, *ASK], LIMIT_SECONDS, cwd=folder, env={**os.environ, **where})
    start = done.output.find("[\n")
    if done.code != 0 or start < 0:
        raise ValueError(printable.cut(done.last_words, MOST_WORDS))
    return json.JSONDecoder().raw_decode(done.output[start:])[0]
