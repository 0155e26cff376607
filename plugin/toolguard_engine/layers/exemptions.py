"""What is not judged: everything in mode `disabled`, the envelope of Tool Search, tools under `neverBlock`.

Exempt tools are never blocked. Their malformed calls are still corrected, counted and stopped: the gateway itself
refuses those, and an exemption must not bring back the endless loop.
"""

from __future__ import annotations

from toolguard_engine.config import Config
from toolguard_engine.model import Call, Verdict
from toolguard_engine.toolsearch import is_envelope, tool_name, tool_names

DISABLED = Verdict("allow", "allow.disabled")
ENVELOPE = Verdict("allow", "allow.tool-search")
EXEMPT = Verdict("allow", "allow.exempt")


def judge(call: Call, config: Config) -> Verdict | None:
    if config.active_mode == "disabled":
        return DISABLED
    if is_envelope(call.tool, call.params):
        return ENVELOPE
    return EXEMPT if tool_name(call.tool) in tool_names(tuple(config.never_block)) else None
