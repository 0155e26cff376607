"""Errors in the config: in toolguard's settings, in the rest, and plugins that toolguard replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from toolguard_cli import migrations, validation
from toolguard_cli.doctor.check_types import FIX_CONFIG, UNREAD, Check, DoctorSubject, Status
from toolguard_cli.hostconfig.setting_errors import KEYS
from toolguard_cli.validation import (
    ConfigFinding,
    enabled_extras,
    entry_settings,
    file_texts,
    loading,
    resources,
    rule_ids,
    startup,
)
from toolguard_engine.wording import printable

_ELSEWHERE = (
    file_texts.there,
    file_texts.included,
    entry_settings.is_there,
    entry_settings.targets_are_usable,
    enabled_extras.are_installed,
    loading.is_allowed,
    loading.is_on,
    resources.can_run,
    resources.is_free,
    rule_ids.are_known,
    startup.has_mode,
)
"""What other checks of `doctor` report with fixes, and what a running gateway shows by itself."""
_CHECKS = tuple(check for check in validation.CHECKS if check not in _ELSEWHERE)
_LOG = f"{KEYS}.logPath"


def fits(subject: DoctorSubject) -> Check:
    """Toolguard's settings against the schema, which the gateway enforces at its start, and against each other."""
    if subject.config is None:
        return Check("settings", "warn", UNREAD, FIX_CONFIG, {"guards": "unknown"})
    own = [finding for finding in _findings(subject) if finding.path.startswith(KEYS)]
    return _result("settings", own, f"{KEYS} is valid")


def whole(subject: DoctorSubject) -> Check:
    """The rest of the config, also validated by OpenClaw."""
    if subject.config is None or not subject.config.exists:
        return Check("whole-config", "warn", UNREAD, FIX_CONFIG, {"guards": "unknown"})
    openclaw = () if subject.is_anothers else subject.openclaw
    others = [finding for finding in _findings(subject, openclaw) if not _is_reported_elsewhere(finding)]
    return _result("whole-config", others, "OpenClaw accepts it" if openclaw else "no problem found in its plugins section")


def _findings(subject: DoctorSubject, openclaw: Sequence[str] = ()) -> list[ConfigFinding]:
    if subject.config is None:
        return []
    findings = validation.findings(subject.config, subject.places, openclaw=openclaw, checks=_CHECKS, env=subject.env)
    unwritable = resources.can_be_written(validation.ConfigSubject(subject.config, subject.places, subject.env))
    log = {finding for finding in unwritable if finding.path == _LOG}
    return [finding for finding in findings if finding.level != "info" and finding not in log]


def _is_reported_elsewhere(finding: ConfigFinding) -> bool:
    """Toolguard's settings, and replaced plugins that do not keep the gateway from starting, have their own checks."""
    return finding.path.startswith(KEYS) or (finding.level != "error" and "toolguard migrate" in finding.fix)


def _result(name: str, findings: list[ConfigFinding], success: str) -> Check:
    data = {"findings": [asdict(finding) for finding in findings]}
    if not findings:
        return Check(name, "ok", success, data=data)
    first = findings[0]
    more = f" (and {len(findings) - 1} more: toolguard config validate)" if len(findings) > 1 else ""
    line = f", line {first.line}" if first.line else ""
    text = printable.plain(f"{first.path}{': ' if first.path else ''}{first.message}")
    status: Status = "error" if first.level == "error" else "warn"
    return Check(name, status, f"{text}{more}", f"{first.fix or 'fix it'} ({first.file}{line})", data)


def old_plugins(subject: DoctorSubject) -> Check:
    """Plugins that toolguard replaces and that are still enabled or not migrated."""
    if subject.config is None:
        return Check("old-plugins", "warn", UNREAD, FIX_CONFIG)
    left = migrations.find(subject.config)
    if left:
        text = f"not migrated yet: {printable.plain(', '.join(left))}"
        return Check("old-plugins", "warn", text, subject.command("migrate"), {"found": left})
    return Check("old-plugins", "ok", "no plugin that toolguard replaces")
