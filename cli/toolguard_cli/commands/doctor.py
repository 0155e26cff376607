"""`toolguard doctor`: one look that tells whether the guard really guards."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, replace

import msgspec

from toolguard_cli import configtree, configvars, inside
from toolguard_cli.checks import approvals, config, engine, health, host, log, order, plugin, rules
from toolguard_cli.checks.check import Check, Subject
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.setup import record
from toolguard_cli.setup.entry import ENTRY
from toolguard_engine import config as settings

CHECKS: tuple[Callable[[Subject], Check], ...] = (
    config.found,
    config.fits,
    plugin.found,
    plugin.loadable,
    plugin.current,
    plugin.enabled,
    plugin.allowed,
    engine.answers,
    health.running,
    log.writable,
    approvals.whole,
    approvals.signed,
    approvals.policy,
    rules.count,
    approvals.logged,
    approvals.by_persons,
    host.openclaw,
    host.node,
    host.hooks,
    order.last,
)

REPAIRS: tuple[tuple[Callable[[Subject], Check], Callable[[Subject], str]], ...] = (
    (approvals.whole, approvals.clear),
    (approvals.signed, approvals.renew),
)
"""What `--fix` does where a check fails: only what takes nothing away that somebody needs."""


def run(places: Places, *, openclaw: tuple[str, ...] | None = None, fix: bool = False) -> Result:
    """Exit code 1 where any check is an error. `openclaw`: the command that runs it, where it is not the one on PATH."""
    if fix:
        inside.refuse(places, "doctor --fix")
    subject = replace(look(places), openclaw=_found() if openclaw is None else openclaw)
    mended = [repair(subject) for check, repair in REPAIRS if check(subject).status == "error"] if fix else []
    told = tuple(Line("ok", f"mended: {text}") for text in mended)
    result = _checked(subject)
    return replace(result, lines=(*told, *result.lines))


def _found() -> tuple[str, ...]:
    program = shutil.which("openclaw")
    return (program,) if program else ()


def _checked(subject: Subject) -> Result:
    checks = [check(subject) for check in CHECKS]
    failed = any(check.status == "error" for check in checks)
    lines = [line for check in checks for line in _lines(check)]
    return Result("doctor", {"checks": [asdict(check) for check in checks]}, (*lines, _summary(checks)), int(failed))


def look(places: Places) -> Subject:
    """The installation at these places, as far as it can be read."""
    known = _record(places)
    try:
        found = configtree.read(places.config)
    except UserError as error:
        return Subject(places, None, known, error.message)
    try:
        own = settings.parse(configvars.filled(found.get(*ENTRY, "config")))
    except msgspec.ValidationError:
        own = settings.Config()  # `config.fits` reports it
    return Subject(places, found, known, settings=own)


def _record(places: Places) -> record.Record | None:
    try:
        return record.load(places.record)
    except UserError:
        return None  # then the interpreter is looked for elsewhere, as the gateway part does


def _lines(check: Check) -> list[Line]:
    lines = [Line(check.status, f"{check.id:<13} {check.detail}")]
    return [*lines, Line("info", f"{'':<13} -> {check.fix}")] if check.fix else lines


def _summary(checks: list[Check]) -> Line:
    errors = sum(check.status == "error" for check in checks)
    warnings = sum(check.status == "warn" for check in checks)
    if errors:
        return Line("info", f"{errors} of {len(checks)} checks failed: mend the first one, then run this again")
    if warnings:
        return Line("info", f"no errors, {warnings} warning{'s' if warnings > 1 else ''}")
    return Line("info", "all checks passed")
