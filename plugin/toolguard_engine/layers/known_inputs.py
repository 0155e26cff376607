"""What tools take, as far as it is known: a call that its own tool would refuse is corrected, and no person is asked.

The gateway checks a call against the schema of its tool before the guard sees it, except for calls inside Tool Search. Their
schemas are known from `tool_describe`, and single parameters from earlier refusals in the same session. Only what is certain
counts: a parameter that is missing, one that the tool does not have, a value that the gateway cannot convert to its type,
or one that is not listed. Bounded, and harmless if it is wrong: what it concerns would wait for a person, and
nothing runs that would not have run. A session gets one correction for a tool; the next call waits for a person.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.host.tool_search import OUTER_TOOL, tool_name
from toolguard_engine.model.call import Call, Failure

DESCRIBES = "tool_describe"
CODE = "call.malformed"
MAX_TOOLS = 500
MAX_NAMES = 200
MAX_NAME = 200
MAX_LISTED = 8
MAX_TEXT = 65_536
"""Longer texts are converted to no value (`MAX_JSON_COERCE_LENGTH` of the gateway)."""

_LEAVES_A_CHOICE = lazy_re.compile(
    r"any_?of|one_?of|all_?of|const|literal|union|discriminat|alternative|variant|either|one of|must match", re.IGNORECASE
)
"""In a refusal: it is about one of several forms of a call, so others may well need something else."""

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
    "number": (int, float),
    "integer": (int, float),
}


class ToolInput(msgspec.Struct):
    """`types`, `values`: of parameters, where only one type or these values are taken; `is_closed`: it takes no others."""

    source: str = ""
    required: set[str] = msgspec.field(default_factory=set)
    names: set[str] = msgspec.field(default_factory=set)
    types: dict[str, str] = msgspec.field(default_factory=dict)
    values: dict[str, list[Any]] = msgspec.field(default_factory=dict)
    is_closed: bool = False


class _InSession(msgspec.Struct):
    """What a session has shown of one tool. `required`: from refusals."""

    required: set[str] = msgspec.field(default_factory=set)
    is_corrected: bool = False


class KnownInputs:
    """The inputs of tools, by the tool's name. Two tools of one name are both unknown."""

    def __init__(self) -> None:
        self._tools: OrderedDict[str, ToolInput] = OrderedDict()
        self._sessions: OrderedDict[tuple[str, str], _InSession] = OrderedDict()

    def described(self, text: str) -> None:
        """`tool_describe` has answered with this."""
        try:
            parsed = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return
        if not isinstance(parsed, dict) or not isinstance(parsed.get("name"), str):
            return
        source, name = str(parsed.get("id", ""))[:MAX_NAME], tool_name(parsed["name"])
        known = self._tools.get(name)
        read = _read(parsed.get("parameters"))
        if known is not None and known.source not in ("", source):
            read = ToolInput()
        self._keep(name, msgspec.structs.replace(read, source=source))

    def refused(self, call: Call, failure: Failure, text: str) -> None:
        """The gateway has refused a call with this text."""
        missing = [
            problem.path for problem in failure.problems if problem.detail == "is required" and "." not in problem.path
        ]
        if missing and not _LEAVES_A_CHOICE.search(text[:MAX_TEXT]):
            session = self._in_session(call)
            session.required.update(name for name in missing[:MAX_LISTED] if 0 < len(name) <= MAX_NAME)

    def ran(self, call: Call) -> None:
        """A call has run without an error: what it did not have is not required."""
        params = call.params
        known, session = self._tools.get(tool_name(call.tool)), self._sessions.get(_key(call))
        if known is not None and isinstance(params, dict):
            known.required &= params.keys()
        if session is not None and isinstance(params, dict):
            session.required &= params.keys()
            session.is_corrected = False

    def complaint(self, call: Call) -> str:
        """What the gateway would answer to this call, in its words; empty where it may take it or has been corrected."""
        known, session = self._tools.get(tool_name(call.tool)) or ToolInput(), self._sessions.get(_key(call)) or _InSession()
        if session.is_corrected or not isinstance(call.params, dict) or tool_name(call.tool) == OUTER_TOOL:
            return ""
        lines = list(_complaints(known, known.required | session.required, call.params))[:MAX_LISTED]
        return "\n".join([f'Validation failed for tool "{call.tool[:MAX_NAME]}":', *lines]) if lines else ""

    def corrected(self, call: Call) -> None:
        """The model has got a complaint: if its next call is no better, the complaint may be wrong."""
        self._in_session(call).is_corrected = True

    def _in_session(self, call: Call) -> _InSession:
        session = self._sessions.setdefault(_key(call), _InSession())
        self._sessions.move_to_end(_key(call))
        if len(self._sessions) > MAX_TOOLS:
            self._sessions.popitem(last=False)
        return session

    def _keep(self, name: str, known: ToolInput) -> None:
        self._tools[name] = known
        self._tools.move_to_end(name)
        if len(self._tools) > MAX_TOOLS:
            self._tools.popitem(last=False)


def _key(call: Call) -> tuple[str, str]:
    return call.session or call.run, tool_name(call.tool)


def _read(schema: Any) -> ToolInput:
    """The outermost properties of a JSON schema; nothing of one that leaves a choice."""
    if not isinstance(schema, dict) or schema.get("type") != "object" or {"anyOf", "oneOf", "allOf", "$ref"} & schema.keys():
        return ToolInput()
    properties = schema.get("properties")
    given = properties if isinstance(properties, dict) and len(properties) <= MAX_NAMES else {}
    required = schema.get("required")
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    summed = ToolInput(is_closed=is_closed and bool(given))
    summed.names = {name for name in given if len(name) <= MAX_NAME}
    if isinstance(required, list):
        summed.required = {name for name in required if isinstance(name, str)} & summed.names
    for name, member in given.items():
        if isinstance(member, dict) and isinstance(member.get("type"), str) and not {"anyOf", "oneOf"} & member.keys():
            summed.types[name] = member["type"]
        if isinstance(member, dict) and isinstance(member.get("enum"), list) and 0 < len(member["enum"]) <= MAX_NAMES:
            summed.values[name] = member["enum"]
    return summed


def _complaints(known: ToolInput, required: set[str], params: dict[Any, Any]) -> Iterator[str]:
    missing = sorted(required - params.keys())
    if missing:
        yield f"  - root: must have required properties {', '.join(missing)}"
    if known.is_closed:
        for name in [str(param)[:MAX_NAME] for param in params if param not in known.names][:MAX_LISTED]:
            yield f"  - {name}: must not be sent; the tool takes {', '.join(sorted(known.names)[:MAX_LISTED])}"
    for name, value in params.items():
        kind, values = known.types.get(name, ""), known.values.get(name)
        if not _may_become(value, kind):
            yield f"  - {name}: must be {kind}"
        elif values and kind in ("", "string") and isinstance(value, str) and value not in values:
            yield f"  - {name}: must be one of {', '.join(map(str, values[:MAX_LISTED]))}"


def _may_become(value: Any, kind: str) -> bool:
    """Whether the gateway may convert a value to this type (`coercePrimitiveByType` in its validator)."""
    if value is None or kind not in _TYPES or isinstance(value, _TYPES[kind]):
        return True
    if kind in ("array", "object"):
        return isinstance(value, str) and _is_json(value, _TYPES[kind])
    return not isinstance(value, list | dict)


def _is_json(text: str, types: tuple[type, ...]) -> bool:
    try:
        return len(text) <= MAX_TEXT and isinstance(msgspec.json.decode(text), types)
    except (msgspec.DecodeError, RecursionError):
        return False
