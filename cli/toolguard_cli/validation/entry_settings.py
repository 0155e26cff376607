"""Validates toolguard's entry: each setting against the schema, and contradictions between settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from toolguard_cli.hostconfig import env_vars, schema_check
from toolguard_cli.hostconfig.config_tree import Steps
from toolguard_cli.hostconfig.finding import ConfigFinding, finding, name
from toolguard_cli.migrations.hostloops import agent_id
from toolguard_cli.migrations.old_plugins import migrations
from toolguard_cli.setup.plugin_entry import ENTRIES, HOST_KEYS
from toolguard_cli.system import apprise_package
from toolguard_cli.validation.subject import DEFAULTS, OWN, ConfigSubject, parts, value_at
from toolguard_engine.config import conflicts, notify_targets, plugin_manifest, settings

TARGETS = ("notify", "targets")
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
    "bundledDiscovery": {},  # this and the next are in some releases only
    "installs": {},
}
PLUGINS: dict[str, Any] = {
    "type": "object",
    "properties": {"plugins": {"type": "object", "properties": _LISTS, "additionalProperties": False}},
    "additionalProperties": {},
}
"""The part of the gateway's schema that toolguard knows. Only OpenClaw can validate values with an empty schema."""


def is_known(steps: Steps, value: Any) -> bool:
    """Whether toolguard's schemas cover this value, with all its parts."""
    if steps[: len(OWN)] == OWN:
        return True
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return bool(schema_check.follow(PLUGINS, steps)) and all(is_known((*steps, step), item) for step, item in inner)


def is_there(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    if subject.tree.exists and not subject.installed:
        yield ConfigFinding(
            "info", "", "toolguard is not in this config", subject.command("install"), str(subject.tree.path)
        )


def plugins_have_their_shape(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Validates the gateway's `plugins` section, as far as its schema is known."""
    written = subject.tree.value
    for misfit in schema_check.misfits(env_vars.filled(written, subject.env), PLUGINS):
        if misfit.steps != OWN and not _is_undecided(misfit, written, PLUGINS, subject.env):
            fix = _removal(subject, misfit.steps) if misfit.unknown else "fix it by hand"
            yield finding(subject.tree, misfit.steps, "error", _text(misfit, written, PLUGINS), fix)


def fits(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """The gateway does not start with an invalid setting. A value with an unset variable is undecided."""
    if subject.tree.part(OWN) is None:
        return
    schema = plugin_manifest.config_schema()
    misfits = list(schema_check.misfits(subject.own, schema))
    for misfit in misfits:
        if not _is_undecided(misfit, subject.written, schema, subject.env):
            text = _text(misfit, subject.written, schema)
            yield finding(subject.tree, (*OWN, *misfit.steps), "error", text, _fix(subject, misfit))
    if not misfits:
        yield from _as_the_engine_reads(subject)


def _is_undecided(misfit: schema_check.Misfit, written: Any, schema: dict[str, Any], env: Mapping[str, str]) -> bool:
    """Whether the value may be valid once a variable is set that is not set here."""
    value = value_at(written, misfit.steps)
    return isinstance(value, str) and _is_text(misfit, schema) and any(env_vars.unset(value, env))


def _is_text(misfit: schema_check.Misfit, schema: dict[str, Any]) -> bool:
    return (schema_check.follow(schema, misfit.steps) or {}).get("type") == "string"


def _text(misfit: schema_check.Misfit, written: Any, schema: dict[str, Any]) -> str:
    value = value_at(written, misfit.steps)
    variables = env_vars.NAME.finditer(value) if isinstance(value, str) and not _is_text(misfit, schema) else ()
    filled = not misfit.unknown and any(not variable[1] for variable in variables)
    return f"{misfit.text}; the value of a variable is always a string" if filled else misfit.text


def _removal(subject: ConfigSubject, steps: Steps) -> str:
    replaced = {plugin for migration in migrations() for plugin in migration.ids}
    if steps[: len(ENTRIES)] == ENTRIES and steps[len(ENTRIES)] in replaced:
        return subject.command("migrate")
    return subject.command("config", "unset", name(steps))


def _fix(subject: ConfigSubject, misfit: schema_check.Misfit) -> str:
    if not misfit.steps:
        return subject.command("config", "unset", name(OWN))
    at_top = misfit.unknown and len(misfit.steps) == 1  # it may have the name of a section of the gateway's config
    back = subject.command("config", "unset", name((*OWN, *misfit.steps) if at_top else misfit.steps))
    if misfit.unknown:
        return back if not misfit.meant else f"rename it to {misfit.meant}, or {back}"
    default = value_at(DEFAULTS, misfit.steps)
    return back if default is None else f"{back} (the default is {json.dumps(default)})"


def _as_the_engine_reads(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Errors that the schema does not cover; none are known."""
    try:
        settings.parse(subject.own)
    except msgspec.ValidationError as error:
        yield finding(subject.tree, OWN, "error", str(error), "fix it by hand")


def agrees(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Contradictions between settings, such as thresholds in the wrong order."""
    for problem in conflicts.problems(subject.settings) if subject.settings else ():
        if problem.path[: len(TARGETS)] != TARGETS:
            fix = f"change one of the two: {_change(subject, problem.path)}"
            if problem.instead:
                fix = f"{problem.instead}, or {subject.command('config', 'unset', name(problem.path))}"
            yield finding(subject.tree, (*OWN, *problem.path), problem.weight, problem.text, fix)


def targets_are_usable(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Notification targets. An address with a variable that is not set here is not checked."""
    targets = subject.settings.notify.targets if subject.settings else {}
    for problem in conflicts.problems(subject.settings) if subject.settings else ():
        if problem.path[: len(TARGETS)] == TARGETS and not notify_targets.unchecked(targets[str(problem.path[2])]):
            fix = _change(subject, problem.path)
            yield finding(subject.tree, (*OWN, *problem.path), "error", problem.text, fix)
    usable = notify_targets.usable(subject.settings.notify) if subject.settings else {}
    for name_of, target in usable.items():
        steps: Steps = (*TARGETS, name_of, "url")
        if not notify_targets.is_set(target.url):
            continue
        if apprise_package.problem(str(target.url)) == apprise_package.UNKNOWN:
            yield finding(subject.tree, (*OWN, *steps), "error", apprise_package.UNKNOWN, _change(subject, steps))


def _change(subject: ConfigSubject, path: Steps) -> str:
    return f"{subject.command('config', 'set', name(path))} VALUE"


def agents_are_called_so(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    agents = value_at(subject.own, ("agents",))
    for written in agents if isinstance(agents, dict) else ():
        meant = agent_id(written)
        if meant != written:
            runs = f"OpenClaw runs this agent as {meant}" if meant else "OpenClaw runs no agent with such a name"
            fix = f"rename it to {meant}" if meant else subject.command("config", "unset", name(("agents", written)))
            yield finding(subject.tree, (*OWN, "agents", written), "warn", f"{runs}: these settings have no effect", fix)


def knows_its_variables(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Unset variables; only used if OpenClaw, which reports them, does not validate the config."""
    for steps, part in parts(subject.tree.part(OWN), OWN):
        if isinstance(part.content, str):
            for variable in dict.fromkeys(env_vars.unset(part.content, subject.env)):
                message = f"${{{variable}}} is not set here; if it is not set for the gateway either, it is not substituted"
                if steps[len(OWN) :][: len(TARGETS)] == TARGETS:
                    message = f"${{{variable}}} is not set here, so the address was not checked"
                yield finding(subject.tree, steps, "warn", message, "set it in the environment of the gateway")
