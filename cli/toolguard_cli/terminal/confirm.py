"""Asks the user in the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal import single_keys
from toolguard_cli.terminal.result import MARK, wrapped

YES = frozenset({"y", "yes"})
WHOLE = frozenset({"w", "whole"})


def confirm(
    lines: Sequence[str],
    question: str,
    *,
    as_json: bool,
    what: str = "the call",
    whole: Sequence[str] = (),
    needed: bool = False,
) -> bool:
    """Shows the lines, then asks; anything but a yes means no. Raises `UserError` if there is no terminal.

    With `as_json`, or if there is no terminal, the lines go to standard error. `what`: the subject, for the error message.
    `whole`: more than the lines, for whoever asks for it, and where nobody can ask; `needed`: nobody agrees without having
    seen it.
    """
    can_ask = sys.stdin.isatty()
    _show(lines if can_ask else whole or lines, err=as_json or not can_ask)
    if not can_ask:
        raise UserError("there is no terminal to ask in", f"review {what} above; if you agree, add --yes and try again")
    while whole:
        answer = _answer(f"{question} [y/N, w: the whole call]", as_json=as_json)
        if answer not in WHOLE and not (needed and answer in YES):
            return answer in YES
        _show(whole, err=as_json)
        whole = ()
    return _answer(f"{question} [y/N]", as_json=as_json) in YES


def typed(lines: Sequence[str], question: str, *, as_json: bool) -> str:
    """Shows the lines on a terminal, asks, and returns the answer in lower case."""
    _show(lines, err=as_json)
    return _answer(question, as_json=as_json)


def _show(lines: Sequence[str], *, err: bool) -> None:
    is_terminal = (sys.stderr if err else sys.stdout).isatty()
    for line in lines:
        typer.echo(f"{' ' * MARK}{wrapped(line, MARK) if is_terminal else line}", err=err)


def _answer(question: str, *, as_json: bool) -> str:
    """What was typed before the question was there does not answer it."""
    single_keys.discard_typed()
    typer.echo(f"{question} ", nl=False, err=as_json)
    return sys.stdin.readline().strip().lower()
