"""`toolguard config validate`: all that is wrong in the config, with its place and what to do. Changes nothing."""

from __future__ import annotations

from toolguard_cli import configtree, validation
from toolguard_cli.commands.config import told
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.validation import Finding, hostcheck, texts

CHECKED = "its JSON5, includes, our settings, the plugins it names, files, ports"


def run(places: Places, *, offline: bool, openclaw: tuple[str, ...] | None = None) -> Result:
    """Exit code 1 where anything is an error. `openclaw`: the command that runs it, where it is not the one on PATH."""
    asked = () if offline else hostcheck.command() if openclaw is None else openclaw
    try:
        tree = configtree.read(places.config)
    except UserError as error:
        why = _why(offline=offline, found=bool(asked))
        return _result(places, [texts.faults(error, places.config)], [places.config.name], why)
    found = validation.findings(tree, places, openclaw=asked)
    why = "" if asked and validation.can_be_asked(tree) else _why(offline=offline, found=bool(asked))
    return _result(places, found, [str(file.path) for file in tree.files], why)


def _why(*, offline: bool, found: bool) -> str:
    """Why OpenClaw was not asked."""
    if offline:
        return "OpenClaw was not asked (--offline)"
    return "OpenClaw was not asked: it cannot read this config either" if found else "OpenClaw was not asked: none on PATH"


def _result(places: Places, found: list[Finding], files: list[str], not_asked: str) -> Result:
    errors = len(validation.errors(found))
    warnings = sum(each.level == "warn" for each in found)
    data = {
        "config": str(places.config),
        "files": files,
        "openclawAsked": not not_asked,
        "findings": told.public(found),
    }
    return Result(
        "config validate", data, (*told.lines(found), *_summary(places, errors, warnings, files, not_asked)), int(errors > 0)
    )


def _summary(places: Places, errors: int, warnings: int, files: list[str], not_asked: str) -> list[Line]:
    if errors:
        more = f", {_count(warnings, 'warning')}" if warnings else ""
        unheard = [Line("info", f"{not_asked}; more may follow")] if not_asked else []
        return [Line("info", f"{_count(errors, 'error')}{more}; the gateway or the guard does not work like this"), *unheard]
    more = f" and {len(files) - 1} included" if len(files) > 1 else ""
    state = f"no errors, {_count(warnings, 'warning')}" if warnings else "nothing is wrong"
    asked = not_asked or "OpenClaw was asked too"
    return [Line("ok", f"{places.config}{more}: {state} (checked: {CHECKED}; {asked})")]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
