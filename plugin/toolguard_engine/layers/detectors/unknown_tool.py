"""Calls of a tool that does not exist, whatever their arguments. Calls of one message count once."""

from __future__ import annotations

from toolguard_engine import loop_texts, texts
from toolguard_engine.config import LoopDetection
from toolguard_engine.history import Count
from toolguard_engine.layers.detectors.reaction import end
from toolguard_engine.model import Call, Run, Stop
from toolguard_engine.toolsearch import tool_name

CODE = "loop.unknown-tool"
MAX_NAMES = 200


def on_miss(call: Call, run: Run, settings: LoopDetection) -> Stop | None:
    missing, name = run.past.missing, texts.name(tool_name(call.tool))
    known = missing.pop(name, None) or Count()
    known.again(call.request)
    missing[name] = known  # at the end: the ones that were not called for long are dropped first
    if len(missing) > MAX_NAMES:
        del missing[next(iter(missing))]
    if known.count < settings.unknown_tool_threshold:
        return None
    return end(run, CODE, loop_texts.no_such_tool(call, known.count)).stop
