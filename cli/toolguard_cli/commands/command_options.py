"""Options and helpers that the commands share."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import typer

from toolguard_cli.system import paths
from toolguard_cli.terminal.plain_help import PlainCommand
from toolguard_cli.terminal.result import Result, show
from toolguard_cli.terminal.shell_completion import offering

Run = TypeVar("Run", bound=Callable[..., Result | None])

StateDir = Annotated[
    Path | None,
    typer.Option("--state-dir", help="The gateway's state directory (default: the gateway's own, normally ~/.openclaw)."),
]
ConfigPath = Annotated[
    Path | None, typer.Option("--config", help="The gateway's config file (default: openclaw.json in the state directory).")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, for scripts.")]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask for confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")]


def _waiting(options: dict[str, Any], *, missed: bool = False) -> Iterator[tuple[str, str]]:
    from toolguard_cli.hostconfig import gateway_stores  # noqa: PLC0415 - only if a shell asks
    from toolguard_engine.approvals import replies  # noqa: PLC0415 - as above

    places, now = paths.find(options.get("state_dir"), options.get("config")), time.time()
    entries = gateway_stores.nonces(places).entries()
    for entry in replies.missed(entries, now) if missed else replies.waiting(entries, now):
        yield entry.nonce, f"{entry.tool}, agent {entry.agent or 'unknown'}, {replies.state(entry, now)}"


def _grants(options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    from toolguard_engine.stores import open as stores  # noqa: PLC0415 - only if a shell asks

    for grant in stores.grants(paths.find(options.get("state_dir"), options.get("config")).state_dir).known():
        yield grant.id, f"{grant.tool}, agent {grant.agent or 'any'}"


def _settings(_options: dict[str, Any]) -> Iterator[tuple[str, str]]:
    from toolguard_engine.config import plugin_manifest  # noqa: PLC0415 - only if a shell asks

    yield from _names(plugin_manifest.config_schema(), "")


def _names(group: dict[str, Any], before: str) -> Iterator[tuple[str, str]]:
    for name, inner in group.get("properties", {}).items():
        if inner.get("properties"):
            yield from _names(inner, f"{before}{name}.")
        else:
            yield f"{before}{name}", ""


setting_names_offered = offering(_settings)
_NONCE = "The nonce, or at least its first 4 characters."
Nonce = Annotated[
    str,
    typer.Argument(
        metavar="NONCE",
        help=f"{_NONCE} Without a nonce, toolguard uses the only waiting call, or asks which one if several are waiting.",
        show_default=False,
        autocompletion=offering(_waiting),
    ),
]
MissedNonce = Annotated[
    str,
    typer.Argument(
        metavar="NONCE",
        help="The nonce, or at least its first 4 characters; toolguard pending --missed lists these calls.",
        show_default=False,
        autocompletion=offering(partial(_waiting, missed=True)),
    ),
]
GrantId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id that toolguard grants shows.", show_default=False, autocompletion=offering(_grants)
    ),
]
Reason = Annotated[str, typer.Option("--reason", "--why", help="The reason, for the audit log.", show_default=False)]
Key = Annotated[
    str,
    typer.Option(
        "--key", metavar="FILE", help="Sign with this SSH key; only if approval.signers is set.", show_default=False
    ),
]
SigningKey = Annotated[str, typer.Option("--key", metavar="FILE", help="Sign with this SSH key.", show_default=False)]
Setting = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help='For example, mode, agents.main.mode or plugins.entries["a b"].',
        show_default=False,
        autocompletion=setting_names_offered,
    ),
]
Root = Annotated[
    bool, typer.Option("--root", help="Read PATH from the root of the config, even if a setting has that name.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Skip OpenClaw's validation of the config.")]


def command_app() -> typer.Typer:
    return typer.Typer(rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def examples(*commands: str) -> str:
    """The end of a command's help; each example on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


def command(app: typer.Typer, *shown: str, name: str | None = None, notes: str = "", **options: Any) -> Callable[[Run], Run]:
    """Makes a command of a function that returns its result; `shown` are the examples of its help, `notes` come before them.

    Every command has `--json`, and if its first parameter is `places`, also the options that select them.
    """

    def register(run: Run) -> Run:
        own = dict(signature(run, eval_str=True).parameters)
        selects, wants_json = own.pop("places", None) is not None, "as_json" in own
        as_json = own.pop("as_json", _option("as_json", bool, default=False))
        parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own.values()]
        if selects:
            parameters += [_option("state_dir", StateDir, default=None), _option("config", ConfigPath, default=None)]
        parameters.append(as_json.replace(annotation=Json) if as_json.annotation is bool else as_json)

        @wraps(run)
        def call(**given: Any) -> None:
            if selects:
                given["places"] = paths.find(given.pop("state_dir"), given.pop("config"))
            shows_json = given["as_json"] if wants_json else given.pop("as_json")
            if not gc.get_freeze_count():
                gc.freeze()  # `main` keeps the collector off while all of this is loaded
            gc.enable()
            if (result := run(**given)) is not None:
                finish(result, as_json=shows_json)

        for kept in parameters:
            _name_value(kept)
        call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        app.command(name, **{"cls": PlainCommand, **options}, epilog=notes + examples(*shown))(call)
        return run

    return register


_PLACEHOLDERS = {int: "NUMBER", float: "NUMBER", Path: "PATH", str: "TEXT"}


def _name_value(parameter: Parameter) -> None:
    """Shows the option's value in the help as a plain word, not as a type of Python."""
    kind, *facts = get_args(parameter.annotation) or (None,)
    kinds = {kind, *get_args(kind), *(inner for argument in get_args(kind) for inner in get_args(argument))}
    for fact in facts:
        if isinstance(fact, typer.models.ArgumentInfo) and fact.metavar is None:
            fact.metavar = parameter.name.upper()
        if isinstance(fact, typer.models.OptionInfo) and fact.metavar is None:
            fact.metavar = next((word for known, word in _PLACEHOLDERS.items() if known in kinds), None)


def _option(name: str, kind: Any, *, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


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
        typer.echo("also validating with OpenClaw; this takes a few seconds ...", err=True)
