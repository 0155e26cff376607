"""Metrics, where they are wanted. What keeps them from being recorded keeps nothing else from being done."""

from __future__ import annotations

from functools import partial

from toolguard_engine import __version__
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics import prices
from toolguard_engine.metrics.recorder import Recorder
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.server.clock import Alarm
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.held_calls_step import HeldCalls
from toolguard_engine.server.outbox import fault
from toolguard_engine.wire import decode_first


class Metrics:
    """Hands what the session measured to the recorder, which writes it in a thread of its own."""

    def __init__(self, context: Context, held: HeldCalls) -> None:
        self._context = context
        self._session = context.session
        self._output = context.output
        self._held = held
        self._recorder: Recorder | None = None
        self._silence = Alarm(context.clock, context.intervals.record)

    def begin(self) -> None:
        self.end()
        if self._session.config.metrics.enabled:
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
        decode_first.read()  # from here on there is a second thread
        return Recorder(metrics_path.resolve(config.metrics.db_path), facts, config.metrics, estimate)

    @property
    def next(self) -> float:
        """When to record what is still waited for, by the monotonic clock."""
        return self._silence.next

    def record(self) -> None:
        """After each chunk of input; what is incomplete waits for the rest."""
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
            self._recorder.add(self._session.outbox.take_calls(last=last), self._session.outbox.take_verdicts())
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
