"""The command line: options in, one `Result` out. Commands are imported when they are called, so that help is quick."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli import paths, quick, unquoted
from toolguard_cli.errors import UserError
from toolguard_cli.negative import TakesNegative
from toolguard_cli.result import Line, Result, show

HELP = """Guards the tool calls of an OpenClaw gateway.

\b
  toolguard install       put the plugin into the gateway and switch it on
  toolguard doctor        see whether it really guards
  toolguard status        see what it has done
  toolguard pending       see which calls wait for a person; approve and deny answer them
  toolguard check         ask what it would say to a command, and why

TOOLGUARD_STATE_DIR and TOOLGUARD_CONFIG name another gateway for all commands; OpenClaw's own variables are honoured.
"""
EXIT_USER, EXIT_BUG = 1, 3


def examples(*commands: str) -> str:
    """The end of a command's help; each example on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


app = typer.Typer(
    help=HELP, no_args_is_help=True, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False
)

StateDir = Annotated[
    Path | None,
    typer.Option("--state-dir", help="The gateway's state directory (default: as the gateway finds it, ~/.openclaw)."),
]
Config = Annotated[Path | None, typer.Option("--config", help="The gateway's config (default: openclaw.json in there).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object for scripts.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")]
Nonce = Annotated[str, typer.Argument(help="The nonce, or its first 4 or more characters.", show_default=False)]
Reason = Annotated[str, typer.Option("--reason", help="Why, for the audit log.", show_default=False)]


@app.command(epilog=examples("toolguard install", "toolguard install --link", "toolguard install --dry-run --json"))
def install(
    state_dir: StateDir = None,
    config: Config = None,
    link: Annotated[bool, typer.Option("-l", "--link", help="Load it from where it lies: changes are live.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Put the plugin into the gateway and switch it on.

    Copies it into the state directory and adds its entry to openclaw.json; comments and layout of that file are kept, a
    backup lies beside it. Running it again changes nothing, or brings the copy up to date.
    """
    from toolguard_cli import inside
    from toolguard_cli.commands import install as command

    places = paths.find(state_dir, config)
    inside.refuse(places, "install", loosens=not dry_run)
    _finish(command.run(places, link=link, dry_run=dry_run), as_json=as_json)


@app.command(epilog=examples("toolguard uninstall --dry-run"))
def uninstall(state_dir: StateDir = None, config: Config = None, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Take the plugin out again.

    openclaw.json is left as it was before; what others changed in it since stays.
    """
    from toolguard_cli.commands import uninstall as command

    _finish(command.run(paths.find(state_dir, config), dry_run=dry_run), as_json=as_json)


@app.command(
    epilog=examples(
        "toolguard migrate --dry-run",
        "toolguard migrate",
        "toolguard migrate --from guardian-angel",
        "toolguard migrate --undo",
    )
)
def migrate(
    source: Annotated[
        str, typer.Option("--from", metavar="ID", help="Only this one, like tool-guard or host-loop-detection.")
    ] = "auto",
    dry_run: DryRun = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put everything back as it was before the last migration.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask; with --undo: whatever was changed since.")] = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Take over from the plugins that toolguard replaces.

    Finds tool-guard, guardian-angel, equilibrium-guard, and what the gateway's own loop detection knows no more. Shows what
    moves where, asks, then moves their settings with their comments, switches the old entries off, puts old held calls
    aside, and imports old metrics. Running it again changes nothing more.
    """
    from toolguard_cli.commands import migrate as command

    places = paths.find(state_dir, config)
    if undo:
        if source != "auto":
            raise typer.BadParameter("the last migration is taken back as a whole", param_hint="--from")
        result = command.undo(places, yes=yes, dry_run=dry_run)
    else:
        result = command.run(places, source=source, dry_run=dry_run, yes=yes, as_json=as_json)
    _finish(result, as_json=as_json)


@app.command(epilog=examples("toolguard status", "toolguard status --json"))
def status(state_dir: StateDir = None, config: Config = None, as_json: Json = False) -> None:
    """See whether it runs and what it did."""
    from toolguard_cli.commands import status as command

    _finish(command.run(paths.find(state_dir, config)), as_json=as_json)


@app.command(
    epilog=examples("toolguard doctor", "toolguard doctor --fix", "toolguard doctor --live", "toolguard doctor --json")
)
def doctor(
    state_dir: StateDir = None,
    config: Config = None,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what can be mended without losing anything.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="With --fix: do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --fix: say what would be done; write nothing.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Also prove it, on a throw-away gateway with a scripted model.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check that the guard really guards.

    Each fault comes with its fix; the exit code is 1 if any check fails, 0 where there are only warnings. Asking OpenClaw
    for all hooks takes some seconds. --fix shows what it would repair and asks, then looks again. --live starts your
    OpenClaw in a throw-away folder, without your settings, where it talks to a scripted model only; it takes up to a minute.
    """
    from toolguard_cli.commands import doctor as command

    if (yes or dry_run) and not fix:
        raise typer.BadParameter("goes with --fix; without it nothing changes", param_hint="--yes" if yes else "--dry-run")
    places = paths.find(state_dir, config)
    _finish(command.run(places, fix=fix, yes=yes, dry_run=dry_run, live=live, as_json=as_json), as_json=as_json)


@app.command(epilog=examples("toolguard approve 3f9a", "toolguard approve 3f9a51c2 --yes --reason 'release day'"))
def approve(
    nonce: Nonce,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    unseen: Annotated[bool, typer.Option("--unseen", help="Also where not all of the call can be shown.")] = False,
    reason: Reason = "",
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Let a held call through, once.

    Shows the call and asks. The agent may then repeat exactly this call within the approval window (30 s unless
    approvalWindowMs says otherwise).
    """
    from toolguard_cli.commands import approve as command

    places = paths.find(state_dir, config)
    _finish(command.run(places, nonce, yes=yes, reason=reason, as_json=as_json, unseen=unseen), as_json=as_json)


@app.command(epilog=examples("toolguard deny 3f9a", "toolguard deny 3f9a --reason 'not on this host'"))
def deny(
    nonce: Nonce, reason: Reason = "", state_dir: StateDir = None, config: Config = None, as_json: Json = False
) -> None:
    """Refuse a held call, or take back a yes that was not used yet."""
    from toolguard_cli.commands import deny as command

    _finish(command.run(paths.find(state_dir, config), nonce, reason=reason), as_json=as_json)


@app.command(epilog=examples("toolguard pending", "toolguard pending --all --json"))
def pending(
    everything: Annotated[bool, typer.Option("--all", help="Also those that are over.")] = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List the calls that wait for a person."""
    from toolguard_cli.commands import pending as command

    _finish(command.run(paths.find(state_dir, config), everything=everything), as_json=as_json)


@app.command(epilog=examples("toolguard watch", "toolguard watch --json | tee held.jsonl"))
def watch(
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each change.")] = False,
) -> None:
    """Watch the waiting calls; approve and deny them with a key.

    Where the output is no terminal, every change is a line. Ctrl-C ends it.
    """
    from toolguard_cli.commands import watch as command

    command.run(paths.find(state_dir, config), as_json=as_json)


@app.command(
    epilog=examples(
        "toolguard usage",
        "toolguard usage --by agent --since 24h",
        "toolguard usage --by day --since 2026-11-01 --csv > usage.csv",
        "toolguard usage --by session --json",
    )
)
def usage(
    by: Annotated[str, typer.Option("--by", help="model, agent, gateway, session or day.")] = "model",
    since: Annotated[str, typer.Option("--since", help="30m, 12h, 7d, or a day like 2026-11-01 (UTC).")] = "7d",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV for a spreadsheet.")] = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """See which model calls were made, their tokens, and what they cost.

    Of all gateways that write into the same metrics file. ~ marks what a price table estimates, ? what nobody knows. Up to
    7 days back it counts from a full hour, else, and by session or day, from a full day (UTC). With metrics.enabled.

    In --json and --csv, priced is how many calls have a known cost, and timed how many have a known duration.
    """
    from toolguard_cli.commands import usage as command

    if as_csv and as_json:
        raise typer.BadParameter("one of both", param_hint="--json and --csv")
    wish = command.Wish(by, since, "csv" if as_csv else "lines")
    try:
        command.asked(wish)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    _finish(command.run(paths.find(state_dir, config), wish), as_json=as_json)


@app.command(epilog=examples("toolguard dashboard --open", "toolguard dashboard --port 9000", "toolguard dashboard --json"))
def dashboard(
    port: Annotated[int | None, typer.Option(min=1, max=65_535, help="[default: metrics.dashboard.port]")] = None,
    bind: Annotated[str | None, typer.Option(metavar="ADDRESS", help="[default: metrics.dashboard.bind]")] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Open the dashboard of what the agents did and cost, and what waits for a person.

    Tells the address of the one that runs, with the token in it; where none runs, it is one itself until Ctrl-C. The gateway
    starts one with metrics.dashboard.enabled. With --json it starts none: it tells of the one that runs, or ends with 1.
    """
    from toolguard_cli.commands import dashboard as command

    wish = command.Wish(port, bind, opens)
    _finish(command.run(paths.find(state_dir, config), wish, as_json=as_json), as_json=as_json)


@app.command(
    epilog=examples(
        "toolguard grant 'rm -rf build' --tool exec --for 7d --agent main",
        "toolguard grant '/srv/site/**' --tool write --for 12h --reason 'new pages'",
        "toolguard grant 'https://docs.example.com/**' --tool web_fetch --for 30d",
        "toolguard grant --accept g-1a2b",
    )
)
def grant(  # noqa: PLR0913, PLR0917 - the options of a command line
    pattern: Annotated[str | None, typer.Argument(help="Which calls; * is the only wildcard.", show_default=False)] = None,
    tool: Annotated[str | None, typer.Option("--tool", help="The tool, like exec.", show_default=False)] = None,
    lasts: Annotated[str | None, typer.Option("--for", help="How long: 30m, 12h, 7d or never. [default: 24h]")] = None,
    agent: Annotated[str, typer.Option("--agent", help="Only this agent.", show_default=False)] = "",
    cwd: Annotated[str, typer.Option("--cwd", help="Only calls that run in this folder.", show_default=False)] = "",
    param: Annotated[
        list[str] | None, typer.Option("--param", help="NAME=GLOB: a further parameter must be there and match.")
    ] = None,
    accept: Annotated[
        str, typer.Option(metavar="ID", help="Sign what was written or changed by hand.", show_default=False)
    ] = "",
    reason: Reason = "",
    yes: Annotated[
        bool, typer.Option("-y", "--yes", help="Grant even what covers every call; with --accept: do not ask.")
    ] = False,
    dry_run: DryRun = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Let calls of one kind through for a while, without asking.

    The pattern is compared with the command of exec, the path of read, write and edit, the address of web_fetch and
    browser, "channel target action" of message, and the arguments as JSON of any other tool. In a command * stands for
    harmless words only: never for an option, a quote, or anything that the shell reads. In paths ** crosses /.

    A grant that was written into policy.toml by hand, or changed there, does not count until it is signed: --accept ID
    shows what it covers, asks, and signs it where it stands. toolguard grants names it.
    """
    from toolguard_cli.commands import grant as command

    places = paths.find(state_dir, config)
    if accept:
        if any(given not in (None, "", []) for given in (pattern, tool, lasts, agent, cwd, param)):
            raise typer.BadParameter("it takes the grant as it is: no pattern, no limits", param_hint="--accept")
        result = command.accept(places, accept, reason=reason, yes=yes, dry_run=dry_run, as_json=as_json)
    elif pattern is None or tool is None:
        raise typer.BadParameter("what is granted needs both", param_hint="PATTERN and --tool")
    else:
        wanted = command.Wanted(pattern, tool, "24h" if lasts is None else lasts, agent, cwd, tuple(param or ()), reason)
        result = command.run(places, wanted, yes=yes, dry_run=dry_run)
    _finish(result, as_json=as_json)


@app.command(epilog=examples("toolguard grants", "toolguard grants --all --json"))
def grants(
    everything: Annotated[bool, typer.Option("--all", help="Also those that have ended.")] = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List what was granted."""
    from toolguard_cli.commands import grants as command

    _finish(command.run(paths.find(state_dir, config), everything=everything), as_json=as_json)


@app.command(epilog=examples("toolguard revoke g-1a2b"))
def revoke(
    grant_id: Annotated[str, typer.Argument(metavar="ID", help="As toolguard grants shows it.", show_default=False)],
    reason: Reason = "",
    dry_run: DryRun = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Take a grant back."""
    from toolguard_cli.commands import revoke as command

    _finish(command.run(paths.find(state_dir, config), grant_id, reason=reason, dry_run=dry_run), as_json=as_json)


@app.command(
    "kill-switch",
    epilog=examples(
        "toolguard kill-switch on --why 'it mails everybody'",
        "toolguard kill-switch status",
        "toolguard kill-switch off",
    ),
)
def kill_switch(
    wish: Annotated[str, typer.Argument(metavar="on|off|status", help="What to do.", show_default=False)],
    why: Annotated[str, typer.Option("--why", help="Why, for the agents and the audit log.", show_default=False)] = "",
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Stop every tool call of every agent at once, or free them again.

    While it is on, each call is blocked and its run ends, in every mode and for every gateway of this state directory, and
    that lasts over restarts. A call that already runs is not stopped.
    """
    from toolguard_cli.commands import killswitch as command

    try:
        meant = command.wish_of(wish)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="on|off|status") from error
    _finish(command.run(paths.find(state_dir, config), meant, why=why), as_json=as_json)


@app.command(
    epilog=examples(
        "toolguard checkpoint",
        "toolguard checkpoint --agent main --dry-run",
        "toolguard checkpoint --session agent:main:main",
    )
)
def checkpoint(
    agent: Annotated[str, typer.Option("--agent", help="Only this agent.", show_default=False)] = "",
    session: Annotated[str, typer.Option("--session", help="Only this session.", show_default=False)] = "",
    dry_run: DryRun = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Refill what agents may risk before you are asked again.

    You have looked at what they did: their budgets are full again, their drift is counted anew, and they are trusted a
    little more. Without --agent and --session that goes for every budget that was used; toolguard status shows them.
    """
    from toolguard_cli.commands import checkpoint as command

    chosen = command.Chosen(agent, session)
    _finish(command.run(paths.find(state_dir, config), chosen, dry_run=dry_run), as_json=as_json)


CODES = """Exit codes: 0 it may run, 4 it would be held, 5 it would be blocked; 1 a mistake to mend, 2 wrong usage, 3 a bug.
With --stdin 0, whatever the verdicts.

"""


@app.command(
    epilog=CODES
    + examples(
        "toolguard check 'rm -rf ~/important'",
        "toolguard check --tool read ~/.ssh/config",
        """toolguard check --tool write --params '{"path": "notes.md", "content": "hello"}'""",
        "toolguard check --stdin < calls.jsonl > verdicts.jsonl",
        "toolguard check --rules",
        "toolguard check --list",
    ),
)
def check(  # noqa: PLR0913, PLR0917 - the options of a command line
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="What exec would run; the path of read and write.", show_default=False),
    ] = None,
    tool: Annotated[str, typer.Option("--tool", help="The tool that is called.")] = "exec",
    params: Annotated[str, typer.Option("--params", metavar="JSON", help="Its arguments.", show_default=False)] = "",
    agent: Annotated[str, typer.Option("--agent", help="The agent that calls it.", show_default=False)] = "",
    cwd: Annotated[Path | None, typer.Option("--cwd", help="The folder that it runs in.", show_default=False)] = None,
    channel: Annotated[str, typer.Option(help="Where it was asked for, like telegram.", show_default=False)] = "",
    requester: Annotated[str, typer.Option(help="Who asked: owner, or a sender's id.", show_default=False)] = "",
    at: Annotated[str, typer.Option(metavar="TIME", help="When, like 23:30. [default: now]", show_default=False)] = "",
    stdin: Annotated[bool, typer.Option("--stdin", help="Read calls as JSON lines, answer each with a line.")] = False,
    rules: Annotated[bool, typer.Option("--rules", help="Check your own rules in policy.toml.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List all rules and whether they count.")] = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Ask what the guard would say to a call, and why.

    Nothing runs and nothing is changed. Your settings, rules and grants count where there are any, else the defaults.
    Put the command in quotes, or your own shell reads it first; without them, options of check stand before it.

    --stdin takes lines like {"tool": "exec", "params": {"command": "ls"}}, each perhaps with agent, session, cwd, channel,
    requester, at (seconds since 1970) and an id, and answers each at once, in order, with {"verdict": "allow", "code": ...,
    "clarity": ..., "stakes": ..., "score": ..., "effects": [...], "rules": [...], "reason": ...}. Empty lines are left out.
    """
    from toolguard_cli.commands import check as command_check

    places = paths.find(state_dir, config)
    chosen = [name for name, given in (("--stdin", stdin), ("--rules", rules), ("--list", listing)) if given]
    if len(chosen) > 1 or (chosen and (command or params)):
        raise typer.BadParameter("stands alone: no command, no --params, no other of its kind", param_hint=chosen[0])
    if stdin:
        from toolguard_cli import checkstream, judging

        raise typer.Exit(checkstream.run(judging.load(places)))
    if rules:
        result = command_check.rules(places)
    elif listing:
        result = command_check.listing(places)
    else:
        try:
            text = command_check.text_of(command or [], tool)
            call = command_check.call_of(text, tool, params, agent, command_check.working_folder(cwd))
            call = command_check.asked_by(call, channel, requester, at)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
        if len(command or []) > 1 and not as_json:
            typer.echo("taken as one command; quotes are better, because your own shell reads what has none first", err=True)
        result = command_check.run(places, call)
    _finish(result, as_json=as_json)


constraints = typer.Typer(
    help="Your constraints: what is never done, asked for first, or noted.",
    invoke_without_command=True,
    rich_markup_mode=None,
    epilog=examples(
        "toolguard constraints", "toolguard constraints packs", "toolguard constraints add production-writes --dry-run"
    ),
)
app.add_typer(constraints, name="constraints")


@constraints.callback()
def constraints_root(
    context: typer.Context, state_dir: StateDir = None, config: Config = None, as_json: Json = False
) -> None:
    """Your constraints: what is never done, asked for first, or noted. Without a command: list them.

    A constraint is a table [[constraint]] in policy.toml, in toolguard's folder. It only ever adds a refusal, a question or
    a note, so it counts as soon as the file is saved.
    """
    if context.invoked_subcommand is None:
        constraints_list(state_dir, config, as_json)
    elif state_dir or config or as_json:
        raise typer.BadParameter(f"options stand behind {context.invoked_subcommand}")


@constraints.command("list", epilog=examples("toolguard constraints list --json"))
def constraints_list(state_dir: StateDir = None, config: Config = None, as_json: Json = False) -> None:
    """List the constraints that count."""
    from toolguard_cli.commands import constraints as command

    _finish(command.listing(paths.find(state_dir, config)), as_json=as_json)


@constraints.command("packs", epilog=examples("toolguard constraints packs"))
def constraints_packs(as_json: Json = False) -> None:
    """List the examples to begin with."""
    from toolguard_cli.commands import constraints as command

    _finish(command.packs(), as_json=as_json)


@constraints.command("add", epilog=examples("toolguard constraints add production-writes --dry-run"))
def constraints_add(
    pack: Annotated[str, typer.Argument(help="As toolguard constraints packs names it.", show_default=False)],
    dry_run: DryRun = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Append a pack of examples to policy.toml, to be adapted.

    They count at once. What stands in the file stays as it is; a pack with an id that is there already is refused.
    """
    from toolguard_cli.commands import constraints as command

    _finish(command.add(paths.find(state_dir, config), pack, dry_run=dry_run), as_json=as_json)


@constraints.command("check", epilog=examples("toolguard constraints check"))
def constraints_check(state_dir: StateDir = None, config: Config = None, as_json: Json = False) -> None:
    """Try every constraint on its examples; say where one cannot be understood."""
    from toolguard_cli.commands import constraints as command

    _finish(command.check(paths.find(state_dir, config)), as_json=as_json)


@app.command(
    epilog=examples(
        "toolguard replay",
        "toolguard replay ~/.openclaw/agents/main/sessions/*.jsonl",
        "toolguard replay ~/.openclaw/toolguard/audit.jsonl --json",
    )
)
def replay(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Transcripts, folders, logs.", show_default=False)
    ] = None,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """See what would have been held in old sessions.

    Judges every tool call in OpenClaw's transcripts (JSON lines or openclaw-agent.sqlite), in the audit log or in the log of
    malformed calls with the settings and rules of now. Nothing runs and nothing is changed. Without FILE: all sessions of
    the gateway.
    """
    from toolguard_cli.commands import replay as command

    _finish(command.run(paths.find(state_dir, config), list(files or [])), as_json=as_json)


@app.command(
    epilog=examples("toolguard tune", "toolguard tune --since 90d --with ~/.openclaw/agents", "toolguard tune --json")
)
def tune(
    since: Annotated[str, typer.Option("--since", help="How far to look back: 12h, 30d, 8w.")] = "30d",
    at_least: Annotated[int, typer.Option("--at-least", min=1, help="So many times a rule must have been approved.")] = 3,
    replayed: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="FILE", help="Count also what transcripts or a folder of them would let through."),
    ] = None,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Find out what you always approve, and what would spare you the asking.

    Reads the audit log: how often each rule asked, what you answered and how fast. For rules that you always approved it
    names the grant or the threshold that would have spared those prompts, and counts what else that would have let through.
    Nothing is changed: you run what you agree with.
    """
    from toolguard_cli.commands import tune as command

    result = command.run(paths.find(state_dir, config), since=since, at_least=at_least, replayed=list(replayed or []))
    _finish(result, as_json=as_json)


audit = typer.Typer(
    help="Read, check and copy the audit log.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=examples("toolguard audit show --since 7d", "toolguard audit verify", "toolguard audit export audit.jsonl"),
)
app.add_typer(audit, name="audit")


@audit.command("show", epilog=examples("toolguard audit show --event hold --since 7d", "toolguard audit show --nonce 3f9a"))
def audit_show(
    last: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many lines, the newest.")] = 50,
    event: Annotated[str, typer.Option(help="Only this event, like hold or block; see above.", show_default=False)] = "",
    nonce: Annotated[str, typer.Option(help="Only nonces that begin like this.", show_default=False)] = "",
    since: Annotated[str, typer.Option(help="Only the last 30m, 12h or 7d.", show_default=False)] = "",
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """See what was held, blocked and noted, why, and who approved, denied and granted what.

    CODE says why: a rule, a constraint, a budget, a loop, the kill switch. Events about calls are hold, hold-again, approve,
    deny, consume (an approved call ran), expire, block, would-refuse (only logged, for the mode is shadow or soft), note,
    stop (the run was ended), budget, drift and external (told by something else); about people and the guard: checkpoint,
    kill-switch, grant, grant-used, revoke, security, error, forged, recovered and head-lost; about the guard's own
    settings and life weakened, restored, accepted and ended.
    """
    from toolguard_cli.commands import audit as command

    chosen = command.Filter(event, nonce, since)
    _finish(command.show(paths.find(state_dir, config), chosen, last), as_json=as_json)


@audit.command("verify", epilog=examples("toolguard audit verify"))
def audit_verify(state_dir: StateDir = None, config: Config = None, as_json: Json = False) -> None:
    """Check that no line was changed, removed or added."""
    from toolguard_cli.commands import audit as command

    _finish(command.verify(paths.find(state_dir, config)), as_json=as_json)


@audit.command("export", epilog=examples("toolguard audit export audit.jsonl", "toolguard audit export - --csv | head"))
def audit_export(
    target: Annotated[str, typer.Argument(metavar="FILE", help="A new file, or - for standard output.", show_default=False)],
    as_csv: Annotated[bool, typer.Option("--csv", help="CSV in place of JSON lines.")] = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Copy the log into a file."""
    from toolguard_cli.commands import audit as command

    result = command.export(paths.find(state_dir, config), target, as_csv=as_csv)
    if result is not None:
        _finish(result, as_json=as_json)


settings = typer.Typer(
    help="""Read, check and change the gateway's config, and toolguard's settings in it.

    Comments, order and layout stay; a value goes into the file that holds it, included ones too. PATH is one of toolguard's
    settings, like mode or agents.main.mode, or any path of the whole config, like plugins.allow.
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=examples(
        "toolguard config validate",
        "toolguard config show",
        "toolguard config set mode soft",
        "toolguard config unset mode",
    ),
)
app.add_typer(settings, name="config")

Setting = Annotated[
    str, typer.Argument(metavar="PATH", help='Like mode, agents.main.mode, plugins.entries["a b"].', show_default=False)
]
Root = Annotated[
    bool, typer.Option("--root", help="PATH is one of the whole config, whatever toolguard's settings are called.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Do not ask OpenClaw.")]


def _asking(*, offline: bool, as_json: bool) -> None:
    """Tells a person why it takes some seconds."""
    from toolguard_cli.validation import hostcheck

    if sys.stderr.isatty() and not as_json and not offline and hostcheck.command():
        typer.echo("OpenClaw is asked too, which takes some seconds ...", err=True)


@settings.command("validate", epilog=examples("toolguard config validate", "toolguard config validate --offline --json"))
def config_validate(
    offline: Offline = False, state_dir: StateDir = None, config: Config = None, as_json: Json = False
) -> None:
    """Find all that is wrong in the config.

    Its JSON5 and includes, toolguard's settings, the plugins it names, files and ports; and what OpenClaw itself says, where
    it is on PATH. Each fault is told with file, line and column. Nothing is changed; the exit code is 1 on any error.
    """
    from toolguard_cli.commands.config import validate as command

    _asking(offline=offline, as_json=as_json)
    _finish(command.run(paths.find(state_dir, config), offline=offline), as_json=as_json)


@settings.command(
    "get",
    epilog=examples("toolguard config get mode", "toolguard config get plugins.allow", "toolguard config get --root agents"),
)
def config_get(
    path: Setting, root: Root = False, state_dir: StateDir = None, config: Config = None, as_json: Json = False
) -> None:
    """Print one value as JSON, as the gateway sees it.

    Includes are followed, variables filled in, defaults of toolguard's settings count. --json tells where it comes from.
    """
    from toolguard_cli.commands.config import get as command

    _finish(command.run(paths.find(state_dir, config), path, root=root), as_json=as_json)


@settings.command(
    "set",
    cls=TakesNegative,
    epilog=examples(
        "toolguard config set mode soft",
        "toolguard config set agents.main.escalationThreshold 50",
        """toolguard config set alwaysBlock '["gateway", "nodes"]'""",
        "toolguard config set plugins.entries.toolguard.enabled true --dry-run",
    ),
)
def config_set(  # noqa: PLR0913, PLR0917 - the options of a command line
    path: Setting,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE",
            help="JSON5; what is none is a text. Behind -- if it is a text that begins with -.",
            show_default=False,
        ),
    ],
    root: Root = False,
    dry_run: DryRun = False,
    offline: Offline = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Change one value.

    The whole config is checked as it would be, also by OpenClaw where it is on PATH, before anything is written: what would
    keep the gateway from starting is refused. A backup lies beside the file.
    """
    from toolguard_cli.commands.config import change
    from toolguard_cli.commands.config import set as command

    _asking(offline=offline, as_json=as_json)
    options = change.Options(root=root, dry_run=dry_run, offline=offline)
    _finish(command.run(paths.find(state_dir, config), path, value, options), as_json=as_json)


@settings.command("unset", epilog=examples("toolguard config unset mode", "toolguard config unset agents.main --dry-run"))
def config_unset(
    path: Setting,
    root: Root = False,
    dry_run: DryRun = False,
    offline: Offline = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Take a value out, so that its default counts.

    Comments around it stay. It is checked like a change, and refused where the gateway could not start without it.
    """
    from toolguard_cli.commands.config import change
    from toolguard_cli.commands.config import unset as command

    _asking(offline=offline, as_json=as_json)
    options = change.Options(root=root, dry_run=dry_run, offline=offline)
    _finish(command.run(paths.find(state_dir, config), path, options), as_json=as_json)


@settings.command(
    "accept",
    epilog=examples("toolguard config accept", "toolguard config accept --dry-run", "toolguard config accept --yes --json"),
)
def config_accept(
    yes: Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")] = False,
    reason: Reason = "",
    dry_run: DryRun = False,
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Accept settings that became weaker.

    Where the gateway runs with settings that guard less than before, status, doctor and the dashboard show it until a person
    has accepted it, or the setting is put back. Shows all of them and asks.
    """
    from toolguard_cli.commands.config import accept as command

    places = paths.find(state_dir, config)
    _finish(command.run(places, yes=yes, dry_run=dry_run, reason=reason, as_json=as_json), as_json=as_json)


@settings.command("show", epilog=examples("toolguard config show", "toolguard config show --json"))
def config_show(
    state_dir: StateDir = None,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """List toolguard's settings: what counts, and where it comes from."""
    from toolguard_cli.commands.config import show as command

    _finish(command.run(paths.find(state_dir, config)), as_json=as_json)


@settings.command("schema", epilog=examples("toolguard config schema", "toolguard config schema > toolguard.schema.json"))
def config_schema(as_json: Json = False) -> None:
    """Print the JSON schema of toolguard's settings."""
    from toolguard_cli.commands.config import schema as command

    _finish(command.run(), as_json=as_json)


@app.command(epilog=examples("toolguard demo", "toolguard demo --requests 20", "toolguard demo --openclaw 2026.6.11"))
def demo(
    requests: Annotated[int, typer.Option(min=5, max=500, help="Where the run without the guard is cut off.")] = 60,
    openclaw: Annotated[str, typer.Option(help="The release of OpenClaw to show it on.")] = "",
    as_json: Json = False,
) -> None:
    """Watch a real gateway loop, and the guard break the loop.

    Downloads Node and OpenClaw into the cache folder unless they are there. A scripted model on this machine stands in
    for the language model; your own gateway and its state are not touched.
    """
    from toolguard_cli.commands import demo as command

    _finish(command.run(requests=requests, version=openclaw, quiet=as_json), as_json=as_json)


def _version(wanted: bool) -> None:
    if wanted:
        from toolguard_engine import __version__

        typer.echo(f"toolguard {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    pass


def _finish(result: Result, *, as_json: bool) -> None:
    try:
        show(result, as_json=as_json)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads it has seen enough
        _look_away()
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _look_away() -> None:
    """What is still to be written goes nowhere, so that the end of the program does not fail on it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _called(arguments: list[str]) -> str:
    """The command as its result names it: that of a group has two words."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    return " ".join(words[: 2 if words[:1] in (["audit"], ["config"], ["constraints"]) else 1]) or "toolguard"


def run() -> None:
    """The console script. The one place that turns errors into exit codes: 1 what the user can mend, 3 a bug."""
    name = _called(sys.argv[1:])
    as_json = "--json" in sys.argv
    try:
        result = quick.run(sys.argv[1:])
        if result is None:
            app(unquoted.spelled(sys.argv[1:]))
            return
        show(result, as_json=as_json)
        sys.exit(result.exit_code)
    except UserError as error:
        fix = (Line("info", f"-> {error.fix}"),) if error.fix else ()
        show(Result(name, {}, (Line("error", error.message), *fix), EXIT_USER), as_json=as_json, failed=True)
        sys.exit(EXIT_USER)
    except BrokenPipeError:
        _look_away()
        sys.exit(EXIT_USER)
    except OSError as error:  # a full disk, a place that may not be written: nothing that a traceback would explain
        told = Line("error", f"{error.filename or 'the system'}: {error.strerror or error}")
        fix = (Line("info", "-> check that it exists, its owner, its mode and the space on its disk"),)
        show(Result(name, {}, (told, *fix), EXIT_USER), as_json=as_json, failed=True)
        sys.exit(EXIT_USER)
    except Exception:  # noqa: BLE001 - whatever else escapes is a bug, and must be seen as one
        traceback.print_exc()
        lines = (Line("error", "this is a bug in toolguard; please report it with the lines above"),)
        show(Result(name, {}, lines, EXIT_BUG), as_json=as_json, failed=True)
        sys.exit(EXIT_BUG)
