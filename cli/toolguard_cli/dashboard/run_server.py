"""Runs the dashboard's server until a signal arrives or its standard input ends."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress

import msgspec

from toolguard_cli.dashboard import app, discovery, http_server, prometheus, token
from toolguard_cli.dashboard.discovery import Running
from toolguard_cli.dashboard.http_server import HttpServer
from toolguard_cli.dashboard.request_context import Site
from toolguard_cli.dashboard.security import AccessPolicy
from toolguard_cli.dashboard.server_settings import DashboardSettings
from toolguard_cli.dashboard.vouched import Voucher
from toolguard_cli.system import subprocesses, tcp_ports
from toolguard_cli.system.errors import UserError
from toolguard_engine import __version__
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import atomic, decode_first
from toolguard_engine.wording import printable

RUNS_ALREADY = 10
"""The exit code if a dashboard of the same metrics file has the port."""

LAST_PORT = 65_535


def run(settings: DashboardSettings, on_serving: Callable[[Running], None] | None = None, held: int | None = None) -> int:
    """The exit code: 0 after a regular end, `RUNS_ALREADY` if one runs. Prints its address to standard output.

    `on_serving`: called with the address instead, once it serves. `held`: a file descriptor whose end of file stops the
    server, instead of that of standard input; outside of the main thread nothing else does. Raises `UserError`.
    """
    if not 0 <= settings.port <= LAST_PORT:
        raise UserError(f"{settings.port} is not a valid port", f"use a port from 1 to {LAST_PORT}")
    try:
        listener = http_server.listening(settings.bind, settings.port)
    except OSError as error:
        return _taken(settings, error)
    decode_first.read()
    with closing(listener):
        token.obtain(settings.db)
        address, port = listener.getsockname()[:2]
        site = Site(
            settings, AccessPolicy.make(address, port, token.StoredToken(settings.db).now, settings.bind, settings.hosts)
        )
        prometheus.begin(site)
        about = Running(os.getpid(), discovery.url(address, port), time.time_ns() // 1_000_000, __version__, settings.owned)
        try:
            asyncio.run(_serve(site, listener, about, on_serving or _print_address, held))
        finally:
            if _is_main():
                subprocesses.end_all()  # programs that an unfinished change started
            _forget(settings, about)
    return 0


def _taken(settings: DashboardSettings, error: OSError) -> int:
    where = f"port {settings.port} on {printable.cut(settings.bind, 80)}"
    if error.errno != errno.EADDRINUSE:
        fix = "toolguard dashboard --port 8080 --bind 127.0.0.1"
        raise UserError(f"{where} cannot be used: {error.strerror or error}", fix) from error
    own = token.known(settings.db)
    if own and discovery.is_ours(settings.bind, settings.port, own):
        _print(f"already {discovery.url(settings.bind, settings.port)}")
        return RUNS_ALREADY
    free = tcp_ports.free(settings.bind, settings.port)
    change = "toolguard config set metrics.dashboard.port" if settings.owned else "toolguard dashboard --port"
    fix = f"{change} {free}" if free else "stop that program"
    raise UserError(f"{where} is taken by {discovery.taker(settings.port)}", fix) from error


def _is_main() -> bool:
    """Only the main thread handles signals and ends child processes."""
    return threading.current_thread() is threading.main_thread()


async def _serve(
    site: Site, listener: socket.socket, about: Running, on_serving: Callable[[Running], None], held: int | None
) -> None:
    server = HttpServer(app.make(site), lambda: _serves(site.settings, about, on_serving))
    loop = asyncio.get_running_loop()
    if _is_main():
        server.end_at_signals()
    if site.settings.owned or held is not None:
        ends = (held or 0, site.settings.voucher, loop, server.end)
        threading.Thread(target=_until_input_ends, args=ends, daemon=True).start()
    await server.serve([listener])


def _serves(settings: DashboardSettings, about: Running, on_serving: Callable[[Running], None]) -> None:
    """Publishes the address for `discovery`. If that fails, the server still serves."""
    with suppress(OSError):
        atomic.replace(metrics_path.server_path(settings.db), msgspec.json.encode(about), durable=False)
    with suppress(OSError):
        on_serving(about)


def _forget(settings: DashboardSettings, about: Running) -> None:
    if discovery.known(settings.db) == about:
        with suppress(OSError):
            metrics_path.server_path(settings.db).unlink()


def _until_input_ends(
    source: int, voucher: Voucher | None, loop: asyncio.AbstractEventLoop, end: Callable[[], None]
) -> None:
    if voucher:
        voucher.ended.wait()
    with suppress(OSError):
        while os.read(source, 4_096):
            pass
    with suppress(RuntimeError):  # it has ended in the meantime
        loop.call_soon_threadsafe(end)


def _print_address(about: Running) -> None:
    _print(f"listening {about.url}")


def _print(line: str) -> None:
    with suppress(OSError):
        print(line, flush=True)  # noqa: T201 - for the parent process
