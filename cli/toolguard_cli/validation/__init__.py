"""What is wrong in the gateway's config: each check looks at one thing and answers findings; none prints or writes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from toolguard_cli import configfile, configvars
from toolguard_cli.configtree import ConfigTree
from toolguard_cli.json5_edit import path_name
from toolguard_cli.paths import Places
from toolguard_cli.validation import entry, hostcheck, loading, pluginids, resources, rules, startup, texts
from toolguard_cli.validation.finding import LEVELS, Finding, Level
from toolguard_cli.validation.subject import OWN, Subject, parts

Check = Callable[[Subject], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    texts.there,
    texts.included,
    startup.has_mode,
    entry.is_there,
    entry.plugins_have_their_shape,
    entry.fits,
    entry.agrees,
    entry.agents_are_called_so,
    rules.are_known,
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
) -> list[Finding]:
    """All that these checks find, errors first; and what OpenClaw says, where the command that runs it is named.

    It is not asked about a config with an include that cannot be followed, or with no file.
    """
    subject = Subject(tree, places, env)
    found = [each for check in checks for each in check(subject)]
    if openclaw and can_be_asked(tree):
        found = _merged(found, hostcheck.ask(tree, places, openclaw, env), subject)
    else:
        found += [*entry.knows_its_variables(subject), *pluginids.are_there(subject)]
    return sorted(dict.fromkeys(found), key=lambda each: LEVELS.index(each.level))


def can_be_asked(tree: ConfigTree) -> bool:
    """Whether OpenClaw could say more than is known: with a broken include that is all it says, without a file nothing."""
    return (tree.exists or tree.main.text != configfile.EMPTY) and not tree.problems


def errors(found: Sequence[Finding]) -> list[Finding]:
    return [each for each in found if each.level == "error"]


def _merged(found: Sequence[Finding], told: Sequence[Finding], subject: Subject) -> list[Finding]:
    """Each fault once: ours where it is as grave, for it knows what to do; else that of OpenClaw, with our next step."""
    errors_told = {each.path for each in told if each.level == "error"}
    lighter = {ours.path: ours for ours in found if ours.level == "warn" and ours.path in errors_told}
    kept = [ours for ours in found if ours not in lighter.values()]
    fresh = [each for each in told if not any(_says_so(ours, each) for ours in kept)]
    return [*kept, *(_advised(each, lighter.get(each.path), subject) for each in fresh)]


def _says_so(ours: Finding, other: Finding) -> bool:
    if other.level == "warn":
        return bool(other.path) and (ours.path == other.path or ours.path.startswith((f"{other.path}.", f"{other.path}[")))
    return ours.level == "error" and ours.path == other.path


def _advised(told: Finding, ours: Finding | None, subject: Subject) -> Finding:
    if ours is not None:
        return replace(told, fix=ours.fix or told.fix)
    if told.level == "error" and _is_ours(told.path):
        return _open(told, subject) or _older_plugin(told, subject)
    return told


def _open(told: Finding, subject: Subject) -> Finding | None:
    """What is wrong as long as a variable is not set."""
    for steps, part in parts(subject.tree.part(OWN), OWN):
        if path_name(steps) == told.path and isinstance(part.content, str):
            for variable in configvars.unset(part.content, subject.env):
                message = f"${{{variable}}} is not set here, and it does not fit as it stands ({told.message})"
                return replace(told, message=message, fix=f"set {variable}, also where the gateway is started")
    return None


def _is_ours(path: str) -> bool:
    return path == _KEYS or path.startswith(f"{_KEYS}.")


def _older_plugin(told: Finding, subject: Subject) -> Finding:
    """Our own schema is the newer one where only the plugin in the gateway finds a fault."""
    message = f"the plugin in the gateway does not take this, and may be older than this toolguard ({told.message})"
    return replace(told, message=message, fix=f"{subject.mend('install')} first")


__all__ = ["CHECKS", "LEVELS", "Check", "Finding", "Level", "Subject", "can_be_asked", "errors", "findings"]
