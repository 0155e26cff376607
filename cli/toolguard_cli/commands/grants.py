"""`toolguard grants`: what was granted."""

from __future__ import annotations

import time

from toolguard_cli import stores, tables
from toolguard_cli.granted import left, public
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine.layers.grants import Grant, is_expired
from toolguard_engine.stores.policy import Policies

HEAD = ("ID", "LEFT", "TOOL", "AGENT", "BY", "PATTERN")


def run(places: Places, *, everything: bool) -> Result:
    now = time.time()
    with stores.told():
        known = Policies(places.state_dir).grants()
    found = [grant for grant in known if everything or not is_expired(grant, now)]
    lines = tables.table(HEAD, (_row(grant, now) for grant in found)) if found else [_nothing(len(known))]
    return Result("grants", {"grants": [public(grant, now) for grant in found]}, tuple(lines))


def _nothing(expired: int) -> Line:
    return Line("info", f"nothing is granted now; {expired} expired (--all)" if expired else "nothing is granted")


def _row(grant: Grant, now: float) -> tuple[str, ...]:
    limits = [f"{name}={glob}" for name, glob in grant.params.items()] + ([f"in {grant.cwd}"] if grant.cwd else [])
    pattern = f"{grant.pattern}  [{', '.join(limits)}]" if limits else grant.pattern
    return grant.id, left(grant, now), grant.tool, grant.agent or "any", grant.by, pattern
