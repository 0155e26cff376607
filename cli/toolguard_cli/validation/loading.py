"""Would the gateway load the guard: the lists that allow and deny plugins, the switches, and where plugins lie."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolguard_cli import configvars
from toolguard_cli.paths import PLUGIN_ID
from toolguard_cli.setup import folder
from toolguard_cli.setup.entry import ALLOW, DENY, ENABLED, LOAD_PATHS
from toolguard_cli.validation.finding import Finding, finding
from toolguard_cli.validation.subject import Subject
from toolguard_engine.stores import files

MANIFEST = "openclaw.plugin.json"
MAX_MANIFEST_BYTES = 1024 * 1024


def is_allowed(subject: Subject) -> Iterator[Finding]:
    """Lists that keep the guard out although it is installed."""
    tree = subject.tree
    if not subject.installed:
        return
    if PLUGIN_ID in listed(tree.get(*DENY)):
        at = listed(tree.get(*DENY)).index(PLUGIN_ID)
        fix = f'take "{PLUGIN_ID}" out: {subject.mend("config", "unset", f"plugins.deny[{at}]")}'
        yield finding(tree, (*DENY, at), "error", f"names {PLUGIN_ID}: the gateway does not load the guard", fix)
    elif isinstance(tree.get(*ALLOW), list) and PLUGIN_ID not in tree.get(*ALLOW):
        message = f"does not name {PLUGIN_ID}: the gateway does not load the guard"
        yield finding(tree, ALLOW, "error", message, subject.mend("install"))


def is_on(subject: Subject) -> Iterator[Finding]:
    """Switches that are a person's to turn: a warning."""
    if not subject.installed:
        return
    if subject.tree.get("plugins", "enabled") is False:
        fix = subject.mend("config", "set", "plugins.enabled", "true")
        yield finding(subject.tree, ("plugins", "enabled"), "warn", "is false: the gateway loads no plugin", fix)
    if subject.tree.get(*ENABLED) is not True:
        yield finding(subject.tree, ENABLED, "warn", "is not true: the guard is off", subject.mend("install"))


def agree(subject: Subject) -> Iterator[Finding]:
    """An id in both lists: the one that denies wins."""
    allowed = listed(subject.tree.get(*ALLOW))
    for at, plugin in enumerate(listed(subject.tree.get(*DENY))):
        if plugin in allowed and not (plugin == PLUGIN_ID and subject.installed):
            message = f"{json.dumps(plugin)} is in plugins.allow too; it is not loaded"
            yield finding(subject.tree, (*DENY, at), "warn", message, "take it out of one of the two")


def lie_there(subject: Subject) -> Iterator[Finding]:
    """The places that plugins are loaded from: there, and not for others to write."""
    for at, written in enumerate(listed(subject.tree.get(*LOAD_PATHS))):
        named = configvars.filled(written, subject.env)
        if isinstance(named, str) and not any(configvars.unset(written, subject.env)):
            for level, message, fix in _faults(subject, named):
                yield finding(subject.tree, (*LOAD_PATHS, at), level, message, fix)


def _faults(subject: Subject, named: str) -> Iterator[tuple[Any, str, str]]:
    path = placed(named)
    if path is None or not path.is_absolute():
        yield "warn", f"{named!r} depends on the folder that the gateway is started in", "write the whole path"
    elif not path.exists():
        yield "warn", f"{path} is not there", f"take it out, or put the plugin there; {subject.mend('install')} mends ours"
    elif plugin_id(path) == PLUGIN_ID:
        refused = folder.refusals(path)
        if refused:
            yield "error", f"the gateway refuses the guard: {refused[0]}", subject.mend("install")
    elif unsafe := _unsafe(subject, path):
        yield "warn", f"{path} {unsafe}: the gateway refuses it", "mend its owner and mode"


def _unsafe(subject: Subject, path: Path) -> str:
    info = path.stat()
    if not stat.S_ISDIR(info.st_mode) and not stat.S_ISREG(info.st_mode):
        return "is neither a folder nor a file"
    if info.st_mode & stat.S_IWOTH:
        return f"may be written by everybody (mode {stat.S_IMODE(info.st_mode):o})"
    known = {0, os.getuid(), *([subject.places.state_dir.stat().st_uid] if subject.places.state_dir.is_dir() else [])}
    return "" if info.st_uid in known else f"belongs to user {info.st_uid}"


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def placed(named: str) -> Path | None:
    """With `~` for the home; None for what cannot be a path."""
    try:
        path = Path(named).expanduser()
        path.exists()
    except (RuntimeError, ValueError, OSError):
        return None
    return path


def plugin_id(path: Path) -> str:
    """The id in the manifest of the plugin that lies there; empty where there is none."""
    try:
        value = json.loads(files.read_bounded(path / MANIFEST, MAX_MANIFEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return ""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""
