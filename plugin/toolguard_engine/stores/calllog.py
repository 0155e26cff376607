"""The log of malformed calls: one JSON line each, with the model that made it.

Lines are appended with one `write` each, so that several gateways can share the file. At `MAX_BYTES` the file becomes
`<name>.1` and a new one begins.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine import redact
from toolguard_engine.guard import Refusal
from toolguard_engine.model import Problem

MAX_BYTES = 20 * 1024 * 1024
HOME_STATE = "~/.openclaw/"

# What the id of a call tells about its origin where the message names no model (documented by the providers).
ID_PREFIXES = {"call_": "openai-compatible", "toolu_": "anthropic"}


def resolve(log_path: str, state_dir: Path) -> Path:
    """Where the log is. `~/.openclaw/` stands for the state directory, wherever that is; `~` for the home."""
    if log_path.startswith(HOME_STATE):
        return state_dir / log_path.removeprefix(HOME_STATE)
    try:
        path = Path(log_path).expanduser()
    except RuntimeError:  # `~name` of a user that does not exist
        path = Path(log_path)
    return path if path.is_absolute() else state_dir / path


def record(refusal: Refusal, now: datetime, gateway: str, provider: str, model: str, *, shadow: bool) -> dict[str, Any]:
    """The line as a value. Every text in it is redacted and bounded."""
    call, failure = refusal.call, refusal.failure
    action = refusal.correction.action
    return {
        "time": now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "gateway": _plain(gateway),
        "agent": _plain(call.agent),
        "session": _plain(call.session),
        "run": _plain(call.run),
        "provider": _plain(provider) or _inferred(call.call_id),
        "model": _plain(model) or "unknown",
        "tool": _plain(call.tool),
        "callId": _plain(call.call_id),
        "arguments": redact.redact(call.params),
        "error": failure.error,
        "problems": [_problem(problem) for problem in failure.problems],
        "action": f"would-be-{action}" if shadow else action,
    }


def _plain(text: str) -> str:
    """Printable, without secrets, bounded: a model may name a tool as it likes, and a person reads this in a terminal."""
    return redact.cut(redact.UNPRINTABLE.sub("?", redact.redact_text(text)))


def _problem(problem: Problem) -> str:
    return _plain(f"{problem.path}: {'is missing' if problem.missing else problem.detail}")


def _inferred(call_id: str) -> str:
    return next((origin for prefix, origin in ID_PREFIXES.items() if call_id.startswith(prefix)), "unknown")


class CallLog:
    """The open file. `append` never raises; it answers what went wrong, once per cause."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last_error = ""

    def append(self, line: dict[str, Any]) -> str:
        """Writes one line. The answer is empty, or why it could not be written, if that is news."""
        try:
            self._write(msgspec.json.encode(line) + b"\n")
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            reason = f"cannot write {self.path}: {getattr(error, 'strerror', None) or error}"
            news = "" if reason == self._last_error else reason
            self._last_error = reason
            return news
        self._last_error = ""
        return ""

    def _write(self, data: bytes) -> None:
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = _open(self.path)
        try:
            if os.fstat(handle).st_size + len(data) > MAX_BYTES:
                self.path.replace(self.path.with_name(f"{self.path.name}.1"))
                os.close(handle)
                handle = _open(self.path)
            os.write(handle, data)
        finally:
            os.close(handle)


def _open(path: Path) -> int:
    """For appending, without waiting: opening a FIFO that nobody reads would hang the engine."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o600)
