"""Metrics, where they are wanted. What keeps them from being recorded keeps nothing else from being done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from toolguard_engine import __version__
from toolguard_engine.config import spending_limits
from toolguard_engine.config.spending_limits import shown
from toolguard_engine.host import metrics_path
from toolguard_engine.layers import reached_limits
from toolguard_engine.layers.spending_totals import SpendingTotals
from toolguard_engine.metrics import prices
from toolguard_engine.metrics.limit_sums import NearLimit
from toolguard_engine.metrics.recorder import Recorder
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.row_writer import CallRecord
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.model.counted_sums import CountedSums, UsedCall
from toolguard_engine.server.clock import Alarm
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.held_calls_step import HeldCalls
from toolguard_engine.server.outbox import fault
from toolguard_engine.stores import decode_first
from toolguard_engine.wording import limit_texts

STALE_SECONDS = 60.0
"""How long the metrics file may be unusable before it counts as unknown what is used of the limits."""


class Metrics:
    """Hands what the session measured to the recorder, which writes it in a thread of its own."""

    def __init__(self, context: Context, held: HeldCalls) -> None:
        self._context = context
        self._session = context.session
        self._output = context.output
        self._held = held
        self._recorder: Recorder | None = None
        self._silence = Alarm(context.clock, context.intervals.record)
        self._sums: CountedSums | None = None
        self._learned = 0.0
        """When the file was last read, by the monotonic clock."""

    def begin(self) -> None:
        self.end()
        self._learned, self._sums = self._context.clock.monotonic(), None
        if self._session.config.is_measured:
            try:
                self._recorder = self._new_recorder()
            except Exception as error:  # noqa: BLE001 - verdicts go on
                self._session.outbox.measure_nothing()
                self._output.complain(f"metrics cannot be recorded: {fault(error)}")

    def _new_recorder(self) -> Recorder:
        hello, config = self._context.hello, self._session.config
        facts = GatewayFacts(
            name=hello.gateway,
            state_dir=hello.state_dir,
            config_path=hello.config_path,
            nonces=str(self._held.path),
            host=hello.host,
            version=__version__,
            mode=config.active_mode,
            pid=self._session.setup.pid,
        )
        estimate = partial(prices.estimate, table=prices.load(config.metrics.prices))
        self._session.outbox.used = partial(self._used, estimate)
        decode_first.read_stored()  # from here on there is a second thread
        caps = spending_limits.caps(config.limits)
        return Recorder(metrics_path.resolve(config.metrics.db_path), facts, config.metrics, estimate, caps)

    def _used(self, estimate: Callable[[CallRecord], CallRecord], calls: list[CallRecord]) -> list[CallRecord]:
        """Counts these model calls for the limits."""
        spending = self._session.guard.spending
        if spending is None:
            return calls
        priced = [estimate(call) for call in calls]
        if spending.use([_used_call(call) for call in priced]) and self._recorder:
            self._recorder.hurry()
        return priced

    def look_at_limits(self) -> None:
        """Takes over what the metrics file says by now. Before the answers; it reads no file itself."""
        spending, recorder = self._session.guard.spending, self._recorder
        if spending is None:
            return
        now = self._context.clock.monotonic()
        if recorder and recorder.sums is not None and recorder.sums is not self._sums:
            self._sums = recorder.sums
            spending.learn(self._sums)
            self._learned = now if self._sums.is_read else self._learned
        away = now - self._learned > STALE_SECONDS
        spending.unknown = "the metrics file has been unusable for a minute" if away else ""
        for near in recorder.take_near() if recorder else ():
            self._warn(spending, near)

    def _warn(self, spending: SpendingTotals, near: NearLimit) -> None:
        cap, used, session = near
        text = limit_texts.near(cap.words, shown(used, cap.unit), cap.raising())
        spending.warn(cap, session, limit_texts.note(text))
        call = Call("", None, agent=cap.agent, session=session)
        self._session.outbox.event("note", call, Verdict("allow", reached_limits.NEAR, reason=text))
        self._output.complain(text)

    @property
    def next(self) -> float:
        """When to record what is still waited for, by the monotonic clock."""
        return self._silence.next

    def record(self) -> None:
        """Records the input after each chunk; what is incomplete waits for the rest."""
        self._record()
        if self._recorder:
            self._silence.set()
        else:
            self._silence.clear()

    def record_after_silence(self) -> None:
        """Where it is due."""
        if self._silence.due():
            self._silence.clear()
            self._record()

    def _record(self, *, last: bool = False) -> None:
        if self._recorder is None:
            return
        try:
            outbox = self._session.outbox
            before = self._recorder.add(outbox.take_calls(last=last), outbox.take_verdicts())
            if self._session.guard.spending:
                self._session.guard.spending.placed(before)
        except Exception as error:  # noqa: BLE001 - verdicts go on
            self._output.complain(f"metrics: {fault(error)}; please report this")
        self._report(self._recorder)

    def end(self) -> None:
        """Writes what is left. It may have to wait for another process."""
        recorder = self._recorder
        if recorder is None:
            return
        try:
            self._record(last=True)
        finally:
            self._recorder = None
            recorder.close()
        self._report(recorder)

    def _report(self, recorder: Recorder) -> None:
        for text in recorder.take_reports():
            self._output.complain(text)


def _used_call(call: CallRecord) -> UsedCall:
    return UsedCall(call.at, call.agent, call.session, call.provider, call.model, call.total, call.cost_usd or 0.0)
