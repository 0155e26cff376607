"""Calls of a tool that does not exist, whatever their arguments. Calls of one message count once."""

from __future__ import annotations

import msgspec

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers.repetition.loop_counters import LoopCounters
from toolguard_engine.layers.repetition.reaction import end
from toolguard_engine.model.call import Call, Run, Stop
from toolguard_engine.model.history import Count
from toolguard_engine.wording import correction, loop_notes

CODE = "loop.unknown-tool"
MAX_NAMES = 200


class MissingToolCounters(LoopCounters):
    """`missing`: calls of tools that do not exist, by name."""

    missing: dict[str, Count] = msgspec.field(default_factory=dict)

    @property
    def matters(self) -> bool:
        return bool(self.missing)


def on_miss(call: Call, run: Run, settings: LoopDetection) -> Stop | None:
    missing, name = run.counters.get(MissingToolCounters).missing, correction.name(tool_name(call.tool))
    known = missing.pop(name, None) or Count()
    known.again(call.request)
    missing[name] = known  # at the end: the ones that were not called for long are dropped first
    if len(missing) > MAX_NAMES:
        del missing[next(iter(missing))]
    if known.count < settings.unknown_tool_threshold:
        return None
    return end(run, CODE, loop_notes.no_such_tool(call, known.count)).stop
