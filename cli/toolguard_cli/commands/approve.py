"""`toolguard approve`: lets one held call through, once."""

from __future__ import annotations

import time

from toolguard_cli import asking, held, inside, stores
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.ledger import Entry, Refused


def run(places: Places, prefix: str, *, yes: bool, reason: str, as_json: bool, unseen: bool = False) -> Result:
    """What is shown is what is approved: the prefix is looked up once, then only the whole nonce counts.

    `unseen`: the person says yes although not all of the call can be shown.
    """
    caller = inside.caller(places, "approve")
    with stores.told(), held.looked_up(places):
        config = stores.settings(places)
        book = stores.nonces(places, config)
        shown = held.find(book.entries(), prefix, time.time(), "pending")
        if not (shown.whole or unseen):
            raise Refused("unseen", shown)
        details = held.details(shown, time.time())
        agreed = caller.confirm(details) if caller.doubt else yes or asking.confirm(details, "Approve?", as_json=as_json)
        if not agreed:
            return Result("approve", {"nonce": shown.nonce}, _not_approved(book.entries(), shown.nonce, time.time()), 1)
        window = config.approval_window_ms / 1000
        entry = book.approve(shown.nonce, stores.decision(reason), time.time(), window, unseen=unseen)
    lines = (
        Line("ok", answers.approved(entry, window)),
        Line("info", answers.plain(entry.shown)),
        Line("next", f"the agent is woken; toolguard deny {entry.nonce} takes it back until it has run"),
    )
    return Result("approve", held.public(entry, time.time()), lines)


def _not_approved(entries: list[Entry], nonce: str, now: float) -> tuple[Line, ...]:
    """What a no here leaves behind: the call waits on, unless somebody else decided or its time is over."""
    said = Line("info", f"{nonce} was not approved")
    left = next((answers.state(entry, now) for entry in answers.waiting(entries, now) if entry.nonce == nonce), "")
    return (said, Line("next", f"it still waits, {left}; toolguard deny {nonce} refuses it")) if left else (said,)
