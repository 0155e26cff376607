"""`toolguard deny`: refuses a held call, or takes back a yes that was not used yet."""

from __future__ import annotations

import time

from toolguard_cli import held, inside, stores
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers


def run(places: Places, prefix: str, *, reason: str) -> Result:
    inside.refuse(places, "deny")
    with stores.told():
        config = stores.settings(places)
        lasts = config.pending_timeout_ms / 1000
        entry = stores.nonces(places, config).deny(prefix, stores.decision(reason), time.time(), lasts)
    lines = (Line("ok", answers.denied(entry)), Line("info", answers.plain(entry.shown)))
    return Result("deny", held.public(entry, time.time()), lines)
