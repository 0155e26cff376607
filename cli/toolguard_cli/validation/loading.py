"""Whether the gateway loads the guard: the lists of allowed and denied plugins, the switches, and the load paths."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolguard_cli.hostconfig import env_vars
from toolguard_cli.hostconfig.finding import ConfigFinding, finding
from toolguard_cli.setup import plugin_folder
from toolguard_cli.setup.plugin_entry import ALLOW, DENY, ENABLED, LOAD_PATHS
from toolguard_cli.setup.plugin_folder import plugin_id
from toolguard_cli.system.paths import PLUGIN_ID
from toolguard_cli.validation.subject import ConfigSubject


def is_allowed(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Lists that exclude the guard although it is installed."""
    tree = subject.tree
    if not subject.installed:
        return
    if PLUGIN_ID in listed(tree.get(*DENY)):
        at = listed(tree.get(*DENY)).index(PLUGIN_ID)
        fix = f'remove "{PLUGIN_ID}": {subject.command("config", "unset", f"plugins.deny[{at}]")}'
        yield finding(tree, (*DENY, at), "error", f"names {PLUGIN_ID}: the gateway does not load the guard", fix)
    elif isinstance(tree.get(*ALLOW), list) and PLUGIN_ID not in tree.get(*ALLOW):
        message = f"does not name {PLUGIN_ID}: the gateway does not load the guard"
        yield finding(tree, ALLOW, "error", message, subject.command("install"))


def is_on(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Switches that are off; only a warning, because users may turn them off."""
    if not subject.installed:
        return
    if subject.tree.get("plugins", "enabled") is False:
        fix = subject.command("config", "set", "plugins.enabled", "true")
        yield finding(subject.tree, ("plugins", "enabled"), "warn", "is false: the gateway loads no plugins", fix)
    if subject.tree.get(*ENABLED) is not True:
        yield finding(subject.tree, ENABLED, "warn", "is not true: the guard is off", subject.command("install"))


def agree(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Ids in both lists: the deny list wins."""
    allowed = listed(subject.tree.get(*ALLOW))
    for at, plugin in enumerate(listed(subject.tree.get(*DENY))):
        if plugin in allowed and not (plugin == PLUGIN_ID and subject.installed):
            message = f"{json.dumps(plugin)} is in plugins.allow too; it is not loaded"
            yield finding(subject.tree, (*DENY, at), "warn", message, "remove it from one of the two")


def lie_there(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    """Load paths that do not exist or are writable by others."""
    for at, written in enumerate(listed(subject.tree.get(*LOAD_PATHS))):
        named = env_vars.filled(written, subject.env)
        if isinstance(named, str) and not any(env_vars.unset(written, subject.env)):
            for level, message, fix in _faults(subject, named):
                yield finding(subject.tree, (*LOAD_PATHS, at), level, message, fix)


def _faults(subject: ConfigSubject, named: str) -> Iterator[tuple[Any, str, str]]:
    path = placed(named)
    if path is None or not path.is_absolute():
        yield "warn", f"{named!r} depends on the folder in which the gateway is started", "use an absolute path"
    elif not path.exists():
        yield (
            "warn",
            f"{path} does not exist",
            f"remove it, or put the plugin there; {subject.command('install')} fixes toolguard's own",
        )
    elif plugin_id(path) == PLUGIN_ID:
        refused = plugin_folder.refusals(path)
        if refused:
            yield "error", f"the gateway refuses the guard: {refused[0]}", subject.command("install")
    elif unsafe := _unsafe(subject, path):
        yield "warn", f"{path} {unsafe}: the gateway refuses it", "check its owner and mode"


def _unsafe(subject: ConfigSubject, path: Path) -> str:
    info = path.stat()
    if not stat.S_ISDIR(info.st_mode) and not stat.S_ISREG(info.st_mode):
        return "is neither a folder nor a file"
    if info.st_mode & stat.S_IWOTH:
        return f"is writable by everyone (mode {stat.S_IMODE(info.st_mode):o})"
    known = {0, os.getuid(), *([subject.places.state_dir.stat().st_uid] if subject.places.state_dir.is_dir() else [])}
    return "" if info.st_uid in known else f"belongs to user {info.st_uid}"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def placed(named: str) -> Path | None:
    """The path with `~` expanded; None if it cannot be a path."""
    try:
        path = Path(named).expanduser()
        path.exists()
    except (RuntimeError, ValueError, OSError):
        return None
    return path
