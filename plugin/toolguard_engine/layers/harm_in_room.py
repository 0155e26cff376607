"""What might or would harm the guard, but is kept from the command by the kernel, runs in its room.

The last layer. A call that is held or blocked for another reason is judged as if there was no room: a person's yes may let
it run outside.
"""

from __future__ import annotations

from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import room_notes

CODE = "containment.kept"


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    if given.harm is None or not given.harm_is_kept:
        return None
    if earlier.decision == "allow":
        allowed = judgement.changed(earlier, Verdict("allow", CODE, reason=room_notes.refused(given.harm.reason)))
        return judgement.noted(allowed, room_notes.kept(given.harm.decision))
    return without_room(given, earlier)


def stopped(given: LayerInput, earlier: Judgement, verdict: Verdict) -> Judgement:
    """What becomes of a call that is held after all layers have let it run."""
    held = judgement.changed(earlier, verdict)
    return without_room(given, held) if earlier.code == CODE else held


def without_room(given: LayerInput, earlier: Judgement) -> Judgement:
    """What becomes of a call that is not allowed."""
    if earlier.decision == "block" or given.harm is None:
        return earlier
    return (
        judgement.wrap(given.harm, ends=True) if given.harm.decision == "block" else judgement.changed(earlier, given.harm)
    )
