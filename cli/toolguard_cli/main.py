"""The entry point of the command line: the group of all commands, and the exit codes of errors."""

from __future__ import annotations

import gc
import re
import shutil
import sys
import traceback
from typing import Annotated, Any, NoReturn

import typer

from toolguard_cli import fast_path
from toolguard_cli.commands.command_options import command_app, discard_output
from toolguard_cli.commands.command_table import RootGroup
from toolguard_cli.system import standard_streams
from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal import shell_completion, unquoted_command
from toolguard_cli.terminal.result import Line, Result, show

HELP = """Guards the tool calls of an OpenClaw gateway.

\b
  toolguard install       install the plugin into the gateway and enable it
  toolguard doctor        check that the guard works
  toolguard status        show what the guard has done
  toolguard pending       list the calls waiting for approval; approve and deny answer them
  toolguard check         show what the guard would decide about a command, and why

TOOLGUARD_STATE_DIR and TOOLGUARD_CONFIG select another gateway for all commands; OpenClaw's own variables are respected.
"""
EXIT_USER, EXIT_USAGE, EXIT_BUG, EXIT_INTERRUPTED = 1, 2, 3, 130
WrongUsage: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")
"""What the option parser raises. It has no public name of its own."""
PROGRAM = "toolguard"
NARROW = 52
BEHIND = ("--state-dir", "--config", "--json", "--yes", "-y")
_FORMAL = re.compile(r"^Invalid value(?: for '?(.*?)'?)?: ")
_PLAINER = tuple(
    (re.compile(form, re.IGNORECASE), words)
    for form, words in (
        (r"(?:Input should be a valid integer|'[^']*' is not a valid (?:int|integer)\b).*", "must be a whole number"),
        (r"(?:Input should be a valid number|'[^']*' is not a valid float\b).*", "must be a number"),
        (r"Input should be greater than or equal to (\S+)", r"must be at least \1"),
        (r"Input should be less than or equal to (\S+)", r"must be at most \1"),
        (r"\S+ is not in the range (-?\d+)<=x<=(-?\d+)", r"must be from \1 to \2"),
        (r"\S+ is not in the range x>=(-?\d+)", r"must be at least \1"),
        (r"got unexpected extra arguments?(?:\(s\))? \((.*)\)", r"unexpected: \1"),
        (r"^(?:missing argument|missing parameter:?) '?([^']*)'?", r"\1 is missing"),
        (r"^option '?([^' ]+)'? requires an argument", r"\1 needs a value"),
        (r"^option '?([^' ]+)'? does not take a value", r"\1 takes no value"),
        (r"\s*<(?:str|int|int range|float|path|list\[str\])>", ""),
    )
)
"""What the option parser says, in several of its releases, and the same in words that need no Python."""

GROUPS = ("audit", "config", "rules", "constraints", "notify", "containment")

INSTALLS = "Install Tab completion for bash, zsh or fish (default: your login shell)."
SHOWS = "Print the completion script instead of installing it."

app = command_app()


def _version(wanted: bool) -> None:
    if wanted:
        from toolguard_engine import __version__  # noqa: PLC0415 - only here

        typer.echo(f"toolguard {__version__}")
        raise typer.Exit


@app.callback(cls=RootGroup, help=HELP, no_args_is_help=True, context_settings={"help_option_names": ["-h", "--help"]})
def root(
    version: Annotated[
        bool, typer.Option("-V", "--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    install_completion: Annotated[
        str, typer.Option(callback=shell_completion.install, is_eager=True, metavar="[SHELL]", help=INSTALLS)
    ] = "",
    show_completion: Annotated[
        str, typer.Option(callback=shell_completion.show, is_eager=True, metavar="[SHELL]", help=SHOWS)
    ] = "",
) -> None:
    """Takes the options that belong to no command."""


def run() -> None:
    """The console script. The only place that turns errors into exit codes; docs/cli.md lists them."""
    standard_streams.open_closed()
    gc.disable()  # nothing of what a command loads is garbage, and looking for some takes a twentieth of a short command
    try:
        _run(sys.argv[1:])
    except UserError as error:
        _fail(error.exit_code, error.message, error.fix)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        discard_output()
        sys.exit(EXIT_USER)
    except OSError as error:  # a full disk, a missing permission: a traceback would not help
        message = f"{error.filename or 'the system'}: {error.strerror or error}"
        _fail(EXIT_USER, message, "check whether it exists, and its owner, its mode and the space on its disk")
    except Exception:  # noqa: BLE001 - anything else is a bug and must be visible as one
        traceback.print_exc()
        _fail(EXIT_BUG, "this is a bug in toolguard; please report it with the lines above")
    finally:
        gc.enable()


def _run(arguments: list[str]) -> None:
    if shell_completion.is_asked():
        shell_completion.register()
    result = fast_path.run(arguments)
    if result is None:
        sys.exit(_parsed(unquoted_command.spelled(shell_completion.with_shell(arguments))))
    show(result, as_json="--json" in arguments)
    sys.exit(result.exit_code)


def _parsed(arguments: list[str]) -> int:
    """The exit code of the command that the option parser finds."""
    try:
        ended = app(arguments, prog_name=PROGRAM, standalone_mode=False, terminal_width=_narrow())
    except typer.Abort:
        _fail(EXIT_USER, "cancelled, because the input has ended")
    except WrongUsage as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help is its message
            error.show()
            return EXIT_USAGE
        _fail(error.exit_code, _sentence(error.format_message()), _hint(getattr(error, "ctx", None), arguments))
    return ended if isinstance(ended, int) else 0


def _narrow() -> int | None:
    """The width for help texts in a terminal that is narrower than the option parser assumes."""
    columns = shutil.get_terminal_size().columns
    return columns if columns < NARROW else None


def _sentence(message: str) -> str:
    """What the option parser says, as the other errors are written: `--port: must be ...`."""
    text = _FORMAL.sub(lambda match: f"{match[1]}: " if match[1] else "", message.removesuffix("."), count=1)
    for form, words in _PLAINER:
        text = form.sub(words, text, count=1)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def _hint(context: Any, arguments: list[str]) -> str:
    """The next step. An option of a command that stands before it is the most usual mistake."""
    words = _command_name(arguments)
    command = next((word for word in arguments if word in RootGroup.table), "")
    if command and arguments[0] in BEHIND:
        return f"options go after the command: toolguard {command} {arguments[0]} ..."
    known = context.command_path if context else PROGRAM
    return (
        f"{f'{PROGRAM} {words}' if known == PROGRAM and command == words.split()[0] else known} --help shows how to use it"
    )


def _fail(code: int, message: str, fix: str = "") -> NoReturn:
    lines = (Line("error", message), *((Line("info", f"-> {fix}"),) if fix else ()))
    show(Result(_command_name(sys.argv[1:]), {}, lines, code), as_json="--json" in sys.argv, failed=True)
    sys.exit(code)


def _command_name(arguments: list[str]) -> str:
    """The command as results name it; a command of a group has two words."""
    words = [argument for argument in arguments if not argument.startswith("-")]
    return " ".join(words[: 2 if words[:1] and words[0] in GROUPS else 1]) or PROGRAM
