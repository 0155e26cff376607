"""`toolguard deny`: refuses a held call, or takes back a yes that was not used yet."""

from __future__ import annotations

import time

from toolguard_cli import held, inside, stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.ledger import OPEN, Refused


def run(places: Places, prefix: str, *, reason: str) -> Result:
    inside.refuse(places, "deny")
    with stores.told(), held.looked_up(places):
        config = stores.settings(places)
        lasts, book = config.pending_timeout_ms / 1000, stores.nonces(places, config)
        try:
            known = held.find(book.entries(), prefix, time.time(), *OPEN)
            entry = book.deny(known.nonce, stores.decision(reason), time.time(), lasts)
        except Refused as refused:
            if refused.cause != "used" or refused.entry is None:
                raise
            late = answers.too_late(refused.entry)
            raise UserError(late.text, late.fix) from refused
    said = answers.refused(entry, taken_back=known.status == "approved")
    lines = (Line("ok", said), Line("info", answers.plain(entry.shown)))
    return Result("deny", held.public(entry, time.time()), lines)
