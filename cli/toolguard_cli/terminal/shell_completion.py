"""Completion in bash, zsh and fish: sets it up, and what Tab offers where names come from files.

Some shells evaluate what is offered, so it consists of harmless characters only, whatever a model or a file contains.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import typer

from toolguard_cli.system.errors import UserError

SHELLS = ("bash", "zsh", "fish")
OPTIONS = ("--install-completion", "--show-completion")
MOST = 50
_PROGRAM, _VARIABLE = "toolguard", "_TOOLGUARD_COMPLETE"
_HARMFUL = re.compile(r"[^A-Za-z0-9 ,._/-]")


def with_shell(arguments: list[str]) -> list[str]:
    """The arguments with the login shell where one of the options names none."""
    return (
        [*arguments, Path(os.environ.get("SHELL") or "none").name] if arguments and arguments[-1] in OPTIONS else arguments
    )


def install(shell: str) -> None:
    """Writes the script below the home. Raises `UserError`."""
    if not shell:
        return
    _refuse_unknown(shell, OPTIONS[0])
    from typer import completion  # noqa: PLC0415 - only here

    _, path = completion.install(shell=shell, prog_name=_PROGRAM, complete_var=_VARIABLE)  # type: ignore[attr-defined]
    typer.echo(f"ok    completion for {shell} is in {path}; it works in shells that you open from now on")
    raise typer.Exit


def show(shell: str) -> None:
    """Prints the script. Raises `UserError`."""
    if not shell:
        return
    _refuse_unknown(shell, OPTIONS[1])
    from typer import completion  # noqa: PLC0415 - only here

    script = completion.get_completion_script  # type: ignore[attr-defined]
    typer.echo(script(prog_name=_PROGRAM, complete_var=_VARIABLE, shell=shell))
    raise typer.Exit


def _refuse_unknown(shell: str, option: str) -> None:
    if shell not in SHELLS:
        raise UserError(f"there is no completion for {_harmless(shell)}", f"toolguard {option} {'|'.join(SHELLS)}")


def is_asked() -> bool:
    """Whether a shell asks this process what Tab offers."""
    return _VARIABLE in os.environ


def register() -> None:
    """Makes the parser answer the shells, which is only needed if one asks."""
    from typer import completion  # noqa: PLC0415 - only here

    completion.completion_init()  # type: ignore[attr-defined]


def offering(offers: Callable[[Any], Iterable[tuple[str, str]]]) -> Callable[[typer.Context, str], list[tuple[str, str]]]:
    """What an argument offers: names, each with a description, from a function of the options typed so far. An error
    offers nothing, because its message would end up in the command line."""

    def offered(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
        with suppress(Exception):
            pairs = [(name, _harmless(text)) for name, text in offers(ctx.params) if name.startswith(incomplete)]
            return [pair for pair in pairs if not _HARMFUL.search(pair[0])][:MOST]
        return []

    return offered


def _harmless(text: str) -> str:
    return _HARMFUL.sub("?", text)[:60]
