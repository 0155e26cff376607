"""One HTTP connection of the dashboard, bounded so that half-open connections cannot lock its owner out.

Without a request in progress, a connection has a limited time to send the whole head of its next one. When too many have
not shown the token, the oldest of these is closed, first those that have sent no request for a second.
`scope["trusted"]`: it was shown.
"""

from __future__ import annotations

import asyncio
import time

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_WITHOUT_TOKEN = 300
MOST = 2 * MOST_WITHOUT_TOKEN
"""All connections, those of open pages too. What is left above the others is the reserve for those with the token."""


NEW_SECONDS = 1.0
"""For which a connection without a request counts as busy: one that is about to show the token is not the first to go."""


class BoundedConnection(H11Protocol):
    """`timeout_keep_alive` is also the time limit for the head of a request."""

    _head_limit: asyncio.TimerHandle | None = None
    _has_shown_token = False
    """With an earlier request: its next one is not known to have it until the app has read its head."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = time.monotonic()
        self._limit_head()
        strangers = [connection for connection in self.connections if not _is_trusted(connection)]
        for stranger in sorted(strangers, key=_rank)[: max(0, len(strangers) - MOST_WITHOUT_TOKEN)]:
            stranger.transport.abort()

    def data_received(self, data: bytes) -> None:
        self._has_shown_token = _is_trusted(self)
        super().data_received(data)
        self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_limit()
        super().connection_lost(exc)

    @property
    def is_answering(self) -> bool:
        return bool(self.cycle and not self.cycle.response_complete)

    @property
    def is_busy(self) -> bool:
        return self.is_answering or time.monotonic() - self.since < NEW_SECONDS

    def _limit_head(self) -> None:
        """More of an unfinished head does not extend its time."""
        if self.is_answering or self.transport.get_protocol() is not self:
            self._stop_limit()
        elif self._head_limit is None:
            self._head_limit = self.loop.call_later(self.timeout_keep_alive, self.transport.abort)

    def _stop_limit(self) -> None:
        if self._head_limit is not None:
            self._head_limit.cancel()
            self._head_limit = None


def _is_trusted(connection: asyncio.Protocol) -> bool:
    scope = getattr(connection, "scope", None) or {}
    return bool(scope.get("trusted") or getattr(connection, "_has_shown_token", False))


def _rank(connection: asyncio.Protocol) -> tuple[bool, float]:
    """Sorts connections by which is closed first. WebSockets count as busy."""
    if isinstance(connection, BoundedConnection):
        return connection.is_busy, connection.since
    return True, 0.0
