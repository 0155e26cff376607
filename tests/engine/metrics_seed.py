"""A small metrics file, always the same: two gateways, some models, all kinds of verdicts."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from toolguard_engine.metrics import database
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS, CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.transactions import transaction

GATEWAYS = ("openclaw", "dev")
MARKUP = "<img src=x onerror=alert(1)>"
SQL = "'); DROP TABLE toolguard_calls;--"
CONTROL = "a\x1b[2Jb\x00c\u202ed\r\ne"
FORMULA = '=HYPERLINK("http://example.com")'
HOSTILE = (MARKUP, SQL, CONTROL, FORMULA, "x" * 200)

AGES = (10_000, 70_000, 10 * 60_000, HOUR_MS, 5 * HOUR_MS, 23 * HOUR_MS, 2 * DAY_MS, 6 * DAY_MS, 20 * DAY_MS, 29 * DAY_MS)
"""How long before `now` the calls were made; as often again as long before, for the time before each range."""

_MODELS = {
    "big": ("anthropic", 0.02, 0),
    "small": ("openai", 0.001, 0),
    "guessed": ("openai", 0.005, 1),
    "unpriced": ("local", None, 0),
}
"""Provider, USD for a call, whether that is an estimate."""

_CODES = {
    "allow": "",
    "malformed": "malformed.missing-parameter",
    "loop": "malformed.missing-parameter",
    "hold": "rule.delete-important",
    "hold-again": "rule.delete-important",
    "approve": "rule.delete-important",
    "deny": "rule.delete-important",
    "consume": "rule.delete-important",
    "expire": "rule.delete-important",
    "block": "approval.always-block",
    "stop": "loop.identical",
    "note": "loop.repeat",
    "would-refuse": "rubric",
    "security": "security.hook-order",
    "error": "guard.error",
    "checkpoint": "budget.checkpoint",
    "kill-switch": "kill-switch.on",
    "grant": "",
    "revoke": "",
    "budget": "budget.exhausted",
    "drift": "drift.speed",
    "external": "bridge.held",
}


def seed(path: Path, now_ms: int, *, hostile: bool = False) -> None:
    """Makes the file. Two gateways write here; `dev` made fewer calls. `hostile`: also names that are attacks."""
    with closing(database.connect(path)) as connection, transaction(connection):
        record(connection, calls(now_ms) + (attacks(now_ms) if hostile else []))
        record_verdicts(connection, verdicts(now_ms) + (hostile_verdicts(now_ms) if hostile else []))
        for name in GATEWAYS:
            _register(connection, name, path, now_ms)


def calls(now_ms: int) -> list[CallRecord]:
    found = []
    for number, age in enumerate((*AGES, *(2 * age for age in AGES))):
        for place, (model, (provider, cost, estimated)) in enumerate(_MODELS.items()):
            gateway = GATEWAYS[(number + place) % 3 == 0]
            agent = f"agent-{place % 2}"
            tokens = (100 + number, 10 + place, 5 * number, place)
            outcome = "error" if (number + place) % 7 == 0 else "completed"
            session = f"agent:{agent}:{'telegram' if place % 2 else 'main'}:{number % 3}"
            duration = None if place == len(_MODELS) - 1 else 1_000 * (1 + place) + number
            names = (gateway, agent, session, "telegram" if place % 2 else "", provider, model)
            found.append(CallRecord(now_ms - age, *names, *tokens, sum(tokens), cost, estimated, duration, outcome))
    return found


def verdicts(now_ms: int) -> list[VerdictRecord]:
    found = []
    for number, age in enumerate(AGES):
        for place, (kind, code) in enumerate(_CODES.items()):
            gateway = GATEWAYS[(number + place) % 3 == 0]
            decision = {"hold": "hold", "block": "block", "stop": "block"}.get(kind, "allow")
            event = None if kind in ("allow", "malformed", "loop") else f"event-{number}-{place}"
            nonce = f"{number:04x}{place:04x}" if kind in ("hold", "approve", "deny", "consume", "expire") else ""
            person, where = ("ann", "cli") if kind in ("approve", "deny", "grant", "revoke", "checkpoint") else ("", "")
            names = (gateway, "agent-0", "agent:agent-0:main:0", f"run-{number}", "exec")
            reported = (decision, code, f"why {kind} {number}", kind, event, nonce, "rm -rf build", person, where)
            found.append(VerdictRecord(now_ms - age - place, *names, *reported))
    found.append(VerdictRecord(now_ms - 5_000, GATEWAYS[0], kind="stop", code="approval.waiting", event="event-waiting"))
    return found


def attacks(now_ms: int) -> list[CallRecord]:
    return [
        CallRecord(now_ms - 1_000 - number, *[name] * 6, 10, 1, 0, 0, 11, 0.001, 0, 50, name)
        for number, name in enumerate(HOSTILE)
    ]


def hostile_verdicts(now_ms: int) -> list[VerdictRecord]:
    return [
        VerdictRecord(now_ms - 1_000, *[name] * 5, "block", name, name, kind, f"{kind}-{number}", name, name, name, name)
        for number, name in enumerate(HOSTILE)
        for kind in ("block", name)
    ]


def _register(connection: sqlite3.Connection, name: str, path: Path, now_ms: int) -> None:
    state = path.parent / f"state-{name}"
    connection.execute(
        "INSERT INTO toolguard_gateways (id, state_dir, config_path, nonces, host, version, mode, pid, seen)"
        " VALUES (?, ?, ?, ?, '2026.9.6', '1', 'enforce', 1, ?)",
        (name, str(state), str(state / "openclaw.json"), str(state / "pending.json"), now_ms),
    )
