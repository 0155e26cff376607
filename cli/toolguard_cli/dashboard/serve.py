"""Runs the dashboard's server until it is told to end: by a signal, or by the end of its standard input."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext, suppress

import msgspec
import uvicorn

from toolguard_cli import children, ports
from toolguard_cli.dashboard import app, asking, prometheus, token
from toolguard_cli.dashboard.asking import Running
from toolguard_cli.dashboard.security import Door
from toolguard_cli.dashboard.settings import Settings
from toolguard_cli.dashboard.visit import Site
from toolguard_cli.dashboard.vouched import Voucher
from toolguard_cli.errors import UserError
from toolguard_engine import __version__, answers, readtypes
from toolguard_engine.metrics import place
from toolguard_engine.stores import files

RUNS_ALREADY = 10
"""The answer where a dashboard over the same metrics file has the port."""

LAST_PORT = 65_535
GRACE_SECONDS = 2
MAX_CONNECTIONS = 300
MAX_HEAD = 32 * 1024
MAX_MESSAGE = 4 * 1024
BACKLOG = 128
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run(settings: Settings, tell: Callable[[Running], None] | None = None) -> int:
    """0 once it was told to end, `RUNS_ALREADY` where one runs. Says on standard output which of both it is, and where.

    `tell` says it instead, once it serves. Raises `UserError`.
    """
    if not 0 <= settings.port <= LAST_PORT:
        raise UserError(f"{settings.port} is no port", f"name one from 1 to {LAST_PORT}")
    try:
        listener = _listening(settings)
    except OSError as error:
        return _taken(settings, error)
    readtypes.read()
    with closing(listener):
        token.of(settings.db)
        address, port = listener.getsockname()[:2]
        site = Site(settings, Door.at(address, port, token.Kept(settings.db).now, settings.bind))
        prometheus.begin(site)
        about = Running(os.getpid(), asking.url(address, port), time.time_ns() // 1_000_000, __version__, settings.owned)
        try:
            asyncio.run(_serve(site, listener, about, tell or _say_where))
        finally:
            children.end_all()  # what a change still asks
            _forget(settings, about)
    return 0


def _listening(settings: Settings) -> socket.socket:
    """Raises `OSError`."""
    family, kind, protocol, _, name = socket.getaddrinfo(settings.bind, settings.port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(name)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _taken(settings: Settings, error: OSError) -> int:
    where = f"port {settings.port} of {answers.cut(settings.bind, 80)}"
    if error.errno != errno.EADDRINUSE:
        fix = "toolguard dashboard --port 8080 --bind 127.0.0.1"
        raise UserError(f"{where} cannot be had: {error.strerror or error}", fix) from error
    own = token.known(settings.db)
    if own and asking.is_ours(settings.bind, settings.port, own):
        _say(f"already {asking.url(settings.bind, settings.port)}")
        return RUNS_ALREADY
    free = ports.free(settings.bind, settings.port)
    change = "toolguard config set metrics.dashboard.port" if settings.owned else "toolguard dashboard --port"
    fix = f"{change} {free}" if free else "end that program"
    raise UserError(f"{where} is taken by {asking.taker(settings.port)}", fix) from error


async def _serve(site: Site, listener: socket.socket, about: Running, tell: Callable[[Running], None]) -> None:
    config = uvicorn.Config(
        app.make(site),
        http="h11",
        ws="websockets-sansio",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws_max_size=MAX_MESSAGE,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD,
    )
    server = _Server(config, lambda: _listens(site.settings, about, tell))
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, server.end)
    if site.settings.owned:
        threading.Thread(target=_until_input_ends, args=(site.settings.voucher, loop, server.end), daemon=True).start()
    await server.serve([listener])


class _Server(uvicorn.Server):
    """Ends with 0 at a signal, and tells when it serves."""

    def __init__(self, config: uvicorn.Config, listens: Callable[[], None]) -> None:
        super().__init__(config)
        self._listens = listens

    def end(self) -> None:
        self.should_exit = True

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        return nullcontext()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listens()


def _listens(settings: Settings, about: Running, tell: Callable[[Running], None]) -> None:
    """Whoever asks for the dashboard finds it. One that cannot be found by others still serves."""
    with suppress(OSError):
        files.replace(place.server_path(settings.db), msgspec.json.encode(about), durable=False)
    with suppress(OSError):
        tell(about)


def _forget(settings: Settings, about: Running) -> None:
    if asking.known(settings.db) == about:
        with suppress(OSError):
            place.server_path(settings.db).unlink()


def _until_input_ends(voucher: Voucher | None, loop: asyncio.AbstractEventLoop, end: Callable[[], None]) -> None:
    if voucher:
        voucher.ended.wait()
    with suppress(OSError):
        while os.read(0, 4_096):
            pass
    with suppress(RuntimeError):  # it ended meanwhile
        loop.call_soon_threadsafe(end)


def _say_where(about: Running) -> None:
    _say(f"listening {about.url}")


def _say(line: str) -> None:
    with suppress(OSError):
        print(line, flush=True)  # noqa: T201 - for whoever started it
