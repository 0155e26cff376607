"""`toolguard revoke`: revokes a grant."""

from __future__ import annotations

import time
from functools import partial

from toolguard_cli.approvals import grant_view
from toolguard_cli.approvals.grant_view import missing, public
from toolguard_cli.commands.command_options import DryRun, GrantId, Reason, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.person import require_human
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.repeatable_calls import words
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
    """Revoke a grant."""
    require_human.refuse(places, "revoke", loosens=False)
    problems: list[Line] = []
    with gateway_stores.user_errors():
        policies = stores.grants(places.state_dir)
        if dry_run:
            grant = next((grant for grant in policies.known() if grant.id == grant_id), None)
        else:
            log = partial(_logged, places, audit_log.plain(reason), problems)
            grant = policies.revoke(grant_id, log)
    if grant is None:
        raise missing(grant_id)
    done = f"would revoke {grant.id}" if dry_run else f"revoked {grant.id}; this no longer applies"
    lines = [Line("ok", f"{done}: {words(grant)}")]
    return Result("revoke", {"dryRun": dry_run, "grant": public(grant, time.time())}, (*lines, *problems))


def _logged(places: Places, why: str, problems: list[Line], grant: Grant) -> None:
    """The grant is revoked even if the audit log cannot be written."""
    try:
        grant_view.log(places, grant, "revoke", why)
    except StoreError as error:
        problems.append(Line("warn", printable.plain(f"this could not be written to the audit log: {error}")))
