"""Opens the dashboard in the user's browser without the token on a command line, which every process could read.

The browser opens a file (0600) that redirects to the address; the file is protected like the token itself.
"""

from __future__ import annotations

import html
import os
import time
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

from toolguard_cli.dashboard import discovery
from toolguard_cli.system import operating_system
from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal.result import Line
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import atomic

SECONDS = 15.0
POLL_SECONDS = 0.1
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={url}">
<title>toolguard</title>
<a href="{url}">the dashboard</a>
"""


def url(address: str, token: str) -> str:
    """The address with the token in its fragment, which browsers do not send."""
    return f"{address}/#token={token}"


def in_browser(address: str, db: Path) -> Line:
    """Opens it; the line reports whether that was possible."""
    if not _has_browser():
        return Line("warn", "no browser found; open the address above yourself")
    door = metrics_path.door_path(db)
    try:
        atomic.replace(door, _PAGE.format(url=html.escape(address)).encode(), durable=False)
        opened = webbrowser.open(door.as_uri())
    except (OSError, webbrowser.Error):
        opened = False
    if not opened:
        return Line("warn", "no browser could be started; open the address above yourself")
    return Line("info", "opened in the browser; if nothing appears, open the address above yourself")


def when_it_answers(address: str, db: Path) -> None:
    """Opens it in the background as soon as the dashboard of this metrics file answers."""
    Thread(target=_wait, args=(address, db), daemon=True).start()


def forget(db: Path) -> None:
    with suppress(OSError):
        metrics_path.door_path(db).unlink()


def _wait(address: str, db: Path) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(UserError):
            if discovery.running(db):
                in_browser(address, db)
                return
        time.sleep(POLL_SECONDS)


def _has_browser(env: Mapping[str, str] = os.environ) -> bool:
    """Text browsers do not count: they would take over the terminal."""
    if operating_system.is_linux() and not any(env.get(name) for name in _SCREENS):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
