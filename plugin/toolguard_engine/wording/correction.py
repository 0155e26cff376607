"""Corrections of malformed calls. The first words of each kind are fixed: people and scripts search for them.

Names and arguments from the model are redacted, bounded and quoted, so that a call cannot inject instructions into its
correction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.host.tool_search import OUTER_TOOL, tool_name
from toolguard_engine.model.call import Call, Failure, ParameterProblem
from toolguard_engine.wording import redact
from toolguard_engine.wording.visible_text import one_line, visible_cut

TOOL_ERROR = "[TOOL ERROR]"
LOOP_DETECTED = "[LOOP DETECTED]"
LIMIT = "[TOOL ERROR LIMIT]"

MAX_NAME = 80
MAX_DETAIL = 160
MAX_EXPECTED = 500


@dataclass(frozen=True)
class Hint:
    """How a gateway tool is called. `example` passes its schema; `instead_of`: wrong names that models use for it."""

    example: Mapping[str, Any]
    notes: str = ""
    instead_of: frozenset[str] = field(default_factory=frozenset)


Hints = Mapping[str, Hint]


def corrective(call: Call, failure: Failure, hints: Hints) -> str:
    """What is wrong, a correct call, and what was sent."""
    if failure.error == "unknown-tool":
        return f"{TOOL_ERROR} {_unknown_tool(call, hints)} You sent: {_sent(call)}. Do not repeat this call unchanged."
    hint = hints.get(tool_name(call.tool))
    notes = f" {hint.notes}" if hint and hint.notes else ""
    return (
        f"{TOOL_ERROR} {_complaint(call, failure)} {_usage(call, failure, hint)}{notes} "
        f"You sent: {_sent(call)}. Fix your call and retry."
    )


def loop_detected(call: Call, failure: Failure, count: int) -> str:
    """The same call failed `count` times for the same cause."""
    return (
        f'{LOOP_DETECTED} Tool "{name(call.tool)}" failed {count} times with identical arguments'
        f"{_causes(failure)}.\nThis is a non-retryable error. Do NOT retry this call.\n"
        "Try a different approach or report the issue."
    )


def repeated(call: Call, count: int) -> str:
    """One more identical call after the warning: the run ends."""
    return (
        f'{LIMIT} Tool "{name(call.tool)}" was called again after it had failed {count} times with identical arguments.\n'
        "Stopping tool execution. Say what could not be done and why, and what you need to continue."
    )


def limit(failures: int) -> str:
    """Too many failures of any kind: the run ends."""
    return (
        f"{LIMIT} {failures} tool failures in this turn.\n"
        "Stopping tool execution. Review your approach before continuing: "
        "say what could not be done and why, and what you need to continue."
    )


def name(text: str) -> str:
    """An untrusted name: one line, printable, bounded."""
    return visible_cut(text, MAX_NAME)


def _complaint(call: Call, failure: Failure) -> str:
    missing = [f"'{name(p.path)}'" for p in failure.problems if p.missing and p.path]
    wrong = [f"'{name(p.path)}' {_detail(p)}" for p in failure.problems if not p.missing and p.path]
    loose = [_detail(p) for p in failure.problems if not p.path]
    parts = [f"requires {', '.join(missing)}"] if missing else []
    return f"{name(call.tool)}() {'; '.join([*parts, *wrong, *loose]) or 'was called with invalid arguments'}."


def _detail(problem: ParameterProblem) -> str:
    return visible_cut(one_line(problem.detail), MAX_DETAIL)


def _causes(failure: Failure) -> str:
    named = [f"'{name(p.path)}' {'is missing' if p.missing else _detail(p)}" for p in failure.problems[:4] if p.path]
    return f" ({'; '.join(named)})" if named else ""


def _usage(call: Call, failure: Failure, hint: Hint | None) -> str:
    if hint:
        return f"Correct usage: {_spelled(call, redact.render(dict(hint.example)))}."
    if failure.expected:
        return f"Expected input: {visible_cut(one_line(failure.expected), MAX_EXPECTED)}."
    return f"Correct usage: {_spelled(call, redact.cut(redact.render(_repaired(call, failure)), redact.MAX_SHOWN))}."


def _spelled(call: Call, arguments: str) -> str:
    """The call as the model must write it, inside `tool_call` if it used Tool Search."""
    if call.searched:
        return f'{OUTER_TOOL}({{ id: "{name(call.tool)}", args: {arguments} }})'
    return f"{name(call.tool)}({arguments})"


def _sent(call: Call) -> str:
    return _spelled(call, redact.shown(call.params))


def _repaired(call: Call, failure: Failure) -> dict[str, Any]:
    """The arguments sent, with a placeholder for every missing or wrong parameter."""
    kept = redact.redact(call.params) if isinstance(call.params, dict) else {}
    for problem in failure.problems:
        top, _, rest = problem.path.partition(".")
        if top and not rest:
            kept[name(top)] = _placeholder(problem)
    return dict(kept)


_TYPE = lazy_re.compile(r"must be (?:an? )?(string|number|integer|boolean|array|object)\b")


def _placeholder(problem: ParameterProblem) -> str:
    kind = _TYPE.search(problem.detail)
    return f"<{kind[1] if kind else 'value'}>"


def _unknown_tool(call: Call, hints: Hints) -> str:
    for tool, hint in hints.items():
        if tool_name(call.tool) in hint.instead_of:
            meant = _spelled(replace(call, tool=tool), redact.render(dict(hint.example)))
            return f"There is no tool '{name(call.tool)}'. Try {meant}."
    known = hints.get(tool_name(call.tool))
    if known and not call.searched:  # it may be there, but behind Tool Search
        meant = _spelled(replace(call, searched=True), redact.render(dict(known.example)))
        return f"'{name(call.tool)}' cannot be called directly. If you have {OUTER_TOOL}, use {meant}."
    return (
        f"There is no tool '{name(call.tool)}'. Use only tools that you were offered"
        f"{'; find others with tool_search.' if call.searched else '.'}"
    )
