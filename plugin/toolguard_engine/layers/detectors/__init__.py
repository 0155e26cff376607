"""Repetition without progress."""

from __future__ import annotations

from typing import Literal

import msgspec

from toolguard_engine.config import Config
from toolguard_engine.model import Call, Run, Stop, Verdict
from toolguard_engine.outcomes import Outcome

Wanted = Literal["tell", "ask"]


class Reaction(msgspec.Struct, frozen=True):
    """What a call that ran leads to: `note` behind its result, `stop` the end of its run, `code` of the detector."""

    code: str = ""
    note: str = ""
    stop: Stop | None = None


NOTHING = Reaction()


def judge(call: Call, run: Run, config: Config) -> Verdict | None:
    """Blocks a call that repeats without progress; the second time in a run it also sets `run.stop`."""
    return None


def wanted(call: Call, run: Run, config: Config) -> Wanted:
    """Whether what comes of this call may have to be answered (`ask`): a note or the end could be due with it."""
    return "tell"


def on_outcome(call: Call, outcome: Outcome, run: Run, config: Config) -> Reaction:
    """Enters what came of a call into `run.past`; sets `run.stop` where the run ends."""
    return NOTHING


def on_message(calls: list[Call], run: Run, config: Config) -> Stop | None:
    """The end of a run whose next message only repeats what a detector blocked already; sets `run.stop`."""
    return None


def on_unknown_tool(call: Call, run: Run, config: Config) -> Stop | None:
    """Counts a call of a tool that does not exist."""
    return None


def on_compaction(run: Run, config: Config) -> int:
    """Arms the guard after a compaction; for how many calls, 0 where it is off."""
    return 0
