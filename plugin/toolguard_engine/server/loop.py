"""The loop around the core: reads lines from the gateway part, writes answers, then the records.

Answers leave before anything is written to disk, except for what restricts: what was spent, what is held. The engine ends
when its input ends, and so with its gateway, however that one died. No line can end it: what cannot be read is answered
with a block where it was about a call, else with an error; so is what reveals a bug. Silence alone is the fail mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from msgspec import Struct

from toolguard_engine.config import conflicts
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers.seen_tools import is_own
from toolguard_engine.server import warm_up
from toolguard_engine.server.engine_context import Context, Intervals
from toolguard_engine.server.fair_turns import QUIET, FairTurns
from toolguard_engine.server.held_calls_step import HeldCalls
from toolguard_engine.server.metrics_step import Metrics
from toolguard_engine.server.outbox import fault
from toolguard_engine.server.pipe import Pipe
from toolguard_engine.server.policy_step import PolicyWatch
from toolguard_engine.server.published_engine import Published
from toolguard_engine.server.records_step import Records
from toolguard_engine.server.secrets_step import SecretsWatch
from toolguard_engine.server.settings_step import SettingsWatch
from toolguard_engine.server.tool_watch import ToolWatch
from toolguard_engine.wire import leading_members, messages
from toolguard_engine.wire.line_reader import Lines

LEAVE_SECONDS = 1.0
"""For which an engine that ends waits for a store."""
RULES_EVERY = Intervals.rules
"""Seconds until a changed rule counts at the latest."""


class Parts(Struct, frozen=True):
    """What the loop drives. `serve_setup` builds them."""

    pipe: Pipe
    context: Context
    held: HeldCalls
    policy: PolicyWatch
    records: Records
    settings: SettingsWatch
    secrets: SecretsWatch
    metrics: Metrics
    published: Published
    tools: ToolWatch


class Engine:
    """One engine. `run` returns when the input ends."""

    def __init__(self, parts: Parts, when_warm: Callable[[], object]) -> None:
        """`when_warm` is called once what the first calls need is in memory."""
        self.parts = parts
        self._when_warm = when_warm
        self.session = parts.context.session
        self._pipe = parts.pipe
        self._output = parts.context.output
        self._clock = parts.context.clock
        self._lines = Lines(messages.MAX_LINE)
        self._turns = FairTurns()
        self._is_others_turn = False
        """Whether what came meanwhile is read before another call that had to wait."""
        self._decided: messages.Incoming | None = None
        self._warm_up: Iterator[None] | None = None

    def run(self) -> None:
        try:
            while self.turn():
                pass
        except BrokenPipeError:
            pass  # the gateway is gone, and nobody is left to tell
        finally:
            self._leave()

    def turn(self) -> bool:
        """Answers the next bytes, or does what is due while there are none. False once the input has ended."""
        self._settle()
        if self._turns.next < math.inf and self._took_waiting():
            return True
        if self._warm_up is not None and not self._pipe.ready(0.0):
            self._do(self._warm_up_further)
            return True
        ahead = self.session.files.code_ahead
        due, queue = min(self.next_due(), ahead.due), self.parts.context.queue
        if due < math.inf or queue.is_busy:
            seconds = max(0.0, due - self._clock.monotonic())
            if not self._pipe.ready(seconds, queue.fileno()):
                queue.drain()
                self._do_what_is_due()
                self._do(partial(ahead.read_one, self._clock.monotonic()))
                return True
        if data := self._pipe.read():
            self._take(data)
            return True
        while (message := self._turns.take()) is not None:
            self._answer_waiting(message)
        return False

    def _took_waiting(self) -> bool:
        """Answers one that had to wait: it has waited long enough, or nobody else asks."""
        left = max(0.0, self._turns.next - self._clock.monotonic())
        if (left > 0 or self._is_others_turn) and self._pipe.ready(min(QUIET, left)):
            return False
        now = self._clock.monotonic()
        message = self._turns.take(now) or self._turns.take()
        if message is not None:
            self._look()
            self._answer_waiting(message)
            self._write_records()
            self._is_others_turn = True
        return True

    def _answer_waiting(self, message: messages.Incoming) -> None:
        begun = self._clock.worked()
        answer = self._decide(message)
        self._send_with(answer, partial(leading_members.leading, messages.encode(message)), begun)

    def _warm_up_further(self) -> None:
        """One step, while no message waits."""
        warming, self._warm_up = self._warm_up, None
        if warming is None:
            return
        if next(warming, self) is not self:
            self._warm_up = warming
        else:
            self._when_warm()

    def next_due(self) -> float:
        """When something is to be done without being asked, by the monotonic clock; infinity where nothing is."""
        parts = self.parts
        records = parts.records
        others = (
            parts.published.next, parts.held.next, records.next_retry, records.next_save, parts.metrics.next,
            parts.settings.next,
        )  # fmt: skip
        return min(parts.context.queue.next, *others)

    def _settle(self) -> None:
        """Sends what had to wait for a store, or waited long enough. The kill switch counts as it is now."""
        parts = self.parts
        if parts.context.queue.has_news():
            parts.policy.expire_switch()
            self._do(parts.policy.look_at_rules, parts.policy.look_at_switch, parts.tools.look)
            parts.context.queue.settle()
            self._send_parked()
            self._do(parts.held.report)
            self._write_records()

    def _send_parked(self) -> None:
        for message, answer in self.session.take_answers():
            self._follow(message, answer)
            if answer is not None:
                self._reply(answer, partial(leading_members.leading, messages.encode(message)))

    def _do_what_is_due(self) -> None:
        parts = self.parts
        self._do(
            parts.published.publish_news,
            parts.held.poll,
            parts.records.retry_events,
            parts.records.save_file_memory,
            parts.metrics.record_after_silence,
            parts.settings.retry,
        )

    def _look(self) -> None:
        """What may have changed outside of the engine."""
        parts = self.parts
        self._do(
            parts.policy.look_at_rules,
            parts.policy.look_at_switch,
            parts.policy.look_at_includes,
            parts.tools.look,
            parts.metrics.look_at_limits,
            parts.secrets.look,
        )

    def _take(self, data: bytes) -> None:
        self._is_others_turn = False
        self._look()
        for line, too_long in self._lines.feed(data):
            self._answer(line, too_long=too_long)
        self._write_records()

    def _write_records(self) -> None:
        """What is written behind an answer."""
        parts = self.parts
        self._do(
            self.session.files.settle,
            parts.records.write_events,
            parts.metrics.record,
            self._report_approvals,
            parts.records.write_log,
            parts.records.report_standings,
            self._do_what_is_due,
        )

    def _do(self, *steps: Callable[[], object]) -> None:
        """Each of them, whatever becomes of the others."""
        for step in steps:
            self._output.safely(step)

    def _report_approvals(self) -> None:
        if self.session.approvals:
            self._output.complain(self.session.approvals.trouble)

    def _answer(self, line: bytes, *, too_long: bool) -> None:
        if not line.strip():
            return
        begun = self._clock.worked()
        answer = self.decide(line, too_long=too_long)
        self._send_with(answer, partial(leading_members.leading, line), begun)
        if isinstance(answer, messages.Ready):
            parts = self.parts
            self._do(
                parts.records.restore,
                parts.policy.begin_rules,
                parts.tools.begin,
                parts.policy.look_at_switch,
                parts.metrics.begin,
                parts.settings.compare,
            )
            self._warm_up = warm_up.steps(self.session.guard)

    def _send_with(self, answer: messages.Wire | None, leading: Callable[[], leading_members.Leading], begun: float) -> None:
        """Sends an answer, does what it did not wait for, and counts what both took. `begun`: see `Clock.worked`."""
        if answer is not None:
            self._reply(answer, leading)
            self._do(self.session.settle)
        message, self._decided = self._decided, None
        if message is not None:
            self._turns.used(message, self._clock.worked() - begun, self._clock.monotonic())

    def decide(self, line: bytes, *, too_long: bool = False) -> messages.Wire | None:
        """The answer to one line, if there is to be one now. Never raises but `BrokenPipeError`."""
        if too_long:
            return self._unreadable(leading_members.leading(line), f"a line of more than {messages.MAX_LINE} bytes")
        try:
            message = messages.decode(line)
        except leading_members.ProtocolError as error:
            return self._unreadable(error.leading, str(error))
        except MemoryError:
            return self._unreadable(leading_members.leading(line), "it needs too much memory")
        return None if self._turns.postpones(message, self._clock.monotonic()) else self._decide(message)

    def _decide(self, message: messages.Incoming) -> messages.Wire | None:
        self._decided = message
        if isinstance(message, messages.Judge) and not is_own(tool_name(message.tool)):
            self._do(self.parts.tools.look_now)
        try:
            answer = self.session.answer(message)
        except Exception as error:  # noqa: BLE001 - a bug must become an answer, or the call would hang
            return self._failed(message, error)
        self._follow(message, answer)
        self.parts.published.note()
        return answer

    def _follow(self, message: messages.Incoming, answer: messages.Wire | None) -> None:
        """What a message means beside its answer."""
        if isinstance(answer, messages.Ready):
            self._begin()
        if isinstance(message, messages.PersonDecision) and message.action == "kill-switch":
            self.parts.policy.expire_switch()  # what was answered holds from the next call on
            self._do(self.parts.policy.look_at_switch)
        self._do(partial(self.parts.held.follow, message, answer), partial(self.parts.secrets.note, message))

    def _unreadable(self, leading: leading_members.Leading, reason: str) -> messages.Wire:
        self.parts.published.note()
        return self.session.unreadable(leading, reason)

    def _failed(self, message: messages.Incoming, error: Exception) -> messages.Wire:
        self._output.send(messages.Log("error", f"the engine could not decide: {fault(error)}; please report this"))
        self.parts.published.note()
        return self.session.failed(message, error)

    def _reply(self, answer: messages.Wire, leading: Callable[[], leading_members.Leading]) -> None:
        """Sends it at once, unless it is to be in the audit log before."""
        send = partial(self._send_answer, answer, leading)
        is_blocked = isinstance(answer, messages.VerdictAnswer) and answer.decision == "block"
        if is_blocked and self.session.config.audit.durable:
            self.parts.records.answer_after(send)
        else:
            send()

    def _send_answer(self, answer: messages.Wire, leading: Callable[[], leading_members.Leading]) -> None:
        try:
            data = messages.encode(answer)
        except Exception as error:  # noqa: BLE001 - no answer at all would be silence
            data = messages.encode(self._unreadable(leading(), f"its answer cannot be written: {fault(error)}"))
        self._output.write(data)

    def _begin(self) -> None:
        """The gateway has introduced itself: now it is known where things are. A step that fails stops no other."""
        parts = self.parts
        self._output.forget_complaints()
        parts.published.begin()
        parts.policy.expire_switch()
        self._do(
            parts.policy.begin_switch,
            parts.records.begin_audit,
            parts.records.begin_counters,
            parts.records.begin_file_memory,
            parts.records.begin_standings,
            parts.settings.begin,
            parts.records.begin_log,
            parts.secrets.begin,
            self._name_problems,
        )

    def _name_problems(self) -> None:
        for problem in conflicts.problems(self.session.config):
            self._output.complain(f"{'.'.join(problem.path)}: {problem.text}")

    def _leave(self) -> None:
        if self.session.hello is None:
            return
        parts = self.parts
        steps: Iterable[Callable[[], object]] = (
            partial(parts.context.queue.close, LEAVE_SECONDS),
            self._send_parked,
            parts.held.close,
            parts.settings.report_end,
            parts.records.save_counters,
            parts.records.save_last_file_memory,
            parts.records.close_standings,
            parts.records.write_last_events,
            parts.published.retire,
            parts.metrics.end,  # last: it may have to wait
        )
        for step in steps:
            with suppress(BrokenPipeError):
                self._output.safely(step)
