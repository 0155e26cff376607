"""Risk-weighted autonomy: joins a call's risk level, the budget, trust and drift into one question: must a person look first?

Pure. `budget.mode` says what follows: `shadow` only tells (`take_signals`), `soft` asks for calls of HIGH and CRITICAL risk,
`enforce` for every call above SAFE; a SAFE call is never held here.
"""

from __future__ import annotations

import msgspec

from toolguard_engine.config import Config
from toolguard_engine.judgement import Judgement
from toolguard_engine.model import Call, Verdict
from toolguard_engine.standing import Signal, Standing

ASKS = ("budget.", "drift.")
"""Beginnings of the codes under which a checkpoint is asked for."""


class Told(msgspec.Struct, frozen=True):
    """A signal that is new: for the audit log. `held`: it held the call."""

    call: Call
    signal: Signal
    held: bool


class Autonomy:
    """How all agents stand."""

    def __init__(self) -> None:
        self._signals: list[Told] = []
        self._changed: dict[tuple[str, str], Standing] = {}

    def judge(self, call: Call, found: Judgement, config: Config) -> Verdict | None:
        """A hold where a person has to look first. Changes nothing but what was told."""
        return None

    def let_through(self, call: Call, found: Judgement, config: Config) -> None:
        """The call runs: it is paid for, and counted for drift."""

    def approved(self, call: Call, code: str, config: Config) -> None:
        """A person approved a call that was held under this code; a checkpoint where the code is one of `ASKS`."""

    def clean(self, call: Call, config: Config) -> None:
        """A call was executed without an error."""

    def warned(self, call: Call, config: Config) -> None:
        """A detector or an advisory constraint spoke about a call."""

    def violated(self, call: Call, config: Config) -> None:
        """A call was blocked by a rule, or denied by a person."""

    def person(self, agent: str, session: str, now: float, config: Config) -> None:
        """The owner wrote to the agent."""

    def checkpoint(self, session: str, now: float, config: Config) -> list[Standing]:
        """A person looked: the budget is full again in this session, in all where it is empty. Those that changed."""
        return []

    def epoch(self, call: Call) -> int:
        """How many checkpoints the standing of this call's agent has seen."""
        return 0

    def take_signals(self) -> list[Told]:
        """What is new, each once."""
        taken, self._signals = self._signals, []
        return taken

    @property
    def has_spent(self) -> bool:
        """Whether something was spent since `take_changed`: what must not wait to be written."""
        return False

    def take_changed(self) -> dict[tuple[str, str], Standing]:
        """The standings that changed since the last time, by agent and session."""
        taken, self._changed = self._changed, {}
        return taken

    def keep_changed(self, standings: dict[tuple[str, str], Standing]) -> None:
        """What could not be saved is told again."""
        self._changed = {**standings, **self._changed}

    def remember(self, standings: list[Standing]) -> None:
        """What an engine before this one, or a person in another process, wrote: it takes the place of what is known."""

    def sweep(self, now: float) -> None:
        """Forgets sessions that were idle for long."""
