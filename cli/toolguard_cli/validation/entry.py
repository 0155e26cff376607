"""Does our entry fit: each setting against the schema, all at once, and what contradicts what."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from toolguard_cli import configvars
from toolguard_cli.configtree import Steps
from toolguard_cli.setup.entry import ENTRY
from toolguard_cli.validation import schema
from toolguard_cli.validation.finding import Finding, finding, name
from toolguard_cli.validation.subject import DEFAULTS, OWN, Subject, parts, value_at
from toolguard_engine import config as settings
from toolguard_engine import manifest, settingrules


def is_there(subject: Subject) -> Iterator[Finding]:
    if subject.tree.exists and not subject.installed:
        yield finding(subject.tree, ENTRY, "info", "toolguard is not in this config", subject.mend("install"))


def is_an_object(subject: Subject) -> Iterator[Finding]:
    """Only the outermost fault: what lies in it is none then."""
    for length in range(1, len(ENTRY) + 1):
        value = subject.tree.get(*ENTRY[:length])
        if value is not None and not isinstance(value, dict):
            yield finding(subject.tree, ENTRY[:length], "error", "must be an object { ... }", "mend it by hand")
            return


def fits(subject: Subject) -> Iterator[Finding]:
    """The gateway does not start with a setting that does not fit. Where a variable is not set here, that cannot be told."""
    value = subject.own
    if value is None:
        return
    found = list(schema.misfits(value, manifest.config_schema()))
    for misfit in found:
        if not misfit.unknown and any(configvars.unset(value_at(value, misfit.steps), subject.env)):
            continue
        yield finding(subject.tree, (*OWN, *misfit.steps), "error", misfit.text, _mend(subject, misfit))
    if not found:
        yield from _as_the_engine_reads(subject)


def _mend(subject: Subject, misfit: schema.Misfit) -> str:
    if not misfit.steps:
        return "mend it by hand"
    back = subject.mend("config", "unset", name(misfit.steps))
    if misfit.unknown:
        return back if not misfit.meant else f"rename it to {misfit.meant}, or {back}"
    default = value_at(DEFAULTS, misfit.steps)
    return back if default is None else f"{back} (the default is {json.dumps(default)})"


def _as_the_engine_reads(subject: Subject) -> Iterator[Finding]:
    """What the schema does not say; nothing, as far as is known."""
    try:
        settings.parse(subject.own)
    except msgspec.ValidationError as error:
        yield finding(subject.tree, OWN, "error", str(error), "mend it by hand")


def agrees(subject: Subject) -> Iterator[Finding]:
    """Thresholds in order, and whatever else one setting makes of another."""
    for problem in settingrules.problems(subject.settings) if subject.settings else ():
        steps: Steps = (*OWN, *problem.path)
        yield finding(subject.tree, steps, "error", problem.text, f"change one of the two: {_change(subject, problem.path)}")


def _change(subject: Subject, path: Steps) -> str:
    return f"{subject.mend('config', 'set', name(path))} VALUE"


def counts(subject: Subject) -> Iterator[Finding]:
    """What is set and has no effect yet."""
    written = subject.own if isinstance(subject.own, dict) else {}
    agents = written.get("agents")
    groups: list[tuple[Steps, object]] = [((), written)]
    groups += [(("agents", agent), own) for agent, own in agents.items()] if isinstance(agents, dict) else []
    for steps, group in groups:
        for key in settings.NOT_YET:
            if isinstance(group, dict) and key in group:
                message = "has no effect in this version; it is checked and kept"
                yield finding(subject.tree, (*OWN, *steps, key), "info", message)


def knows_its_variables(subject: Subject) -> Iterator[Finding]:
    """Only where OpenClaw is not asked, which knows them all."""
    for steps, part in parts(subject.tree.part(OWN), OWN):
        if isinstance(part.content, str):
            for variable in dict.fromkeys(configvars.unset(part.content, subject.env)):
                message = f"${{{variable}}} is not set here; where the gateway does not know it either, it stays as it is"
                yield finding(subject.tree, steps, "warn", message, "set it where the gateway is started")
