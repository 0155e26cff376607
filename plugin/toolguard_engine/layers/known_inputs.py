"""What tools take, as far as it is known: a call that its own tool would refuse is corrected, and no person is asked.

The gateway checks a call against the schema of its tool before the guard sees it, except for calls inside Tool Search. Their
schemas are known from `tool_describe`, and single parameters from earlier refusals. Only what is certain counts: a parameter
that is missing, one that the tool does not have, a value of another type or none of those that are listed. Bounded, and
harmless if it is wrong: what it concerns would wait for a person, and nothing runs that would not have run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import msgspec

from toolguard_engine.host.tool_search import OUTER_TOOL, tool_name
from toolguard_engine.model.call import Call, Failure

DESCRIBES = "tool_describe"
CODE = "call.malformed"
MAX_TOOLS = 500
MAX_NAMES = 200
MAX_NAME = 200
MAX_LISTED = 8

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


class KnownInputs:
    """The inputs of tools, by the tool's name. Two tools of one name are both unknown."""

    def __init__(self) -> None:
        self._tools: OrderedDict[str, ToolInput] = OrderedDict()

    def described(self, text: str) -> None:
        """`tool_describe` has answered with this."""
        try:
            found = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return
        if not isinstance(found, dict) or not isinstance(found.get("name"), str):
            return
        source, name = str(found.get("id", ""))[:MAX_NAME], tool_name(found["name"])
        known = self._tools.get(name)
        read = _read(found.get("parameters"))
        if known is not None and known.source not in ("", source):
            read = ToolInput()
        self._keep(name, msgspec.structs.replace(read, source=source))

    def refused(self, tool: str, failure: Failure) -> None:
        """The gateway has refused a call of this tool."""
        missing = [each.path for each in failure.problems if each.detail == "is required" and "." not in each.path]
        if missing:
            known = self._tools.get(tool_name(tool)) or ToolInput()
            known.required.update(name for name in missing[:MAX_LISTED] if 0 < len(name) <= MAX_NAME)
            self._keep(tool_name(tool), known)

    def ran(self, call: Call) -> None:
        """A call has run without an error: what it did not have is not required."""
        known = self._tools.get(tool_name(call.tool))
        if known is not None and isinstance(call.params, dict):
            known.required &= call.params.keys()

    def complaint(self, call: Call) -> str:
        """What the gateway would answer to this call, in its words; empty where it may take it."""
        known = self._tools.get(tool_name(call.tool))
        if known is None or not isinstance(call.params, dict) or tool_name(call.tool) == OUTER_TOOL:
            return ""
        lines = list(_complaints(known, call.params))[:MAX_LISTED]
        return "\n".join([f'Validation failed for tool "{call.tool[:MAX_NAME]}":', *lines]) if lines else ""

    def _keep(self, name: str, known: ToolInput) -> None:
        self._tools[name] = known
        self._tools.move_to_end(name)
        if len(self._tools) > MAX_TOOLS:
            self._tools.popitem(last=False)


def _read(schema: Any) -> ToolInput:
    """The outermost properties of a JSON schema; nothing of one that leaves a choice."""
    if not isinstance(schema, dict) or schema.get("type") != "object" or {"anyOf", "oneOf", "allOf", "$ref"} & schema.keys():
        return ToolInput()
    properties = schema.get("properties")
    given = properties if isinstance(properties, dict) and len(properties) <= MAX_NAMES else {}
    required = schema.get("required")
    found = ToolInput(is_closed=schema.get("additionalProperties") is False and bool(given))
    found.names = {name for name in given if len(name) <= MAX_NAME}
    if isinstance(required, list):
        found.required = {name for name in required if isinstance(name, str)} & found.names
    for name, each in given.items():
        if isinstance(each, dict) and isinstance(each.get("type"), str) and not {"anyOf", "oneOf"} & each.keys():
            found.types[name] = each["type"]
        if isinstance(each, dict) and isinstance(each.get("enum"), list) and 0 < len(each["enum"]) <= MAX_NAMES:
            found.values[name] = each["enum"]
    return found


def _complaints(known: ToolInput, params: dict[Any, Any]) -> Iterator[str]:
    missing = sorted(known.required - params.keys())
    if missing:
        yield f"  - root: must have required properties {', '.join(missing)}"
    if known.is_closed:
        for name in [str(each)[:MAX_NAME] for each in params if each not in known.names][:MAX_LISTED]:
            yield f"  - {name}: must not be sent; the tool takes {', '.join(sorted(known.names)[:MAX_LISTED])}"
    for name, value in params.items():
        if (kind := known.types.get(name)) in _TYPES and not _is_of(value, str(kind)):
            yield f"  - {name}: must be {kind}"
        elif (values := known.values.get(name)) and isinstance(value, str) and value not in values:
            yield f"  - {name}: must be one of {', '.join(map(str, values[:MAX_LISTED]))}"


def _is_of(value: Any, kind: str) -> bool:
    """Also a text that the gateway would read as a number or a truth value."""
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind]) or (isinstance(value, str) and kind in ("number", "integer", "boolean"))
