"""Node and OpenClaw that are installed on this machine, so that they need not be downloaded once more."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

NODE_SINCE = (24, 16)
"""OpenClaw 2026.9.6 needs this one."""

ANSWER_SECONDS = 30
_VERSION = re.compile(r"v(\d{1,4})\.(\d{1,4})\.\d{1,4}\s*\Z")


def node() -> Path | None:
    """The Node on PATH, if it runs and is new enough."""
    program = shutil.which("node")
    if program is None:
        return None
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = _VERSION.match(done.stdout)
    return Path(program) if version and tuple(map(int, version.groups())) >= NODE_SINCE else None


def npm() -> str | None:
    """The npm on PATH, for use with the Node there."""
    return shutil.which("npm")


def openclaw(version: str) -> Path | None:
    """The script of the OpenClaw on PATH, if that is an npm package of exactly this version."""
    program = shutil.which("openclaw")
    if program is None:
        return None
    script = Path(program).resolve()
    try:
        package = json.loads((script.parent / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    named = isinstance(package, dict) and (package.get("name"), package.get("version"))
    return script if named == ("openclaw", version) else None
