"""What happened in a recorded session, in order: what was written to the agent, what it wanted to do, and what came of it.

Logs have calls without what was around them. Of a session one message of the model with its
results is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from toolguard_cli.policy.transcripts import PARTS, KeptCall, TranscriptSource, decoded_text

INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
DESCRIPTION = ("id", "name", "parameters")
"""What Tool Search says of a tool."""

MAX_RESULTS = 10_000
"""Results that are kept for one message of the model."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """Somebody wrote to the agent."""

    text: str
    owner: bool
    person: bool


@dataclass(frozen=True, slots=True)
class Returned:
    """The result of a call, as the model saw it. `described`: what it says beside the text of another tool."""

    text: str
    failed: bool
    status: str = ""
    exit_code: int | None = None
    process: str = ""
    described: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WantedCall:
    """One call in a message of the model. `returned`: None where no result was kept."""

    id: str
    tool: str
    params: Any
    returned: Returned | None


@dataclass(slots=True)
class Step:
    """`run`: as the gateway names it, empty where it does not say; `at`: seconds since 1970, 0 where not known."""

    agent: str
    session: str
    cwd: str
    line: int
    at: float = 0.0
    run: str = ""
    spoken: Spoken | None = None
    wanted: list[WantedCall] = field(default_factory=list)
    logged: list[KeptCall] = field(default_factory=list)
    """Calls of a log, which says nothing of what was around them."""


def steps(source: TranscriptSource) -> Iterator[Step]:
    """Those of one file."""
    open_step: Step | None = None
    results: dict[str, Returned] = {}
    for value, number in source.values(whole=True):
        message = value.get("message")
        if not isinstance(message, dict):
            if logged := list(source.read_calls(value, number)):
                yield Step(source.agent, source.session, source.cwd, number, logged=logged)
            continue
        if message.get("role") == "toolResult":
            if len(results) < MAX_RESULTS:
                results[str(message.get("toolCallId", ""))] = _returned(message)
            continue
        if open_step is not None:
            yield _answered(open_step, results)
            open_step, results = None, {}
        step = Step(source.agent, source.session, source.cwd, number, _moment(value), _run(message))
        if message.get("role") == "assistant":
            step.wanted = list(_calls(message))
            open_step = step
        elif message.get("role") == "user":
            step.spoken = _spoken(message)
            yield step
    if open_step is not None:
        yield _answered(open_step, results)


def _answered(step: Step, results: dict[str, Returned]) -> Step:
    step.wanted = [WantedCall(call.id, call.tool, call.params, results.get(call.id)) for call in step.wanted]
    return step


def _calls(message: dict[str, Any]) -> Iterator[WantedCall]:
    content = message.get("content")
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") in PARTS and isinstance(part.get("name"), str):
            params = decoded_text(part.get("arguments", part.get("input")))
            yield WantedCall(str(part.get("id", "")), part["name"], params, None)


def _spoken(message: dict[str, Any]) -> Spoken | None:
    text, about = _text_of(message.get("content")), _about(message)
    owner = about.get("senderIsOwner") is not False
    if not text or (owner and text.startswith(INTERNAL)):
        return None
    provenance = message.get("provenance")
    kind = provenance.get("kind", "external_user") if isinstance(provenance, dict) else "external_user"
    return Spoken(text, owner, about.get("senderIsOwner") is True and kind == "external_user")


def _returned(message: dict[str, Any]) -> Returned:
    details = message.get("details")
    known = details if isinstance(details, dict) else {}
    status, code, process = known.get("status"), known.get("exitCode"), known.get("sessionId")
    return Returned(
        _text_of(message.get("content")),
        message.get("isError") is True or status == "error",
        status if isinstance(status, str) else "",
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        process if status == "running" and isinstance(process, str) else "",
        {name: known[name] for name in DESCRIPTION if name in known},
    )


def _about(message: dict[str, Any]) -> dict[str, Any]:
    about = message.get("__openclaw")
    return about if isinstance(about, dict) else {}


def _run(message: dict[str, Any]) -> str:
    run = _about(message).get("runId")
    return run if isinstance(run, str) else ""


def _text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str))


def _moment(value: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(msgspec.convert(value.get("timestamp"), str)).timestamp()
    except (msgspec.ValidationError, ValueError, OverflowError):
        return 0.0
