"""Opens the dashboard in the person's browser without naming the token in a command line, which every process could read.

The browser is given a file (0600) that leads on to the address; the file is protected like the token itself.
"""

from __future__ import annotations

import html
import os
import sys
import time
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread

from toolguard_cli.dashboard import asking
from toolguard_cli.errors import UserError
from toolguard_cli.result import Line
from toolguard_engine.metrics import place
from toolguard_engine.stores import files

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
    """What a person opens: the token is behind the `#`, which no browser sends anywhere."""
    return f"{address}/#token={token}"


def in_browser(address: str, db: Path) -> Line:
    """Opens it; the line says whether that was possible."""
    if not _has_browser():
        return Line("warn", "there is no browser here; open the address above yourself")
    door = place.door_path(db)
    try:
        files.replace(door, _PAGE.format(url=html.escape(address)).encode(), durable=False)
        opened = webbrowser.open(door.as_uri())
    except (OSError, webbrowser.Error):
        opened = False
    if not opened:
        return Line("warn", "no browser could be started; open the address above yourself")
    return Line("info", "opened in the browser; if that shows nothing, open the address above yourself")


def when_it_answers(address: str, db: Path) -> None:
    """Opens it as soon as the dashboard over this file serves, beside whatever this process does."""
    Thread(target=_wait, args=(address, db), daemon=True).start()


def forget(db: Path) -> None:
    with suppress(OSError):
        place.door_path(db).unlink()


def _wait(address: str, db: Path) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(UserError):
            if asking.running(db):
                in_browser(address, db)
                return
        time.sleep(POLL_SECONDS)


def _has_browser(env: Mapping[str, str] = os.environ) -> bool:
    """A browser in the terminal would take the terminal away."""
    if sys.platform.startswith("linux") and not any(env.get(name) for name in _SCREENS):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
