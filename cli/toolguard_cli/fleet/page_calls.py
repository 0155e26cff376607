"""Held calls of the fleet as the page shows them. Their entries come from gateways: bounded, and never believed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from toolguard_cli.fleet.page_types import FleetCallView, FleetDecision, SignedCall
from toolguard_engine.approvals import held_text, held_view
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.wording import printable

MAX_SHOWN = 20_000
MAX_TEXT = 2_000
MAX_NAME = 200
MAX_LINES = 50
COMMAND = "toolguard fleet approve {nonce} --gateway {gateway}"


class CallDecision(msgspec.Struct, frozen=True):
    approver: str
    verdict: str
    why: str
    at: float


class CallOfFleet(msgspec.Struct, frozen=True):
    """A call like those of `held_json` and `closed_json`, with the gateway's team. `entry`: None where it would be too
    much."""

    gateway: str
    team: str
    host: str
    nonce: str
    status: str
    session: str
    requester: str
    entry: bytes | None
    need: int
    need_teams: list[str]
    created: float
    expires: float
    at: float | None
    by: str
    why: str
    decisions: list[CallDecision]
    you: str
    may_approve: list[str] = []


class _Shown(msgspec.Struct, frozen=True):
    """What is read of an entry."""

    tool: str = ""
    agent: str = ""
    session: str = ""
    code: str = ""
    reason: str = ""
    shown: str = ""
    whole: bool = False
    cwd: str = ""
    would: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    view: HeldView | None = None
    readable: bool = False


def view(row: CallOfFleet, role: str) -> FleetCallView:
    """`role`: of the person who asks."""
    entry = _read(row.entry) if row.entry is not None else _Shown(shown="not shown: too many calls are waiting")
    decisions = [
        FleetDecision(decision.approver, decision.verdict, milliseconds(decision.at), decision.why)
        for decision in row.decisions
    ]
    approved = {decision.approver for decision in row.decisions if decision.verdict == "approved"}
    return FleetCallView(
        **_fields(entry, row),
        gateway=row.gateway,
        team=row.team,
        host=row.host,
        nonce=row.nonce,
        status=row.status,
        requester=row.requester,
        created=milliseconds(row.created),
        expires=milliseconds(row.expires),
        decided=milliseconds(row.at or 0.0),
        by=row.by,
        why=row.why,
        need=row.need,
        need_teams=row.need_teams,
        decisions=decisions,
        may_approve=row.may_approve,
        may=role != "viewer" and row.you in row.may_approve and row.you not in approved,
        command=COMMAND.format(nonce=row.nonce, gateway=row.gateway),
    )


def _fields(entry: _Shown, row: CallOfFleet) -> dict[str, Any]:
    """What its gateway entered counts before what the database says: signatures are over that."""
    session = entry.session if entry.readable else printable.cut(row.session, MAX_NAME)
    lists = {"would": list(entry.would), "rules": list(entry.rules)}
    return msgspec.structs.asdict(entry) | lists | {"session": session}


def is_shown_whole(held: HeldCall) -> bool:
    """Whether a card leaves out nothing that a person has to know about this call."""
    lists = _listed(held_view.view(held))
    texts = (held.cwd, held.reason, *lists[0], *lists[1])
    names = (held.tool, held.agent, held.code, held.session, held.requester)
    return (
        held.whole
        and len(held.shown) <= MAX_SHOWN
        and all(len(text) <= MAX_TEXT for text in texts)
        and all(len(name) <= MAX_NAME for name in names)
        and all(len(lines) <= MAX_LINES for lines in lists)
    )


@lru_cache(maxsize=500)
def _read(entry: bytes) -> _Shown:
    """The same entry is asked for every few seconds."""
    try:
        held = msgspec.json.decode(entry, type=HeldCall)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _Shown(shown=entry[:MAX_SHOWN].decode("utf-8", "replace"))
    return _shown(held)


def signed_call(held: HeldCall) -> SignedCall:
    """What a signature of this entry covers, as the page shows it."""
    shown = _shown(held)
    return SignedCall(
        shown.tool, shown.agent, shown.session, printable.cut(held.requester, MAX_NAME), shown.reason, shown.shown,
        shown.whole, shown.cwd, list(shown.would), list(shown.rules), shown.view,
    )  # fmt: skip


def _shown(held: HeldCall) -> _Shown:
    view = held_view.view(held)
    would, rules = map(_lines, _listed(view))
    return _Shown(
        printable.cut(held.tool, MAX_NAME),
        printable.cut(held.agent, MAX_NAME),
        printable.cut(held.session, MAX_NAME),
        printable.cut(held.code, MAX_NAME),
        printable.cut(held.reason, MAX_TEXT),
        held.shown[:MAX_SHOWN],
        held.whole and len(held.shown) <= MAX_SHOWN,
        printable.cut(held.cwd, MAX_TEXT),
        would,
        rules,
        view=view,
        readable=True,
    )


def _listed(view: HeldView) -> tuple[list[str], list[str]]:
    """What it would do, and what its rules say."""
    return [*held_text.dangers(view, MAX_TEXT), *view.also], [why for danger in view.dangers for why in danger.why]


def _lines(lines: list[str]) -> tuple[str, ...]:
    more = [f"and {len(lines) - MAX_LINES} more"] if len(lines) > MAX_LINES else []
    return (*(printable.cut(line, MAX_TEXT) for line in lines[:MAX_LINES]), *more)


def milliseconds(seconds: float) -> int:
    return int(seconds * 1_000)
