"""Decisions that come through the gateway: approvals and denials, checkpoints, the kill switch, accepted settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from msgspec import structs

from toolguard_engine.approvals import chat_senders, replies
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.layers.autonomy.agent_standings import means
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.server.outbox import Outbox, fault
from toolguard_engine.server.session_state import SessionState
from toolguard_engine.server.standings_sync import StandingsSync
from toolguard_engine.server.store_queue import StoreJob
from toolguard_engine.server.verdicts import CHECKPOINT, Verdicts
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wire import messages

NATIVE_EVENTS = {"used": "consume", "denied": "deny"}
EVERYWHERE = "all"
NO_SESSION = "The gateway does not say which chat this is; refill the budgets of all chats with /toolguard checkpoint all."
AWAY = "The store of held calls does not answer. Before you try again, check the call's state with /toolguard pending."
NOT_THE_AGENT = "The agent may not approve its own calls (approval.agentTool is off)."

_INSTEAD = {
    "checkpoint": "toolguard checkpoint",
    "kill-switch": "toolguard kill-switch off",
    "accept": "toolguard config accept",
}
"""Commands in chat that loosen something and name no held call, and what replaces them in a terminal."""

T = TypeVar("T")
Asking = messages.PersonDecision | messages.Resolved


class PersonDecisions:
    def __init__(self, state: SessionState, outbox: Outbox, sync: StandingsSync, verdicts: Verdicts) -> None:
        self._state = state
        self._outbox = outbox
        self._sync = sync
        self._verdicts = verdicts

    def decide(self, message: messages.PersonDecision) -> messages.Wire | None:
        """The answer; None where it follows in `SessionState.answers`."""
        if message.where == "tool" and not (self._state.config.approval.agent_tool and message.action == "approve"):
            return messages.DecisionReply(message.id, ok=False, text=NOT_THE_AGENT)
        if message.action in _INSTEAD and not (message.action == "kill-switch" and message.nonce == "on"):
            peer = chat_senders.in_doubt(message.peers, self._state.now() - chat_senders.RECENT, message.carriers)
            if peer is not None:
                return self._refused(message, peer, _INSTEAD[message.action])
        if message.action == "checkpoint":
            return self._checkpoint(message)
        if message.action == "kill-switch":
            return self._kill_switch(message)
        if message.action == "accept":
            return self._accept(message)
        if self._state.approvals is None:
            return messages.DecisionReply(message.id, ok=False, text="Approvals are unavailable; run `toolguard doctor`.")
        away = messages.DecisionReply(message.id, ok=False, text=AWAY)
        if message.action == "approve" and (message.peers or message.carriers is not None):
            self._ask(message, partial(self._approve_in_doubt, message), self._in_doubt(message), away)
            return None
        answered = self._with_weaker if message.action == "pending" else lambda answer: answer
        self._ask(message, partial(self._state.approvals.decide, message, self._state.config), answered, away)
        return None

    def _approve_in_doubt(self, message: messages.PersonDecision) -> messages.DecisionReply | messages.DoubtfulPeer:
        """The answer to an approval, or the connection because of which it does not count. Not on the thread of the loop."""
        approvals = self._state.approvals
        assert approvals is not None  # noqa: S101 - `decide` has looked
        since = approvals.held_since(message.nonce)
        peer = None if since is None else chat_senders.in_doubt(message.peers, since, message.carriers)
        return peer or approvals.decide(message, self._state.config)

    def _in_doubt(
        self, message: messages.PersonDecision
    ) -> Callable[[messages.DecisionReply | messages.DoubtfulPeer], messages.Wire]:
        def answer(reply: messages.DecisionReply | messages.DoubtfulPeer) -> messages.Wire:
            if isinstance(reply, messages.DecisionReply):
                return reply
            return self._refused(message, reply, f"toolguard approve {audit_log.plain(message.nonce)[:20]}")

        return answer

    def _refused(
        self, message: messages.PersonDecision, peer: messages.DoubtfulPeer, instead: str
    ) -> messages.DecisionReply:
        """Somebody else may have sent this command."""
        reason = f"`/toolguard {message.action}` in chat does not count: {audit_log.plain(chat_senders.reason(peer))}"
        verdict = Verdict("block", chat_senders.code(peer), reason=reason)
        self._outbox.event("security", Call("", None), verdict, message.nonce if message.action == "approve" else "")
        return messages.DecisionReply(message.id, ok=False, text=chat_senders.refusal(peer, instead))

    def _ask(
        self, message: Asking, work: Callable[[], T], answered: Callable[[T], messages.Wire], away: messages.Wire,
        *, always: bool = False,
    ) -> None:  # fmt: skip
        """Asks the store beside the loop. `away`: the answer where it does not answer in time."""

        def answer(answer: messages.Wire) -> None:
            self._state.answers.append((message, answer))

        def failed(error: Exception) -> None:
            answer(messages.Error(message.id, fault(error)))
            raise error

        def late(result: T) -> None:
            answered(result)

        self._state.setup.queue.do(
            StoreJob(
                work=work,
                done=lambda result: answer(answered(result)),
                failed=failed,
                overdue=lambda: answer(away),
                late=late,
                seconds=self._state.setup.queue.answer_seconds,
                always=always,
            )
        )

    def _accept(self, message: messages.PersonDecision) -> messages.Wire:
        """A person accepts the settings that became weaker."""
        decision = Decision(audit_log.plain(message.by), message.where, audit_log.plain(message.why))
        try:
            text = (
                self._state.weakenings.accept(decision, message.nonce)
                if self._state.weakenings
                else "the gateway has not reported its location yet"
            )
        except StoreError as error:
            return messages.DecisionReply(message.id, ok=False, text=f"{error}\nRun `toolguard doctor` in a terminal.")
        return messages.DecisionReply(message.id, ok=self._state.weakenings is not None, text=text)

    def _with_weaker(self, answer: messages.DecisionReply) -> messages.DecisionReply:
        """What waits for a person beside held calls."""
        try:
            lines = self._state.weakenings.pending() if self._state.weakenings else []
        except StoreError as error:
            lines = [f"Cannot find out whether settings became weaker: {error}"]
        return structs.replace(answer, text="\n".join([answer.text, *lines])) if lines else answer

    def _checkpoint(self, message: messages.PersonDecision) -> messages.Wire | None:
        """A person looked: the budget of this session and of its agent's subagents, or of all, is full again."""
        everywhere = message.nonce == EVERYWHERE
        if not everywhere and not message.session:
            return messages.DecisionReply(message.id, ok=False, text=NO_SESSION)
        changed = self._state.guard.autonomy.checkpoint(
            "" if everywhere else message.session, self._state.now(), self._state.config
        )
        if not changed:
            return messages.DecisionReply(
                message.id, ok=True, text=f"nothing was spent {'yet' if everywhere else 'in this chat'}"
            )
        self._sync.save()
        done = f"checkpoint: {len(changed)} budget{'' if len(changed) == 1 else 's'} refilled"
        self._outbox.decision("checkpoint", message, CHECKPOINT, done)
        if self._state.approvals is None:
            return messages.DecisionReply(message.id, ok=True, text=done)
        decision = Decision(audit_log.plain(message.by), message.where)
        work = partial(self._state.approvals.lapse, means(standing.key for standing in changed), decision)
        away = messages.DecisionReply(message.id, ok=True, text=f"{done}; {replies.NOT_LAPSED}")
        reply = lambda closed: structs.replace(away, text=f"{done}{closed and f'; {closed}'}")  # noqa: E731
        self._ask(message, work, reply, away, always=True)
        return None

    def _kill_switch(self, message: messages.PersonDecision) -> messages.Wire:
        if message.nonce not in ("on", "off") or self._state.kill_switch is None:
            return messages.DecisionReply(message.id, ok=False, text="Specify on or off: /toolguard kill-switch on")
        try:
            self._state.kill_switch.set(
                on=message.nonce == "on", by=audit_log.plain(message.by), why=audit_log.plain(message.why)
            )
        except StoreError as error:
            return messages.DecisionReply(message.id, ok=False, text=str(error))
        text = "no tool call runs until it is switched off" if message.nonce == "on" else "calls are judged as usual again"
        self._outbox.decision("kill-switch", message, f"kill-switch.{message.nonce}", text)
        return messages.DecisionReply(message.id, ok=True, text=f"kill switch {message.nonce}: {text}")

    def resolved(self, message: messages.Resolved) -> messages.Wire | None:
        """The answer; None where it follows in `SessionState.answers`."""
        if self._state.approvals is None:
            return self._entered(message, None)
        work = partial(self._state.approvals.resolved, message)
        self._ask(message, work, partial(self._entered, message), messages.Pong(message.id), always=True)
        return None

    def _entered(self, message: messages.Resolved, entry: HeldCall | None) -> messages.Wire:
        if entry and message.outcome == "used":
            call = Call(entry.tool, None, agent=entry.agent, session=entry.session, run=entry.run, at=self._state.now())
            self._verdicts.ran_from_prompt(call, entry)
            self._sync.save()
        if entry is None and (event := NATIVE_EVENTS.get(message.outcome)):
            text = "answered in the gateway's own prompt after it was closed here"
            self._outbox.event(event, Call("", None), Verdict("allow", "approval.native", reason=text), message.nonce)
        return messages.Pong(message.id, entered=entry is not None)
