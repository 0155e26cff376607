"""The entry point of the command line: the group of all commands, and the exit codes of errors."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from toolguard_cli import fast_path
from toolguard_cli.commands.command_options import command_app, discard_output
from toolguard_cli.commands.command_table import RootGroup
from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal import unquoted_command
from toolguard_cli.terminal.result import Line, Result, show

HELP = """Guards the tool calls of an OpenClaw gateway.

\b
  toolguard install       install the plugin into the gateway and enable it
  toolguard doctor        check that the guard really guards
  toolguard status        show what it has done
  toolguard pending       list the calls that wait for approval; approve and deny answer them
  toolguard check         show what it would decide about a command, and why

TOOLGUARD_STATE_DIR and TOOLGUARD_CONFIG select another gateway for all commands; OpenClaw's own variables are respected.
"""
EXIT_USER, EXIT_BUG = 1, 3
GROUPS = ("audit", "config", "rules", "constraints")

app = command_app()


def _version(wanted: bool) -> None:
    if wanted:
        from toolguard_engine import __version__  # noqa: PLC0415 - only here

        typer.echo(f"toolguard {__version__}")
        raise typer.Exit


@app.callback(cls=RootGroup, help=HELP, no_args_is_help=True)
def root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:
    """Takes `--version`."""


def run() -> None:
    """The console script. The only place that turns errors into exit codes: 1 for what the user can fix, 3 for a bug."""
    try:
        _run(sys.argv[1:])
    except UserError as error:
        _fail(EXIT_USER, error.message, error.fix)
    except BrokenPipeError:
        discard_output()
        sys.exit(EXIT_USER)
    except OSError as error:  # a full disk, a missing permission: a traceback would not help
        message = f"{error.filename or 'the system'}: {error.strerror or error}"
        _fail(EXIT_USER, message, "check that it exists, its owner, its mode and the space on its disk")
    except Exception:  # noqa: BLE001 - anything else is a bug and must be visible as one
        traceback.print_exc()
        _fail(EXIT_BUG, "this is a bug in toolguard; please report it with the lines above")


def _run(arguments: list[str]) -> None:
    result = fast_path.run(arguments)
    if result is None:
        app(unquoted_command.spelled(arguments), prog_name="toolguard")
        return
    show(result, as_json="--json" in arguments)
    sys.exit(result.exit_code)


def _fail(code: int, message: str, fix: str = "") -> None:
    lines = (Line("error", message), *((Line("info", f"-> {fix}"),) if fix else ()))
    show(Result(_command_name(sys.argv[1:]), {}, lines, code), as_json="--json" in sys.argv, failed=True)
    sys.exit(code)


def _command_name(arguments: list[str]) -> str:
    """The command as results name it; a command of a group has two words."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    return " ".join(words[: 2 if words[:1] and words[0] in GROUPS else 1]) or "toolguard"
