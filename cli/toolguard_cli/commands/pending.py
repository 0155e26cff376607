"""`toolguard pending`: the calls that wait for a person."""

from __future__ import annotations

import time

from toolguard_cli import held, stores, tables
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.ledger import OPEN, Entry

HEAD = ("NONCE", "STATE", "AGE", "TOOL", "AGENT", "CALL")


def run(places: Places, *, everything: bool) -> Result:
    if held.never_been(places):
        return Result("pending", {"pending": []}, (Line("warn", held.nowhere(places)),))
    with stores.told():
        entries = stores.nonces(places).entries()
    now = time.time()
    known = sorted(held.now_known(entries, now).entries, key=lambda entry: entry.created)
    found = [entry for entry in known if everything or entry.status in OPEN]
    return Result(
        "pending", {"pending": [held.public(entry, now) for entry in found]}, tuple(_lines(found, now, everything))
    )


def _lines(found: list[Entry], now: float, everything: bool) -> list[Line]:  # noqa: FBT001
    if not found:
        return [Line("info", "no call was held in the last 24 hours" if everything else "no call is waiting")]
    lines = tables.table(HEAD, (_row(entry, now) for entry in found))
    waiting = [entry.nonce for entry in found if entry.status == "pending"]
    if len(waiting) == 1:
        lines.append(Line("next", f"toolguard approve {waiting[0]}, or toolguard deny {waiting[0]}"))
    elif waiting:
        lines.append(Line("next", "toolguard approve NONCE (shows it first)"))
    return lines


def _row(entry: Entry, now: float) -> tuple[str, ...]:
    state = answers.state(entry, now)
    age = answers.duration(now - entry.created)
    return entry.nonce, state, age, entry.tool, entry.agent, entry.shown
