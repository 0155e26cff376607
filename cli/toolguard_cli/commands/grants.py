"""`toolguard grants`: lists the grants."""

from __future__ import annotations

import time
from math import ceil, inf
from typing import Annotated

import typer

from toolguard_cli.approvals import held_calls
from toolguard_cli.approvals.grant_view import left, public, session_public
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores, signed_grants
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals import session_grant
from toolguard_engine.approvals.grant_record import Grant, is_expired
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

HEAD = ("ID", "LEFT", "TOOL", "AGENT", "BY", "PATTERN")
NOT_SIGNED = "not signed"
WORDS_ONLY = "words only"

app = command_app()


@command(app, "toolguard grants", "toolguard grants --all --json")
def run(
    places: Places, *, everything: Annotated[bool, typer.Option("--all", help="Include expired grants.")] = False
) -> Result:
    """List the grants."""
    now = time.time()
    with gateway_stores.user_errors():
        policies = stores.grants(places.state_dir)
        known, active = policies.known(), policies.active(now)
        signed = signed_grants.counting(places, gateway_stores.settings(places), policies.grants())
    ends = {grant.id: inf if grant in signed and grant not in active else now for grant in known}
    grants = [grant for grant in known if everything or not is_expired(grant, ends[grant.id])]
    rows = (_row(grant, left(grant, ends[grant.id]) if grant in signed else NOT_SIGNED) for grant in grants)
    with gateway_stores.user_errors():
        sessions = stores.session_grants(places.state_dir).active(now)
    lines = tables.table(HEAD, [*rows, *(_session_row(grant, now) for grant in sessions)]) if grants or sessions else []
    lines = lines or [_nothing(places, len(known))]
    lines += _words_only(grants)
    lines += _to_accept([grant.id for grant in grants if grant not in signed])
    lines += _rules(places)
    data = [{**public(grant, ends[grant.id]), "signed": grant in signed} for grant in grants]
    return Result("grants", {"grants": data, "sessions": [session_public(session) for session in sessions]}, tuple(lines))


def _session_row(grant: SessionGrant, now: float) -> tuple[str, ...]:
    covered = f"{session_grant.covered(grant)}  [only in session {grant.session}]"
    return grant.id, printable.duration(ceil(grant.expires - now)), grant.tool, grant.agent or "any", grant.by, covered


def _rules(places: Places) -> list[Line]:
    try:
        with gateway_stores.user_errors():
            stores.user_rules(places.state_dir).rules()
    except UserError as error:
        return [Line("error", error.message), Line("info", f"-> {error.fix}")]
    return []


def _words_only(grants: list[Grant]) -> list[Line]:
    """What is said about grants of earlier versions."""
    old = [grant.id for grant in grants if grant.bound is None and grant.mac]
    if not old:
        return []
    which = "1 grant is" if len(old) == 1 else f"{len(old)} grants are"
    cover = "covers" if len(old) == 1 else "cover"
    text = f"{which} from an earlier version and {cover} the same words whatever they do by now ({WORDS_ONLY})"
    return [Line("info", f"{text}; to bind it to what it does: toolguard revoke {old[0]}, then grant it again")]


def _to_accept(ids: list[str]) -> list[Line]:
    if not ids:
        return []
    unsigned = (
        "1 grant is not signed and does not apply" if len(ids) == 1 else f"{len(ids)} grants are not signed and do not apply"
    )
    how = f"toolguard grant --accept {ids[0]} shows what it covers and asks for confirmation"
    return [Line("next", f"{unsigned}: {how}")]


def _nothing(places: Places, expired: int) -> Line:
    if not expired and held_calls.never_been(places):
        return Line("warn", held_calls.nowhere(places))
    return Line("info", f"no grant is active; {expired} expired (see --all)" if expired else "there are no grants")


def _row(grant: Grant, state: str) -> tuple[str, ...]:
    limits = [f"{name}={glob}" for name, glob in grant.params.items()] + ([f"in {grant.cwd}"] if grant.cwd else [])
    limits += ["uncontained"] if grant.uncontained else []
    limits += [WORDS_ONLY] if grant.mac and grant.bound is None else []
    pattern = f"{grant.pattern}  [{', '.join(limits)}]" if limits else grant.pattern
    return grant.id, state, grant.tool, grant.agent or "any", grant.by, pattern
