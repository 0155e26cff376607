"""Whether this Node is in the range that OpenClaw supports, according to its package or else its release.

Ranges have the syntax of npm: comparators side by side must all hold, and `||` separates alternatives.
"""

from __future__ import annotations

import operator
import os
import re
import shutil
import subprocess

from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_cli.doctor.checks.host_check import installed_version, numbers, package
from toolguard_cli.system import subprocesses
from toolguard_engine.wording.printable import plain

LIMIT_SECONDS = 10
RANGES = (
    ((2026, 9), ">=24.16.0 <25 || >=26.1.0"),
    ((2026, 8), ">=22.22.3 <23 || >=24.15.0 <25 || >=25.9.0"),
    ((0,), ">=22.19.0"),
)
"""The range since each release of OpenClaw, as published in its packages; the newest first."""
NEXT = RANGES[0][0]
"""Where no OpenClaw is installed, the newest is what will be."""

_COMPARATOR = re.compile(r"(>=|<=|>|<|=|)\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?")
_HOLDS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "=": operator.eq, "": operator.eq}


def recent(subject: DoctorSubject) -> Check:
    program = _program(subject)
    if program is None:
        return Check(
            "node", "warn", "no node on PATH", "install Node 24, unless the gateway has its own: https://nodejs.org"
        )
    try:
        done = subprocesses.ask([program, "--version"], LIMIT_SECONDS)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return Check("node", "warn", f"{program}: {error}", f"{program} --version")
    version, wanted = done.output.strip().lstrip("v")[:40], needed(subject)
    if not fits(version, wanted) and subject.openclaw and not package(subject):
        text = f"Node {plain(version)} is on PATH; {subject.openclaw[0]} may use a different one"
        return Check("node", "ok", text, data={"version": version})
    if not fits(version, wanted):
        program_name = f"OpenClaw {installed_version(subject)}".strip() if subject.openclaw else "the newest OpenClaw"
        text = f"Node {plain(version)} is not supported by {program_name}, which requires {wanted}"
        return Check("node", "warn", text, "install Node 24: https://nodejs.org")
    return Check("node", "ok", f"Node {version} ({os.path.realpath(program)})", data={"version": version})


def _program(subject: DoctorSubject) -> str | None:
    first = subject.openclaw[0] if subject.openclaw else ""
    return first if os.path.basename(first).startswith("node") else shutil.which("node")  # noqa: PTH119 - a word


def needed(subject: DoctorSubject) -> str:
    engines = package(subject).get("engines")
    named = engines.get("node") if isinstance(engines, dict) else None
    if isinstance(named, str) and re.fullmatch(r"[0-9.<>=| v]{1,200}", named):
        return named
    release = numbers(installed_version(subject)) if subject.openclaw else NEXT
    return next(wanted for since, wanted in RANGES if release >= since or since == (0,))


def fits(version: str, wanted: str) -> bool:
    version_numbers = numbers(version)
    return bool(version_numbers) and any(_all_hold(version_numbers, part) for part in wanted.split("||"))


def _all_hold(version: tuple[int, ...], comparators: str) -> bool:
    return all(
        _HOLDS[sign](version[: 3 if sign else len(_given(parts))], _filled(parts) if sign else _given(parts))
        for sign, *parts in _COMPARATOR.findall(comparators)
    )


def _given(parts: list[str]) -> tuple[int, ...]:
    return tuple(int(part) for part in parts if part)


def _filled(parts: list[str]) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in parts)
