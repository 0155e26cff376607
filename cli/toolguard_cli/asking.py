"""Asking the person in front of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from toolguard_cli.errors import UserError

YES = frozenset({"y", "yes"})


def confirm(lines: Sequence[str], question: str, *, as_json: bool) -> bool:
    """Shows the lines, then asks; whatever is not a yes is a no. Raises `UserError` where nobody can be asked.

    `as_json`: standard output belongs to the script, so the question goes to standard error.
    """
    if not sys.stdin.isatty():
        raise UserError("there is no terminal to ask in", "say yes beforehand: repeat the command with --yes")
    for line in lines:
        typer.echo(f"      {line}", err=as_json)
    typer.echo(f"{question} [y/N] ", nl=False, err=as_json)
    return sys.stdin.readline().strip().lower() in YES
