"""Which server a tool belongs to, as far as its name says: `github__create_issue` is one of `github`."""

from __future__ import annotations

from toolguard_engine.host.tool_search import tool_name

_RELAYED = "mcp__"
"""Stands before the name of the server where another program than the gateway holds the connection."""


def server_of(tool: str) -> str:
    """The server in lower case; empty for a tool of a plugin or of the gateway, whose names have none."""
    server, sign, _ = tool_name(tool).removeprefix(_RELAYED).partition("__")
    return server if sign else ""
