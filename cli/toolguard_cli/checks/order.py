"""Who else has a say on tool calls: all `before_tool_call` hooks in their order of execution, as OpenClaw lists them."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import Any

from toolguard_cli import children
from toolguard_cli.checks.check import Check, Subject, account
from toolguard_cli.paths import PLUGIN_ID
from toolguard_engine import answers

LIMIT_SECONDS = 120
MOST_WORDS = 200
HOOK = "before_tool_call"
ID = "hook-order"
ASK = ("plugins", "inspect", "--all", "--runtime", "--json")


def last(subject: Subject) -> Check:
    """Hooks run from the highest priority to the lowest, equal ones as they were registered."""
    if subject.config is None or not subject.config.exists:
        return Check(ID, "warn", "cannot be told: there is no config that OpenClaw could load", "mend `config` first")
    if not subject.openclaw:
        return Check(ID, "warn", "cannot be told: no openclaw on PATH", "run this where the gateway's openclaw is on PATH")
    if subject.is_anothers:
        owner = account(subject.user)
        told = f"OpenClaw is not asked: it would leave files of yours in the state of {owner}"
        return Check(ID, "warn", told, f"sudo -u {shlex.quote(owner)} {subject.command('doctor')}")
    try:
        hooks = _hooks(_ask(subject))
    except (OSError, ValueError, RecursionError, subprocess.TimeoutExpired) as error:
        return Check(
            ID, "warn", f"OpenClaw does not list its hooks: {answers.plain(str(error))}", f"openclaw {' '.join(ASK[:-1])}"
        )
    data = {"hooks": [{"plugin": plugin, "priority": priority} for plugin, priority in hooks]}
    told = ", then ".join(f"{plugin} ({priority})" for plugin, priority in hooks)
    ours = [index for index, (plugin, _) in enumerate(hooks) if plugin == PLUGIN_ID]
    if not ours:
        fix = subject.command("install")
        return Check(ID, "error", f"toolguard is not among the hooks: {told or 'there are none'}", fix, data)
    after = ", ".join(dict.fromkeys(plugin for plugin, _ in hooks[ours[-1] + 1 :]))
    if after:
        return Check(
            ID, "warn", f"{after} runs after the guard and can change what was judged: {told}",
            f"remove {after}, or raise the priority of its hook; until then changed calls end their run", data,
        )  # fmt: skip
    return Check(ID, "ok", f"the guard runs last: {told}", data=data)


def _hooks(listed: Any) -> list[tuple[str, float]]:
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    found = [
        (_plugin(entry), _priority(hook))
        for entry in entries
        for hook in entry.get("typedHooks") or []
        if isinstance(hook, dict) and hook.get("name") == HOOK
    ]
    return sorted(found, key=lambda hook: -hook[1])


def _plugin(entry: dict[str, Any]) -> str:
    plugin = entry.get("plugin")
    return answers.plain(str(plugin.get("id", "?"))) if isinstance(plugin, dict) else "?"


def _priority(hook: dict[str, Any]) -> float:
    found = hook.get("priority")
    return found if isinstance(found, int | float) else 0


def _ask(subject: Subject) -> Any:
    """Loads all plugins in a process of OpenClaw's own; takes some seconds. OpenClaw opens its own database for that."""
    places = subject.places
    where = {"OPENCLAW_STATE_DIR": str(places.state_dir), "OPENCLAW_CONFIG_PATH": str(places.config)}
    folder = places.state_dir if places.state_dir.is_dir() else None
    done = children.ask([*subject.openclaw, *ASK], LIMIT_SECONDS, cwd=folder, env={**os.environ, **where})
    start = done.output.find("[\n")
    if done.code != 0 or start < 0:
        raise ValueError(answers.cut(done.last_words, MOST_WORDS))
    return json.JSONDecoder().raw_decode(done.output[start:])[0]
