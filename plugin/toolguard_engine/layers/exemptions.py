"""What is not judged: everything in mode `disabled`, the envelope of Tool Search, tools under `neverBlock`.

Exempt tools are never blocked. Their malformed calls are still corrected, counted and stopped: the gateway itself
refuses those, and an exemption must not bring back the endless loop.
"""

from __future__ import annotations

from toolguard_engine.config.settings import Config
from toolguard_engine.host.tool_search import OUTER_TOOL, is_envelope, tool_name, tool_names
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement

DISABLED = Verdict("allow", "allow.disabled")
ENVELOPE = Verdict("allow", "allow.tool-search")
EXEMPT = Verdict("allow", "allow.exempt")


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    """A command that is typed is judged even if `exec` is exempt: the call is one of another tool."""
    verdict = None if given.is_typed else exempt(given.reading.call, given.config)
    return judgement.wrap(verdict, ends=True, free=True) if verdict else None


def exempt(call: Call, config: Config) -> Verdict | None:
    """The verdict on a call that is not judged."""
    if config.active_mode == "disabled":
        return DISABLED
    tool = tool_name(call.tool)
    if tool == OUTER_TOOL and is_envelope(tool, call.params):
        return ENVELOPE
    return EXEMPT if config.never_block and tool in tool_names(tuple(config.never_block)) else None
