"""Makes notifications of what the engines and commands of one state directory write: the held calls and the audit log.

Both are read, never written. What was made of them, and how far the log was read, is stored together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from msgspec.structs import replace

from toolguard_cli.approvals import held_calls
from toolguard_cli.notify import message_text, quiet_time
from toolguard_cli.notify.message_text import MessageText
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config import notify_targets
from toolguard_engine.config.settings import NotifyConfig, NotifyEvent
from toolguard_engine.stores import disk
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_tail import AuditLine, AuditTail, lines_in
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.notifications import Notification, ReadUpTo
from toolguard_engine.stores.ports import HeldCallStore, NotificationStore

USEFUL_SECONDS = 86_400.0
MAX_CHUNKS = 20
"""Read from the log at once: about 1,400 lines."""

AWAY_SECONDS = 8.0
"""Longer than an engine takes to start, and than a notifier outlives its plugin."""

RELOAD_SECONDS = 60.0
"""The same while the gateway applies a change of its config."""

GIT_SECONDS = 0.5
"""What a notification may wait for git."""

SINCE = "since"
UNDELIVERED = "undelivered"
_BY_EVENT: dict[str, NotifyEvent] = {
    "lapsed": "lapsed",
    "block": "blocked",
    "budget": "budget",
    "drift": "budget",
    "weakened": "weakened",
    "ended": "guardEnded",
}
_LIMITS = "limit."
_LOOPS = ("loop.", "compaction_loop")
_EXPECTED = ("guard.gateway-stopped", "guard.signalled", "kill-switch.on")
"""Somebody wanted it, like the block of a call that was denied."""

_SILENT = "guard.silent"


def kind_of(line: AuditLine) -> NotifyEvent | None:
    """The event that a line of the audit log means, if any."""
    if line.event == "expire":
        return None if line.by else "expired"
    if line.code.startswith(_LIMITS):
        return "budget" if line.event in ("note", "stop") else None
    if line.event == "stop":
        return "loop" if line.code.startswith(_LOOPS) else None
    if line.code == _SILENT:
        return "engineAway"
    if line.code in _EXPECTED or (line.event == "block" and line.nonce):
        return None
    return _BY_EVENT.get(line.event)


class EventSource:
    """Call `poll` repeatedly. Raises `StoreError` and `OSError`."""

    def __init__(
        self,
        state_dir: Path,
        config: NotifyConfig,
        calls: HeldCallStore,
        outbox: NotificationStore,
    ) -> None:
        self._config = config
        self._targets = notify_targets.usable(config)
        self._calls = calls
        self._outbox = outbox
        self._log = stores.audit_log(state_dir)
        self._tail = AuditTail(self._log)
        self._seen: dict[Path, tuple[int, int, int]] = {}
        self._noted: set[str] = set()
        self._absent_since = 0.0
        self._digest_at = 0.0

    def poll(self, now: float) -> bool:
        """Whether there is something new to send."""
        new = False
        if self._changed(self._calls.path):
            new = self._follow_calls(now)
        if self._changed(self._log.path):
            new = self._follow_log(now) or new
        return self._digest(now) or new

    def engine(self, *, running: bool, now: float, changed: float = 0.0) -> bool:
        """Notes whether an engine runs; whether there is something new to send. `changed`: when the gateway's config was,
        which makes the gateway end its engine and start another one."""
        if running:
            self._absent_since = 0.0
            return False
        self._absent_since = self._absent_since or now
        is_reload = changed >= self._absent_since - RELOAD_SECONDS
        if now - self._absent_since < (RELOAD_SECONDS if is_reload else AWAY_SECONDS):
            return False
        words = message_text.away(self._absent_since)
        messages = list(self._made("engineAway", f"away-{self._absent_since:.3f}", words, now))
        self._outbox.take(messages)
        self._absent_since = math.inf  # reported
        return bool(messages)

    def report_lost(self, lost: list[Notification], now: float) -> None:
        """Their targets learn of them when they work again."""
        messages: list[Notification] = []
        for target in {one.target for one in lost} & self._targets.keys():
            own = [one for one in lost if one.target == target and one.event != UNDELIVERED]
            if own:
                base = _base(UNDELIVERED, f"{UNDELIVERED}-{own[0].id}", message_text.undelivered(own), now)
                messages.append(replace(base, target=target))
        self._outbox.take(messages)

    def _changed(self, path: Path) -> bool:
        """Whether a file is another one than at the last call."""
        try:
            info = disk.look(path)
            mark = info.st_ino, info.st_size, info.st_mtime_ns
        except OSError:
            mark = (0, 0, 0)
        if self._seen.get(path) == mark:
            return False
        self._seen[path] = mark
        return True

    def _forget(self, path: Path) -> None:
        """Reads it again at the next poll."""
        self._seen.pop(path, None)

    def _follow_calls(self, now: float) -> bool:
        try:
            trusted, _ = self._calls.look()
            pending = {entry.nonce: entry for entry in trusted if entry.status == "pending" and entry.expires > now}
            self._outbox.drop_answered(pending, now)
            fresh = [one for nonce, entry in pending.items() if nonce not in self._noted for one in self._held(entry, now)]
            self._outbox.take(fresh)
        except StoreError:
            self._forget(self._calls.path)
            raise
        self._noted = set(pending)
        return bool(fresh)

    def _held(self, entry: HeldCall, now: float) -> Iterator[Notification]:
        (view,) = held_calls.looked_at([entry], now, GIT_SECONDS)
        words = message_text.held(entry, view)
        yield from self._made("held", f"{entry.nonce}-held", words, now, nonce=entry.nonce, until=entry.expires)
        lead = min(self._config.expiring_seconds, (entry.expires - entry.created) / 2)
        reminder = max(now, entry.expires - lead)
        words = message_text.expiring(entry, view)
        yield from self._made("expiring", f"{entry.nonce}-expiring", words, reminder, nonce=entry.nonce, until=entry.expires)

    def _follow_log(self, now: float) -> bool:
        new = False
        try:
            position = self._outbox.position()
            if position is None:
                self._outbox.take((), ReadUpTo(*self._tail.to_end()), self._outbox.counts() or {SINCE: int(now)})
                return False
            for _ in range(MAX_CHUNKS):
                chunk = self._tail.read(self._position)
                lines = list(lines_in(chunk.data))
                if lines:
                    messages = [one for line in lines for one in self._logged(line, now)]
                    self._outbox.take(messages, ReadUpTo(lines[-1].seq, chunk.first), self._counted(lines))
                    new = new or bool(messages)
                if not self._tail.passed(chunk):
                    return new
        except (StoreError, OSError):
            self._forget(self._log.path)
            raise
        self._forget(self._log.path)  # there is more
        return new

    def _position(self) -> tuple[int, str]:
        position = self._outbox.position() or ReadUpTo()
        return position.seq, position.first

    def _counted(self, lines: list[AuditLine]) -> dict[str, int]:
        counts = self._outbox.counts()
        for line in lines:
            counts[line.event] = counts.get(line.event, 0) + 1
        return counts

    def _logged(self, line: AuditLine, now: float) -> Iterator[Notification]:
        event, at = kind_of(line), 0.0
        with suppress(ValueError, OverflowError):
            at = datetime.fromisoformat(line.time).timestamp()
        if event is None or at < now - USEFUL_SECONDS:
            return
        same = f"{event} {line.agent} {line.code} {line.shown[:200]}" if event in ("blocked", "budget", "loop") else ""
        yield from self._made(event, f"{line.id} {line.time}"[:200], message_text.logged(event, line), now, same=same)

    def _digest(self, now: float) -> bool:
        if not any(notify_targets.reports(self._config, target, "digest") for target in self._targets.values()):
            return False
        if now < self._digest_at:
            return False
        counts = self._outbox.counts()
        since = counts.get(SINCE, int(now))
        self._digest_at = quiet_time.next_time(self._config.digest_at, since)
        if now < self._digest_at:
            self._outbox.take((), counts={**counts, SINCE: since})
            return False
        messages = list(self._made("digest", f"digest-{since}", message_text.digest(counts, since, now), now))
        self._outbox.take(messages, counts={SINCE: int(now)})
        return True

    def _made(
        self,
        event: NotifyEvent,
        name: str,
        words: MessageText,
        at: float,
        *,
        nonce: str = "",
        until: float = 0.0,
        same: str = "",
    ) -> Iterator[Notification]:
        """One for each target that reports this event. `at`: when it is due, outside of quiet hours."""
        due = quiet_time.due(event, at, self._config.quiet_hours)
        until = until or due + USEFUL_SECONDS
        base = replace(_base(event, name, words, at), due=due, until=until, nonce=nonce, same=same)
        for target, settings in self._targets.items():
            if due < until and notify_targets.reports(self._config, settings, event):
                yield replace(base, target=target)


def _base(event: str, name: str, words: MessageText, at: float) -> Notification:
    return Notification(
        id=name,
        target="",
        event=event,
        title=words.title,
        text=words.text,
        data=words.data,
        created=at,
        due=at,
        until=at + USEFUL_SECONDS,
    )
