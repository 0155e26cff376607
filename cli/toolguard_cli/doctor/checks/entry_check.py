"""Whether the config loads the plugin, and whether the plugin's settings leave the guard on."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_cli.doctor.check_types import FIX_CONFIG, UNREAD, Check, DoctorSubject, Guards
from toolguard_cli.setup.plugin_entry import ALLOW
from toolguard_cli.system.paths import PLUGIN_ID
from toolguard_engine.config.settings import Config, Mode
from toolguard_engine.effects.calls import read_only
from toolguard_engine.host.tool_names import named
from toolguard_engine.host.tool_search import tool_names
from toolguard_engine.layers.rubric import SOFT_STAKES
from toolguard_engine.wording import printable

HOST_TOOLS = frozenset({"exec", "process", "write", "edit", "apply_patch"})
"""OpenClaw's tools that run commands or write files. If all of them are exempt, nothing is guarded."""
OPENING = frozenset({"read", "image"})
"""Tools that change nothing, but show the content of a file, possibly credentials, to the model."""
MAX_NAMES = 5

MEANS: dict[Mode, str] = {
    "enforce": "its calls are held and blocked",
    "soft": f"calls are held for their score only if their stakes are {SOFT_STAKES} or more",
    "shadow": "its calls are judged and logged, but none is held or blocked",
    "disabled": "its calls are not judged",
}
"""The effect of each mode; `plugin.toml` explains them in full."""


def enabled(subject: DoctorSubject) -> Check:
    if subject.config is None:
        return Check("enabled", "warn", UNREAD, FIX_CONFIG, {"guards": "unknown"})
    if subject.get("plugins", "enabled") is False:
        text = "plugins.enabled is false: the gateway loads no plugins"
        return Check("enabled", "error", text, subject.command("config", "set", "plugins.enabled", "true"))
    if subject.entry.get("enabled") is not True:
        text = f"plugins.entries.{PLUGIN_ID}.enabled is not true"
        return Check("enabled", "error", text, subject.command("install"))
    if not subject.settings.enabled:
        text, fix = "switched off by its setting `enabled`", subject.set_command("enabled", "true")
        return Check("enabled", "warn", text, fix, {"guards": "no"})
    if subject.settings.mode == "disabled":
        text, fix = "switched off by its setting `mode`", subject.set_command("mode", "enforce")
        return Check("enabled", "warn", text, fix, {"guards": _guards(subject.settings)})
    return Check("enabled", "ok", f"mode {subject.settings.active_mode}")


def enforced(subject: DoctorSubject) -> Check:
    """Settings that let calls through although the guard runs."""
    own, weak = subject.settings, list(_weak(subject))
    if subject.config is None or not weak or not own.enabled:
        return Check("enforced", "ok", "verdicts are enforced for every agent, and calls that cannot be judged are blocked")
    texts, fixes = zip(*weak, strict=True)
    return Check("enforced", "warn", "; ".join(texts), fixes[0], {"guards": _guards(own)})


def _weak(subject: DoctorSubject) -> Iterator[tuple[str, str]]:
    own = subject.settings
    if own.mode == "shadow":
        yield (
            "mode is shadow: calls are judged and logged, but none is held or blocked",
            subject.set_command("mode", "enforce"),
        )
    for agent, mode in ((agent, own.for_agent(agent).mode) for agent in sorted(own.agents)):
        if mode not in ("enforce", own.mode):
            fix = subject.command("config", "unset", f"agents.{agent}.mode")
            yield f"the mode of agent {printable.plain(agent)} is {mode}: {MEANS[mode]}", fix
    if own.fail_mode == "open":
        yield (
            "failMode is open: calls run unjudged while the engine does not answer",
            subject.set_command("failMode", "closed"),
        )
    if names := _exempt(own):
        shown = ", ".join(printable.cut(printable.plain(name), 60) for name in names[:MAX_NAMES])
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        yield (
            f"neverBlock exempts {shown}{more}: their calls are not judged",
            subject.command("config", "unset", "neverBlock"),
        )


def _exempt(own: Config) -> list[str]:
    """The tools in `neverBlock` whose calls can do harm, unknown tools included."""
    return sorted(name for name in tool_names(tuple(own.never_block)) if name in OPENING or not _reads_only(name))


def _reads_only(tool: str) -> bool:
    return read_only.is_read_only(tool, {}) or named(tool).action == "look"


def _guards(own: Config) -> Guards:
    """What these settings mean for the verdict, given that they are weak."""
    modes = {own.mode, *(own.for_agent(agent).mode for agent in own.agents)}
    if tool_names(tuple(own.never_block)) >= HOST_TOOLS:
        return "no"
    if modes & {"enforce", "soft"}:
        return "partly"
    return "observes" if "shadow" in modes else "no"


def allowed(subject: DoctorSubject) -> Check:
    if subject.config is None:
        return Check("allowed", "warn", UNREAD, FIX_CONFIG, {"guards": "unknown"})
    deny, allow = subject.get("plugins", "deny"), subject.get(*ALLOW)
    if isinstance(deny, list) and PLUGIN_ID in deny:
        fix = f'remove "{PLUGIN_ID}" from plugins.deny in {subject.places.config}'
        return Check("allowed", "error", f"plugins.deny names {PLUGIN_ID}", fix)
    if isinstance(allow, list) and PLUGIN_ID not in allow:
        return Check("allowed", "error", f"plugins.allow does not name {PLUGIN_ID}", subject.command("install"))
    return Check("allowed", "ok", "plugins.allow and plugins.deny let it load")
