"""Whether the gateway would start with the migrated config, according to toolguard and, if available, OpenClaw."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolguard_cli.hostconfig import openclaw_check
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.hostconfig.finding import ConfigFinding
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.hostconfig.setting_errors import explain
from toolguard_cli.migrations import allowed
from toolguard_cli.migrations.moving import OURS
from toolguard_cli.migrations.report import MigrationReport
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.config import conflicts, settings

MAX_SHOWN = 10
STAY = "nothing was written; fix that first, then try again"


def weigh(before: ConfigTree, after: ConfigTree, places: Places, openclaw: Sequence[str], report: MigrationReport) -> None:
    """Adds warnings and notes to `report`. Raises `UserError` if only the new config stops the gateway from starting."""
    _own(before, after, report)
    if not openclaw:
        report.notes.append("not validated by OpenClaw: no openclaw on PATH")
        return
    if after.problems:
        report.warnings += [
            f"the gateway does not start, before or after the migration: {problem.message}" for problem in after.problems
        ]
        return
    findings = openclaw_check.ask(after, places, openclaw)
    errors = [finding for finding in findings if finding.level == "error"]
    report.notes += [finding.message for finding in findings if not finding.path and finding.level == "warn"]
    if not errors:
        return
    known = [finding for finding in openclaw_check.ask(before, places, openclaw) if finding.level == "error"]
    if worse := [finding for finding in errors if not _known(finding, known)]:
        raise UserError(f"the gateway would not start with the migrated config: {_words(worse[0])}", STAY)
    report.warnings.append("the gateway could not start before, and still cannot, because of these errors:")
    report.warnings += [_words(finding) for finding in errors[:MAX_SHOWN]]


def _own(before: ConfigTree, after: ConfigTree, report: MigrationReport) -> None:
    problem, config = _parsed(after)
    earlier, _ = _parsed(before)
    if problem and not earlier:
        raise UserError(f"the gateway would not start with the migrated config: {problem}", STAY)
    if problem:
        report.warnings.append(f"the gateway does not start because of an earlier error: {problem}")
    report.warnings += [f"{path_name((*OURS, *conflict.path))}: {conflict.text}" for conflict in conflicts.problems(config)]


def _parsed(tree: ConfigTree) -> tuple[str, settings.Config]:
    try:
        return "", allowed.parsed(tree.get(*OURS))
    except msgspec.ValidationError as error:
        return explain(error), settings.Config()


def _known(error: ConfigFinding, before: list[ConfigFinding]) -> bool:
    """Whether there was an error before at the same path, or at one around it."""
    return any(
        error.path == finding.path or error.path.startswith((f"{finding.path}.", f"{finding.path}[")) for finding in before
    )


def _words(error: ConfigFinding) -> str:
    return f"{error.path or error.file}: {error.message}"
