"""`toolguard deny`: refuses a held call, or takes back a yes that was not used yet."""

from __future__ import annotations

import time

from toolguard_cli import held, inside, stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.config import Config
from toolguard_engine.ledger import OPEN, Decision, Entry, Refused
from toolguard_engine.stores.nonces import FileNonces


def run(places: Places, prefix: str, *, reason: str) -> Result:
    inside.refuse(places, "deny", loosens=False)
    with stores.told(), held.looked_up(places):
        config = stores.settings(places)
        try:
            entry, said = refuse(stores.nonces(places, config), prefix, stores.decision(reason), config)
        except Refused as refused:
            if refused.cause != "used" or refused.entry is None:
                raise
            late = answers.too_late(refused.entry)
            raise UserError(late.text, late.fix) from refused
    lines = (Line("ok", said), Line("info", answers.plain(entry.shown)))
    return Result("deny", held.public(entry, time.time()), lines)


def refuse(book: FileNonces, prefix: str, decision: Decision, config: Config) -> tuple[Entry, str]:
    """A no, and what it means. Raises `Refused` and `StoreError`."""
    known = held.find(book.entries(), prefix, time.time(), *OPEN)
    entry = book.deny(known.nonce, decision, time.time(), config.pending_timeout_ms / 1000)
    return entry, answers.refused(entry, taken_back=known.status == "approved")
