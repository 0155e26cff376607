"""`toolguard help`: the help of a command, as its `--help` prints it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated, Any

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.system.errors import WrongOptionError
from toolguard_cli.terminal.result import Result
from toolguard_engine.wording import printable

app = command_app()


@command(app, "toolguard help approve", "toolguard help config set")
def run(
    context: typer.Context,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND", help="The command, for example config set.", show_default=False)
    ] = None,
) -> Result:
    """Show the help for a command.

    Without a command, lists all commands. Same as COMMAND --help.
    """
    shown = context.find_root()
    for word in words or ():
        group = shown.command
        subcommand = group.get_command(shown, word) if hasattr(group, "get_command") else None
        if subcommand is None:
            name = printable.cut(printable.plain(" ".join(words or ())), 80)
            near = _near(word, group, shown)
            fix = f"did you mean {near}? " if near else ""
            raise WrongOptionError(f"there is no command {name}", f"{fix}{shown.command_path} --help lists the commands")
        shown = type(shown)(subcommand, info_name=word, parent=shown)
    text = shown.get_help()
    return Result("help", {"command": shown.command_path, "help": text}, printed=text)


def _near(word: str, group: Any, context: Any) -> str:
    """The command of the group that was probably meant; empty if none is like it."""
    if other := getattr(group, "meant", {}).get(word):
        return str(other)
    names = group.list_commands(context) if hasattr(group, "list_commands") else []
    return "".join(get_close_matches(word, names, 1))
