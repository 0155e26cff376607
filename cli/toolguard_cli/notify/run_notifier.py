"""The process that notifies: one for each state directory, started by the gateway part."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.notify.command_target import CommandTarget
from toolguard_cli.notify.delivery import Sender
from toolguard_cli.notify.event_source import EventSource
from toolguard_cli.notify.gateway_channel import ChannelTarget, GatewayLine
from toolguard_cli.notify.target_worker import Link, TargetWorker, no_link
from toolguard_cli.notify.url_target import UrlTarget
from toolguard_cli.notify.webhook_target import WebhookTarget
from toolguard_cli.system import subprocesses
from toolguard_engine.config import conflicts, notify_targets
from toolguard_engine.config.settings import Config, NotifyTarget
from toolguard_engine.stores import audit_log, call_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import Busy, Damaged, StoreError
from toolguard_engine.stores.notifications import Notification
from toolguard_engine.stores.ports import HeldCallStore, NotificationStore
from toolguard_engine.wording import printable

POLL_SECONDS = 0.25
SECOND = 1.0
DRAIN_SECONDS = 10.0
"""How long it still sends after the gateway has ended or reloaded the plugin."""

LOST = "notification-lost"


@dataclass(frozen=True)
class NotifierSettings:
    """`gateway_pid`: whose engine is watched; 0: none. `over`: set when the process is to end."""

    state_dir: Path
    config: Config
    config_path: Path | None = None
    gateway: str = ""
    gateway_pid: int = 0
    line: GatewayLine | None = None
    over: threading.Event = field(default_factory=threading.Event)


def sender(target: NotifyTarget, line: GatewayLine | None) -> Sender:
    match notify_targets.kind(target):
        case "webhook":
            return WebhookTarget(target)
        case "command":
            return CommandTarget(target)
        case "channel":
            return ChannelTarget(target, line)
    return UrlTarget(target)


def run(settings: NotifierSettings) -> int:
    """Notifies until `over` is set. The exit code."""
    with ExitStack() as held:
        while True:
            try:
                held.enter_context(stores.notifications(settings.state_dir).sending())
                break
            except Busy:  # the one before it ends, or runs for another gateway
                if settings.over.wait(POLL_SECONDS):
                    return 0
        _Notifier(settings).run()
    subprocesses.end_all()
    return 0


class _Notifier:
    def __init__(self, settings: NotifierSettings) -> None:
        self._settings = settings
        self._config = settings.config.notify
        self._outbox = stores.notifications(settings.state_dir)
        self._source = self._new_source()
        self._targets = notify_targets.usable(self._config)
        self._workers = [self._worker(name, target) for name, target in self._targets.items()]
        self._reported: set[str] = set()
        self._each_second = 0.0

    def run(self) -> None:
        for worker in self._workers:
            worker.start()
        try:
            while not self._settings.over.wait(POLL_SECONDS):
                self._step(time.time())
            self._step(time.time())  # what the guard wrote last
        finally:
            for worker in self._workers:
                worker.end()
            until = time.monotonic() + DRAIN_SECONDS
            for worker in self._workers:
                worker.join(max(0.0, until - time.monotonic()))
            self._outbox.close()

    def _step(self, now: float) -> None:
        """An error of a store is reported once; the next step tries again."""
        new = False
        for job in (self._source.poll, self._watch):
            try:
                new = job(now) or new
            except Damaged as error:
                self._begin_anew(error, now)
            except (StoreError, OSError) as error:
                text = printable.cut(str(error), 300)
                if text not in self._reported and len(self._reported) < 20:  # noqa: PLR2004
                    self._reported.add(text)
                    print(text, file=sys.stderr, flush=True)  # noqa: T201 - for the gateway's log
        if new:
            for worker in self._workers:
                worker.wake()

    def _begin_anew(self, error: Damaged, now: float) -> None:
        """What waited is lost, which must not keep the next held call from being reported."""
        with suppress(StoreError):
            kept = self._outbox.set_aside()
            reason = audit_log.plain(f"{error}; it is kept as {kept}, and the waiting messages are lost")
            line = audit_log.AuditEvent(kept, audit_log.when(now), LOST, "notify.damaged", reason=reason)
            self._source = self._new_source()
            stores.audit_log(self._settings.state_dir).append([line])

    def _watch(self, now: float) -> bool:
        if time.monotonic() < self._each_second:
            return False
        self._each_second = time.monotonic() + SECOND
        self._outbox.give_up(self._targets, now)
        self._record_lost(now)
        return self._source.engine(running=self._has_engine(), now=now, changed=self._config_changed())

    def _config_changed(self) -> float:
        """When the gateway's config was changed last; 0 if that cannot be told."""
        path = self._settings.config_path
        try:
            return path.stat().st_mtime if path is not None else 0.0
        except OSError:
            return 0.0

    def _has_engine(self) -> bool:
        pid = self._settings.gateway_pid
        return not pid or any(info.gateway_pid == pid for info in stores.engines(self._settings.state_dir).running())

    def _record_lost(self, now: float) -> None:
        """Records it in the audit log first, then to the targets themselves, when they work again."""
        lost = self._outbox.unlogged()
        if lost:
            stores.audit_log(self._settings.state_dir).append([_lost_line(one, now) for one in lost], patient=False)
            self._source.report_lost(lost, now)
            self._outbox.logged(lost)

    def _new_source(self) -> EventSource:
        return EventSource(self._settings.state_dir, self._config, self._calls(), self._outbox)

    def _calls(self) -> HeldCallStore:
        state = self._settings.state_dir
        if self._settings.config.fleet.enabled:
            return gateway_stores.fleet_calls(state, self._settings.config)
        named = conflicts.store_path(self._settings.config)
        return stores.held_calls(state, call_log.resolve(named, state) if named else None)

    def _worker(self, name: str, target: NotifyTarget) -> TargetWorker:
        def open_store() -> NotificationStore:
            return stores.notifications(self._settings.state_dir)

        worker = TargetWorker(
            name, sender(target, self._settings.line), open_store, self._settings.gateway, self._config.most_per_hour
        )
        if notify_targets.kind(target) != "channel":  # agents read the gateway's channels
            worker.link = _links(self._settings)
        return worker


def _lost_line(one: Notification, now: float) -> audit_log.AuditEvent:
    reason = f"the {one.event} notification to {one.target} was not delivered: {one.error or 'it was too late'}"
    return audit_log.AuditEvent(
        id=f"{one.id}-{one.target}-lost"[:200],
        time=audit_log.when(now),
        event=LOST,
        code="notify.lost",
        nonce=one.nonce,
        reason=audit_log.plain(reason),
    )


def _links(settings: NotifierSettings) -> Link:
    """Makes the one-time page of a held call, if this version has it. Made when it is sent, and never stored."""
    try:
        make: Callable[..., str | None] = import_module("toolguard_cli.operations.answer_links").link_for
    except (ImportError, AttributeError):
        return no_link

    def link(nonce: str) -> str | None:
        with suppress(Exception):  # a notification without a link is better than none
            return make(settings.state_dir, nonce, config=settings.config_path)
        return None

    return link


def gateway_of(parent: int) -> int:
    """The process to watch the engine of: the one that started this one."""
    return parent if parent > 1 and parent != os.getpid() else 0
