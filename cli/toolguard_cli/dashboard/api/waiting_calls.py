"""The held calls of all gateways."""

from __future__ import annotations

import os
import time
from typing import Any

from msgspec import structs

from toolguard_cli.approvals import held_calls
from toolguard_cli.dashboard import known_gateways
from toolguard_cli.dashboard.api_types import HeldCallView, Pending
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.dashboard.request_context import Query, RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system.errors import UserError
from toolguard_engine.approvals import held_text, replies, session_grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.repeatable_calls import narrow_grant
from toolguard_engine.wording import printable

UNSIGNED = "held calls are not signed by toolguard and are left out; run toolguard doctor"


def pending(visit: RequestContext, asked: Query) -> Pending:
    del asked
    gateways, problems = known_gateways.watched(visit)
    return listed(visit, gateways, problems)


def listed(visit: RequestContext, known: list[WatchedGateway], problems: list[str]) -> Pending:
    """Oldest first. `problems`: added to those found here."""
    held, unread, now = list[HeldCallView](), list[str](), time.time()
    for gateway in known:
        try:
            with gateway_stores.user_errors():
                trusted, others = read(gateway)
            held += [view(gateway, entry) for entry in replies.waiting(trusted, now)]
            problems = [*problems, *([printable.plain(f"{gateway.id}: {len(others)} {UNSIGNED}")] if others else [])]
        except (UserError, OSError) as error:
            problems = [*problems, described(gateway, error)]
            unread.append(gateway.id)
    return Pending(visit.now, sorted(held, key=lambda one: (one.created, one.nonce)), problems, unread)


def read(watched: WatchedGateway) -> tuple[list[HeldCall], list[HeldCall]]:
    """Signed and unsigned held calls. Read-only. Raises `UserError`."""
    if watched.known and not os.path.isdir(watched.places.state_dir):  # noqa: PTH112 - this one never raises
        raise UserError(f"{watched.places.state_dir} is gone")
    return watched.ledger().look()


def described(watched: WatchedGateway, error: UserError | OSError) -> str:
    if isinstance(error, OSError):
        return printable.plain(f"{watched.id}: {error.filename or 'a file'}: {error.strerror or error}")
    return printable.plain(f"{watched.id}: {error.message}{f'; {error.fix}' if error.fix else ''}")


def view(watched: WatchedGateway, entry: HeldCall) -> HeldCallView:
    """A held call as pages show it."""
    same = {name: value for name, value in structs.asdict(entry).items() if name in HeldCallView.__struct_fields__}
    times = {"created": int(entry.created * 1_000), "expires": int(entry.expires * 1_000)}
    return HeldCallView(**{**same, **times, "gateway": watched.id, **_preview(entry)})


def _preview(entry: HeldCall) -> dict[str, Any]:
    """Looked up once for each call: the page asks every few seconds."""
    known = _previews.get(entry.nonce)
    if known is None:
        exact, alike = narrow_grant(entry), session_grant.offer(entry)
        (shown,) = held_calls.looked_at([entry], time.time())
        known = {
            "view": shown,
            "would": [*(f"new: {line}" for line in shown.changes), *held_text.dangers(shown, MAX_LINE), *shown.also],
            "rules": [why for danger in shown.dangers for why in danger.why],
            "allows": exact.scope,
            "alike": f"{alike.scope}, {session_grant.IN_WORDS}" if alike.grant else "",
            "why_once": "" if alike.grant else exact.why_not,
        }
        while len(_previews) >= MAX_PREVIEWS:
            _previews.pop(next(iter(_previews)))
        _previews[entry.nonce] = known
    return known


MAX_PREVIEWS = 200
MAX_LINE = 1_000
_previews: dict[str, dict[str, Any]] = {}
