"""Options and helpers that the commands share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli.terminal.result import Result, show

StateDir = Annotated[
    Path | None,
    typer.Option("--state-dir", help="The gateway's state directory (default: where the gateway keeps it, ~/.openclaw)."),
]
ConfigPath = Annotated[
    Path | None, typer.Option("--config", help="The gateway's config file (default: openclaw.json in the state directory).")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")]
Nonce = Annotated[str, typer.Argument(help="The nonce, or its first 4 or more characters.", show_default=False)]
Reason = Annotated[str, typer.Option("--reason", help="The reason, for the audit log.", show_default=False)]
Setting = Annotated[
    str,
    typer.Argument(metavar="PATH", help='For example mode, agents.main.mode, plugins.entries["a b"].', show_default=False),
]
Root = Annotated[
    bool, typer.Option("--root", help="Read PATH from the root of the config, even if a setting has that name.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Do not ask OpenClaw.")]


def command_app() -> typer.Typer:
    """What a command module registers its command, or the commands of its group, with."""
    return typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def examples(*commands: str) -> str:
    """The end of a command's help; each example on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


def finish(result: Result, *, as_json: bool) -> None:
    """Prints the result and ends the command with its exit code."""
    try:
        show(result, as_json=as_json)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has read enough
        discard_output()
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def discard_output() -> None:
    """Sends what is still buffered to the null device, so that the interpreter does not fail on it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def announce_openclaw(*, offline: bool, as_json: bool) -> None:
    """Tells the user why the command takes some seconds."""
    from toolguard_cli.hostconfig import openclaw_check  # noqa: PLC0415 - only the config commands need it

    if sys.stderr.isatty() and not as_json and not offline and openclaw_check.command():
        typer.echo("asking OpenClaw too; this takes some seconds ...", err=True)
