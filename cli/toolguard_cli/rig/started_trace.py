"""Traces the real gateway over a start, turns with commands, a reload of its config and a heartbeat.

The private home holds what the gateway may load or run: a plugin, hooks, skills, start files of the shell, and folders of
programs. The gateway runs without the guard, which would load files of its own.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolguard_cli.rig import downloads, scripted_model, syscall_trace
from toolguard_cli.rig.downloads import Program
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway, openclaw
from toolguard_cli.system.errors import UserError

PLANTED = "planted"
"""The name of the plugin, the hooks and the skills."""

START_SECONDS = 600
WAIT_SECONDS = 240
POLL_SECONDS = 0.1
PROGRAM_FOLDERS = (
    ".local/bin", "bin", ".bun/bin", ".npm-global/bin", ".local/share/pnpm", ".local/share/mise/shims", ".yarn/bin",
    ".volta/bin", ".asdf/shims", ".cargo/bin", ".deno/bin", "go/bin",
)  # fmt: skip
"""Folders in the home that people or the gateway put on the PATH. Only the first two are on the gateway's own."""

SHELL_FILES = (".bashrc", ".bash_profile", ".profile")
PROGRAMS = ("date", "ls", "git", "node")
COMMANDS = ("date", "ls; git status; node --version")
_MANIFEST = {"id": PLANTED, "name": PLANTED, "version": "1.0.0", "configSchema": {"type": "object", "properties": {}}}
_PACKAGE = {"name": PLANTED, "version": "1.0.0", "type": "module", "openclaw": {"extensions": ["./index.js"]}}
_PLUGIN = f"export default {{ id: '{PLANTED}', name: '{PLANTED}', register(api) {{}} }};\n"
_HOOK = f"""---
name: {PLANTED}
description: "Does nothing."
metadata: {{"openclaw": {{"events": ["command", "agent:bootstrap", "gateway:startup"]}}}}
---
"""
_HANDLER = "export default async function handler(event) {}\n"
_SKILL = "---\nname: {}\ndescription: Does nothing.\n---\n"


@dataclass(frozen=True)
class TracedPlaces:
    """The folders of a traced gateway. `start`: the one that it was started in."""

    home: Path
    state: Path
    workspace: Path
    start: Path
    temporary: Path
    package: Path


class TracedHome(Home):
    """The agent's workspace is not the folder that the gateway is started in, and the gateway knows a shell."""

    @property
    def agent_workspace(self) -> Path:
        return self.root / "work"

    def _config(self) -> dict[str, Any]:
        config = super()._config()
        config["agents"]["defaults"]["workspace"] = str(self.agent_workspace)
        return config

    @property
    def environment(self) -> dict[str, str]:
        before = super().environment
        path = os.pathsep.join([*(str(self.root / name) for name in PROGRAM_FOLDERS[:2]), before["PATH"]])
        return {**before, "PATH": path, "SHELL": "/bin/bash", "TMPDIR": str(self.temporary_dir)}


EXTRA: dict[str, Any] = {
    "hooks": {"internal": {"enabled": True}},
    "plugins": {"enabled": True, "allow": [PLANTED], "entries": {PLANTED: {"enabled": True}}},
}


def traced(real: downloads.Runtime) -> tuple[list[syscall_trace.FileAccess], TracedPlaces]:
    """What the gateway of this release looked for, opened and ran."""
    strace = shutil.which("strace")
    if strace is None:
        raise UserError("strace is not installed", "install it, for example with `apt install strace`")
    with scripted_model.ScriptedModel(scripted_model.sequence([])) as model, TracedHome(model.base_url, extra=EXTRA) as home:
        _plant(home)
        record = home.root / "trace"
        command = Program((strace, *syscall_trace.OPTIONS, "-o", str(record), *real.command()))
        with Gateway(command, home, within=START_SECONDS) as gateway:
            _use(gateway, model, real)
        with record.open(encoding="utf-8", errors="replace") as lines:
            accesses = list(syscall_trace.accesses(lines))
        return accesses, TracedPlaces(
            home.root, home.state_dir, home.agent_workspace, home.workspace_dir, home.temporary_dir,
            real.openclaw.parent.resolve(),
        )  # fmt: skip


def _plant(home: TracedHome) -> None:
    plugin = home.state_dir / "extensions" / PLANTED
    files = {
        **{home.root / name: "true\n" for name in SHELL_FILES},
        plugin / "openclaw.plugin.json": json.dumps(_MANIFEST),
        plugin / "package.json": json.dumps(_PACKAGE),
        plugin / "index.js": _PLUGIN,
        home.agent_workspace / "HEARTBEAT.md": "- Look around.\n",
        home.agent_workspace / "BOOT.md": "Say hello.\n",
    }
    for number, folder in enumerate((home.state_dir, home.agent_workspace)):
        files[folder / "hooks" / PLANTED / "HOOK.md"] = _HOOK
        files[folder / "hooks" / PLANTED / "handler.js"] = _HANDLER
        files[folder / "skills" / PLANTED / "SKILL.md"] = _SKILL.format(f"{PLANTED}-{number}")
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name in PROGRAM_FOLDERS:
        (home.root / name).mkdir(parents=True, exist_ok=True)


def _use(gateway: Gateway, model: scripted_model.ScriptedModel, real: downloads.Runtime) -> None:
    """Turns, a change of the config, and a heartbeat."""
    for command in COMMANDS:
        for more in ({}, {"pty": True}):
            _turn(gateway, model, scripted_model.call("exec", {"command": command, **more}))
    config = json.loads(gateway.home.config_path.read_text())
    config["agents"]["defaults"]["heartbeat"] = {"every": "1m"}
    gateway.home.config_path.write_text(json.dumps(config, indent=2))
    _wait(lambda: "[reload]" in gateway.log_text())
    model.play(scripted_model.sequence([]), "")
    openclaw(real, gateway.home, "system", "event", "--text", "look", "--mode", "now", "--token", gateway.home.token)
    _wait(lambda: bool(model.requests))


def _turn(gateway: Gateway, model: scripted_model.ScriptedModel, reply: scripted_model.Reply) -> None:
    marker = f"({secrets.token_hex(8)})"
    model.play(scripted_model.sequence([reply], "Done."), marker)
    turn = gateway.turn(f"go {marker}", "agent:main:traced")
    if not turn.ok or not model.requests[-1].texts("tool"):
        raise RuntimeError(f"the command did not run: {turn.output[:500]}")


def _wait(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > limit:
            raise RuntimeError("the gateway did not do in time what it was asked to")
        time.sleep(POLL_SECONDS)
