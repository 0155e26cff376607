"""`toolguard revoke`: takes a grant back."""

from __future__ import annotations

import time

from toolguard_cli import inside, stores
from toolguard_cli.granted import log, missing, public, words
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.layers.grants import Grant
from toolguard_engine.stores import audit
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import Policies


def run(places: Places, grant_id: str, *, reason: str, dry_run: bool) -> Result:
    inside.refuse(places, "revoke", loosens=False)
    with stores.told():
        policies = Policies(places.state_dir)
        if dry_run:
            grant = next((grant for grant in policies.known() if grant.id == grant_id), None)
        else:
            grant = policies.revoke(grant_id)
    if grant is None:
        raise missing(grant_id)
    lines = [Line("ok", f"{'would revoke' if dry_run else 'revoked'} {grant.id}: {words(grant)}")]
    if not dry_run:
        lines += _logged(places, grant, audit.plain(reason))
    return Result("revoke", {"dryRun": dry_run, "grant": public(grant, time.time())}, tuple(lines))


def _logged(places: Places, grant: Grant, why: str) -> list[Line]:
    """A grant that is gone stays gone, even if that cannot be written down."""
    try:
        log(places, grant, "revoke", why)
    except StoreError as error:
        return [Line("warn", answers.plain(f"this could not be written to the audit log: {error}"))]
    return []
