"""The layers in their order, and the call that goes through them."""

from __future__ import annotations

from typing import Protocol

from msgspec import structs

from toolguard_engine.layers import (
    always_block,
    certain_harm,
    constraints,
    engaged_kill_switch,
    exemptions,
    first_use,
    harm_in_room,
    later_runs,
    lost_folders,
    malformed_loops,
    odd_paths,
    possible_harm,
    reached_limits,
    repetition,
    rubric,
    run_limits,
    store_unavailable,
    typed_input,
    uncontained,
    unknown_code_gate,
    unreadable_policy,
)
from toolguard_engine.layers.autonomy import checkpoint_gate
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.model.work_limit import TooIntricate
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement

TOO_DEEP = Verdict("block", "call.too-deep", reason="Its arguments are nested too deeply to be judged.")
TOO_INTRICATE = Verdict("hold", rubric.TOO_INTRICATE_CODE, reason=rubric.TOO_INTRICATE)


class Layer(Protocol):
    """A module of `layers`, see `layer_input`."""

    def judge(self, given: LayerInput, earlier: Judgement, /) -> Judgement | None: ...


LAYERS: tuple[Layer, ...] = (
    engaged_kill_switch,
    reached_limits,
    run_limits,
    exemptions,
    malformed_loops,
    repetition,
    certain_harm,
    typed_input,
    rubric,
    later_runs,
    odd_paths,
    lost_folders,
    constraints,
    always_block,
    possible_harm,
    uncontained,
    unknown_code_gate,
    first_use,
    unreadable_policy,
    store_unavailable,
    checkpoint_gate,
    harm_in_room,
)
"""The order of the layers. Nothing else decides it: each is given the judgement of those before it."""


def _partial(judged: Judgement) -> Judgement:
    if judged.decision == "allow":
        judged = judgement.changed(judged, TOO_INTRICATE)
    return judged if judged.partial else structs.replace(judged, partial=True)


def judged(given: LayerInput) -> Judgement:
    """The call judged by all layers. Once a layer has failed, no later one lets the call run: it may not have seen all."""
    earlier, failed = judgement.UNJUDGED, False
    try:
        for layer in LAYERS:
            try:
                changed = layer.judge(given, earlier)
            except (TooIntricate, MemoryError):  # too much work to look at: held, unless another layer blocks it
                failed, changed = True, None
            if changed is not None:
                earlier = changed
            if failed:
                earlier = _partial(earlier)
            if earlier.ends:
                break
    except RecursionError:  # the arguments could be decoded, and are too deep for a layer
        return judgement.wrap(TOO_DEEP)
    return earlier
