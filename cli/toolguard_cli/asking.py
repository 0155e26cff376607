"""Asking the person in front of the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from toolguard_cli.errors import UserError

YES = frozenset({"y", "yes"})


def confirm(lines: Sequence[str], question: str, *, as_json: bool, what: str = "the call") -> bool:
    """Shows the lines, then asks; whatever is not a yes is a no. Raises `UserError` where nobody can be asked.

    `as_json`: standard output belongs to the script, so the question goes to standard error; so do the lines of which
    nobody can be asked, as they belong to the error. `what` the lines are about, for its text.
    """
    can_ask = sys.stdin.isatty()
    for line in lines:
        typer.echo(f"      {line}", err=as_json or not can_ask)
    if not can_ask:
        raise UserError("there is no terminal to ask in", f"read {what} above; if you agree, repeat with --yes")
    typer.echo(f"{question} [y/N] ", nl=False, err=as_json)
    return sys.stdin.readline().strip().lower() in YES
