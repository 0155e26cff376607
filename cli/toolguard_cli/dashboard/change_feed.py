"""Polls for changes: rows of the metrics file, held calls, the state of the gateways. For one thread."""

from __future__ import annotations

import os
import time
from pathlib import Path

from msgspec import structs

from toolguard_cli.dashboard import known_gateways, metrics_file
from toolguard_cli.dashboard.api import waiting_calls
from toolguard_cli.dashboard.api_types import CallEvent, DecisionEvent, Pending, PendingEvent, StateEvent, TickEvent
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.dashboard.request_context import RequestContext, Site, now_ms
from toolguard_cli.system.errors import UserError
from toolguard_engine.metrics import database, queries
from toolguard_engine.metrics.database import Connection, MetricsError
from toolguard_engine.stores import atomic
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.state_files import ACCEPTED_SETTINGS as ACCEPTED
from toolguard_engine.stores.state_files import KILL_SWITCH, STANDINGS
from toolguard_engine.stores.state_files import STANDINGS_BESIDE as BESIDE
from toolguard_engine.wording import printable

Event = CallEvent | DecisionEvent | PendingEvent | StateEvent | TickEvent
Mark = tuple[int, int, int]
"""Inode, size and time of a file: differs when the file was written."""

MOST = 200
"""Rows of a kind in one poll; if there are more, the oldest are left out."""

AGAIN_SECONDS = 5.0
NO_FILE: Mark = (0, 0, 0)


class Watch:
    """Finds what is new since `begin` or the last `poll`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._db: Connection | None = None
        self._file = NO_FILE[:1]
        self._version = -1
        self._last: tuple[int, int] | None = None
        self._known: list[tuple[WatchedGateway, Path]] = []
        self._asked = 0.0
        self._marks: tuple[object, ...] = ()
        self._problems: list[str] = []
        self._nonces: tuple[object, ...] = ()
        self._wrong: list[str] = []
        self._seen: Pending | None = None

    def begin(self) -> None:
        """Everything that exists now counts as known."""
        self._last, self._version, self._asked = None, -1, 0.0
        self.poll()

    def poll(self) -> list[Event]:
        rows, before = list[Event](), self._wrong
        try:
            rows, self._wrong = self._rows(), []
        except MetricsError as error:
            self._wrong = [printable.plain(str(error))]
        changed = self._wrong != before
        self._refresh(new=bool(rows) or changed)
        return [*rows, *([self.tick()] * changed), *self._pending(), *self._states()]

    def tick(self) -> TickEvent:
        return TickEvent(now_ms(), self._wrong)

    def held(self) -> PendingEvent:
        seen = self._seen or Pending(0, [], [], [])
        return PendingEvent(**{**structs.asdict(seen), "now": now_ms()})

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    def _rows(self) -> list[Event]:
        """Raises `MetricsError`; the next poll then reopens the file."""
        path = self._site.settings.db
        file = mark(path)[:1]
        if self._db is None or file != self._file:
            self.close()
            self._db, self._file, self._version = metrics_file.kept(path), file, -1
        if self._db is None:
            self._last = self._last or (0, 0)
            return []
        try:
            with database.reported(path):
                return self._after(self._db)
        except MetricsError:
            self.close()
            raise

    def _after(self, db: Connection) -> list[Event]:
        (version,) = db.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return []
        newest = queries.newest(db)
        last = self._last or newest
        calls = [CallEvent(row) for row in queries.calls_after(db, _from(last[0], newest[0]), MOST)]
        decisions = [DecisionEvent(row) for row in queries.decisions_after(db, _from(last[1], newest[1]), MOST)]
        seen = [newest[0], *(event.call.id for event in calls)], [newest[1], *(event.decision.id for event in decisions)]
        self._last = max(seen[0]), max(seen[1])
        self._version = version
        return [*calls, *decisions]

    def _refresh(self, *, new: bool) -> None:
        """Reloads the list of gateways, at most every `AGAIN_SECONDS` unless something is new."""
        if not new and time.monotonic() < self._asked + AGAIN_SECONDS:
            return
        self._asked = time.monotonic()
        gateways, self._problems = known_gateways.watched(RequestContext(self._site))
        self._known = [(gateway, _ledger_path(gateway)) for gateway in gateways]

    def _pending(self) -> list[Event]:
        before, nonces = self._seen, (*self._problems, *((gateway.id, mark(path)) for gateway, path in self._known))
        over = before is None or bool(before.unread) or any(view.expires <= now_ms() for view in before.pending)
        if nonces == self._nonces and not over:
            return []
        self._nonces = nonces
        pending = waiting_calls.listed(RequestContext(self._site), [gateway for gateway, _ in self._known], self._problems)
        self._seen = structs.replace(pending, now=0)
        return [] if self._seen == before else [self.held()]

    def _states(self) -> list[Event]:
        first, marks = not self._marks, tuple((gateway.id, *_marks(gateway)) for gateway, _ in self._known)
        if marks == self._marks:
            return []
        self._marks = marks
        return [] if first else [StateEvent()]


def mark(path: Path) -> Mark:
    try:
        info = os.stat(path)  # noqa: PTH116 - four times faster
    except (OSError, ValueError):
        return NO_FILE
    return info.st_ino, info.st_size, info.st_mtime_ns


def _marks(watched: WatchedGateway) -> tuple[object, ...]:
    own = atomic.own_folder(watched.places.state_dir)
    places = (
        own / KILL_SWITCH,
        own / ACCEPTED,
        *(own / f"{STANDINGS}{end}" for end in ("", *BESIDE[:1])),
        watched.places.config,
    )
    return (*map(mark, places), *(info.pid for info in stores.engines(watched.places.state_dir).running()))


def _ledger_path(watched: WatchedGateway) -> Path:
    try:
        return watched.ledger().path
    except UserError:
        return atomic.own_folder(watched.places.state_dir)


def _from(last: int, newest: int) -> int:
    """Everything is new in a file that replaced another."""
    return max(last if last <= newest else 0, newest - MOST)
