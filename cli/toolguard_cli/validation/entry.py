"""Does our entry fit: each setting against the schema, all at once, and what contradicts what."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from toolguard_cli import configvars
from toolguard_cli.configtree import Steps
from toolguard_cli.migrations.data import migrations
from toolguard_cli.migrations.hostloops import agent_id
from toolguard_cli.setup.entry import ENTRIES, HOST_KEYS
from toolguard_cli.validation import schema
from toolguard_cli.validation.finding import Finding, finding, name
from toolguard_cli.validation.subject import DEFAULTS, OWN, Subject, parts, value_at
from toolguard_engine import config as settings
from toolguard_engine import manifest, settingrules

_TEXTS = {"type": "array", "items": {"type": "string"}}
_HOST_KEYS: dict[str, dict[str, Any]] = {key: {} for key in sorted(HOST_KEYS)}
_ENTRY = {
    "type": "object",
    "properties": {**_HOST_KEYS, "enabled": {"type": "boolean"}, "config": {"type": "object", "additionalProperties": {}}},
    "additionalProperties": False,
}
_LISTS: dict[str, Any] = {
    "enabled": {"type": "boolean"},
    "allow": _TEXTS,
    "deny": _TEXTS,
    "load": {"type": "object", "properties": {"paths": _TEXTS}, "additionalProperties": False},
    "entries": {"type": "object", "additionalProperties": _ENTRY},
    "slots": {},
    "bundledDiscovery": {},  # this and the next: some releases only
    "installs": {},
}
PLUGINS: dict[str, Any] = {
    "type": "object",
    "properties": {"plugins": {"type": "object", "properties": _LISTS, "additionalProperties": False}},
    "additionalProperties": {},
}
"""The gateway's config, as far as toolguard has to know it. Where a schema is empty, only OpenClaw can tell."""


def is_known(steps: Steps, value: Any) -> bool:
    """Whether it can be told here that the gateway takes this value at this path, with all that lies in it."""
    if steps[: len(OWN)] == OWN:
        return True
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return bool(schema.at(PLUGINS, steps)) and all(is_known((*steps, step), item) for step, item in inner)


def is_there(subject: Subject) -> Iterator[Finding]:
    if subject.tree.exists and not subject.installed:
        yield Finding("info", "", "toolguard is not in this config", subject.mend("install"), str(subject.tree.path))


def plugins_have_their_shape(subject: Subject) -> Iterator[Finding]:
    """What of the gateway's own section about plugins is known here."""
    written = subject.tree.value
    for misfit in schema.misfits(configvars.filled(written, subject.env), PLUGINS):
        if misfit.steps != OWN and not _cannot_be_told(misfit, written, PLUGINS, subject.env):
            mend = _take_out(subject, misfit.steps) if misfit.unknown else "mend it by hand"
            yield finding(subject.tree, misfit.steps, "error", _text(misfit, written, PLUGINS), mend)


def fits(subject: Subject) -> Iterator[Finding]:
    """The gateway does not start with a setting that does not fit. Where a variable is not set here, that cannot be told."""
    if subject.tree.part(OWN) is None:
        return
    law = manifest.config_schema()
    found = list(schema.misfits(subject.own, law))
    for misfit in found:
        if not _cannot_be_told(misfit, subject.written, law, subject.env):
            text = _text(misfit, subject.written, law)
            yield finding(subject.tree, (*OWN, *misfit.steps), "error", text, _mend(subject, misfit))
    if not found:
        yield from _as_the_engine_reads(subject)


def _cannot_be_told(misfit: schema.Misfit, written: Any, law: dict[str, Any], env: Mapping[str, str]) -> bool:
    """Whether a variable that is not set here may still make it right."""
    value = value_at(written, misfit.steps)
    return isinstance(value, str) and _is_text(misfit, law) and any(configvars.unset(value, env))


def _is_text(misfit: schema.Misfit, law: dict[str, Any]) -> bool:
    return (schema.at(law, misfit.steps) or {}).get("type") == "string"


def _text(misfit: schema.Misfit, written: Any, law: dict[str, Any]) -> str:
    value = value_at(written, misfit.steps)
    variables = configvars.NAME.finditer(value) if isinstance(value, str) and not _is_text(misfit, law) else ()
    filled = not misfit.unknown and any(not found[1] for found in variables)
    return f"{misfit.text}; what a variable fills in is always a text" if filled else misfit.text


def _take_out(subject: Subject, steps: Steps) -> str:
    replaced = {plugin for each in migrations() for plugin in each.ids}
    if steps[: len(ENTRIES)] == ENTRIES and steps[len(ENTRIES)] in replaced:
        return subject.mend("migrate")
    return subject.mend("config", "unset", name(steps))


def _mend(subject: Subject, misfit: schema.Misfit) -> str:
    if not misfit.steps:
        return subject.mend("config", "unset", name(OWN))
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


def agents_are_called_so(subject: Subject) -> Iterator[Finding]:
    """Settings under a name by which the gateway runs no agent."""
    agents = value_at(subject.own, ("agents",))
    for written in agents if isinstance(agents, dict) else ():
        meant = agent_id(written)
        if meant != written:
            runs = f"OpenClaw runs this agent as {meant}" if meant else "OpenClaw runs no agent under such a name"
            fix = f"rename it to {meant}" if meant else subject.mend("config", "unset", name(("agents", written)))
            yield finding(subject.tree, (*OWN, "agents", written), "warn", f"{runs}: these settings do nothing", fix)


def knows_its_variables(subject: Subject) -> Iterator[Finding]:
    """Only where OpenClaw is not asked, which knows them all."""
    for steps, part in parts(subject.tree.part(OWN), OWN):
        if isinstance(part.content, str):
            for variable in dict.fromkeys(configvars.unset(part.content, subject.env)):
                message = f"${{{variable}}} is not set here; where the gateway does not know it either, it stays as it is"
                yield finding(subject.tree, steps, "warn", message, "set it where the gateway is started")
