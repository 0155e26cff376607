"""`toolguard tools`: who may use which tools of servers and plugins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer

from toolguard_cli.commands.command_options import (
    ConfigPath,
    DryRun,
    Json,
    Key,
    Reason,
    StateDir,
    Yes,
    command,
    command_app,
    examples,
    finish,
)
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import answer_about_tools
from toolguard_cli.person import require_human
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm, tables
from toolguard_cli.terminal.result import Line, Result, dated
from toolguard_engine.approvals import tool_answer
from toolguard_engine.approvals.tool_answer import ToolAnswer
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.host.tool_servers import server_of
from toolguard_engine.layers import seen_tools
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable
from toolguard_engine.wording.visible_text import is_visible

if TYPE_CHECKING:
    from toolguard_cli.operations.sign_approval import Signing

COMMAND = "tools"
HEAD = ("TOOL", "ANSWER", "AGENT", "SINCE", "BY")
MOST_SHOWN = 40
NAME_HELP = "The tool as the gateway names it, such as github__create_issue; with --server the server, such as github."

Name = Annotated[str, typer.Argument(metavar="NAME", help=NAME_HELP)]
Server = Annotated[bool, typer.Option("--server", help="NAME is a server: all its tools, also later ones.")]
Agent = Annotated[str, typer.Option("--agent", help="Only this agent.", show_default=False)]

app = command_app()


@app.callback(
    invoke_without_command=True,
    epilog=examples("toolguard tools", "toolguard tools trust github --server", "toolguard tools review"),
)
def tools_root(context: typer.Context, state_dir: StateDir = None, config: ConfigPath = None, as_json: Json = False) -> None:
    """List and decide who may use which tools of servers and plugins.

    The first time that an agent uses such a tool, the call is held, unless the tool only reads. A yes counts from then on,
    until the tool describes itself differently. What a call does is judged in addition.
    """
    if context.invoked_subcommand is None:
        finish(listing(paths.find(state_dir, config)), as_json=as_json)
    elif state_dir or config or as_json:
        raise typer.BadParameter(f"put the options after {context.invoked_subcommand}")


@command(app, "toolguard tools list --json", name="list")
def listing(places: Places) -> Result:
    """List the answers about tools."""
    with gateway_stores.user_errors():
        known = stores.tool_answers(places.state_dir).known()
    data = {"answers": [_public(answer) for answer in known]}
    if not known:
        return Result(COMMAND, data, (Line("info", "there are no answers: no agent has asked to use such a tool"),))
    config = gateway_stores.settings(places)
    signers = stores.grant_signers(places.state_dir, config) if config.approval.is_signed or config.fleet.enabled else None
    rows = (
        _row(answer, is_signed=signers is None or signers.allows(tool_answer.as_grant(answer)))
        for answer in sorted(known, key=lambda answer: (answer.server, answer.tool, answer.agent))
    )
    return Result(COMMAND, data, tuple(tables.table(HEAD, rows)))


@command(app, "toolguard tools trust github__create_issue --agent main", "toolguard tools trust github --server")
def trust(
    places: Places, name: Name, *, server: Server = False, agent: Agent = "", reason: Reason = "", key: Key = "",
    dry_run: DryRun = False,
) -> Result:  # fmt: skip
    """Trust a tool, or all tools of a server, without being asked at the first use."""
    return _answered(places, "trust", (name, server, agent), reason, key=key, dry_run=dry_run)


@command(app, "toolguard tools refuse shop__pay", "toolguard tools refuse shop --server --reason 'not for agents'")
def refuse(
    places: Places, name: Name, *, server: Server = False, agent: Agent = "", reason: Reason = "", dry_run: DryRun = False
) -> Result:
    """Block a tool, or all tools of a server. They are not asked about."""
    return _answered(places, "refuse", (name, server, agent), reason, dry_run=dry_run)


@command(app, "toolguard tools forget github__create_issue", "toolguard tools forget github --server")
def forget(places: Places, name: Name, *, server: Server = False, agent: Agent = "", dry_run: DryRun = False) -> Result:
    """Take an answer back, so that the next use of the tool is asked about.

    With --server, takes back the answer about the server and those about each of its tools.
    """
    means = _meant(_subject("trust", name, server=server, agent=agent), everyone=not agent)
    caller = require_human.caller(places, "tools forget", loosens=not dry_run)
    with gateway_stores.user_errors():
        gone = [answer for answer in stores.tool_answers(places.state_dir).known() if means(answer)]
        if not gone:
            raise UserError(f"there is no answer about {printable.cut(name, 80)}", "toolguard tools lists all answers")
        caller.require([f"would forget: {tool_answer.named(answer)}" for answer in gone])
        if not dry_run:
            gone = answer_about_tools.forget(places, means)
    verb = "would forget" if dry_run else "forgot"
    lines = tuple(Line("ok", f"{verb} {answer.answer} {tool_answer.named(answer)}") for answer in gone)
    return Result(COMMAND, {"dryRun": dry_run, "forgotten": [_public(answer) for answer in gone]}, lines)


@command(app, "toolguard tools review")
def review(places: Places, *, yes: Yes = False, key: Key = "", as_json: bool = False) -> Result:
    """Go through the tools that agents use and nobody has decided about.

    These are the tools that were in use before toolguard began to ask, and those in the transcripts that would be asked
    about. After you confirm, they are trusted.
    """
    caller = require_human.caller(places, "tools review")
    with gateway_stores.user_errors():
        before = [
            answer for answer in stores.tool_answers(places.state_dir).known() if answer.where == tool_answer.USED_BEFORE
        ]
        unanswered = [*before, *answer_about_tools.unanswered(places)]
    if not unanswered:
        return Result(COMMAND, {"trusted": []}, (Line("info", "there is nothing to decide"),))
    page, others = unanswered[:MOST_SHOWN], len(unanswered) - MOST_SHOWN
    lines = [printable.plain(tool_answer.named(answer)) for answer in page]
    agreed = (yes and not caller.doubt) or (
        caller.confirm(lines)
        if caller.doubt
        else confirm.confirm(lines, "Trust these tools?", as_json=as_json, what="the tools")
    )
    if not agreed:
        text = "nothing was changed; toolguard tools trust, refuse and forget decide one by one"
        return Result(COMMAND, {"trusted": []}, (Line("info", text),), 1)
    with gateway_stores.user_errors():
        done = answer_about_tools.put(
            places, [answer_about_tools.given(answer, "reviewed") for answer in page], _signing(places, key)
        )
    more = [Line("next", f"toolguard tools review shows what else is in use: {others} more")] if others > 0 else []
    return Result(
        COMMAND, {"trusted": [_public(answer) for answer in done]}, (Line("ok", f"{len(done)} are trusted"), *more)
    )


def _answered(
    places: Places, answer: Literal["trust", "refuse"], named: tuple[str, bool, str], reason: str, *, dry_run: bool,
    key: str = "",
) -> Result:  # fmt: skip
    name, server, agent = named
    wanted = _subject(answer, name, server=server, agent=agent)
    caller = require_human.caller(places, f"tools {answer}", loosens=answer == "trust" and not dry_run)
    shown = f"{answer} {tool_answer.named(wanted)}"
    caller.require([f"would {shown}"])
    done = answer_about_tools.given(wanted, audit_log.plain(reason))
    with gateway_stores.user_errors():
        if not dry_run:
            (done,) = answer_about_tools.put(places, [done], _signing(places, key) if answer == "trust" else None)
    lines = [Line("ok", f"would {shown}" if dry_run else f"{done.id}: {shown}")]
    if not dry_run:
        flag = " --server" if server else ""
        lines.append(Line("next", f"toolguard tools forget {printable.plain(name)}{flag} takes it back"))
    return Result(COMMAND, {"dryRun": dry_run, "answer": _public(done)}, tuple(lines))


def _subject(answer: Literal["trust", "refuse"], name: str, *, server: bool, agent: str) -> ToolAnswer:
    """Raises `UserError` for a name that no such tool has."""
    known = tool_name(name)
    if not known or not is_visible(name) or not is_visible(agent):
        raise UserError(
            f"{printable.cut(printable.plain(name), 80)!r} is not the name of a tool", "toolguard tools lists some"
        )
    if server:
        return ToolAnswer(answer, server=seen_tools.known_name(known), agent=agent)
    if seen_tools.is_own(known):
        fix = "toolguard config set alwaysBlock or neverBlock, or a rule, decides about it"
        raise UserError(f"{known} is a tool of the gateway, which is judged by its calls", fix)
    tool, its_server = seen_tools.known_name(known), seen_tools.known_name(server_of(known))
    return ToolAnswer(answer, tool=tool, server=its_server, agent=agent)


def _meant(subject: ToolAnswer, *, everyone: bool) -> Callable[[ToolAnswer], bool]:
    def means(answer: ToolAnswer) -> bool:
        is_it = answer.tool == subject.tool if subject.tool else answer.server == subject.server
        return is_it and (everyone or answer.agent == subject.agent)

    return means


def _signing(places: Places, key: str) -> Signing | None:
    config = gateway_stores.settings(places)
    if not (config.approval.is_signed or config.fleet.enabled or key):
        return None
    from toolguard_cli.operations import sign_approval  # noqa: PLC0415 - only where answers are signed

    return sign_approval.open_signing(places, config, key)


def _row(answer: ToolAnswer, *, is_signed: bool) -> tuple[str, ...]:
    name = answer.tool or f"{answer.server} (server)"
    by = "used before" if answer.where == tool_answer.USED_BEFORE else answer.by
    notes: list[str] = [answer.answer]
    if answer.answer == "trust":
        notes += ["unseen"] * bool(answer.tool and not answer.words)
        notes += ["changed"] * (answer.changed is True)
        notes += ["unsigned"] * (not is_signed)
    return name, ", ".join(notes), answer.agent or "any", printable.moment(answer.created), by


def _public(answer: ToolAnswer) -> dict[str, Any]:
    return dated({name: value for name, value in msgspec.to_builtins(answer).items() if name != "mac"}, "created")
