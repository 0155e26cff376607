"""`toolguard grants`: what was granted."""

from __future__ import annotations

import time

from toolguard_cli import stores, tables
from toolguard_cli.errors import UserError
from toolguard_cli.granted import left, public
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine.layers.grants import Grant, is_expired
from toolguard_engine.stores.policy import Policies
from toolguard_engine.stores.userrules import UserRules

HEAD = ("ID", "LEFT", "TOOL", "AGENT", "BY", "PATTERN")
NOT_SIGNED = "not signed"


def run(places: Places, *, everything: bool) -> Result:
    now = time.time()
    with stores.told():
        policies = Policies(places.state_dir)
        known, signed = policies.known(), policies.grants()
    found = [grant for grant in known if everything or not is_expired(grant, now)]
    rows = (_row(grant, left(grant, now) if grant in signed else NOT_SIGNED) for grant in found)
    lines = tables.table(HEAD, rows) if found else [_nothing(len(known))]
    lines += _to_accept([grant.id for grant in found if grant not in signed])
    lines += _rules(places)
    data = [{**public(grant, now), "signed": grant in signed} for grant in found]
    return Result("grants", {"grants": data}, tuple(lines))


def _rules(places: Places) -> list[Line]:
    """What is wrong with the rules in the same file."""
    try:
        with stores.told():
            UserRules(places.state_dir).rules()
    except UserError as error:
        return [Line("error", error.message), Line("info", f"-> {error.fix}")]
    return []


def _to_accept(ids: list[str]) -> list[Line]:
    """The next step for what does not count."""
    if not ids:
        return []
    said = "1 is not signed and does not count" if len(ids) == 1 else f"{len(ids)} are not signed and do not count"
    return [Line("next", f"{said}: toolguard grant --accept {ids[0]} shows what it covers, and asks")]


def _nothing(expired: int) -> Line:
    return Line("info", f"nothing is granted now; {expired} expired (--all)" if expired else "nothing is granted")


def _row(grant: Grant, state: str) -> tuple[str, ...]:
    limits = [f"{name}={glob}" for name, glob in grant.params.items()] + ([f"in {grant.cwd}"] if grant.cwd else [])
    pattern = f"{grant.pattern}  [{', '.join(limits)}]" if limits else grant.pattern
    return grant.id, state, grant.tool, grant.agent or "any", grant.by, pattern
