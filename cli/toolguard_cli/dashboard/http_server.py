"""Serves an application over HTTP, with bounded connections, until a signal arrives."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import uvicorn
from starlette.types import ASGIApp

from toolguard_cli.dashboard import bounded_connection
from toolguard_cli.dashboard.bounded_connection import BoundedConnection

GRACE_SECONDS = 2
HEAD_SECONDS = 5
"""The time that a connection has for its next request."""

MAX_HEAD = 32 * 1024
MAX_MESSAGE = 4 * 1024
BACKLOG = 128
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class HttpServer(uvicorn.Server):
    """Ends with 0 at a signal, and calls `on_startup` when it serves. What proxies report about a request is ignored."""

    def __init__(self, app: ASGIApp, on_startup: Callable[[], None]) -> None:
        config = uvicorn.Config(
            app,
            http=BoundedConnection,
            ws="websockets-sansio",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            log_level="error",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            ws_max_size=MAX_MESSAGE,
            limit_concurrency=bounded_connection.MOST,
            timeout_keep_alive=HEAD_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
            h11_max_incomplete_event_size=MAX_HEAD,
        )
        super().__init__(config)
        self._on_startup = on_startup

    def end(self) -> None:
        self.should_exit = True

    def end_at_signals(self) -> None:
        """Ends the server at signals. Works in the main thread only."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self.end)

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_startup()


def listening(address: str, port: int) -> socket.socket:
    """Raises `OSError`."""
    family, kind, protocol, _, name = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(name)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
