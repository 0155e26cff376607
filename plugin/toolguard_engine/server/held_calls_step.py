"""The watch over held calls: agents are woken when a person has decided in another process."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from toolguard_engine.approvals.approval_window import WakeOutcome
from toolguard_engine.config import conflicts
from toolguard_engine.config.settings import Config
from toolguard_engine.host import session_names
from toolguard_engine.server.chat_grants import ChatGrants
from toolguard_engine.server.clock import Clock, Every
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.server.output import Output
from toolguard_engine.server.session_answers import SessionAnswers
from toolguard_engine.server.store_queue import StoreJob, StoreQueue, nothing
from toolguard_engine.server.tool_trust import ToolTrust
from toolguard_engine.server.wake_watcher import Wakes
from toolguard_engine.server.world_reader import WorldReader
from toolguard_engine.stores import audit_log, call_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.wire import messages

if TYPE_CHECKING:
    from toolguard_engine.stores.approval_signers import ApprovalSigners
    from toolguard_engine.stores.fleet.fleet_client import FleetClient


class HeldCalls:
    """Opens the store of held calls once the gateway has said where it is, and polls it while calls wait there."""

    def __init__(self, output: Output, clock: Clock, queue: StoreQueue, poll: float) -> None:
        self._output = output
        self._clock = clock
        self._queue = queue
        self._poll = Every(clock, poll)
        self._slow_poll = Every(clock, 5 * poll)
        self._wakes: Wakes | None = None
        self._fleet: FleetClient | None = None
        self._world = WorldReader()
        self._session_answers: SessionAnswers | None = None
        self.path = Path()
        """Where the store is."""

    def open(self, hello: messages.Hello, config: Config) -> Approvals:
        state_dir = Path(hello.state_dir)
        self.close()
        self._session_answers = None
        approval, is_fleet = config.approval, config.fleet.enabled
        grant_signers = stores.grant_signers(state_dir, config, is_engine=True)
        is_local = not is_fleet or (config.fleet.when_away == "local" and approval.is_signed)
        signers = grant_signers if is_local else None
        nonces = self._store(hello, config, state_dir, signers)
        self.path = nonces.path
        wake, native, window = approval.wake, approval.mode == "native" and not is_fleet, config.approval_window_ms / 1000
        self._wakes = Wakes(nonces, self._clock, self._queue, self._output.send_all, wake=wake, window=window, native=native)
        policies = stores.grants(state_dir)
        audit = stores.audit_log(state_dir)
        chat_grants = ChatGrants(policies, audit, self._clock.time)
        if grant_signers is None:  # a grant for a session carries no signature
            self._session_answers = SessionAnswers(stores.session_grants(state_dir), audit, self._clock.time)
        approvals = Approvals(nonces, policies, self._clock.time, signers, grant_signers, chat_grants, self._world)
        approvals.chat.undo = partial(undo_notes.offer, state_dir)
        approvals.session_answers = self._session_answers
        approvals.tools = ToolTrust(
            stores.tool_answers(state_dir), audit, self._clock.time, grant_signers.allows if grant_signers else None
        )
        return approvals

    def _store(
        self, hello: messages.Hello, config: Config, state_dir: Path, signers: ApprovalSigners | None
    ) -> HeldCallStore:
        if config.fleet.enabled:
            metrics_path = str(call_log.resolve(config.metrics.db_path, state_dir)) if config.is_measured else ""
            self._fleet = stores.fleet(
                state_dir, hello.gateway, config.fleet, config.approval_window_ms / 1000, metrics_path, signers
            )
            return self._fleet.calls
        named = conflicts.store_path(config)
        place = call_log.resolve(named, state_dir) if named else None
        return stores.held_calls(state_dir, place, hello.gateway, signers)

    def fleet_stop(self) -> str:
        """Why the fleet lets no call run; empty where it does."""
        return self._fleet.switch.why() if self._fleet else ""

    def close(self) -> None:
        if self._fleet is not None:
            self._fleet.close()
            self._fleet = None

    @property
    def next(self) -> float:
        """When to poll, by the monotonic clock."""
        if self._wakes is None or not self._wakes.can_poll:
            return math.inf
        if self._wakes.watching:
            return self._poll.next
        return self._slow_poll.next if self._wakes.may_revive else math.inf

    def poll(self) -> None:
        """Where it is due."""
        if self._wakes is None or not self._wakes.can_poll:
            return
        if (self._wakes.watching and self._poll.due()) or (self._wakes.may_revive and self._slow_poll.due()):
            self._poll.restart()
            self._slow_poll.restart()
            self._wakes.poll()

    def take_note(self, session: str) -> str:
        """See `Wakes.take_note`."""
        return self._wakes.take_note(session_names.lasting(session)) if self._wakes else ""

    def report(self) -> None:
        """What is wrong with the store."""
        if self._wakes:
            self._output.complain(self._wakes.trouble)

    def _end_session(self, session: str) -> None:
        if answers := self._session_answers:
            work = partial(answers.end, session)
            self._queue.do(StoreJob(work=work, done=nothing, failed=self._not_ended, always=True))

    def _not_ended(self, error: Exception) -> None:
        self._output.complain(f"what was allowed in a session that has ended could not be taken back: {error}")

    def follow(self, message: messages.Incoming, answer: messages.Wire | None) -> None:
        """What an answer means for the watch."""
        if self._wakes is None:
            return
        if isinstance(message, messages.Judge | messages.RunStart):
            self._wakes.runs.begin(message.run, session_names.lasting(message.session))
        if isinstance(message, messages.Judge):
            if answer is None or (isinstance(answer, messages.VerdictAnswer) and answer.decision == "hold"):
                self._wakes.look()
        elif isinstance(message, messages.SessionEnd):
            self._end_session(message.session)
        elif isinstance(message, messages.RunEnd):
            self._wakes.runs.end(message.run)
            self._wakes.ended(session_names.lasting(message.session))
        elif isinstance(message, messages.Woken):
            self._wakes.reported(message.nonce, WakeOutcome(message.outcome, audit_log.plain(message.why)))
        elif isinstance(message, messages.PersonDecision | messages.Resolved):
            self._wakes.look()
