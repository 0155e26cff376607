"""Grants as the commands show and log them."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import dated
from toolguard_engine.approvals import granted_meaning, session_grant
from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.approvals.grant_matching import meaning
from toolguard_engine.approvals.grant_record import Grant, is_expired
from toolguard_engine.approvals.repeatable_calls import describe
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

MAX_LINE = 400
MAX_IDS = 5


def public(grant: Grant, now: float) -> dict[str, Any]:
    """Returns for scripts all fields but the signature, whether it has expired, and what it was given for. `wordsOnly`: a
    version that did not keep that has signed it."""
    fields = {name: value for name, value in msgspec.to_builtins(grant).items() if name not in ("mac", "bound")}
    bound = [_public(meaning) for meaning in grant.bound or ()]
    more = {"expired": is_expired(grant, now), "wordsOnly": bool(grant.mac) and grant.bound is None, "bound": bound}
    return {**dated(fields, "created", "expires"), **more}


def _public(meaning: Meaning) -> dict[str, Any]:
    return {
        "folder": meaning.folder,
        "places": list(dict.fromkeys(effect.path for effect in meaning.effects if effect.path)),
        "files": {file.path: file.digest for file in meaning.files},
    }


def bound_to(grant: Grant) -> list[str]:
    """What it was given for, one line for each folder in which its calls may run."""
    home = str(Path.home())
    meanings = ("; ".join(granted_meaning.described(meaning, home)) for meaning in grant.bound or ())
    return [printable.cut(line, MAX_LINE) for line in meanings if line]


def details(grant: Grant, now: float) -> list[str]:
    """The whole grant, uncut, for the user to read before signing it."""
    rows = [
        ("tool", grant.tool),
        ("pattern", grant.pattern),
        ("agent", grant.agent or "any"),
        ("folder", grant.cwd or "any"),
        *(("param", f"{name} like {glob}") for name, glob in grant.params.items()),
        *([("runs", "outside of the room that contains commands")] if grant.uncontained else []),
        ("time", ends(grant, now)),
        ("by", grant.by),
        ("reason", grant.reason),
        *(("bound", line) for line in bound_to(grant)),
    ]
    covers = f"{grant.id} is not signed. It would allow these calls without asking; * stands for {meaning(grant.tool)}"
    return [covers, *(f"  {name:<8} {printable.plain(value) or '-'}" for name, value in rows)]


def session_public(grant: SessionGrant) -> dict[str, Any]:
    """The same for a grant that ends with its session. `covers`: in words."""
    names = ("id", "nonce", "tool", "agent", "session", "created", "expires", "by", "where", "reason")
    fields = {name: getattr(grant, name) for name in names}
    return {**dated(fields, "created", "expires"), "covers": session_grant.covered(grant)}


def named(text: str, ids: Iterable[str]) -> str:
    """The one id that a user means: all of it, or its beginning. Raises `UserError`."""
    known = list(ids)
    matching = [text] if text in known else [nonce for nonce in known if text and nonce.startswith(text)]
    if len(matching) > 1:
        some = ", ".join(sorted(matching)[:MAX_IDS]) + (" ..." if len(matching) > MAX_IDS else "")
        raise UserError(f"{len(matching)} grants begin with {printable.cut(text, 40)}: {some}", "give more of the id")
    if not matching:
        raise missing(text)
    return matching[0]


def missing(grant_id: str) -> UserError:
    return UserError(f"there is no grant {printable.cut(grant_id, 40)}", "toolguard grants --all lists all grants")


def ends(grant: Grant, now: float) -> str:
    if not grant.expires:
        return "it never ends"
    if is_expired(grant, now):
        return f"it ended {printable.moment(grant.expires)}"
    return f"it ends {printable.moment(grant.expires)} (in {left(grant, now)})"


def left(grant: Grant, now: float) -> str:
    """Returns for a table what is left: `6d23h`, `never ends`, `expired`."""
    if not grant.expires:
        return "never ends"
    return "expired" if is_expired(grant, now) else printable.duration(ceil(grant.expires - now))


def log(places: Places, grant: Grant, event: str, why: str, prefix: str = "") -> None:
    """Appends a line to the audit log; `prefix` begins its reason. Raises `StoreError`."""
    until = f"{grant.id}, until {audit_log.when(grant.expires) if grant.expires else 'revoked'}"
    line = gateway_stores.event(
        event,
        tool=printable.plain(grant.tool),
        agent=printable.plain(grant.agent),
        why=why,
        reason=f"{prefix}: {until}" if prefix else until,
        shown=describe(grant),
    )
    stores.audit_log(places.state_dir).append([line])
