"""Grants calls in advance: checks the request, then writes the grant to the policy and the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from toolguard_cli.approvals import grant_view
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import granted_folders
from toolguard_cli.system import time_spans
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import grant_matching
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.ports import GrantStore
from toolguard_engine.wording import printable
from toolguard_engine.wording.visible_text import is_visible

if TYPE_CHECKING:
    from toolguard_cli.operations.sign_approval import Signing

NEVER = "never"
COMMANDS = ("exec", "bash")


@dataclass(frozen=True)
class GrantRequest:
    """The options as they were typed. `lasts`: a duration like `7d`, or `never`; `params`: `NAME=GLOB`."""

    pattern: str
    tool: str
    lasts: str = "24h"
    agent: str = ""
    cwd: str = ""
    params: tuple[str, ...] = ()
    reason: str = ""
    uncontained: bool = False


def draft(request: GrantRequest, now: float) -> Grant:
    """The grant for a request, without an id yet. Raises `UserError`."""
    expires = 0 if request.lasts == NEVER else now + time_spans.seconds(request.lasts, "--for")
    fields = {
        "id": "g-new",
        "tool": request.tool,
        "pattern": request.pattern,
        "agent": request.agent,
        "expires": float(int(expires)),
        "created": float(int(now)),
        "by": gateway_stores.who(),
        "reason": audit_log.plain(request.reason),
        "params": dict(_param(text) for text in request.params),
        "cwd": request.cwd,
        "uncontained": request.uncontained,
    }
    try:
        return msgspec.convert(fields, Grant)
    except msgspec.ValidationError as error:
        raise UserError(f"this cannot be granted: {error}", "see toolguard grant --help") from error


def _param(text: str) -> tuple[str, str]:
    name, sign, glob = text.partition("=")
    if not name or not sign or not glob:
        raise UserError(f"{printable.cut(text, 80)!r} is not NAME=GLOB", "write it like --param host=sandbox")
    return name, glob


def check(grant: Grant, *, allow_broad: bool) -> None:
    """Raises `UserError` for a grant that could never match and, unless `allow_broad`, for one that is too broad."""
    texts = (grant.tool, grant.pattern, grant.agent, grant.cwd, *grant.params, *grant.params.values())
    if not all(map(is_visible, texts)):
        raise UserError("the grant contains an unprintable character", "type it without line breaks and control characters")
    if grant.cwd and not grant.cwd.startswith("/"):
        raise UserError(f"{grant.cwd} is not an absolute path", 'give the full path, for example --cwd "$PWD"')
    if grant.uncontained and grant.tool not in COMMANDS:
        raise UserError("only commands run in a room", "leave --uncontained out")
    if problem := grant_matching.useless(grant):
        raise UserError(f"this would never cover a call: {problem}", "change the pattern, then try again")
    if not allow_broad and (problem := grant_matching.too_broad(grant)):
        raise UserError(problem, "make the pattern more specific; or, if you mean it, add --yes")


def add(places: Places, grant: Grant, signing: Signing | None = None) -> Grant:
    """The grant with its id. It is in the audit log before it counts. `signing`: where the settings name signers. Raises
    `StoreError`, and `UserError` where it cannot be signed."""
    if grant.bound is None:
        grant = granted_folders.bound(places, grant)
    if signing:
        signing.signers.keep_grant(grant, signing.grant(grant))
    policies = stores.grants(places.state_dir)
    return policies.add(
        msgspec.structs.replace(grant, id=""), lambda named: grant_view.log(places, named, "grant", named.reason)
    )


def unsigned(policies: GrantStore, grant_id: str, signing: Signing | None = None) -> Grant:
    """The grant with this id. Raises `UserError` if there is none, or it is signed."""
    grant = next((grant for grant in policies.known() if grant.id == grant_id), None)
    if grant is None:
        raise grant_view.missing(grant_id)
    if grant in policies.grants() and (signing is None or signing.signers.allows(grant)):
        raise UserError(f"{grant.id} is already signed", "toolguard grants lists all grants and whether they apply")
    return grant


def sign(places: Places, policies: GrantStore, grant: Grant, why: str, signing: Signing | None = None) -> Grant:
    """Signs a grant that was written by hand, unless it was changed meanwhile. Raises as `add` does."""
    if signing:
        signing.signers.keep_grant(grant, signing.grant(grant))
    return policies.accept(grant, lambda signed: grant_view.log(places, signed, "grant", why, "accepted"))
