"""How every agent stands: its budget, its trust and its drift, changed by what its calls do. Pure.

`budget.mode` says what follows: `shadow` only tells (`take_signals`), `soft` asks for calls of HIGH and CRITICAL risk,
`enforce` for every call above SAFE; `disabled` counts nothing. A SAFE call is never held here. Where toolguard as a whole
only watches (`mode`), so does this; where it is soft, this is no stricter.

In `shadow` no answer waits for the counting: `settle` does it behind the answer. Whatever else asks how an
agent stands, or changes it, settles first, so that the order of events is the order of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.standing import MAX_STANDINGS, Key, Seen, Signal, Standing, Standings, place_in, place_of
from toolguard_engine.config.settings import Config, Mode
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers.autonomy import budget, drift
from toolguard_engine.layers.autonomy.drift import resource
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.rules import risk_levels
from toolguard_engine.rules.judgement import Judgement

ASKS = ("budget.", "drift.")
"""Beginnings of the codes under which a checkpoint is asked for."""

CHECKPOINT = "Approving it also counts as a checkpoint: it resets the budget and drift."


class BudgetNotice(msgspec.Struct, frozen=True):
    """A signal that is new: for the audit log. `held`: it held the call."""

    call: Call
    signal: Signal
    held: bool


class Autonomy:
    """How all agents stand."""

    def __init__(self) -> None:
        self._standings = Standings()
        self._signals: list[BudgetNotice] = []
        self._changed: dict[Key, Standing] = {}
        self._has_spent = False
        self._last: tuple[Judgement, Standing, drift.DriftStep] | None = None
        self._uncounted: tuple[CallReading, Judgement, Config] | None = None

    def judge(self, reading: CallReading, earlier: Judgement, config: Config) -> Verdict | None:
        """A hold if a person has to look first. Changes nothing but which signals were reported."""
        mode = config.active_budget_mode
        if mode in ("disabled", "shadow"):
            return None
        self.settle()
        return self._judged(reading, earlier, config, mode)

    def _judged(self, reading: CallReading, earlier: Judgement, config: Config, mode: Mode) -> Verdict | None:
        call = reading.call
        standing, step = self._seen(reading, earlier, config)
        signals = drift.judge(standing.seen, step, config.budget.drift, budget.agent(standing))
        if step.rank:
            unless = standing.reported if mode == "shadow" else ()
            signals = budget.judge(standing, step.rank, call.tool, config.budget, unless) + signals
        if not signals:
            return None
        holds = mode in budget.LOWEST_HELD and step.rank >= budget.LOWEST_HELD[mode]
        for signal in signals:
            self._tell(call, standing, signal, held=holds and signal is signals[0])
        return Verdict("hold", signals[0].code, reason=f"{signals[0].reason} {CHECKPOINT}") if holds else None

    def let_through(self, reading: CallReading, earlier: Judgement, config: Config) -> None:
        """The call runs: it is paid for, and counted for drift."""
        mode = config.active_budget_mode
        self.settle()
        if mode == "shadow":
            self._uncounted = reading, earlier, config
        elif mode != "disabled":
            self._count(reading, earlier, config, mode)

    def settle(self) -> None:
        """Counts what was let through in shadow mode and is not counted yet."""
        if self._uncounted is not None:
            (reading, earlier, config), self._uncounted = self._uncounted, None
            self._judged(reading, earlier, config, "shadow")
            self._count(reading, earlier, config, "shadow")

    def _count(self, reading: CallReading, earlier: Judgement, config: Config, mode: Mode) -> None:
        standing, step = self._seen(reading, earlier, config)
        drift.count(standing.seen, step)
        if budget.charge(standing, step.rank, config.budget) and mode in budget.LOWEST_HELD:
            self._has_spent = True
        standing.touched = max(standing.touched, reading.call.at)
        self._changes(standing)

    def approved(self, call: Call, code: str, config: Config) -> None:
        """A person approved a call that was held under this code; a checkpoint where the code is one of `ASKS`."""
        if config.active_budget_mode != "disabled":
            standing = self._settled(call, config)
            if code.startswith(ASKS):
                _refill(standing, call.at)
                self._must_last(config)
            budget.trust(standing, budget.TRUST.approval)
            self._changes(standing)

    def clean(self, call: Call, config: Config) -> None:
        """A call was executed without an error."""
        if config.active_budget_mode != "disabled":
            standing = self._settled(call, config)
            budget.clean(standing)
            self._changes(standing)

    def warned(self, call: Call, config: Config) -> None:
        """A detector or an advisory rule spoke about a call."""
        if config.active_budget_mode != "disabled":
            standing = self._settled(call, config)
            standing.seen.warnings += 1
            budget.spoiled(standing, budget.TRUST.warning)
            self._changes(standing)

    def violated(self, call: Call, config: Config) -> None:
        """A call was blocked by a rule, or denied by a person."""
        if config.active_budget_mode != "disabled":
            standing = self._settled(call, config)
            budget.spoiled(standing, budget.TRUST.violation)
            self._changes(standing)
            self._must_last(config)

    def person(self, agent: str, session: str, now: float, config: Config) -> None:
        """The owner wrote to the agent: drift starts again, also of what the agent began by itself."""
        if config.active_budget_mode != "disabled" and session:
            self.settle()
            standing = self._standings.get(agent, place_in(session), config.budget.initial_trust)
            budget.trust(standing, budget.TRUST.message)
            for holder in (standing, *self._standings.spawned(agent)):
                holder.seen = Seen(since=now)
                holder.touched = now
                holder.reported = [code for code in holder.reported if not code.startswith("drift.")]
                self._changes(holder)

    def checkpoint(self, session: str, now: float, config: Config) -> list[Standing]:
        """A person looked: the budget is full again in this session and in what its agents began by themselves; in all where
        it is empty. Those that changed.

        It counts as an approval. Agents of which nothing is counted are left out.
        """
        self.settle()
        within = self._standings.within(session)
        standings = [reset for reset in within if config.for_agent(reset.agent).active_budget_mode != "disabled"]
        for standing in standings:
            _refill(standing, now)
            budget.trust(standing, budget.TRUST.approval)
            self._changes(standing)
            self._must_last(config.for_agent(standing.agent))
        return standings

    def known(self, call: Call) -> Standing | None:
        """How this call's agent stands; None before anything is known of it."""
        self.settle()
        return self._standings.find(call.agent, place_of(call))

    def take_signals(self) -> list[BudgetNotice]:
        """What is new, each once."""
        taken, self._signals = self._signals, []
        return taken

    @property
    def has_spent(self) -> bool:
        """Whether something was spent or lost or refilled since `take_changed`: what must not wait to be written, and must
        outlast a power failure.

        Not where nothing is ever held: nobody gains by losing it.
        """
        return self._has_spent

    def take_changed(self) -> dict[Key, Standing]:
        """The standings that changed since the last time, by agent and session. They go on changing: write them at once."""
        self.settle()
        taken, self._changed, self._has_spent = self._changed, {}, False
        return taken

    def keep_changed(self, standings: dict[Key, Standing], *, has_spent: bool) -> None:
        """What could not be saved is told again."""
        self._changed = {**standings, **self._changed}
        self._has_spent = self._has_spent or has_spent

    def remember(self, standings: list[Standing]) -> None:
        """What an engine before this one, or a person in another process, wrote: it takes the place of what is known.

        Whole, and only where it has seen more checkpoints. What was counted here meanwhile and is not in it goes with the
        rest: that is what a checkpoint is for, and what restricts (spending, a violation) was written before.
        """
        self.settle()
        for standing in sorted(standings, key=lambda standing: standing.touched):  # the one used last is forgotten last
            known = self._standings.find(*standing.key)
            if known is None or known.epoch < standing.epoch:
                self._standings.put(standing)
                self._changed.pop(standing.key, None)
                self._signals = [
                    reported for reported in self._signals if (reported.call.agent, place_of(reported.call)) != standing.key
                ]

    def take_over(self, standings: list[Standing]) -> None:
        """What is on disk instead of what was to be saved: newer, or with what another engine spent."""
        self.settle()
        for standing in standings:
            known = self._standings.find(*standing.key)
            if known is None or known.epoch != standing.epoch:
                self.remember([standing])
            else:
                self._standings.put(standing)
                if standing.key in self._changed:
                    self._changed[standing.key] = standing
        self._last = None

    def sweep(self, now: float) -> None:
        """Forgets sessions that were idle for long."""
        self.settle()
        self._standings.sweep(now)

    def _must_last(self, config: Config) -> None:
        self._has_spent = self._has_spent or config.active_budget_mode in budget.LOWEST_HELD

    def _settled(self, call: Call, config: Config) -> Standing:
        self.settle()
        return self._of(call, config)

    def _of(self, call: Call, config: Config) -> Standing:
        return self._standings.get(call.agent, place_of(call), config.budget.initial_trust)

    def _seen(self, reading: CallReading, earlier: Judgement, config: Config) -> tuple[Standing, drift.DriftStep]:
        """Who does what. Kept from `judge` to `let_through`, which are told of the same judgement."""
        if self._last is not None and self._last[0] is earlier:
            return self._last[1:]
        call = reading.call
        rank, outward = risk_levels.weigh(reading, earlier, config)
        step = drift.DriftStep(rank, outward, resource.resources(earlier.effects) if earlier.effects else (), call.at)
        self._last = earlier, self._of(call, config), step
        return self._last[1:]

    def _tell(self, call: Call, standing: Standing, signal: Signal, *, held: bool) -> None:
        if signal.code not in standing.reported:
            standing.reported.append(signal.code)
            self._signals.append(BudgetNotice(call, signal, held))
            self._changes(standing)

    def _changes(self, standing: Standing) -> None:
        self._changed[standing.agent, standing.session] = standing
        if len(self._changed) > MAX_STANDINGS:  # nobody takes them
            self._changed.pop(next(iter(self._changed)))


def means(keys: Iterable[Key]) -> Callable[[HeldCall], bool]:
    """Whether a checkpoint of these standings answers a held call."""
    known = frozenset(keys)
    return lambda entry: entry.code.startswith(ASKS) and (entry.agent, place_in(entry.session)) in known


def _refill(standing: Standing, now: float) -> None:
    standing.spent = 0.0
    standing.reported = []
    standing.seen = Seen(since=now)
    standing.epoch += 1
    standing.touched = max(standing.touched, now)
