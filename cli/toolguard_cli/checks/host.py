"""Which OpenClaw is here, and whether it really calls the plugin's hooks."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolguard_cli import children
from toolguard_cli.checks.check import RESTART, Check, Subject
from toolguard_cli.checks.reading import json_object
from toolguard_engine import answers
from toolguard_engine.stores import engines
from toolguard_engine.stores.engines import EngineInfo

OLDEST = "2026.6.11"
SAY_SECONDS = 20
_VERSION = re.compile(r"\b\d{4}\.\d{1,2}\.\d{1,3}\b")
HAND = "npm install -g openclaw@latest"


def openclaw(subject: Subject) -> Check:
    """From the program's own package, else from what the last engine was told by its gateway."""
    version = known_version(subject)
    if not version:
        why = f"{subject.openclaw[0]} does not tell its version" if subject.openclaw else "no openclaw on PATH"
        return Check(
            "openclaw", "warn", f"{why}, and no gateway has run with the plugin yet", "openclaw gateway run, then repeat"
        )
    if numbers(version) < numbers(OLDEST):
        return Check("openclaw", "error", f"OpenClaw {version} is too old", f"{HAND} ({OLDEST} or later)")
    gateway = next((info.host for info in engines.running(subject.places.state_dir) if info.host), version)
    if gateway != version:
        return Check(
            "openclaw", "warn", f"the gateway runs OpenClaw {answers.plain(gateway)}, installed is {version}",
            RESTART,
        )  # fmt: skip
    return Check("openclaw", "ok", f"OpenClaw {version}", data={"version": version})


def known_version(subject: Subject) -> str:
    """As it says itself, or as the last engine was told; empty where neither is known."""
    return installed_version(subject) or _told_version(subject) or _seen_version(subject)


def installed_version(subject: Subject) -> str:
    return answers.plain(str(package(subject).get("version", "")))


def _told_version(subject: Subject) -> str:
    """Of a wrapper that starts OpenClaw from somewhere: what it says of itself."""
    if not subject.openclaw or subject.is_anothers:
        return ""
    try:
        said = children.ask([*subject.openclaw, "--version"], SAY_SECONDS).output
    except (OSError, ValueError, subprocess.TimeoutExpired, children.TooMuch):
        return ""
    found = _VERSION.search(said[:1000])
    return found[0] if found else ""


def package(subject: Subject) -> dict[str, Any]:
    """The `package.json` of the OpenClaw that is started here; empty where it cannot be found."""
    return next((found for word in subject.openclaw for found in _packages_above(Path(word).resolve())), {})


def _packages_above(program: Path) -> Iterator[dict[str, Any]]:
    found = (json_object(folder / "package.json") for folder in program.parents)
    yield from (each for each in found if each.get("name") == "openclaw")


def _seen_version(subject: Subject) -> str:
    return next((answers.plain(info.host) for info in _seen(subject) if info.host), "")


def _seen(subject: Subject) -> list[EngineInfo]:
    """The engines that run, and the one that ended last."""
    last = engines.last(subject.places.state_dir)
    return [*engines.running(subject.places.state_dir), *([last] if last else [])]


def numbers(version: str) -> tuple[int, ...]:
    """`2026.6.11-beta.1` as (2026, 6, 11)."""
    parts = version.partition("-")[0].split(".")[:3]
    return tuple(int(part) for part in parts if part.isdecimal() and part.isascii())


def hooks(subject: Subject) -> Check:
    """What the last runs proved about this OpenClaw."""
    info = next((info for info in _seen(subject) if info.seams.get("hooks", "unknown") != "unknown"), None)
    if info is None:
        return Check("hooks", "ok", "not proved yet: a message to the agent does, or toolguard doctor --live")
    host, data = answers.plain(info.host), {"seams": info.seams}
    if info.seams["hooks"] == "fails":
        return Check(
            "hooks",
            "error",
            f"NOT FULLY GUARDED: OpenClaw {host} loads the plugin but did not call its hooks in the last run",
            "use a gateway run instead of `agent --local`, or a newer OpenClaw",
            data,
        )
    broken = [name for name, evidence in info.seams.items() if evidence == "fails"]
    if {"inPlaceText", "textTransform"} <= set(broken):
        return Check("hooks", "error", f"no way to correct a tool result works on OpenClaw {host}", HAND, data)
    if broken:
        return Check("hooks", "warn", f"on OpenClaw {host} these ways do not work: {', '.join(broken)}", HAND, data)
    proved = [name for name, evidence in info.seams.items() if evidence == "works"]
    return Check("hooks", "ok", f"proved on OpenClaw {host}: {', '.join(proved)}", data=data)
