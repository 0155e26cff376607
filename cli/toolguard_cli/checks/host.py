"""Which OpenClaw and which Node are here, and whether that OpenClaw really calls the plugin's hooks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from toolguard_cli.checks.check import Check, Subject
from toolguard_engine.stores import engines

OLDEST = (2026, 6, 11)
NODE_OLDEST = (22, 19)
NODE_LIMIT_SECONDS = 10


def openclaw(subject: Subject) -> Check:
    """From the program on PATH, else from what the last engine was told by its gateway."""
    version = _installed_version() or _seen_version(subject)
    if not version:
        program = shutil.which("openclaw")
        why = f"{program} does not tell its version" if program else "no openclaw on PATH"
        return Check("openclaw", "warn", f"{why}, and no gateway has run with the plugin yet", "start the gateway")
    if _numbers(version) < OLDEST:
        return Check("openclaw", "error", f"OpenClaw {version} is too old", "update OpenClaw to 2026.6.11 or later")
    return Check("openclaw", "ok", f"OpenClaw {version}")


def _installed_version() -> str:
    program = shutil.which("openclaw")
    for folder in Path(program).resolve().parents if program else ():
        try:
            package = json.loads((folder / "package.json").read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(package, dict) and package.get("name") == "openclaw":
            return str(package.get("version", ""))
    return ""


def _seen_version(subject: Subject) -> str:
    seen = [*engines.running(subject.places.state_dir), engines.last(subject.places.state_dir)]
    return next((info.host for info in seen if info and info.host), "")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def node(subject: Subject) -> Check:  # noqa: ARG001 - every check has this shape
    program = shutil.which("node")
    if program is None:
        return Check("node", "warn", "no node on PATH", "nothing, if the gateway brings its own Node")
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=NODE_LIMIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("node", "warn", f"{program}: {error}", "check that Node runs")
    version = done.stdout.strip().lstrip("v")
    if _numbers(version)[:2] < NODE_OLDEST:
        return Check("node", "warn", f"Node {version} on PATH is too old for OpenClaw", "install Node 24")
    return Check("node", "ok", f"Node {version} ({os.path.realpath(program)})")


def hooks(subject: Subject) -> Check:
    """What the last runs proved about this OpenClaw."""
    seen = [*engines.running(subject.places.state_dir), engines.last(subject.places.state_dir)]
    info = next((info for info in seen if info and info.seams.get("hooks", "unknown") != "unknown"), None)
    if info is None:
        return Check("hooks", "ok", "not proved yet: send the agent a message, then run this again")
    if info.seams["hooks"] == "fails":
        return Check(
            "hooks",
            "error",
            f"NOT FULLY GUARDED: OpenClaw {info.host} loads the plugin but did not call its hooks in the last run",
            "use a gateway run instead of `agent --local`, or a newer OpenClaw",
        )
    broken = [name for name, evidence in info.seams.items() if evidence == "fails"]
    if {"inPlaceText", "textTransform"} <= set(broken):
        return Check("hooks", "error", f"no way to correct a tool result works on OpenClaw {info.host}", "update OpenClaw")
    if broken:
        return Check(
            "hooks", "warn", f"on OpenClaw {info.host} these ways do not work: {', '.join(broken)}", "update OpenClaw"
        )
    proved = [name for name, evidence in info.seams.items() if evidence == "works"]
    return Check("hooks", "ok", f"proved on OpenClaw {info.host}: {', '.join(proved)}")
