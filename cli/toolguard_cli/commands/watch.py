"""`toolguard watch`: the calls that wait, live; a key says yes or no. Without a terminal one line for each change."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from toolguard_cli import held, inside, stores, tables, watching
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.watching import Act, View
from toolguard_engine import answers
from toolguard_engine.config import Config
from toolguard_engine.ledger import Entry
from toolguard_engine.stores.nonces import FileNonces

REDRAW_SECONDS = 0.5
POLL_SECONDS = 0.1


def run(places: Places, *, as_json: bool) -> None:
    """Until `q` or Ctrl-C. Raises `UserError`."""
    can_press = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    caller = inside.caller(places, "watch", loosens=can_press)
    with stores.told():
        watched = Watched(places, caller.doubt)
        try:
            if not can_press:
                follow(watched, as_json=as_json)
            else:
                live(watched)
        except KeyboardInterrupt:
            return


class Watched:
    """The store, read again only when its file was changed. `doubt`: why the keys may be another program's; then they
    approve nothing."""

    def __init__(self, places: Places, doubt: str = "") -> None:
        self.doubt = doubt
        self.config: Config = stores.settings(places)
        self.book: FileNonces = stores.nonces(places, self.config)
        self._stamp: tuple[int, int] | None = None
        self._entries: list[Entry] = []

    def refresh(self) -> bool:
        """Whether there was something new."""
        try:
            found = self.book.path.stat()
            stamp = (found.st_mtime_ns, found.st_ino)
        except FileNotFoundError:
            stamp = (0, 0)
        if stamp == self._stamp:
            return False
        self._entries = self.book.entries()
        self._stamp = stamp
        return True

    def known(self, now: float) -> list[Entry]:
        return held.now_known(self._entries, now).entries

    def calls(self, now: float) -> list[Entry]:
        return answers.waiting(self._entries, now)[: answers.MAX_LINES]


def follow(watched: Watched, *, as_json: bool) -> None:
    """One line for each call that waits, and for each change of one."""
    told: dict[str, str] = {}
    while True:
        watched.refresh()
        now = time.time()
        for entry in changes(watched.known(now), told, first=not told):
            print(line(entry, now, as_json=as_json), flush=True)  # noqa: T201 - the command's output
        told = {entry.nonce: entry.status for entry in watched.known(now)} or {"": ""}
        time.sleep(POLL_SECONDS)


def changes(known: list[Entry], told: dict[str, str], *, first: bool) -> list[Entry]:
    """What has not been told yet; at first only what is open."""
    fresh = [entry for entry in known if told.get(entry.nonce) != entry.status]
    return [entry for entry in fresh if not first or entry.status in ("pending", "approved")]


def line(entry: Entry, now: float, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(held.public(entry, now))
    at = tables.local(entry.decided or entry.created)
    by = f"  by {entry.by}" if entry.by else ""
    return answers.cut(f"{at}  {entry.nonce}  {entry.status}{by}  {entry.tool}  {entry.agent or '-'}  {entry.shown}", 500)


def live(watched: Watched) -> None:
    """The list on the whole terminal. What was on it before is there again afterwards, whatever happens."""
    from rich.console import Console  # noqa: PLC0415 - 60 ms that only this needs
    from rich.live import Live  # noqa: PLC0415

    console, view, drawn = Console(), View(), 0.0
    with _single_keys() as pressed, Live(console=console, screen=True, auto_refresh=False) as picture:
        while True:
            typed = pressed()
            for key in watching.keys(typed):
                view, act = watching.press(view, key, watched.calls(time.time()))
                if act and act.verb == "quit":
                    return
                view = _done(watched, view, act)
            if watched.refresh() or typed or time.monotonic() - drawn >= REDRAW_SECONDS:
                now, size = time.time(), console.size
                calls = watched.calls(now)
                view = watching.settled(view, calls)
                picture.update(_rendered(view, calls, now, size), refresh=True)
                view = watching.shown(view, calls, *size)
                drawn = time.monotonic()


def _done(watched: Watched, view: View, act: Act | None) -> View:
    """The view after the deed; what was refused is its message, not the end."""
    if act is None:
        return view
    now, config = time.time(), watched.config
    try:
        with stores.told():
            if act.verb == "approve" and watched.doubt:
                return View(view.selected, "", f"watch was started {watched.doubt}; run toolguard approve {act.nonce}")
            if act.verb == "approve":
                window = config.approval_window_ms / 1000
                entry = watched.book.approve(act.nonce, stores.decision(""), now, window)
                return View(view.selected, "", answers.approved(entry, window))
            entry = watched.book.deny(act.nonce, stores.decision(""), now, config.pending_timeout_ms / 1000)
            return View(view.selected, "", answers.denied(entry))
    except UserError as error:
        return View(view.selected, "", f"{error.message}; {error.fix}")


def _rendered(view: View, calls: list[Entry], now: float, size: tuple[int, int]) -> Any:
    from rich.text import Text  # noqa: PLC0415

    rows = watching.screen(view, calls, now, *size)
    return Text("\n", no_wrap=True, overflow="crop").join(Text(row.text, style=row.style) for row in rows)


@contextmanager
def _single_keys() -> Iterator[Any]:
    """Keys come one by one and are not shown; the terminal is as it was afterwards, also when we are told to end."""
    import termios  # noqa: PLC0415
    import tty  # noqa: PLC0415

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    ended = signal.signal(signal.SIGTERM, _end)
    try:
        tty.setcbreak(terminal)
        yield lambda: _typed(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, ended)


def _typed(terminal: int) -> str:
    """What was pressed within the next moment. A terminal that is gone is the end."""
    if not select.select([terminal], [], [], POLL_SECONDS)[0]:
        return ""
    data = os.read(terminal, 64)
    if not data:
        raise KeyboardInterrupt
    return data.decode(errors="replace")


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
