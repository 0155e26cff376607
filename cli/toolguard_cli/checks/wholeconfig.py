"""What is wrong in the config: our settings, the rest of it, and what is left of plugins that toolguard replaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from toolguard_cli import migrations, validation
from toolguard_cli.checks.check import MEND_CONFIG, UNREAD, Check, Status, Subject
from toolguard_cli.checks.config import KEYS
from toolguard_cli.validation import Finding, entry, loading, resources, rules, startup, texts
from toolguard_engine import answers

_ELSEWHERE = (
    texts.there,
    texts.included,
    entry.is_there,
    loading.is_allowed,
    loading.is_on,
    resources.can_run,
    resources.is_free,
    rules.are_known,
    startup.has_mode,
)
"""What other checks of `doctor` tell, with repairs, and what a gateway that runs shows by itself."""
_CHECKS = tuple(check for check in validation.CHECKS if check not in _ELSEWHERE)
_LOG = f"{KEYS}.logPath"


def fits(subject: Subject) -> Check:
    """The gateway does not start with settings that break the schema; this names the key, and what contradicts what."""
    if subject.config is None:
        return Check("settings", "warn", UNREAD, MEND_CONFIG)
    own = [found for found in _findings(subject) if found.path.startswith(KEYS)]
    return _told("settings", own, f"{KEYS} fits")


def whole(subject: Subject) -> Check:
    """All the rest of the config, also as OpenClaw sees it."""
    if subject.config is None or not subject.config.exists:
        return Check("whole-config", "warn", UNREAD, MEND_CONFIG)
    openclaw = () if subject.is_anothers else subject.openclaw
    others = [found for found in _findings(subject, openclaw) if not _told_elsewhere(found)]
    asked = "OpenClaw takes it" if openclaw else "nothing is wrong with its plugins"
    return _told("whole-config", others, asked)


def _findings(subject: Subject, openclaw: Sequence[str] = ()) -> list[Finding]:
    """Without what is only worth knowing, and what other checks tell."""
    if subject.config is None:
        return []
    found = validation.findings(subject.config, subject.places, openclaw=openclaw, checks=_CHECKS, env=subject.env)
    unwritable = resources.can_be_written(validation.Subject(subject.config, subject.places, subject.env))
    told = {each for each in unwritable if each.path == _LOG}
    return [each for each in found if each.level != "info" and each not in told]


def _told_elsewhere(found: Finding) -> bool:
    """Our settings have a check of their own, and so have plugins that we replace where the gateway starts all the same."""
    return found.path.startswith(KEYS) or (found.level != "error" and "toolguard migrate" in found.fix)


def _told(name: str, found: list[Finding], well: str) -> Check:
    """The gravest finding, and how many there are."""
    data = {"findings": [asdict(each) for each in found]}
    if not found:
        return Check(name, "ok", well, data=data)
    first = found[0]
    more = f" (and {len(found) - 1} more: toolguard config validate)" if len(found) > 1 else ""
    line = f", line {first.line}" if first.line else ""
    told = answers.plain(f"{first.path}{': ' if first.path else ''}{first.message}")
    status: Status = "error" if first.level == "error" else "warn"
    return Check(name, status, f"{told}{more}", f"{first.fix or 'mend it'} ({first.file}{line})", data)


def old_plugins(subject: Subject) -> Check:
    """What toolguard takes the place of, still in force beside it."""
    if subject.config is None:
        return Check("old-plugins", "warn", UNREAD, MEND_CONFIG)
    left = migrations.found(subject.config)
    if left:
        told = f"not taken over yet: {answers.plain(', '.join(left))}"
        return Check("old-plugins", "warn", told, subject.command("migrate"), {"found": left})
    return Check("old-plugins", "ok", "none that toolguard replaces")
