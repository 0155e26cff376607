"""Recognizes refusals that a retry cannot fix, from the texts in which OpenClaw reports them.

The texts differ between releases (2026.6.11 to 2026.9.6 were checked), so they are parsed tolerantly. Timeouts, network
errors, rate limits, and anything a tool reports from its own work are not refusals: `classify` returns None for them.
A tool's output can imitate any text. What tells the two apart is whether the call reached `before_tool_call`: the gateway
validates first, so a call that was judged cannot have failed validation.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.host.tool_search import OUTER_TOOL, tool_name, unwrap
from toolguard_engine.model.call import Failure, ParameterProblem

MAX_TEXT = 20_000
MAX_PROBLEMS = 20

_VALIDATION = lazy_re.compile(
    r'Validation failed for tool "([^"\n]{1,200})":\n(.*?)(?:\n\nReceived arguments:|\Z)', re.DOTALL
)
_PROBLEM = lazy_re.compile(r"^[ \t]{0,20}-[ \t]{0,20}([^:\n]{1,200}):[ \t]{0,20}(\S.{0,500})", re.MULTILINE)
_UNKNOWN_TOOL = lazy_re.compile(r"(?:Tool (\S{1,200}) not found|Unknown tool id: (\S{1,200}?)\.(?:\s|$))")
_INVALID_ARGUMENTS = lazy_re.compile(r'Invalid arguments for tool "([^"\n]{1,200})": (.*)', re.DOTALL)
_EXPECTED = "Expected input: "
_MISSING_PARAMETER = lazy_re.compile(r"Missing required parameters?: ([^().\n]{1,200}?)(?:\s*\(|\.|\n|\Z)")
_REQUIRED = lazy_re.compile(r"must have required propert(?:y|ies)\s+(.+)$")
_ALTERNATIVE = lazy_re.compile(r"(?<!\s)\s+(?:or|alias)\s+.*$")


def classify(tool: str, params: Any, text: str, *, judged: bool) -> Failure | None:
    """The refusal that `text` reports, or None if it reports none. `judged`: the call reached `before_tool_call`."""
    error = _host_error(tool, text)
    if error is None:
        return None if judged else _classify_unjudged(tool, params, text[:MAX_TEXT])
    return _classify_error(tool, params, error[:MAX_TEXT])


def _host_error(tool: str, text: str) -> str | None:
    """The `error` of the gateway's JSON form `{"status": "error", "tool": ..., "error": ...}`, or None for any other
    text."""
    if not text.startswith("{"):
        return None
    try:
        body = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(body, dict) or body.get("status") != "error" or not isinstance(body.get("error"), str):
        return None
    return body["error"] if tool_name(str(body.get("tool"))) == tool_name(tool) else None


def _classify_unjudged(tool: str, params: Any, text: str) -> Failure | None:
    if match := _VALIDATION.match(text):
        return Failure("validation", _problem_lines(match[2], params))
    if _UNKNOWN_TOOL.fullmatch(text.strip()) or text.strip() == f"Tool {tool.strip()} not found":
        return Failure("unknown-tool")
    return _missing_parameter(params, text)


def _classify_error(tool: str, params: Any, error: str) -> Failure | None:
    """Classifies a JSON error of the host. Only Tool Search reports inner refusals, so they are trusted only there."""
    if tool_name(tool) == OUTER_TOOL:
        inner = params.get("args") if isinstance(params, dict) else None
        if match := _INVALID_ARGUMENTS.match(error):
            sentence, _, expected = match[2].partition(_EXPECTED)
            return Failure("invalid-arguments", _inline_problems(sentence, inner), expected.strip().removesuffix("."))
        if _UNKNOWN_TOOL.match(error):
            return Failure("unknown-tool")
    params = unwrap(tool, params)[1]
    failure = _missing_parameter(params, error)
    return failure if failure and all(_is_empty(problem, params) for problem in failure.problems) else None


def _is_empty(problem: ParameterProblem, params: Any) -> bool:
    """Whether an executed call can really have failed because this parameter is missing: a tool may print such an error
    too."""
    return problem.missing or (isinstance(params, dict) and params.get(problem.path) in (None, "", [], {}))


def _missing_parameter(params: Any, text: str) -> Failure | None:
    match = _MISSING_PARAMETER.match(text)
    if match is None:
        return None
    names = [_ALTERNATIVE.sub("", name).strip() for name in re.split(r",| and ", match[1])]
    problems = tuple(ParameterProblem(n, not _sent(n, params), "must not be empty") for n in names[:MAX_PROBLEMS] if n)
    return Failure("missing-parameter", problems)


def _problem_lines(block: str, params: Any) -> tuple[ParameterProblem, ...]:
    return _problems([(m[1].strip(), m[2].strip()) for m in _PROBLEM.finditer(block)], params)


def _inline_problems(sentence: str, params: Any) -> tuple[ParameterProblem, ...]:
    """Reads `action: must have required property 'action'; to: must be string.`"""
    parts = [part.partition(":") for part in re.split(r"[;\n]", sentence.rstrip(". \n"))]
    return _problems([(path.strip(), detail.strip()) for path, colon, detail in parts if colon], params)


def _problems(missing: list[tuple[str, str]], params: Any) -> tuple[ParameterProblem, ...]:
    """One `ParameterProblem` per parameter. A line about an object lists the properties that it lacks."""
    problems: dict[str, ParameterProblem] = {}
    for path, detail in missing:
        required = _REQUIRED.search(detail)
        for full in _lacking(path, required[1]) if required else [_named(path, detail, params)]:
            problems.setdefault(full, ParameterProblem(full, not _sent(full, params), "is required" if required else detail))
    return tuple(list(problems.values())[:MAX_PROBLEMS])


def _lacking(path: str, listed: str) -> list[str]:
    """The properties that an object lacks. Hosts name the object's path, or append the first property to it."""
    names = [stripped for name in listed.split(",") if (stripped := name.strip(" '\"`."))]
    parent, _, last = _dotted(path).rpartition(".")
    if names and last != names[0]:
        parent = _dotted(path)
    return [f"{parent}.{name}" if parent else name for name in names]


def _named(path: str, detail: str, params: Any) -> str:
    """`root` means all arguments if they are not an object or have odd properties, otherwise a parameter of that name."""
    return path if path == "root" and isinstance(params, dict) and "propert" not in detail else _dotted(path)


def _dotted(path: str) -> str:
    dotted = path.replace("/", ".").strip(".")
    return "" if dotted == "root" else dotted


def _sent(path: str, params: Any) -> bool:
    """Whether the call has a value at this path."""
    value = params
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return False
    return True
