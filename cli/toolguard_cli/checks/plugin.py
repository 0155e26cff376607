"""Is the plugin where the gateway looks, and would the gateway load it."""

from __future__ import annotations

import json
from pathlib import Path

from toolguard_cli.checks.check import UNREAD, Check, Subject
from toolguard_cli.paths import PLUGIN_ID, plugin_source
from toolguard_cli.setup import folder
from toolguard_cli.setup.entry import ALLOW, LOAD_PATHS


def locations(subject: Subject) -> list[Path]:
    """Every folder from which the gateway would load the plugin."""
    paths = subject.get(*LOAD_PATHS)
    linked = [Path(path).expanduser() for path in paths if isinstance(path, str)] if isinstance(paths, list) else []
    candidates = [*(path for path in linked if _is_plugin(path)), subject.places.extension]
    return [path for path in candidates if path.exists()]


def _is_plugin(path: Path) -> bool:
    try:
        manifest = json.loads((path / "openclaw.plugin.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("id") == PLUGIN_ID


def found(subject: Subject) -> Check:
    places = locations(subject)
    if not places:
        return Check("plugin", "error", "the plugin is not where the gateway looks", "toolguard install")
    if len(places) > 1:
        return Check("plugin", "warn", f"two copies: {places[0]} and {places[1]}", _one_of(subject, places))
    return Check("plugin", "ok", f"{places[0]}")


def _one_of(subject: Subject, places: list[Path]) -> str:
    linked = subject.record is not None and subject.record.mode == "link"
    if linked and folder.is_ours(subject.places.extension):
        return "toolguard install --link (it removes the copy)"
    return f"take {places[0]} out of plugins.load.paths in {subject.places.config}"


def loadable(subject: Subject) -> Check:
    refused = [reason for place in locations(subject) for reason in folder.refusals(place)]
    if refused:
        return Check(
            "plugin-files", "error", f"OpenClaw refuses it: {refused[0]}", "toolguard install (it copies the files anew)"
        )
    return Check("plugin-files", "ok", "owner, modes and links are as OpenClaw wants them")


def current(subject: Subject) -> Check:
    extension = subject.places.extension
    if extension.exists() and not folder.same(plugin_source(), extension):
        return Check("plugin-copy", "warn", f"{extension} is not the copy of this toolguard", "toolguard install")
    return Check("plugin-copy", "ok", "it belongs to this toolguard")


def enabled(subject: Subject) -> Check:
    if subject.config is None:
        return Check("enabled", "warn", UNREAD, "mend the config first")
    if subject.get("plugins", "enabled") is False:
        return Check(
            "enabled", "error", "plugins.enabled is false: the gateway loads no plugin", "set plugins.enabled to true"
        )
    if subject.entry.get("enabled") is not True:
        return Check("enabled", "error", f"plugins.entries.{PLUGIN_ID}.enabled is not true", "toolguard install")
    if subject.settings.active_mode == "disabled":
        return Check(
            "enabled", "warn", "its settings switch it off", 'set enabled to true and mode to "enforce" in its config'
        )
    return Check("enabled", "ok", f"mode {subject.settings.active_mode}")


def allowed(subject: Subject) -> Check:
    if subject.config is None:
        return Check("allowed", "warn", UNREAD, "mend the config first")
    deny, allow = subject.get("plugins", "deny"), subject.get(*ALLOW)
    if isinstance(deny, list) and PLUGIN_ID in deny:
        return Check("allowed", "error", f"plugins.deny names {PLUGIN_ID}", f'remove "{PLUGIN_ID}" from plugins.deny')
    if isinstance(allow, list) and PLUGIN_ID not in allow:
        return Check("allowed", "error", f"plugins.allow does not name {PLUGIN_ID}", "toolguard install")
    return Check("allowed", "ok", "plugins.allow and plugins.deny let it load")
