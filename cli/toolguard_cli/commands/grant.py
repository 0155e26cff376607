"""`toolguard grant`: allows calls of one kind for a while; `--accept` signs a grant that was written by hand."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from toolguard_cli.approvals.grant_view import bound_to, details, ends, public
from toolguard_cli.commands.command_options import DryRun, Key, Reason, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import grant_calls, granted_folders
from toolguard_cli.operations.grant_calls import GrantRequest
from toolguard_cli.person import require_human
from toolguard_cli.policy import tool_spelling
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.approvals import grant_matching
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.repeatable_calls import describe
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.call import Call
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_cli.operations.sign_approval import Signing

app = command_app()

UNCONTAINED = "its commands run outside of the room, so they reach what is kept from other commands (docs/containment.md)"


@command(
    app,
    "toolguard grant 'rm -rf build' --for 7d --agent main",
    "toolguard grant '/srv/site/**' --tool write --for 12h --reason 'new pages'",
    "toolguard grant 'https://docs.example.com/**' --for 30d",
    "toolguard grant --accept g-1a2b",
)
def grant(  # noqa: PLR0913 - the options of a command line
    places: Places,
    pattern: Annotated[
        str | None, typer.Argument(help="The calls to allow; * is the only wildcard.", show_default=False)
    ] = None,
    *,
    tool: Annotated[
        str | None,
        typer.Option("--tool", help="The tool that is called. [default: exec; web_fetch for a URL]", show_default=False),
    ] = None,
    lasts: Annotated[
        str | None, typer.Option("--for", help="When the grant expires: after 30m, 8h or 7d, or never. [default: 24h]")
    ] = None,
    agent: Annotated[str, typer.Option("--agent", help="Only this agent.", show_default=False)] = "",
    cwd: Annotated[str, typer.Option("--cwd", help="Only calls that run in this folder.", show_default=False)] = "",
    param: Annotated[list[str] | None, typer.Option("--param", help="NAME=GLOB: another parameter that must match.")] = None,
    uncontained: Annotated[
        bool, typer.Option("--uncontained", help="Also run these commands outside of the room that contains commands.")
    ] = False,
    accept_id: Annotated[
        str,
        typer.Option("--accept", metavar="ID", help="Sign a grant that was written by hand.", show_default=False),
    ] = "",
    reason: Reason = "",
    key: Key = "",
    yes: Annotated[
        bool, typer.Option("-y", "--yes", help="Allow a pattern that covers every call; with --accept: do not ask.")
    ] = False,
    dry_run: DryRun = False,
    as_json: bool = False,
) -> Result:
    """Allow one kind of call for a while, without asking.

    The pattern is matched against the command for exec, the path for read, write and edit, the URL for web_fetch and
    browser, "channel target action" for message, and the arguments as JSON for any other tool. In a command, * matches
    plain words only: never an option, a quote or a shell metacharacter. In paths, ** also matches /.

    A grant keeps what such a call does now: the folder (--cwd, or the agents' workspaces; --param 'workdir=/srv/**' for
    several), the places with links followed, and the content of the scripts that it runs. A call that does more, or
    elsewhere, is held and says what is new.

    A grant that was written or changed by hand in policy.toml does not apply until it is signed: --accept ID shows what
    it covers, asks for confirmation, and signs it. toolguard grants lists unsigned grants. If approval.signers is set, a
    grant is also signed with your SSH key, like an approval.
    """
    if accept_id:
        if any(given not in (None, "", []) for given in (pattern, tool, lasts, agent, cwd, param, uncontained or None)):
            raise typer.BadParameter(
                "cannot be combined with a pattern, --tool, --for, --agent, --cwd, --param or --uncontained",
                param_hint="--accept",
            )
        return accept(places, accept_id, reason=reason, key=key, yes=yes, dry_run=dry_run, as_json=as_json)
    if pattern is None:
        raise typer.BadParameter("is missing: the calls to allow", param_hint="PATTERN")
    if not pattern.strip():
        raise typer.BadParameter("the pattern is empty; give the calls to allow")
    request = GrantRequest(
        pattern,
        tool or _tool_of(pattern),
        "24h" if lasts is None else lasts,
        agent,
        cwd,
        tuple(param or ()),
        reason,
        uncontained,
    )
    return run(places, request, key=key, yes=yes, dry_run=dry_run)


def _tool_of(pattern: str) -> str:
    """`exec`, unless the pattern is clearly no command. Raises `typer.BadParameter` for a path: reading, writing and running
    it are too different for a guess."""
    if "://" in pattern.partition(" ")[0]:
        return "web_fetch"
    if pattern.startswith(("/", "~")) and len(pattern.split()) == 1:
        raise typer.BadParameter(
            "name it for a path: --tool write, edit or read; or exec for a program", param_hint="--tool"
        )
    return "exec"


def run(places: Places, request: GrantRequest, *, yes: bool, dry_run: bool, key: str = "") -> Result:
    caller = require_human.caller(places, "grant", loosens=not dry_run)
    now = time.time()
    grant = grant_calls.draft(request, now)
    grant_calls.check(grant, allow_broad=yes)
    blocked = [Line("warn", text) for text in _blocked(places, grant)]
    caller.require([f"would grant {describe(grant)}", _terms(grant, now)])
    with gateway_stores.user_errors():
        if not dry_run:
            grant = grant_calls.add(places, grant, _signing(places, key))
    verb = "would grant" if dry_run else f"granted {grant.id}:"
    lines = [
        Line("ok", f"{verb} {describe(grant)}"),
        Line("info", _terms(grant, now)),
        *([Line("warn", UNCONTAINED)] if grant.uncontained else []),
        *(Line("info", f"bound to what it does now: {text}") for text in bound_to(grant)),
        *blocked,
        *(Line("warn", text) for text in (tool_spelling.doubt(grant.tool),) if text),
    ]
    if not dry_run:
        lines.append(Line("next", f"toolguard revoke {grant.id} revokes it; toolguard grants lists all grants"))
    return Result("grant", {"dryRun": dry_run, "grant": public(grant, now)}, tuple(lines))


def _terms(grant: Grant, now: float) -> str:
    """When it ends, and what its wildcards cover."""
    has_wildcard = any("*" in pattern for pattern in (grant.pattern, *grant.params.values()))
    return f"{ends(grant, now)}; * stands for {grant_matching.meaning(grant.tool)}" if has_wildcard else ends(grant, now)


def _signing(places: Places, key: str) -> Signing | None:
    config = gateway_stores.settings(places)
    if not (config.approval.is_signed or config.fleet.enabled or key):
        return None
    from toolguard_cli.operations import sign_approval  # noqa: PLC0415 - only where grants are signed

    return sign_approval.open_signing(places, config, key)


def _blocked(places: Places, grant: Grant) -> Iterator[str]:
    """A warning if the pattern itself is a blocked call, because a grant does not lift a block. Raises `UserError` where
    the pattern covers nothing else."""
    from toolguard_cli.policy import offline_guard  # noqa: PLC0415 - it imports half of the engine

    subject = grant_matching.SUBJECTS.get(tool_name(grant.tool))
    if subject is None or len(subject.params) > 1:
        return
    call = Call(grant.tool, {**grant.params, subject.params[0]: grant.pattern}, agent=grant.agent, cwd=grant.cwd)
    try:
        judgement = offline_guard.load(places).weigh_bare(call)
    except (UserError, StoreError, OSError):
        return  # `check` and `doctor` report the error
    if judgement.decision == "block":
        why = f"the guard blocks it ({judgement.code}), and a grant does not lift a block"
        if "*" not in grant.pattern:
            check = shlex.join(["toolguard", "check", "--tool", grant.tool, grant.pattern])
            raise UserError(printable.plain(f"a grant would have no effect on this call: {why}"), f"{check} explains it")
        yield printable.plain(f"it has no effect on such a call: {why}")


def accept(places: Places, grant_id: str, *, reason: str, yes: bool, dry_run: bool, as_json: bool, key: str = "") -> Result:
    """Signs the grant that was shown; one that was changed meanwhile is refused."""
    caller = require_human.caller(places, "grant --accept", loosens=not dry_run)
    now, why = time.time(), audit_log.plain(reason)
    with gateway_stores.user_errors():
        policies = stores.grants(places.state_dir)
        signing = _signing(places, key)
        grant = grant_calls.unsigned(policies, grant_id, signing)
        grant_calls.check(grant, allow_broad=True)
        grant = granted_folders.bound(places, grant)
        shown = _shown(grant, now)
        if caller.doubt:
            agreed = caller.confirm(shown)
        else:
            agreed = yes or dry_run or asking.confirm(shown, "Accept?", as_json=as_json, what="the grant")
        if not agreed:
            return Result("grant", {"accepted": False}, (Line("info", f"{grant.id} was not accepted"),), 1)
        if not dry_run:
            grant = grant_calls.sign(places, policies, grant, why, signing)
    verb = "would accept" if dry_run else "accepted"
    lines = [Line("ok", f"{verb} {grant.id}: {describe(grant)}")]
    lines += [Line("info", line) for line in shown[1:]] if yes or dry_run else []
    if not dry_run:
        lines.append(Line("next", f"toolguard revoke {grant.id} revokes it; toolguard grants lists all grants"))
    data = {"dryRun": dry_run, "accepted": not dry_run, "grant": public(grant, now)}
    return Result("grant", data, tuple(lines))


def _shown(grant: Grant, now: float) -> list[str]:
    broad = grant_matching.too_broad(grant)
    return [*details(grant, now), *([f"  caution  {broad}"] if broad else [])]
