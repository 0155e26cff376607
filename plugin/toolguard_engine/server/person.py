"""Decisions that come through the gateway: approvals and denials, checkpoints, the kill switch, accepted settings."""

from __future__ import annotations

import msgspec

from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.layers.autonomy.checkpoint_gate import means
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.server.outbox import Outbox
from toolguard_engine.server.session_state import SessionState
from toolguard_engine.server.standings_sync import StandingsSync
from toolguard_engine.server.verdicts import CHECKPOINT, Verdicts
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wire import messages

NATIVE_EVENTS = {"used": "consume", "denied": "deny"}
EVERYWHERE = "all"
NO_SESSION = "The gateway does not say which chat this is; refill the budgets of all chats with /toolguard checkpoint all."
NOT_THE_AGENT = "The agent may not approve its own calls (approval.agentTool is off)."


class PersonDecisions:
    def __init__(self, state: SessionState, outbox: Outbox, sync: StandingsSync, verdicts: Verdicts) -> None:
        self._state = state
        self._outbox = outbox
        self._sync = sync
        self._verdicts = verdicts

    def decide(self, message: messages.PersonDecision) -> messages.Wire:
        if message.where == "tool" and not (self._state.config.approval.agent_tool and message.action == "approve"):
            return messages.DecisionReply(message.id, ok=False, text=NOT_THE_AGENT)
        if message.action == "checkpoint":
            return self._checkpoint(message)
        if message.action == "kill-switch":
            return self._kill_switch(message)
        if message.action == "accept":
            return self._accept(message)
        if self._state.approvals is None:
            return messages.DecisionReply(message.id, ok=False, text="Approvals are out of order; run `toolguard doctor`.")
        answer = self._state.approvals.decide(message, self._state.config)
        return self._with_weaker(answer) if message.action == "pending" else answer

    def _accept(self, message: messages.PersonDecision) -> messages.Wire:
        """A person accepts the settings that became weaker."""
        decision = Decision(audit_log.plain(message.by), message.where, audit_log.plain(message.why))
        try:
            text = (
                self._state.weakenings.accept(decision, message.nonce)
                if self._state.weakenings
                else "the gateway has not said yet where it is"
            )
        except StoreError as error:
            return messages.DecisionReply(message.id, ok=False, text=f"{error}\nRun `toolguard doctor` in a terminal.")
        return messages.DecisionReply(message.id, ok=self._state.weakenings is not None, text=text)

    def _with_weaker(self, answer: messages.DecisionReply) -> messages.DecisionReply:
        """What waits for a person beside held calls."""
        try:
            found = self._state.weakenings.pending() if self._state.weakenings else []
        except StoreError as error:
            found = [f"Whether settings became weaker is not known: {error}"]
        return msgspec.structs.replace(answer, text="\n".join([answer.text, *found])) if found else answer

    def _checkpoint(self, message: messages.PersonDecision) -> messages.Wire:
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
        done = f"checkpoint: {len(changed)} budget{'' if len(changed) == 1 else 's'} full again"
        self._outbox.decision("checkpoint", message, CHECKPOINT, done)
        if self._state.approvals is None:
            return messages.DecisionReply(message.id, ok=True, text=done)
        decision = Decision(audit_log.plain(message.by), message.where)
        closed = self._state.approvals.lapse(means(each.key for each in changed), decision)
        return messages.DecisionReply(message.id, ok=True, text=f"{done}{closed and f'; {closed}'}")

    def _kill_switch(self, message: messages.PersonDecision) -> messages.Wire:
        if message.nonce not in ("on", "off") or self._state.kill_switch is None:
            return messages.DecisionReply(message.id, ok=False, text="Say on or off: /toolguard kill-switch on")
        try:
            self._state.kill_switch.set(
                on=message.nonce == "on", by=audit_log.plain(message.by), why=audit_log.plain(message.why)
            )
        except StoreError as error:
            return messages.DecisionReply(message.id, ok=False, text=str(error))
        text = "no tool call runs until it is switched off" if message.nonce == "on" else "calls are judged as usual again"
        self._outbox.decision("kill-switch", message, f"kill-switch.{message.nonce}", text)
        return messages.DecisionReply(message.id, ok=True, text=f"kill switch {message.nonce}: {text}")

    def resolved(self, message: messages.Resolved) -> messages.Wire:
        entry = self._state.approvals.resolved(message) if self._state.approvals else None
        if entry and message.outcome == "used":
            call = Call(entry.tool, None, agent=entry.agent, session=entry.session, run=entry.run, at=self._state.now())
            self._verdicts.approved(call, entry, self._state.guard.config_for(entry.agent))
            self._sync.save()
        if entry is None and (event := NATIVE_EVENTS.get(message.outcome)):
            text = "answered in the gateway's own prompt after it was closed here"
            self._outbox.event(event, Call("", None), Verdict("allow", "approval.native", reason=text), message.nonce)
        return messages.Pong(message.id)
