"""Checks of the gateway's config. Each check examines one thing and yields findings; none prints or writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from toolguard_cli.hostconfig import config_file, env_vars, openclaw_check
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.hostconfig.finding import LEVELS, ConfigFinding, Level
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.system.paths import Places
from toolguard_cli.validation import (
    enabled_extras,
    entry_settings,
    file_texts,
    loading,
    pluginids,
    resources,
    rule_ids,
    startup,
)
from toolguard_cli.validation.subject import OWN, ConfigSubject, parts

Check = Callable[[ConfigSubject], Iterator[ConfigFinding]]

CHECKS: tuple[Check, ...] = (
    file_texts.there,
    file_texts.included,
    startup.has_mode,
    entry_settings.is_there,
    entry_settings.plugins_have_their_shape,
    entry_settings.fits,
    entry_settings.agrees,
    entry_settings.targets_are_usable,
    enabled_extras.are_installed,
    entry_settings.agents_are_called_so,
    rule_ids.are_known,
    loading.is_allowed,
    loading.is_on,
    loading.agree,
    loading.lie_there,
    pluginids.are_known,
    pluginids.are_taken_over,
    resources.can_be_written,
    resources.can_run,
    resources.is_free,
)
_KEYS = path_name(OWN)


def findings(
    tree: ConfigTree,
    places: Places,
    *,
    openclaw: Sequence[str] = (),
    checks: Sequence[Check] = CHECKS,
    env: Mapping[str, str] = os.environ,
) -> list[ConfigFinding]:
    """The findings of these checks and, if `openclaw` names its command, of OpenClaw; errors first.

    OpenClaw does not validate a config that is missing or has an unreadable include.
    """
    subject = ConfigSubject(tree, places, env)
    problems = [finding for check in checks for finding in check(subject)]
    if openclaw and can_be_asked(tree):
        problems = _merged(problems, openclaw_check.ask(tree, places, openclaw, env), subject)
    else:
        problems += [*entry_settings.knows_its_variables(subject), *pluginids.are_there(subject)]
    return sorted(dict.fromkeys(problems), key=lambda finding: LEVELS.index(finding.level))


def can_be_asked(tree: ConfigTree) -> bool:
    """Whether OpenClaw can validate this config: it stops at a broken include, and needs a file."""
    return (tree.exists or tree.main.text != config_file.EMPTY) and not tree.problems


def errors(problems: Sequence[ConfigFinding]) -> list[ConfigFinding]:
    return [finding for finding in problems if finding.level == "error"]


def _merged(
    problems: Sequence[ConfigFinding], theirs: Sequence[ConfigFinding], subject: ConfigSubject
) -> list[ConfigFinding]:
    """Each problem once: our finding if it is as severe, because its fix is more specific; else OpenClaw's, with our fix."""
    their_errors = {finding.path for finding in theirs if finding.level == "error"}
    lighter = {ours.path: ours for ours in problems if ours.level == "warn" and ours.path in their_errors}
    kept = [ours for ours in problems if ours not in lighter.values()]
    fresh = [finding for finding in theirs if not any(_covers(ours, finding) for ours in kept)]
    return [*kept, *(_advised(finding, lighter.get(finding.path), subject) for finding in fresh)]


def _covers(ours: ConfigFinding, other: ConfigFinding) -> bool:
    if other.level == "warn":
        return bool(other.path) and (ours.path == other.path or ours.path.startswith((f"{other.path}.", f"{other.path}[")))
    return ours.level == "error" and ours.path == other.path


def _advised(theirs: ConfigFinding, ours: ConfigFinding | None, subject: ConfigSubject) -> ConfigFinding:
    if ours is not None:
        return replace(theirs, fix=ours.fix or theirs.fix)
    if theirs.level == "error" and _is_ours(theirs.path):
        return _open(theirs, subject) or _older_plugin(theirs, subject)
    return theirs


def _open(theirs: ConfigFinding, subject: ConfigSubject) -> ConfigFinding | None:
    """The finding for a value that is invalid only because a variable is not set; else None."""
    for steps, part in parts(subject.tree.part(OWN), OWN):
        if path_name(steps) == theirs.path and isinstance(part.content, str):
            for variable in env_vars.unset(part.content, subject.env):
                message = f"${{{variable}}} is not set here, and the unsubstituted value is invalid ({theirs.message})"
                return replace(theirs, message=message, fix=f"set {variable}, also for the gateway")
    return None


def _is_ours(path: str) -> bool:
    return path == _KEYS or path.startswith(f"{_KEYS}.")


def _older_plugin(theirs: ConfigFinding, subject: ConfigSubject) -> ConfigFinding:
    """A problem only for the plugin in the gateway, whose schema must be older than ours."""
    message = f"the plugin in the gateway rejects this, and may be older than this toolguard ({theirs.message})"
    return replace(theirs, message=message, fix=f"{subject.command('install')} first")


__all__ = ["CHECKS", "LEVELS", "Check", "ConfigFinding", "ConfigSubject", "Level", "can_be_asked", "errors", "findings"]
