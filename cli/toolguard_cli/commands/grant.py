"""`toolguard grant`: lets calls of one kind through for a while, without asking; `--accept` signs what somebody wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from toolguard_cli import asking, inside, stores, tables
from toolguard_cli.errors import UserError
from toolguard_cli.granted import details, ends, log, missing, public, words
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers
from toolguard_engine.layers import grants
from toolguard_engine.layers.grants import Grant
from toolguard_engine.model import Call
from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.stores import audit
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import Policies
from toolguard_engine.toolsearch import tool_name

NEVER = "never"


@dataclass(frozen=True)
class Wanted:
    """The options as they were given. `lasts`: a span like `7d`, or `never`; `params`: `NAME=GLOB`."""

    pattern: str
    tool: str
    lasts: str = "24h"
    agent: str = ""
    cwd: str = ""
    params: tuple[str, ...] = ()
    reason: str = ""


def run(places: Places, wanted: Wanted, *, yes: bool, dry_run: bool) -> Result:
    inside.refuse(places, "grant", loosens=not dry_run)
    now = time.time()
    grant = _checked(_grant(wanted, now), yes=yes)
    with stores.told():
        if not dry_run:
            grant = _written(places, grant)
    verb = "would grant" if dry_run else f"granted {grant.id}:"
    lines = [
        Line("ok", f"{verb} {words(grant)}"),
        Line("info", f"{ends(grant, now)}; * stands for {grants.meaning(grant.tool)}"),
    ]
    lines += [Line("warn", text) for text in _blocked(places, grant)]
    if not dry_run:
        lines.append(Line("next", f"toolguard revoke {grant.id} takes it back; toolguard grants lists all"))
    return Result("grant", {"dryRun": dry_run, "grant": public(grant, now)}, tuple(lines))


def _blocked(places: Places, grant: Grant) -> Iterator[str]:
    """What is blocked stays so: no grant lifts it. Told where the pattern itself is such a call."""
    from toolguard_cli import judging  # noqa: PLC0415 - half of the engine

    subject = grants.SUBJECTS.get(tool_name(grant.tool))
    if subject is None or len(subject.params) > 1:
        return
    call = Call(grant.tool, {**grant.params, subject.params[0]: grant.pattern}, agent=grant.agent, cwd=grant.cwd)
    try:
        found = judging.load(places).weigh_bare(call)
    except UserError:
        return  # `check` and `doctor` tell what is wrong
    if found.decision == "block":
        yield answers.plain(
            f"it changes nothing for such a call: that is blocked, and no grant lifts a block ({found.code})"
        )


def accept(places: Places, grant_id: str, *, reason: str, yes: bool, dry_run: bool, as_json: bool) -> Result:
    """What is shown is what is signed: a grant that was changed meanwhile is not."""
    caller = inside.caller(places, "grant --accept", loosens=not dry_run)
    now, why = time.time(), audit.plain(reason)
    with stores.told():
        policies = Policies(places.state_dir)
        grant = _checked(_unsigned(policies, grant_id), yes=True)
        shown = _shown(grant, now)
        if caller.doubt:
            agreed = caller.confirm(shown)
        else:
            agreed = yes or dry_run or asking.confirm(shown, "Accept?", as_json=as_json, what="the grant")
        if not agreed:
            return Result("grant", {"accepted": False}, (Line("info", f"{grant.id} was not accepted"),), 1)
        if not dry_run:
            grant = policies.accept(grant, lambda signed: log(places, signed, "grant", why, "accepted"))
    verb = "would accept" if dry_run else "accepted"
    lines = [Line("ok", f"{verb} {grant.id}: {words(grant)}")]
    lines += [Line("info", line) for line in shown[1:]] if yes or dry_run else []
    if not dry_run:
        lines.append(Line("next", f"toolguard revoke {grant.id} takes it back; toolguard grants lists all"))
    data = {"dryRun": dry_run, "accepted": not dry_run, "grant": public(grant, now)}
    return Result("grant", data, tuple(lines))


def _unsigned(policies: Policies, grant_id: str) -> Grant:
    grant = next((grant for grant in policies.known() if grant.id == grant_id), None)
    if grant is None:
        raise missing(grant_id)
    if grant in policies.grants():
        raise UserError(f"{grant.id} is signed already", "toolguard grants lists what counts, and what does not")
    return grant


def _shown(grant: Grant, now: float) -> list[str]:
    broad = grants.too_broad(grant)
    return [*details(grant, now), *([f"  mind     {broad}"] if broad else [])]


def _grant(wanted: Wanted, now: float) -> Grant:
    expires = 0 if wanted.lasts == NEVER else now + tables.seconds(wanted.lasts)
    draft = {
        "id": "g-new",
        "tool": wanted.tool,
        "pattern": wanted.pattern,
        "agent": wanted.agent,
        "expires": float(int(expires)),
        "created": float(int(now)),
        "by": stores.who(),
        "reason": audit.plain(wanted.reason),
        "params": dict(_param(text) for text in wanted.params),
        "cwd": wanted.cwd,
    }
    try:
        return msgspec.convert(draft, Grant)
    except msgspec.ValidationError as error:
        raise UserError(f"this cannot be granted: {error}", "see toolguard grant --help") from error


def _param(text: str) -> tuple[str, str]:
    name, sign, glob = text.partition("=")
    if not name or not sign or not glob:
        raise UserError(f"{answers.cut(text, 80)!r} is no NAME=GLOB", "write it like --param host=sandbox")
    return name, glob


def _checked(grant: Grant, *, yes: bool) -> Grant:
    """Raises `UserError` for what would never work, and for what is too wide unless it is meant."""
    texts = (grant.tool, grant.pattern, grant.agent, grant.cwd, *grant.params, *grant.params.values())
    if any(UNPRINTABLE.search(text) for text in texts):
        raise UserError("there is a character in it that does not show", "type it without line ends and control characters")
    if grant.cwd and not grant.cwd.startswith("/"):
        raise UserError(f"{grant.cwd} is no absolute folder", 'name it in full, like --cwd "$PWD"')
    if problem := grants.useless(grant):
        raise UserError(f"this would never cover a call: {problem}", "change the pattern, then repeat")
    if not yes and (problem := grants.too_broad(grant)):
        raise UserError(problem, "name more of the call in the pattern; or, if you mean it, repeat with --yes")
    return grant


def _written(places: Places, grant: Grant) -> Grant:
    """In the policy and in the audit log, or in neither."""
    policies = Policies(places.state_dir)
    named = policies.add(msgspec.structs.replace(grant, id=""))
    try:
        log(places, named, "grant", named.reason)
    except StoreError:
        policies.revoke(named.id)
        raise
    return named
