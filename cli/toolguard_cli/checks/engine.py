"""Does the engine start with the interpreter that the gateway part will use, and does it answer."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import msgspec

from toolguard_cli.checks.check import Check, Subject
from toolguard_cli.paths import PLUGIN_ID
from toolguard_engine import protocol

LIMIT_SECONDS = 5
ARGUMENTS = ("-P", "-E", "-m", "toolguard_engine")


def interpreter(subject: Subject) -> tuple[str, str]:
    """As the gateway part finds it (plugin/gateway/command.mjs), and what to do where it does not work."""
    named = subject.settings.python
    if named is not msgspec.UNSET:
        return named, f"mend plugins.entries.{PLUGIN_ID}.config.python, or remove it there"
    recorded = subject.record.python if subject.record else ""
    return recorded or "python3", "toolguard install (it records the Python that runs it)"


def answers(subject: Subject) -> Check:
    python, mend = interpreter(subject)
    if shutil.which(python) is None:
        return Check("engine", "error", f"{python} is not there", mend)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="toolguard-doctor-") as scratch:
        problem = _ask(python, scratch)
    if problem:
        return Check("engine", "error", f"{python}: {problem}", mend)
    return Check("engine", "ok", f"{python} answered after {(time.monotonic() - started) * 1000:.0f} ms")


def _ask(python: str, scratch: str) -> str:
    """Why the engine did not answer as it should; empty where it did. It writes only below `scratch`."""
    questions = [
        {"id": 0, "type": "hello", "v": protocol.VERSION, "stateDir": scratch},
        {"id": 1, "type": "judge", "tool": "read", "params": {"path": "a"}},
    ]
    lines = b"".join(msgspec.json.encode(question) + b"\n" for question in questions)
    try:
        done = subprocess.run(
            [python, *ARGUMENTS], input=lines, capture_output=True, timeout=LIMIT_SECONDS, check=False, cwd=scratch
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {LIMIT_SECONDS} s"
    except OSError as error:
        return str(error)
    if b'"type":"ready"' in done.stdout and b'"decision":"allow"' in done.stdout:
        return ""
    words = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
    return words[-1] if words else f"it ended with code {done.returncode} and said nothing"


def scratch_free(path: Path) -> bool:
    """Whether a file can be made in this folder, or in the nearest one above that exists."""
    while not path.exists() and path != path.parent:
        path = path.parent
    return os.access(path, os.W_OK | os.X_OK)
