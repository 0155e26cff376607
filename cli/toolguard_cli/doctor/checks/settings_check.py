"""Whether there is a config, and whether it can be read."""

from __future__ import annotations

from toolguard_cli.doctor.check_types import Check, DoctorSubject


def check(subject: DoctorSubject) -> Check:
    if subject.problem:
        return Check("config", "error", subject.problem, "fix the file; toolguard has not changed it")
    if subject.config is None or not subject.config.exists:
        fix = f"{subject.command('install')}, or pass --config"
        return Check("config", "error", f"no config at {subject.places.config}", fix)
    if subject.config.problems:
        first = subject.config.problems[0]
        return Check("config", "error", f"the gateway does not start: {first.message}", first.fix or "fix that line")
    included = len(subject.config.files) - 1
    return Check("config", "ok", f"{subject.places.config}{f' and {included} that it includes' if included else ''}")
