"""The file in which the engine says how it is doing, for the command line and the dashboard."""

from __future__ import annotations

import math
from contextlib import suppress

from toolguard_engine import __version__
from toolguard_engine.config import settings
from toolguard_engine.server.clock import Every
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.install_paths import OWN_FILES, stamps
from toolguard_engine.server.records_step import Records
from toolguard_engine.stores import call_log, engines, system_calls
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError


class Published:
    """Writes the file while there is news, and what else is done that often."""

    def __init__(self, context: Context, records: Records) -> None:
        self._context = context
        self._session = context.session
        self._records = records
        self._started = context.clock.time()
        self._timer = Every(context.clock, context.intervals.publish)
        self._sweep = Every(context.clock, context.intervals.sweep)
        self._is_first = True
        self._has_news = False
        self._installed = stamps(OWN_FILES)
        self._replaced = ""

    def begin(self) -> None:
        """The gateway introduced itself: the file may belong in another folder than before."""
        self._is_first = True
        self._timer.expire()

    def note(self) -> None:
        """There is news."""
        self._has_news = True

    @property
    def next(self) -> float:
        """When to publish, by the monotonic clock."""
        return self._timer.next if self._has_news else math.inf

    def publish_news(self) -> None:
        """Where it is due."""
        if self._has_news and self._timer.due():
            self._timer.restart()
            self._look_at_package()
            self.publish()
            self._records.save_counters()
            self._forget_idle()

    def _look_at_package(self) -> None:
        """The engine goes on with what it has loaded. Only the gateway can start the other one."""
        if self._replaced or (now := stamps(OWN_FILES)) == self._installed:
            return
        what = "removed" if (0, 0) in now else "replaced"
        self._replaced = (
            f"toolguard was {what} while this gateway was running; calls are still judged by version {__version__}"
        )
        self._session.ended("guard.replaced", self._replaced)
        self._context.output.complain(f"{self._replaced}; restart the gateway")

    def _forget_idle(self) -> None:
        if self._sweep.due():
            self._sweep.restart()
            self._session.guard.sweep(self._context.clock.time())

    def publish(self) -> None:
        self._has_news = False
        if self._session.hello is None:
            return
        first, self._is_first = self._is_first, False
        state_dir = self._context.state_dir
        try:
            if first:
                stores.engines(state_dir).sweep()
                with suppress(StoreError):
                    stores.signing_key(state_dir).load()  # its time tells the command line since when there are agents here
            stores.engines(state_dir).publish(self._info())
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            self._context.output.complain(f"cannot write to {state_dir}: {getattr(error, 'strerror', None) or error}")

    def _info(self) -> engines.EngineInfo:
        hello, config, tally = self._context.hello, self._session.config, self._session.tally
        rooms = self._session.setup.rooms
        return engines.EngineInfo(
            pid=self._session.setup.pid,
            gateway_pid=hello.gateway_pid,
            gateway=hello.gateway,
            host=hello.host,
            version=__version__,
            plugin=hello.plugin,
            started=self._started,
            mode=config.active_mode,
            log_path=str(call_log.resolve(config.log_path, self._context.state_dir)),
            config_error=self._session.config_error,
            log_error=self._records.log_error,
            judged=tally.judged,
            corrected=tally.corrected,
            loops=tally.loops,
            stopped=tally.stopped,
            held=tally.held,
            blocked=tally.blocked,
            approved=tally.approved,
            repeated=tally.repeated,
            seams=self._session.seams,
            namespaces=system_calls.namespaces(),
            replaced=self._replaced,
            published=self._context.clock.time(),
            settings=settings.digests(config),
            contained=rooms is not None and rooms.is_contained,
            uncontained=rooms.error if rooms else "",
            way_out=rooms.fix if rooms else "",
            unrehearsed=rooms.unrehearsed if rooms else "",
        )

    def retire(self) -> None:
        with suppress(OSError, ValueError):  # the state directory went away before the gateway did
            self.publish()
            stores.engines(self._context.state_dir).retire(self._session.setup.pid)
