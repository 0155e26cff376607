"""Calls that ask for a person, while the store of held calls is asked about them.

Nobody else waits for that: a call is parked, the store is asked beside the loop, and the call is answered when the store has
answered, or blocked after `Intervals.answer`. What may have changed meanwhile is looked at again before the answer leaves.
An approval that the store used up for a call that was not let run is given back: the same call runs with it once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec import Struct

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import first_use
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.server.held_call_decisions import AWAY, Approvals, Settled, prompt_for
from toolguard_engine.server.outbox import Outbox
from toolguard_engine.server.session_state import SessionState
from toolguard_engine.server.store_queue import StoreJob, nothing
from toolguard_engine.wire import messages
from toolguard_engine.wording import approval as approval_texts

RUN_OVER = "approval.run-over"
UNUSED = "approval.unused"
ENDED = "its run ended before the store of held calls had answered"


class CallAnswers(Protocol):
    """The answers that a parked call may get."""

    def undecided(self, message: messages.Judge, call: Call, error: Exception) -> messages.Wire: ...

    def approved(self, call: Call, entry: HeldCall, config: Config) -> None: ...

    def judged_again(self, message: messages.Judge, call: Call, use: ToolUse | None) -> messages.Wire | None: ...

    def let_run(
        self, question: int, call: Call, code: str, *, note: str = "", pin: bool = False, nonce: str = ""
    ) -> messages.Wire: ...

    def refuse(
        self, question: int, call: Call, verdict: Verdict, nonce: str = "", prompt: messages.Prompt | None = None
    ) -> messages.Wire: ...


class ParkedCall(Struct, eq=False):
    """`asked`: the verdict of the guard; `use`: of a tool that the gateway does not come with."""

    message: messages.Judge
    call: Call
    asked: Verdict
    approvals: Approvals
    config: Config
    use: ToolUse | None = None
    run_is_over: bool = False


class ParkedCalls:
    def __init__(self, state: SessionState, outbox: Outbox, answers: CallAnswers) -> None:
        self._state = state
        self._outbox = outbox
        self._answers = answers
        self._waiting: set[ParkedCall] = set()

    def park(self, message: messages.Judge, reading: CallReading, asked: Verdict, approvals: Approvals) -> None:
        """Asks the store; the answer follows in `SessionState.answers`."""
        call, config = reading.call, reading.config
        tools = self._state.guard.tools
        use = tools.use_of(call) if tools else None
        parked = ParkedCall(message, call, asked, approvals, config, use)
        self._waiting.add(parked)
        self._state.setup.queue.do(
            StoreJob(
                work=partial(approvals.settle, asked, call, config, use),
                done=lambda settled: self._answer(parked, lambda: self._answered(parked, settled)),
                failed=partial(self._failed, parked),
                overdue=lambda: self._answer(parked, lambda: self._refused(parked, self._away(parked))),
                late=partial(self._late, parked),
                behind=approvals.write_log,
                seconds=self._state.setup.queue.answer_seconds,
            )
        )

    def run_ended(self, run: str) -> None:
        """Nobody waits for the answers on its calls any longer."""
        for parked in self._waiting:
            parked.run_is_over |= parked.call.run == run

    def _answer(self, parked: ParkedCall, make: Callable[[], messages.Wire | None]) -> None:
        self._waiting.discard(parked)
        try:
            answer = make()
        except Exception as error:  # noqa: BLE001 - a bug must not become a yes, nor leave the question open
            answer = self._answers.undecided(parked.message, parked.call, error)
        if answer is not None:
            self._state.answers.append((parked.message, answer))

    def _failed(self, parked: ParkedCall, error: Exception) -> None:
        self._answer(parked, lambda: self._answers.undecided(parked.message, parked.call, error))

    def _refused(self, parked: ParkedCall, verdict: Verdict) -> messages.Wire:
        return self._answers.refuse(parked.message.id, parked.call, verdict)

    def _away(self, parked: ParkedCall) -> Verdict:
        prefix = parked.config.approval.prefix
        if self._state.guard.killed:
            return self._state.guard.kill_verdict(prefix)
        reason = f"the store of held calls did not answer within {self._state.setup.queue.answer_seconds} s"
        return Verdict("block", AWAY, approval_texts.not_now(prefix, reason), reason)

    def _answered(self, parked: ParkedCall, settled: Settled) -> messages.Wire | None:
        """The store has answered in time; None where it is asked once more."""
        if settled.verdict.code == first_use.TRUSTED and not parked.run_is_over:
            return self._answers.judged_again(parked.message, parked.call, parked.use)
        refusal = self._refused_by_now(parked, settled.verdict)
        if refusal is not None:
            self._keep(parked, settled)
            return self._refused(parked, refusal)
        verdict, entry, call = settled.verdict, settled.entry, parked.call
        if verdict.decision == "allow":
            return self._let_run(parked, settled)
        if verdict.decision == "hold" and entry and not settled.fresh:
            self._outbox.event("hold-again", call, verdict, entry.nonce, entry.shown)
        prompt = (
            prompt_for(entry, self._state.setup.clock().timestamp())
            if verdict.decision == "hold" and entry and entry.whole and self._may_prompt(parked)
            else None
        )
        return self._answers.refuse(parked.message.id, call, verdict, entry.nonce if entry else "", prompt)

    @staticmethod
    def _may_prompt(parked: ParkedCall) -> bool:
        """A yes in the gateway's own prompt carries no signature, and the gateway would let the call run by itself."""
        return parked.message.native and not (parked.config.approval.is_signed or parked.config.fleet.enabled)

    def _let_run(self, parked: ParkedCall, settled: Settled) -> messages.Wire:
        call, entry = parked.call, settled.entry
        self._state.tally.approved += 1
        self._state.guard.succeeded(call)  # it waits no more, whatever becomes of it
        if entry is None:
            self._outbox.event("grant-used", call, settled.verdict)
        else:
            self._answers.approved(call, entry, parked.config)
        nonce = entry.nonce if entry else ""
        return self._answers.let_run(parked.message.id, call, settled.verdict.code, pin=True, nonce=nonce)

    def _refused_by_now(self, parked: ParkedCall, verdict: Verdict) -> Verdict | None:
        """What has come up since the call was parked; None where nothing has that would keep it from running."""
        prefix = parked.config.approval.prefix
        if self._state.guard.killed:
            return self._state.guard.kill_verdict(prefix)
        if verdict.decision != "allow":
            return None
        if parked.run_is_over:
            return Verdict("block", RUN_OVER, approval_texts.not_now(prefix, ENDED), ENDED)
        again = self._state.guard.judge(parked.call)
        return again if again.decision == "block" else None

    def _late(self, parked: ParkedCall, settled: Settled) -> None:
        """It was blocked meanwhile."""
        self._keep(parked, settled)
        self._state.answers.append((parked.message, None))

    def _keep(self, parked: ParkedCall, settled: Settled) -> None:
        entry = settled.entry
        if settled.verdict.decision != "allow" or entry is None:
            return
        approvals = parked.approvals
        approvals.keep(entry)
        self._state.setup.queue.do(StoreJob(work=approvals.give_back, done=nothing, failed=approvals.not_given_back))
        reason = (
            f"the approval of {entry.nonce} is used up, but the call did not run: the same call may still run with it once"
        )
        self._outbox.event("error", parked.call, Verdict("allow", UNUSED, reason=reason), entry.nonce)
