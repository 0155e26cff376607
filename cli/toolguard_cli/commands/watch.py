"""`toolguard watch`: held calls, live; a key approves or denies. Without a terminal it prints one line per change."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import typer

from toolguard_cli.approvals import call_picker, held_calls, watch_screen
from toolguard_cli.approvals.watch_screen import ScreenView, WatchAction
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import answer_for_session, approve_call, deny_call
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import single_keys
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.wording import printable

REDRAW_SECONDS = 0.5
GIT_SECONDS = 1.0
"""What the screen waits for git, once for each call."""

app = command_app()


@command(app, "toolguard watch", "toolguard watch --json | tee held.jsonl")
def run(
    places: Places,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per change.")] = False,
    bell: Annotated[bool, typer.Option(help="Ring the terminal bell when a call is held.")] = True,
) -> None:
    """Watch held calls; approve or deny them with a keypress.

    Rings the terminal bell when a call is held. If the output is not a terminal, prints one line per change.
    Press Ctrl-C to stop.
    """
    can_press = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    caller = require_human.caller(places, "watch", loosens=can_press)
    with gateway_stores.user_errors():
        watched = WatchedCalls(places, caller.doubt)
        try:
            if not can_press:
                follow(watched, as_json=as_json)
            else:
                live(watched, bell=bell)
        except KeyboardInterrupt:
            return


class WatchedCalls:
    """The store, read again only if its file changed. `doubt`: why another program may be pressing the keys; if set, they
    approve nothing."""

    def __init__(self, places: Places, doubt: str = "") -> None:
        self.doubt = doubt
        self.places = places
        self.config: Config = gateway_stores.settings(places)
        self.ledger: HeldCallStore = gateway_stores.nonces(places, self.config)
        self._stamp: tuple[int, int] | None = None
        self._entries: list[HeldCall] = []
        self._rung: set[str] | None = None
        self._views: dict[str, HeldView] = {}

    def shows(self, entry: HeldCall) -> HeldView:
        """The call with what was there when it was first on the screen."""
        if entry.nonce not in self._views:
            (self._views[entry.nonce],) = held_calls.looked_at([entry], time.time(), GIT_SECONDS)
        return self._views[entry.nonce]

    def refresh(self) -> bool:
        try:
            stat = self.ledger.path.stat()
            stamp = (stat.st_mtime_ns, stat.st_ino)
        except FileNotFoundError:
            stamp = (0, 0)
        if stamp == self._stamp:
            return False
        self._entries = self.ledger.entries()
        self._stamp = stamp
        return True

    def known(self, now: float) -> list[HeldCall]:
        return replies.now_known(self._entries, now).entries

    def calls(self, now: float) -> list[HeldCall]:
        return replies.waiting(self._entries, now)[: replies.MAX_LINES]

    def is_fresh(self, calls: list[HeldCall]) -> bool:
        """Whether a call waits that did not at the last time; not at the first time."""
        before, self._rung = self._rung, {entry.nonce for entry in calls if entry.status == "pending"}
        return before is not None and not self._rung <= before


def follow(watched: WatchedCalls, *, as_json: bool) -> None:
    shown: dict[str, str] = {}
    while True:
        watched.refresh()
        now = time.time()
        for entry in changes(watched.known(now), shown, first=not shown):
            print(line(entry, now, as_json=as_json), flush=True)  # noqa: T201 - the command's output
        shown = {entry.nonce: entry.status for entry in watched.known(now)} or {"": ""}
        time.sleep(single_keys.POLL_SECONDS)


def changes(known: list[HeldCall], shown: dict[str, str], *, first: bool) -> list[HeldCall]:
    """What was not shown yet; at first only open calls. `shown`: the last status by nonce."""
    fresh = [entry for entry in known if shown.get(entry.nonce) != entry.status]
    return [entry for entry in fresh if not first or entry.status in ("pending", "approved")]


def line(entry: HeldCall, now: float, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(held_calls.public(entry, now))
    at = printable.moment(entry.decided or entry.created)
    by = f"  by {entry.by}" if entry.by else ""
    return printable.cut(f"{at}  {entry.nonce}  {entry.status}{by}  {entry.tool}  {entry.agent or '-'}  {entry.shown}", 500)


def live(watched: WatchedCalls, *, bell: bool = True) -> None:
    """Shows the list full-screen, and always restores the terminal."""
    from rich.console import Console  # noqa: PLC0415 - takes 60 ms to import
    from rich.live import Live  # noqa: PLC0415

    console, view, drawn = Console(), ScreenView(), 0.0
    with single_keys.reading() as pressed, Live(console=console, screen=True, auto_refresh=False) as picture:
        while True:
            typed = pressed()
            for key in watch_screen.counting(typed):
                view, act = watch_screen.press(view, key, watched.calls(time.time()), watched.shows)
                if act and act.verb == "quit":
                    return
                view = _done(watched, view, act)
            if watched.refresh() or typed or time.monotonic() - drawn >= REDRAW_SECONDS:
                now, size = time.time(), console.size
                calls = watched.calls(now)
                view = watch_screen.settled(view, calls)
                if bell and watched.is_fresh(calls):
                    console.bell()
                picture.update(
                    call_picker.rendered(watch_screen.screen(view, calls, now, *size, watched.shows)), refresh=True
                )
                view = watch_screen.shown(view, calls, *size, watched.shows)
                drawn = time.monotonic()


def _done(watched: WatchedCalls, view: ScreenView, act: WatchAction | None) -> ScreenView:
    if act is None:
        return view
    config = watched.config
    try:
        with gateway_stores.user_errors():
            if act.verb in ("approve", "session") and watched.doubt:
                return ScreenView(view.selected, "", f"watch was started {watched.doubt}; run toolguard approve {act.nonce}")
            if act.verb in ("approve", "session") and config.approval.is_signed:
                return ScreenView(view.selected, "", f"approvals are signed here; run toolguard approve {act.nonce}")
            if act.verb == "session":
                entry = held_calls.find(watched.ledger.entries(), act.nonce, time.time(), "pending")
                decision = gateway_stores.decision("")
                message = answer_for_session.answer(watched.places, watched.ledger, entry, decision, config)[2]
            elif act.verb == "approve":
                _, message = approve_call.approve(
                    watched.places, watched.ledger, act.nonce, gateway_stores.decision(""), config
                )
            else:
                _, message = deny_call.deny(watched.ledger, act.nonce, gateway_stores.decision(""), config)
            return ScreenView(view.selected, "", message)
    except UserError as error:
        return ScreenView(view.selected, "", f"{error.message}; {error.fix}")
