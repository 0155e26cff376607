"""Whether the gateway would start with the migrated config: our own settings, then OpenClaw itself where it is at hand."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from toolguard_cli.checks.config import explain
from toolguard_cli.configtree import ConfigTree
from toolguard_cli.errors import UserError
from toolguard_cli.json5_edit import path_name
from toolguard_cli.migrations import allowed
from toolguard_cli.migrations.moving import OURS
from toolguard_cli.migrations.report import Report
from toolguard_cli.paths import Places
from toolguard_cli.validation import hostcheck
from toolguard_cli.validation.finding import Finding
from toolguard_engine import config as settings
from toolguard_engine import settingrules

MAX_TOLD = 10
STAY = "nothing was written; mend that first, then repeat"


def weigh(before: ConfigTree, after: ConfigTree, places: Places, openclaw: Sequence[str], report: Report) -> None:
    """Adds to `report` what a person should know. Raises `UserError` where the gateway started before and would not now."""
    _own(before, after, report)
    if not openclaw:
        report.notes.append("OpenClaw itself was not asked: there is no openclaw on PATH")
        return
    if after.problems:
        report.warnings += [f"the gateway does not start, then as now: {each.message}" for each in after.problems]
        return
    found = hostcheck.ask(after, places, openclaw)
    errors = [each for each in found if each.level == "error"]
    report.notes += [each.message for each in found if not each.path and each.level == "warn"]
    if not errors:
        return
    known = [each for each in hostcheck.ask(before, places, openclaw) if each.level == "error"]
    if worse := [each for each in errors if not _known(each, known)]:
        raise UserError(f"the gateway would not start with the result: {_words(worse[0])}", STAY)
    report.warnings.append("the gateway did not start before, and will not yet; what follows was there before:")
    report.warnings += [_words(each) for each in errors[:MAX_TOLD]]


def _own(before: ConfigTree, after: ConfigTree, report: Report) -> None:
    problem, config = _parsed(after)
    earlier, _ = _parsed(before)
    if problem and not earlier:
        raise UserError(f"the gateway would not start with the result: {problem}", STAY)
    if problem:
        report.warnings.append(f"the gateway does not start with {problem}, which was there before")
    report.warnings += [f"{path_name((*OURS, *each.path))}: {each.text}" for each in settingrules.problems(config)]


def _parsed(tree: ConfigTree) -> tuple[str, settings.Config]:
    try:
        return "", allowed.parsed(tree.get(*OURS))
    except msgspec.ValidationError as error:
        return explain(error), settings.Config()


def _known(error: Finding, before: list[Finding]) -> bool:
    """It was said before of the same part, or of a part around it."""
    return any(error.path == each.path or error.path.startswith((f"{each.path}.", f"{each.path}[")) for each in before)


def _words(error: Finding) -> str:
    return f"{error.path or error.file}: {error.message}"
