"""What every layer is given beside the judgement so far: the call as it was read, and the state of the guard.

A layer is a module with `judge(given: LayerInput, earlier: Judgement) -> Judgement | None`. `earlier` is the judgement of
the layers before it; the answer takes its place, None keeps it. The order of the layers is `layer_order.LAYERS`.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.terminal_input.running_programs import Processes, RunningProgram, TypedEntry
from toolguard_engine.layers import self_protection
from toolguard_engine.layers.autonomy.agent_standings import Autonomy
from toolguard_engine.layers.provenance.context import RunContexts
from toolguard_engine.layers.seen_tools import SeenTools
from toolguard_engine.layers.spending_totals import SpendingTotals
from toolguard_engine.model.call import Call, Kept, Run, Verdict
from toolguard_engine.model.lazy import FAILURES, Lazy
from toolguard_engine.model.living_programs import LivingPrograms
from toolguard_engine.model.rehearsals import NoRehearsals, Rehearsals
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Rulebook


class LayerInput(msgspec.Struct, eq=False, dict=True):
    """State that is left out has no say: without a `run` nothing repeats, without `autonomy` nothing is counted."""

    reading: CallReading
    rules: Rulebook
    contexts: RunContexts | None = None
    processes: Processes | None = None
    """The programs that agents type into."""
    run: Run | None = None
    """The run that the call belongs to."""
    autonomy: Autonomy | None = None
    kill_switch: str = ""
    """Why the kill switch is on; empty while it is off."""
    unreadable_policy: str = ""
    """What of the user's own rules cannot be read, in words."""
    store_error: str = ""
    """Why the standings of the agents cannot be read or saved."""
    judge_command: Callable[[CallReading], Judgement] | None = None
    """Judges a command that is typed into a running program."""
    is_typed: bool = False
    """Whether this is such a command."""
    spending: SpendingTotals | None = None
    """What is used of the limits; None without limits."""
    kill_code: str = "kill-switch.on"
    """Whose kill switch is on."""
    living: LivingPrograms | None = None
    """The programs of earlier calls that may still run."""
    rehearsals: Rehearsals = NoRehearsals()
    """Runs of commands on a copy of the files."""
    uncontained: str = ""
    """Why the command cannot be contained, where it is to be held for that."""
    kept_from: Callable[[CallReading], Kept] | None = None
    """What the kernel keeps a command from in the room that it is sure to enter."""

    tools: SeenTools | None = None
    """The tools of plugins and servers."""

    @property
    def call(self) -> Call:
        return self.reading.call

    @property
    def config(self) -> Config:
        """The settings of the agent."""
        return self.reading.config

    @Lazy
    def entries(self) -> list[tuple[RunningProgram, TypedEntry]] | None:
        """What is typed into a running program by this call; None if it types nothing."""
        return self.processes.entries(self.call) if self.processes else None

    @Lazy
    def harm(self) -> Verdict | None:
        """What the call would do to the guard itself. If it types into a known program, its `entries` are judged instead."""
        if self.entries is not None and self.processes and self.processes.knows(self.call):
            return None
        return self_protection.of_reading(self.reading)

    @Lazy
    def harm_is_kept(self) -> bool:
        """Whether the kernel keeps the call from all that is in `harm`."""
        if self.harm is None or self.kept_from is None or self.is_typed or self.entries is not None:
            return False
        try:
            kept = self.kept_from(self.reading)
            return bool(kept) and self_protection.is_harmless(self.reading, kept)
        except FAILURES:
            return False
