"""The name of a tool that was probably misspelled. Any name may be a tool of a plugin, so this is never an error."""

from __future__ import annotations

from difflib import get_close_matches

from toolguard_engine.effects.tools.tools import DESCRIBED
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.wording import printable

ALIKE = 0.75
"""The similarity (0 to 1) from which a name is taken for a misspelling."""


def doubt(tool: str) -> str:
    """What is odd about this name, in words; empty if nothing is."""
    name = tool_name(tool)
    near = [] if name in DESCRIBED else get_close_matches(name, sorted(DESCRIBED), 1, ALIKE)
    return f"OpenClaw has no tool {printable.cut(printable.plain(tool), 40)}; did you mean {near[0]}?" if near else ""
