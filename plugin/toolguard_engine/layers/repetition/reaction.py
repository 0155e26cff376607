"""What a detector answers."""

from __future__ import annotations

import msgspec

from toolguard_engine.model.call import Run, Stop
from toolguard_engine.wording import loop_notes


class Reaction(msgspec.Struct, frozen=True):
    """What a call that ran leads to: `note` behind its result, `stop` the end of its run, `code` of the detector, `reason`
    what it found, for people."""

    code: str = ""
    note: str = ""
    stop: Stop | None = None
    reason: str = ""


NOTHING = Reaction()


def merge(earlier: Reaction, later: Reaction) -> Reaction:
    """Which of two reactions to a result is answered: one that ends the run, else the earlier one that says something."""
    return earlier if earlier.stop or (earlier.code and not later.stop) else later


def end(run: Run, code: str, text: str) -> Reaction:
    """The run ends; the model is told behind the last result already, so that it may end the turn by itself."""
    run.stop = Stop(code, loop_notes.ends(text))
    return Reaction(code, run.stop.text, run.stop, text)
