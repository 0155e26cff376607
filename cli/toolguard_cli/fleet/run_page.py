"""Runs the fleet dashboard until a signal arrives."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from toolguard_cli.dashboard import discovery, http_server
from toolguard_cli.dashboard.http_server import HttpServer
from toolguard_cli.dashboard.security import AccessPolicy
from toolguard_cli.fleet import page_app
from toolguard_cli.fleet.page_settings import PageSettings
from toolguard_cli.fleet.page_visit import FleetSite
from toolguard_cli.system.errors import UserError
from toolguard_engine.config import public_hosts
from toolguard_engine.wording import printable
from toolguard_fleet.page_database import PageDatabase

OTHERS_MAY_WRITE = 0o002


def run(settings: PageSettings, on_serving: Callable[[str], None]) -> None:
    """`on_serving`: called with the address once it serves. Raises `UserError`."""
    listener = _unix(settings.socket, settings.group) if settings.socket else _tcp(settings)
    try:
        with PageDatabase(settings.dsn) as database:
            door, address = _door(settings, listener)
            app = page_app.make(FleetSite(database, door), settings.user_header if settings.socket else "")
            asyncio.run(_serve(HttpServer(app, lambda: on_serving(address)), listener))
    finally:
        listener.close()
        if settings.socket:
            with suppress(OSError):
                settings.socket.unlink()


async def _serve(server: HttpServer, listener: socket.socket) -> None:
    server.end_at_signals()
    await server.serve([listener])


def _door(settings: PageSettings, listener: socket.socket) -> tuple[AccessPolicy, str]:
    """Nothing of it is open without a person, so the policy's own secret is empty."""
    public = frozenset(map(public_hosts.origin, settings.hosts))
    if settings.socket:
        return AccessPolicy(str, 0, frozenset(), local=False, public=public), f"unix:{settings.socket}"
    address, port = listener.getsockname()[:2]
    return AccessPolicy.make(address, port, str, settings.bind, settings.hosts), discovery.url(address, port)


def _tcp(settings: PageSettings) -> socket.socket:
    try:
        return http_server.listening(settings.bind, settings.port)
    except OSError as error:
        where = f"port {settings.port} on {printable.cut(settings.bind, 80)}"
        fix = "choose another with --listen 127.0.0.1:PORT"
        raise UserError(f"{where} cannot be used: {error.strerror or error}", fix) from error


def _unix(path: Path, group: str) -> socket.socket:
    """Only this user, and `group`, can connect. Raises `UserError`."""
    _check_place(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
        if group:
            shutil.chown(path, group=group)
            path.chmod(0o660)
        listener.listen(http_server.BACKLOG)
    except (OSError, LookupError) as error:
        listener.close()
        raise UserError(
            f"{printable.plain(str(path))} cannot be used: {error}", "check the path and --socket-group"
        ) from error
    finally:
        os.umask(before)
    return listener


def _check_place(path: Path) -> None:
    """What another dashboard left is removed. In a folder that others may write, they could put their own in its place."""
    shown = printable.plain(str(path))
    try:
        folder = path.parent.stat()
        if folder.st_mode & OTHERS_MAY_WRITE:
            raise UserError(f"other users can write to the folder of {shown}", "use a folder of your own")
        if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
            raise UserError(f"{shown} exists and is not a socket", "choose another path")
        if path.exists() and _is_served(path):
            raise UserError(f"another program is listening on {shown}", "stop it, or choose another path")
        path.unlink(missing_ok=True)
    except OSError as error:
        raise UserError(f"{shown} cannot be used: {error.strerror or error}", "check its folder") from error


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
    return True
