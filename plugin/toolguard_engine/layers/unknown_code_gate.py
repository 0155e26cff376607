"""A command that runs code which cannot be read: held, or held for what its rehearsal did, by `containment.unknown`."""

from __future__ import annotations

from msgspec import structs

from toolguard_engine.effects.facts import places
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.layers import uncontained
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import rehearsal_texts

CODE = "containment.unknown"
REHEARSED = "containment.rehearsed"
REASON = "Nobody can say what it does before it has run ({why}), and containment.unknown is hold."
UNAVAILABLE = "It cannot be rehearsed ({why}), and containment.whenUnavailable is hold."


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """A hold in place of an allow. What a model types into a running program is not held here: that runs already."""
    settings = given.config.containment
    if settings.unknown == "allow" or earlier.decision != "allow" or not given.reading.executes or given.is_typed:
        return None
    from toolguard_engine.containment import unknown_code  # noqa: PLC0415 - without containment nothing of it is loaded

    why = unknown_code.why(given.reading, given.rehearsals.is_trusted)
    if not why:
        return None
    if settings.unknown == "hold":
        return judgement.changed(earlier, Verdict("hold", CODE, reason=REASON.format(why=why)))
    seen = given.rehearsals.rehearse(given.call)
    if seen.effects:
        where = given.reading.command_where
        true = [Effect(kind, path, places.place(path, where)) for kind, path in seen.done]
        held = judgement.changed(earlier, Verdict("hold", REHEARSED, reason=rehearsal_texts.reason(seen.effects)))
        return structs.replace(held, effects=(*true, *earlier.effects))
    if seen.unavailable and settings.when_unavailable == "hold":
        return judgement.changed(earlier, Verdict("hold", uncontained.CODE, reason=UNAVAILABLE.format(why=seen.unavailable)))
    return None
