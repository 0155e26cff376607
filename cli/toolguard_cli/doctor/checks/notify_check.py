"""Whether somebody would learn of a held call: by a notification, or by the gateway's own prompt."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from toolguard_cli.doctor.check_types import FIX_CONFIG, RESTART, UNREAD, Check, DoctorSubject
from toolguard_cli.hostconfig import gateway_files
from toolguard_cli.system import apprise_package, extras, secret_setting
from toolguard_engine.config import notify_targets
from toolguard_engine.config.settings import NotifyTarget
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

ID = "notify"
NEVER = "0m"
ADD = ("notify.targets.phone.url", "ntfys://ntfy.example/your-topic")
STATUS = ("notify", "status")


def somebody(subject: DoctorSubject) -> Check:
    """Raises `StoreError`, or `ValueError` if the gateway's store cannot be read."""
    if subject.config is None:
        return Check(ID, "warn", UNREAD, FIX_CONFIG)
    config = subject.settings.notify
    if subject.settings.active_mode not in ("enforce", "soft"):
        return Check(ID, "ok", f"no call is held in mode {subject.settings.active_mode}")
    if not config.targets:
        return _nobody(subject)
    problems = list(_problems(subject))
    data = {"targets": {name: notify_targets.masked(target) for name, target in config.targets.items()}}
    if problems:
        return Check(ID, "warn", "\n".join(text for text, _ in problems), problems[0][1], data)
    names = [name for name, target in config.targets.items() if notify_targets.reports(config, target, "held")]
    return Check(ID, "ok", f"held calls are reported to {', '.join(map(printable.plain, names))}", data=data)


def _nobody(subject: DoctorSubject) -> Check:
    if _has_native_targets(subject):
        return Check(ID, "ok", "the gateway's own prompt is forwarded (approvals.plugin); there is no notification target")
    if alone := list(_unattended(subject)):
        text = f"nobody would learn of a held call of {', '.join(alone)}: there is no notification target"
        return Check(ID, "warn", text, subject.set_command(*ADD))
    return Check(ID, "ok", "no notification target: you learn of held calls only in your conversation with the agent")


def _has_native_targets(subject: DoctorSubject) -> bool:
    """Whether the gateway forwards its prompts for approval."""
    forwarding = subject.get("approvals", "plugin")
    if subject.settings.approval.mode != "native" or not isinstance(forwarding, dict):
        return False
    return forwarding.get("enabled") is True and bool(forwarding.get("targets") or forwarding.get("mode") != "targets")


def _unattended(subject: DoctorSubject) -> Iterator[str]:
    """Runs that nobody waits for."""
    if jobs := gateway_files.agent_jobs(subject.places.state_dir):
        more = f" and {len(jobs) - 1} more" if len(jobs) > 1 else ""
        yield f"the automation {printable.cut(jobs[0], 60)}{more}"
    every: Any = subject.get("agents", "defaults", "heartbeat", "every")
    if isinstance(every, str) and every not in ("", NEVER):
        yield "the heartbeat"
    if subject.get("hooks", "enabled") is True:
        yield "the gateway's webhooks"


def _problems(subject: DoctorSubject) -> Iterator[tuple[str, str]]:
    """What is wrong, and its fix."""
    config, status = subject.settings.notify, subject.command(*STATUS)
    for name, target in config.targets.items():
        wrong = notify_targets.unchecked(target) or notify_targets.problem(name, target) or _unusable(target)
        if wrong:
            is_missing = wrong == extras.NOTIFY.lack
            fix = extras.install_command(extras.NOTIFY) if is_missing else subject.command("config", "validate")
            yield f"{printable.plain(name)}: {wrong}", fix
    known = [reached for reached in config.targets.values() if notify_targets.unchecked(reached)]
    known += notify_targets.usable(config).values()
    if not any(notify_targets.reports(config, reached, "held") for reached in known):
        yield "nobody would learn of a held call: no usable target receives `held` events", subject.set_command(*ADD)
    with closing(stores.notifications(subject.places.state_dir)) as outbox:
        for health in outbox.health():
            if health.target in config.targets and health.error:
                since = printable.duration(subject.now - health.failing_since)
                yield f"{health.target}: failing for {since}: {printable.plain(health.error)}", status
            elif health.lost and health.target in config.targets:
                yield f"{health.target}: {health.lost} notifications of the last 7 days were not delivered", status
        if stores.engines(subject.places.state_dir).running() and not outbox.has_sender():
            yield "the gateway has not started the notifier; see the gateway's log", RESTART


def _unusable(target: NotifyTarget) -> str:
    for file in (target.url_file, target.secret_file):
        if isinstance(file, str) and not os.access(Path(file).expanduser(), os.R_OK):
            return f"{printable.plain(file)} cannot be read"
    if notify_targets.kind(target) != "url":
        return ""
    try:
        return apprise_package.problem(secret_setting.read(target.url, target.url_file))
    except ValueError as error:
        return printable.plain(str(error))
