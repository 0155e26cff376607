"""The command line: options in, one `Result` out. Commands are imported when they are called, so that help is quick."""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli import paths
from toolguard_cli.errors import UserError
from toolguard_cli.result import Line, Result, show

HELP = """Guards the tool calls of an OpenClaw gateway.

\b
  toolguard install       put the plugin into the gateway and switch it on
  toolguard doctor        see whether it really guards
  toolguard status        see what it has done

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
    from toolguard_cli.commands import install as command

    _finish(command.run(paths.find(state_dir, config), link=link, dry_run=dry_run), as_json=as_json)


@app.command(epilog=examples("toolguard uninstall --dry-run"))
def uninstall(state_dir: StateDir = None, config: Config = None, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Take the plugin out again.

    openclaw.json is left as it was before; what others changed in it since stays.
    """
    from toolguard_cli.commands import uninstall as command

    _finish(command.run(paths.find(state_dir, config), dry_run=dry_run), as_json=as_json)


@app.command(epilog=examples("toolguard status", "toolguard status --json"))
def status(state_dir: StateDir = None, config: Config = None, as_json: Json = False) -> None:
    """See whether it runs and what it did."""
    from toolguard_cli.commands import status as command

    _finish(command.run(paths.find(state_dir, config)), as_json=as_json)


@app.command(epilog=examples("toolguard doctor", "toolguard doctor --json"))
def doctor(state_dir: StateDir = None, config: Config = None, as_json: Json = False) -> None:
    """Check that the guard really guards.

    Each fault comes with its fix; the exit code is 1 if any check fails.
    """
    from toolguard_cli.commands import doctor as command

    _finish(command.run(paths.find(state_dir, config)), as_json=as_json)


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
    show(result, as_json=as_json)
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def run() -> None:
    """The console script. The one place that turns errors into exit codes: 1 what the user can mend, 3 a bug."""
    name = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "toolguard")
    as_json = "--json" in sys.argv
    try:
        app()
    except UserError as error:
        fix = (Line("info", f"-> {error.fix}"),) if error.fix else ()
        show(Result(name, {}, (Line("error", error.message), *fix), EXIT_USER), as_json=as_json, failed=True)
        sys.exit(EXIT_USER)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
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
