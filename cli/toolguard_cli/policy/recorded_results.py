"""What a recorded result tells the engine: the same that the gateway part would have told of it (`plugin/gateway`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from toolguard_cli.policy.transcript_steps import DESCRIPTION, Returned
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.layers import known_inputs
from toolguard_engine.wording.correction import LIMIT, LOOP_DETECTED, TOOL_ERROR

END = 4_096
MAX_TEXT = 49_152
MAX_PARAM, MAX_PARAMS, MAX_COMMAND, MAX_BACKGROUND = 300, 20, 2_000, 200
MAX_LINE = 300

_OWN_RESULT = program_catalogue.tools("own_result")
_LOCAL = program_catalogue.tools("local")
_COMMAND = program_catalogue.tools("command")
_NETWORK = re.compile(rf"https?:|\b(?:{'|'.join(sorted(program_catalogue.programs('off_host')))})\b")


def was_refused(text: str, prefix: str) -> bool:
    """Whether the guard held or blocked the call in the recording. Tool Search hands on what it was told."""
    refusals = (f"{prefix}_ESCALATE|", f"{prefix}_BLOCK|")
    return text.startswith(refusals) or any(part.startswith(refusals) for part in _wrapped_texts(text))


def _wrapped_texts(text: str) -> list[str]:
    """The texts of a result that Tool Search hands on as JSON."""
    result = _decoded(text).get("result") if text.startswith("{") else None
    content = result.get("content") if isinstance(result, dict) else None
    parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, str)]


def is_correction(text: str) -> bool:
    """Whether the guard told the model what was wrong with the call."""
    return text.startswith((TOOL_ERROR, LOOP_DETECTED, LIMIT))


def first_line(text: str) -> str:
    return text.partition("\n")[0][:MAX_LINE]


def outcome(returned: Returned) -> dict[str, Any]:
    text = returned.text
    is_long = len(text) > 2 * END
    return {
        "text": f"{text[:END]}\n{text[-END:]}" if is_long else text,
        "size": len(text),
        "rest": sha256(text[END:-END].encode("utf-8", "replace")).hexdigest()[:32] if is_long else "",
        "failed": returned.failed,
        "status": returned.status,
        "exit_code": returned.exit_code,
        "process": returned.process,
    }


def outside_text(tool: str, params: Any, returned: Returned, background: set[str]) -> str:
    """The text of a result that may come from outside; empty if it cannot. `background`: sessions of commands that name the
    network, which this keeps."""
    if tool in _OWN_RESULT or returned.status == "blocked" or (returned.failed and tool in _LOCAL):
        return ""
    if tool in _COMMAND and not _asks_the_network(tool, params, returned, background):
        return ""
    text = returned.text
    half = (MAX_TEXT - 1) // 2
    return text if len(text) <= MAX_TEXT else f"{text[:half]}\n{text[-half:]}"


def description(tool: str, returned: Returned) -> str:
    """What Tool Search says a tool takes; empty for any other result."""
    shown = returned.described or _decoded(returned.text) if tool == known_inputs.DESCRIBES and not returned.failed else {}
    if not isinstance(shown.get("name"), str):
        return ""
    text = msgspec.json.encode({name: shown[name] for name in DESCRIPTION if name in shown})
    return text.decode() if len(text) <= MAX_TEXT else ""


def _decoded(text: str) -> Mapping[str, Any]:
    """The same where the recording has kept the text only."""
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _asks_the_network(tool: str, params: Any, returned: Returned, background: set[str]) -> bool:
    given = params if isinstance(params, dict) else {}
    if tool == "process":
        return given.get("sessionId") in background or _names_the_network(given.get("data", given.get("text")))
    if not _names_the_network(given.get("command")):
        return False
    if returned.process and len(background) < MAX_BACKGROUND:
        background.add(returned.process)
    return True


def _names_the_network(text: Any) -> bool:
    return isinstance(text, str) and _NETWORK.search(text[:MAX_COMMAND]) is not None


def short_params(params: Any) -> dict[str, str]:
    """The short texts among the parameters."""
    given = params if isinstance(params, dict) else {}
    members = list(given.items())[:MAX_PARAMS]
    return {str(name): value for name, value in members if isinstance(value, str) and len(value) <= MAX_PARAM}


def named(params: Any) -> str:
    """The texts among the parameters that name what is there: commands and paths, not what a file is to contain."""
    return " ".join(text for name, text in short_params(params).items() if name in _NAMING)


_NAMING = frozenset({"command", "path", "file_path", "filePath", "workdir", "cwd"})
