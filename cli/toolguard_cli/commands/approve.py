"""`toolguard approve`: lets one held call through, once."""

from __future__ import annotations

import time

from toolguard_cli import asking, held, inside, stores
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers


def run(places: Places, prefix: str, *, yes: bool, reason: str, as_json: bool) -> Result:
    """What is shown is what is approved: the prefix is looked up once, then only the whole nonce counts."""
    inside.refuse(places, "approve")
    with stores.told():
        config = stores.settings(places)
        book = stores.nonces(places, config)
        shown = held.find(book.entries(), prefix, time.time(), "pending")
        if not yes and not asking.confirm(held.details(shown, time.time()), "Approve?", as_json=as_json):
            return Result("approve", {"nonce": shown.nonce}, (Line("info", f"{shown.nonce} was not approved"),), 1)
        window = config.approval_window_ms / 1000
        entry = book.approve(shown.nonce, stores.decision(reason), time.time(), window)
    lines = (Line("ok", answers.approved(entry, window)), Line("info", answers.plain(entry.shown)))
    return Result("approve", held.public(entry, time.time()), lines)
