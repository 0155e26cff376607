"""Which call `toolguard approve` or `deny` means if no nonce is given."""

from __future__ import annotations

import shlex
import sys
import time
from functools import cache

from toolguard_cli.approvals.chosen_call import Choice, Command
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm, single_keys, tables
from toolguard_cli.terminal.result import MARK
from toolguard_engine.approvals import held_text, replies
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.server import call_preview
from toolguard_engine.wording import printable

MAX_CHOICES = 20
ASIDE = 4
"""Columns before a call."""


def choose(places: Places, entries: list[HeldCall], command: Command, *, as_json: bool) -> Choice:
    """The only waiting call, or the chosen one. Raises `UserError`.

    Only on a terminal: a script would answer a call that nobody has read.
    """
    waiting = [entry for entry in replies.waiting(entries, time.time()) if entry.status == "pending"]
    if not waiting:
        where = printable.plain(str(places.state_dir))
        raise UserError(f"no call is waiting in {where}", "toolguard pending --all shows those of the last 24 hours")
    if not sys.stdin.isatty():
        nonce = waiting[0].nonce if len(waiting) == 1 else "NONCE"
        count = "1 call is waiting" if len(waiting) == 1 else f"{len(waiting)} calls are waiting"
        raise UserError(
            f"without a terminal, {command} needs the nonce of a call; {count}",
            f"{shlex.join(['toolguard', command, nonce, *places.given])}; toolguard pending shows what it is",
        )
    if len(waiting) == 1:
        return Choice(command, waiting[0].nonce)
    choice = (
        _picked(waiting, command) if single_keys.can_be_read() and not as_json else _typed(waiting, command, as_json=as_json)
    )
    if not choice.nonce:
        raise UserError("no call was chosen", f"nothing was changed; toolguard {command} NONCE names one")
    return choice


def _picked(waiting: list[HeldCall], command: Command) -> Choice:
    from toolguard_cli.approvals import call_picker  # noqa: PLC0415 - reads commands, and is slow to import

    now = time.time()
    known = cache(lambda nonce: call_preview.views([entry for entry in waiting if entry.nonce == nonce], now)[0])
    return call_picker.pick(waiting, lambda entry: known(entry.nonce), command)


def _typed(waiting: list[HeldCall], command: Command, *, as_json: bool) -> Choice:
    """The call with the typed number, where no keys can be read."""
    shown = waiting[:MAX_CHOICES]
    now, room = time.time(), tables.width() - MARK - ASIDE
    lines: list[str] = []
    for at, (entry, view) in enumerate(zip(shown, call_preview.views(shown, now), strict=True), 1):
        lines.append(f"{at:>2}  {replies.brief(entry, now)}  {held_text.first_line(view, room // 2)}")
        lines += [f"    {text}" for text in held_text.dangers(view, room)]
    if more := len(waiting) - len(shown):
        lines.append(f"... and {more} more (toolguard pending)")
    typed = confirm.typed(lines, f"Which call? [1-{len(shown)}, Enter for none]", as_json=as_json)
    if typed.isascii() and typed.isdecimal() and 1 <= int(typed) <= len(shown):
        return Choice(command, shown[int(typed) - 1].nonce)
    return Choice(command, "")
