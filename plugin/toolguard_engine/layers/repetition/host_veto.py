"""A call that the gateway's own loop detection did not let run. Where ours is on as well it is like a block of our own: the
second one in a run, of either, ends it. Calls of one message are one. The model knows of the first from the gateway.
"""

from __future__ import annotations

from toolguard_engine.layers.repetition.loop_counters import BlockCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.wording import loop_notes

CODE = "loop.host"


def on_veto(call: Call, run: Run) -> Reaction:
    criticals = run.counters.get(BlockCounters).criticals
    if not criticals.again(call.request):
        return NOTHING
    text = loop_notes.vetoed(call)
    return end(run, CODE, text) if criticals.count > 1 else Reaction(CODE, reason=text)
