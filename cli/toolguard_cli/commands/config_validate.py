"""`toolguard config validate`: every error in the config, with its place and its fix. Changes nothing."""

from __future__ import annotations

from toolguard_cli import validation
from toolguard_cli.commands.command_options import Offline, announce_openclaw, command, command_app
from toolguard_cli.hostconfig import config_tree, openclaw_check
from toolguard_cli.operations import answer_lines
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_cli.validation import ConfigFinding, file_texts

CHECKED = "JSON5, includes, toolguard's settings, plugin names, files, ports"

app = command_app()


@command(app, "toolguard config validate", "toolguard config validate --offline --json")
def validate(places: Places, *, offline: Offline = False, as_json: bool = False) -> Result:
    """Find everything that is wrong with the config.

    Checks its JSON5 and includes, toolguard's settings, the plugins it names, files and ports. If OpenClaw is on PATH, it
    validates the config too. Errors are shown with file, line and column. Nothing is changed; the exit code is 1 on any
    error.
    """
    announce_openclaw(offline=offline, as_json=as_json)
    return run(places, offline=offline)


def run(places: Places, *, offline: bool, openclaw: tuple[str, ...] | None = None) -> Result:
    """Exit code 1 on any error. `openclaw`: the command that runs OpenClaw; by default the one on PATH."""
    asked = () if offline else openclaw_check.command() if openclaw is None else openclaw
    try:
        tree = config_tree.read(places.config)
    except UserError as error:
        why = _why(offline=offline, is_found=bool(asked))
        return _result(places, [file_texts.faults(error, places.config)], [places.config.name], why)
    findings = validation.findings(tree, places, openclaw=asked)
    why = "" if asked and validation.can_be_asked(tree) else _why(offline=offline, is_found=bool(asked))
    return _result(places, findings, [str(file.path) for file in tree.files], why)


def _why(*, offline: bool, is_found: bool) -> str:
    if offline:
        return "not validated by OpenClaw (--offline)"
    if is_found:
        return "not validated by OpenClaw, which cannot read this config either"
    return "not validated by OpenClaw, which is not on PATH"


def _result(places: Places, findings: list[ConfigFinding], files: list[str], not_asked: str) -> Result:
    errors = len(validation.errors(findings))
    warnings = sum(finding.level == "warn" for finding in findings)
    data = {
        "config": str(places.config),
        "files": files,
        "openclawAsked": not not_asked,
        "findings": answer_lines.public(findings),
    }
    return Result(
        "config validate",
        data,
        (*answer_lines.lines(findings), *_summary(places, errors, warnings, files, not_asked)),
        int(errors > 0),
    )


def _summary(places: Places, errors: int, warnings: int, files: list[str], not_asked: str) -> list[Line]:
    if errors:
        more = f", {_count(warnings, 'warning')}" if warnings else ""
        unasked = [Line("info", f"{not_asked}; there may be more errors")] if not_asked else []
        return [
            Line("info", f"{_count(errors, 'error')}{more}; the gateway or the guard does not work with this config"),
            *unasked,
        ]
    more = f" and {len(files) - 1} included" if len(files) > 1 else ""
    state = f"no errors, {_count(warnings, 'warning')}" if warnings else "nothing is wrong"
    asked = not_asked or "also validated by OpenClaw"
    return [Line("ok", f"{places.config}{more}: {state} (checked: {CHECKED}; {asked})")]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
