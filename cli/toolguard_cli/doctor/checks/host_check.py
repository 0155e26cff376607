"""Which OpenClaw is installed, and whether it calls the plugin's hooks."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolguard_cli.doctor.check_types import RESTART, Check, DoctorSubject
from toolguard_cli.doctor.read_once import json_object
from toolguard_cli.hostconfig.openclaw_check import MISSING
from toolguard_cli.system import subprocesses
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.engines import EngineInfo
from toolguard_engine.wording import printable

OLDEST = "2026.6.11"
SAY_SECONDS = 20
_VERSION = re.compile(r"\b\d{4}\.\d{1,2}\.\d{1,3}\b")
HAND = "npm install -g openclaw@latest"


def openclaw(subject: DoctorSubject) -> Check:
    """The version of OpenClaw, and whether the running gateway has the same."""
    version = known_version(subject)
    if not version:
        why = f"{subject.openclaw[0]} does not print its version" if subject.openclaw else "openclaw is not on PATH"
        fix = "openclaw gateway run, then try again" if subject.openclaw else MISSING
        return Check("openclaw", "warn", f"{why}, and no gateway has run with the plugin yet", fix)
    if numbers(version) < numbers(OLDEST):
        return Check("openclaw", "error", f"OpenClaw {version} is too old", f"{HAND} ({OLDEST} or later)")
    gateway = next((info.host for info in stores.engines(subject.places.state_dir).running() if info.host), version)
    if gateway != version:
        return Check(
            "openclaw", "warn", f"the gateway runs OpenClaw {printable.plain(gateway)}, but {version} is installed",
            RESTART,
        )  # fmt: skip
    return Check("openclaw", "ok", f"OpenClaw {version}", data={"version": version})


def known_version(subject: DoctorSubject) -> str:
    """The version that its package, its output or the last gateway reports; empty if unknown."""
    return installed_version(subject) or _printed_version(subject) or _seen_version(subject)


def installed_version(subject: DoctorSubject) -> str:
    return printable.plain(str(package(subject).get("version", "")))


def _printed_version(subject: DoctorSubject) -> str:
    """What `openclaw --version` prints, for wrappers whose package is not found."""
    if not subject.openclaw or subject.is_anothers:
        return ""
    try:
        output = subprocesses.ask([*subject.openclaw, "--version"], SAY_SECONDS).output
    except (OSError, ValueError, subprocess.TimeoutExpired, subprocesses.TooMuch):
        return ""
    match = _VERSION.search(output[:1000])
    return match[0] if match else ""


def package(subject: DoctorSubject) -> dict[str, Any]:
    """The `package.json` of this OpenClaw; empty if it is not found."""
    return next((manifest for word in subject.openclaw for manifest in _packages_above(Path(word).resolve())), {})


def _packages_above(program: Path) -> Iterator[dict[str, Any]]:
    packages = (json_object(folder / "package.json") for folder in program.parents)
    yield from (package for package in packages if package.get("name") == "openclaw")


def _seen_version(subject: DoctorSubject) -> str:
    return next((printable.plain(info.host) for info in _seen(subject) if info.host), "")


def _seen(subject: DoctorSubject) -> list[EngineInfo]:
    last = stores.engines(subject.places.state_dir).last()
    return [*stores.engines(subject.places.state_dir).running(), *([last] if last else [])]


def numbers(version: str) -> tuple[int, ...]:
    """`2026.6.11-beta.1` as (2026, 6, 11)."""
    parts = version.partition("-")[0].split(".")[:3]
    return tuple(int(part) for part in parts if part.isdecimal() and part.isascii())


def hooks(subject: DoctorSubject) -> Check:
    """What the last runs proved about the hooks of this OpenClaw."""
    info = next((info for info in _seen(subject) if info.seams.get("hooks", "unknown") != "unknown"), None)
    if info is None:
        return Check("hooks", "ok", "unproven yet; send the agent a message, or run `toolguard doctor --live`")
    host, data = printable.plain(info.host), {"seams": info.seams}
    if info.seams["hooks"] == "fails":
        return Check(
            "hooks",
            "error",
            f"NOT FULLY GUARDED: OpenClaw {host} loaded the plugin but did not call its hooks in the last run",
            "use a gateway run instead of `agent --local`, or a newer OpenClaw",
            data,
        )
    broken = [name for name, evidence in info.seams.items() if evidence == "fails"]
    if {"inPlaceText", "textTransform"} <= set(broken):
        return Check("hooks", "error", f"tool results cannot be corrected on OpenClaw {host}", HAND, data)
    if broken:
        return Check(
            "hooks", "warn", f"on OpenClaw {host}, these integration points do not work: {', '.join(broken)}", HAND, data
        )
    proved = [name for name, evidence in info.seams.items() if evidence == "works"]
    return Check("hooks", "ok", f"proved on OpenClaw {host}: {', '.join(proved)}", data=data)
