"""Does our entry fit: each setting against the schema, all at once, and what contradicts what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from toolguard_cli import configvars
from toolguard_cli.configtree import Steps
from toolguard_cli.validation import schema
from toolguard_cli.validation.finding import Finding, finding, name
from toolguard_cli.validation.subject import DEFAULTS, OWN, Subject, parts, value_at
from toolguard_engine import config as settings
from toolguard_engine import manifest, settingrules

_TEXTS = {"type": "array", "items": {"type": "string"}}
_ENTRY = {"type": "object", "properties": {"enabled": {"type": "boolean"}}, "additionalProperties": {}}
_LISTS = {
    "enabled": {"type": "boolean"},
    "allow": _TEXTS,
    "deny": _TEXTS,
    "load": {"type": "object", "properties": {"paths": _TEXTS}, "additionalProperties": {}},
    "entries": {"type": "object", "additionalProperties": _ENTRY},
}
PLUGINS: dict[str, Any] = {
    "type": "object",
    "properties": {"plugins": {"type": "object", "properties": _LISTS, "additionalProperties": {}}},
    "additionalProperties": {},
}
"""The gateway's config, as far as toolguard has to know it. Of the rest only OpenClaw can tell."""


def is_there(subject: Subject) -> Iterator[Finding]:
    if subject.tree.exists and not subject.installed:
        yield Finding("info", "", "toolguard is not in this config", subject.mend("install"), str(subject.tree.path))


def plugins_have_their_shape(subject: Subject) -> Iterator[Finding]:
    """What of the gateway's own section about plugins is known here."""
    for misfit in schema.misfits(configvars.filled(subject.tree.value, subject.env), PLUGINS):
        if not any(configvars.unset(value_at(subject.tree.value, misfit.steps), subject.env)):
            yield finding(subject.tree, misfit.steps, "error", misfit.text, "mend it by hand")


def fits(subject: Subject) -> Iterator[Finding]:
    """The gateway does not start with a setting that does not fit. Where a variable is not set here, that cannot be told."""
    value = subject.own
    if value is None:
        return
    found = list(schema.misfits(value, manifest.config_schema()))
    for misfit in found:
        if not misfit.unknown and subject.is_open(misfit.steps):
            continue
        yield finding(subject.tree, (*OWN, *misfit.steps), "error", misfit.text, _mend(subject, misfit))
    if not found:
        yield from _as_the_engine_reads(subject)


def _mend(subject: Subject, misfit: schema.Misfit) -> str:
    if not misfit.steps:
        return "mend it by hand"
    at_top = misfit.unknown and len(misfit.steps) == 1  # it may be called like a section of the gateway
    back = subject.mend("config", "unset", name((*OWN, *misfit.steps) if at_top else misfit.steps))
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
