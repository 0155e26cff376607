"""OpenClaw's Tool Search: the model reaches most tools through `tool_call {id, args}`.

The hooks then fire twice. The outer call is only an envelope; the inner call is the one that is judged, counted and charged.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

OUTER_TOOL = "tool_call"
MAX_KNOWN = 200
"""Longer names are not tool names and are not cached."""


def short_name(name: str) -> str:
    """The last part of a tool's name as the model may write it, as in `openclaw:core:message`."""
    return name.strip().rpartition(":")[2] or name.strip()


def tool_name(name: str) -> str:
    """A tool's name in the form used for comparison: short and lower case."""
    return _known_name(name) if len(name) <= MAX_KNOWN else short_name(name).lower()


@lru_cache(maxsize=1_000)
def _known_name(name: str) -> str:
    return short_name(name).lower()


@lru_cache(maxsize=100)
def tool_names(names: tuple[str, ...]) -> frozenset[str]:
    """The names in a setting, in the form used for comparison."""
    return frozenset(map(tool_name, names))


def is_envelope(tool: str, params: Any) -> bool:
    """Whether this is an outer call that names an inner one."""
    return isinstance(params, dict) and isinstance(params.get("id"), str) and tool_name(tool) == OUTER_TOOL


def unwrap(tool: str, params: Any) -> tuple[str, Any]:
    """The tool and the parameters that really run. Missing `args` mean an empty object, as in the gateway."""
    if not is_envelope(tool, params):
        return short_name(tool), params
    inner = params.get("args")
    return short_name(params["id"]), {} if inner is None else inner
