"""The lines of the log of malformed calls, and its path."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolguard_engine.config.settings import HOME_STATE
from toolguard_engine.model.call import MalformedCall, ParameterProblem
from toolguard_engine.wording import redact
from toolguard_engine.wording.visible_text import visible_cut

MAX_BYTES = 20 * 1024 * 1024
"""At this size the log becomes `<name>.1` and a new one begins."""

# What the id of a call shows about its origin where the message names no model (documented by the providers).
ID_PREFIXES = {"call_": "openai-compatible", "toolu_": "anthropic"}


def resolve(log_path: str, state_dir: Path) -> Path:
    """The path that a setting names. `~/.openclaw/` stands for the state directory, `~` for the home."""
    if log_path.startswith(HOME_STATE):
        return state_dir / log_path.removeprefix(HOME_STATE)
    try:
        path = Path(log_path).expanduser()
    except RuntimeError:  # `~name` of a user that does not exist
        path = Path(log_path)
    return path if path.is_absolute() else state_dir / path


def record(
    refusal: MalformedCall, now: datetime, gateway: str, provider: str, model: str, *, shadow: bool
) -> dict[str, Any]:
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
    """Printable, redacted, bounded: models choose these texts, and users read them in a terminal."""
    return visible_cut(redact.redact_text(text), redact.MAX_VALUE)


def _problem(problem: ParameterProblem) -> str:
    return _plain(f"{problem.path}: {'is missing' if problem.missing else problem.detail}")


def _inferred(call_id: str) -> str:
    return next((origin for prefix, origin in ID_PREFIXES.items() if call_id.startswith(prefix)), "unknown")
