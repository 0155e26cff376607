"""Tool Search of OpenClaw: the model reaches most tools through `tool_call {id, args}`.

The hooks then fire twice. The outer call is only an envelope: what is judged, counted and charged is the inner one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

OUTER_TOOL = "tool_call"
MAX_KNOWN = 200
"""Longer names are no names of tools, and not remembered."""


def short_name(name: str) -> str:
    """A tool's name as the model may write it: the last part of `openclaw:core:message`."""
    return name.strip().rpartition(":")[2] or name.strip()


def tool_name(name: str) -> str:
    """A tool's name in the form in which it is compared: short, in small letters."""
    return _known_name(name) if len(name) <= MAX_KNOWN else short_name(name).lower()


@lru_cache(maxsize=1_000)
def _known_name(name: str) -> str:
    return short_name(name).lower()


@lru_cache(maxsize=100)
def tool_names(names: tuple[str, ...]) -> frozenset[str]:
    """The names of a setting, in the form in which they are compared."""
    return frozenset(map(tool_name, names))


def is_envelope(tool: str, params: Any) -> bool:
    """Whether this is an outer call that names an inner one."""
    return tool_name(tool) == OUTER_TOOL and isinstance(params, dict) and isinstance(params.get("id"), str)


def look_through(tool: str, params: Any) -> tuple[str, Any]:
    """The tool and the params that really run. Absent `args` are an empty object, as the gateway takes them."""
    if not is_envelope(tool, params):
        return short_name(tool), params
    inner = params.get("args")
    return short_name(params["id"]), {} if inner is None else inner
