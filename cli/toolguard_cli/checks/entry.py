"""Does the config let the plugin load, and do its settings leave it on."""

from __future__ import annotations

from toolguard_cli.checks.check import MEND_CONFIG, UNREAD, Check, Subject
from toolguard_cli.paths import PLUGIN_ID
from toolguard_cli.setup.entry import ALLOW


def enabled(subject: Subject) -> Check:
    if subject.config is None:
        return Check("enabled", "warn", UNREAD, MEND_CONFIG)
    if subject.get("plugins", "enabled") is False:
        told = "plugins.enabled is false: the gateway loads no plugin"
        return Check("enabled", "error", told, subject.command("config", "set", "plugins.enabled", "true"))
    if subject.entry.get("enabled") is not True:
        told = f"plugins.entries.{PLUGIN_ID}.enabled is not true"
        return Check("enabled", "error", told, subject.command("install"))
    if not subject.settings.enabled:
        return Check("enabled", "warn", "its setting `enabled` switches it off", subject.set_command("enabled", "true"))
    if subject.settings.mode == "disabled":
        return Check("enabled", "warn", "its setting `mode` switches it off", subject.set_command("mode", "enforce"))
    return Check("enabled", "ok", f"mode {subject.settings.active_mode}")


def allowed(subject: Subject) -> Check:
    if subject.config is None:
        return Check("allowed", "warn", UNREAD, MEND_CONFIG)
    deny, allow = subject.get("plugins", "deny"), subject.get(*ALLOW)
    if isinstance(deny, list) and PLUGIN_ID in deny:
        mend = f'remove "{PLUGIN_ID}" from plugins.deny in {subject.places.config}'
        return Check("allowed", "error", f"plugins.deny names {PLUGIN_ID}", mend)
    if isinstance(allow, list) and PLUGIN_ID not in allow:
        return Check("allowed", "error", f"plugins.allow does not name {PLUGIN_ID}", subject.command("install"))
    return Check("allowed", "ok", "plugins.allow and plugins.deny let it load")
