"""Does the config let the plugin load, and do its settings leave it on."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_cli.checks.check import MEND_CONFIG, UNREAD, Check, Subject
from toolguard_cli.checks.verdict import Guards
from toolguard_cli.paths import PLUGIN_ID
from toolguard_cli.setup.entry import ALLOW
from toolguard_engine import answers
from toolguard_engine.config import Config


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
        told, fix = "its setting `enabled` switches it off", subject.set_command("enabled", "true")
        return Check("enabled", "warn", told, fix, {"guards": "no"})
    if subject.settings.mode == "disabled":
        told, fix = "its setting `mode` switches it off", subject.set_command("mode", "enforce")
        return Check("enabled", "warn", told, fix, {"guards": _guards(subject.settings)})
    return Check("enabled", "ok", f"mode {subject.settings.active_mode}")


def enforced(subject: Subject) -> Check:
    """Settings with which it runs, and lets through what it should hold."""
    own, weak = subject.settings, list(_weak(subject))
    if subject.config is None or not weak or not own.enabled:
        return Check("enforced", "ok", "what it judges counts for every agent, and what it cannot judge is blocked")
    told, fixes = zip(*weak, strict=True)
    return Check("enforced", "warn", "; ".join(told), fixes[0], {"guards": _guards(own)})


def _weak(subject: Subject) -> Iterator[tuple[str, str]]:
    """What is weak, and the command that mends it."""
    own = subject.settings
    if own.mode == "shadow":
        yield "mode is shadow: it only writes down what it would do", subject.set_command("mode", "enforce")
    for agent, mode in ((agent, own.for_agent(agent).mode) for agent in sorted(own.agents)):
        if mode not in ("enforce", own.mode):
            fix = subject.command("config", "unset", f"agents.{agent}.mode")
            yield f"mode of the agent {answers.plain(agent)} is {mode}: nothing holds its calls", fix
    if own.fail_mode == "open":
        yield "failMode is open: calls run unjudged while the engine is silent", subject.set_command("failMode", "closed")


def _guards(own: Config) -> Guards:
    """Whether these settings leave any agent guarded."""
    modes = [own.mode, *(own.for_agent(agent).mode for agent in own.agents)]
    return "partly" if "enforce" in modes else "no"


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
