"""`toolguard revoke`: revokes a grant."""

from __future__ import annotations

import time
from functools import partial

from toolguard_cli.approvals import grant_view
from toolguard_cli.approvals.grant_view import missing, public, session_public
from toolguard_cli.commands.command_options import DryRun, GrantId, Reason, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import answer_for_session
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals import session_grant
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.repeatable_calls import describe
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard revoke g-1a2b")
def run(
    places: Places,
    grant_id: GrantId,
    *,
    reason: Reason = "",
    dry_run: DryRun = False,
) -> Result:
    """Revoke a grant.

    The beginning of its id is enough.
    """
    require_human.refuse(places, "revoke", loosens=False)
    problems: list[Line] = []
    with gateway_stores.user_errors():
        policies, sessions = stores.grants(places.state_dir), stores.session_grants(places.state_dir)
        known, now = policies.known(), time.time()
        given = {grant.id: grant for grant in sessions.active(now)}
        grant_id = grant_view.named(grant_id, (*(grant.id for grant in known), *given))
        if grant_id in given:
            if not dry_run:
                sessions.revoke(grant_id, partial(_logged_of_session, places, audit_log.plain(reason), problems))
            return _of_session(given[grant_id], problems, dry_run=dry_run)
        if dry_run:
            grant = next((grant for grant in known if grant.id == grant_id), None)
        else:
            log = partial(_logged, places, audit_log.plain(reason), problems)
            grant = policies.revoke(grant_id, log)
    if grant is None:
        raise missing(grant_id)
    lines = [Line("ok", f"{_done(grant.id, dry_run=dry_run)}: {describe(grant)}")]
    return Result("revoke", {"dryRun": dry_run, "grant": public(grant, time.time())}, (*lines, *problems))


def _of_session(grant: SessionGrant, problems: list[Line], *, dry_run: bool) -> Result:
    line = Line("ok", f"{_done(grant.id, dry_run=dry_run)}: {session_grant.describe_briefly(grant)}")
    return Result("revoke", {"dryRun": dry_run, "grant": session_public(grant)}, (line, *problems))


def _done(grant_id: str, *, dry_run: bool) -> str:
    return f"would revoke {grant_id}" if dry_run else f"revoked {grant_id}; this no longer applies"


def _logged_of_session(places: Places, why: str, problems: list[Line], grant: SessionGrant) -> None:
    try:
        answer_for_session.log(places, grant, "revoke", why)
    except StoreError as error:
        problems.append(_unlogged(error))


def _unlogged(error: StoreError) -> Line:
    return Line("warn", printable.plain(f"this could not be written to the audit log: {error}"))


def _logged(places: Places, why: str, problems: list[Line], grant: Grant) -> None:
    """The grant is revoked even if the audit log cannot be written."""
    try:
        grant_view.log(places, grant, "revoke", why)
    except StoreError as error:
        problems.append(_unlogged(error))
