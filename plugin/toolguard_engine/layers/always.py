"""`alwaysBlock`: every call of these tools asks for a person."""

from __future__ import annotations

from toolguard_engine.config import Config
from toolguard_engine.model import Call, Verdict
from toolguard_engine.toolsearch import tool_name, tool_names

CODE = "approval.always-block"
REASON = "The settings ask for a person's approval of every call of this tool (alwaysBlock)."


def judge(call: Call, config: Config) -> Verdict | None:
    if config.always_block and tool_name(call.tool) in tool_names(tuple(config.always_block)):
        return Verdict("hold", CODE, reason=REASON)
    return None
