"""The effects of the gateway's own tools: its settings, nodes, schedules, sessions and system agent."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane import gateway_tools
from toolguard_engine.effects.control_plane.command_line import Operation
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.tools.tool_values import MAX_TEXT, NONE, Acts, Params, Tool, first_text, key_values, word
from toolguard_engine.host.tool_names import split


def action_act(kind: str, harmless: str = "", target: tuple[str, ...] = (), **special: str) -> Tool:
    """A tool whose effect depends only on its action. `harmless`: read-only actions; `special`: flag -> the actions that
    have it."""
    harmless_actions = frozenset(harmless.split())
    flags: dict[str, frozenset[str]] = {}
    for flag, actions in special.items():
        for action in actions.split():
            flags[action] = flags.get(action, NONE) | {flag}

    def acts(params: Params, _: Where) -> Acts:
        action = word(params, "action")
        if action in harmless_actions:
            return ()
        return (
            Effect(kind, first_text(params, *target)[:MAX_TEXT] or action, "", flags.get(action, NONE) | {action or "none"}),
        )

    return acts


def control_act(tool: str) -> Tool:
    """A tool that changes the gateway itself."""

    def acts(params: Params, _: Where) -> Acts:
        return on_gateway(gateway_tools.operations(tool, params), word(params, "action").partition(".")[0])

    return acts


def on_gateway(operations: Iterable[Operation], action: str = "") -> Acts:
    """Effects on the gateway. `layers.self_protection` handles operations that disable the guard."""
    named = frozenset([action]) - {""}
    return tuple(
        Effect("gateway", operation.target, "", named | {operation.effect})
        for operation in operations
        if operation.effect != "guard"
    )


def system_agent(params: Params, where: Where) -> Acts:
    """A question to the gateway's system agent, or an action of that agent."""
    asked = () if "action" in params else spawn_effects(params, where)
    return (*asked, *control_act("openclaw")(params, where))


_SENSORS = {
    "camera": "camera",
    "screen": "screen",
    "location": "location",
    "photos": "photos",
    "notifications": "notifications",
}
_NODE_READS = split(
    "status describe pending camera_list device_status device_info device_permissions device_health which notify list reject"
)


def node_effects(params: Params, _: Where) -> Acts:
    action = word(params, "action")
    if action in _NODE_READS:
        return ()
    what = word(params, "invokeCommand") if action == "invoke" else action
    first = re.split(r"[._]", what, maxsplit=1)[0]
    flag = _SENSORS.get(first, "pairs" if action == "approve" else "runs" if "run" in what else "invokes")
    flags = {flag} | ({"records"} if what.endswith(("record", "clip")) else set())
    return (Effect("device", what, "remote", frozenset(flags)),)


_SCHEDULE_READS = split("status list get runs next_check")


def schedule_effects(params: Params, _: Where) -> Acts:
    action = word(params, "action")
    if action in _SCHEDULE_READS:
        return ()
    flags = {action or "none"}
    for key, value in key_values(params, 0):
        if key in ("command", "argv", "script") and value:
            flags.add("runs")
        elif key == "allowUnsafeExternalContent" and value is True:
            flags.add("unsafe")
        elif key == "mode" and value == "webhook":
            flags.add("webhook")
        elif key in ("message", "text", "prompt") and isinstance(value, str) and _follows_address(value[:MAX_TEXT]):
            flags.add("follows")
    return (Effect("schedule", first_text(params, "jobId", "id", "name")[:MAX_TEXT] or action, "", frozenset(flags)),)


_ORDERS = lazy_re.compile(
    r"\b(?:do|follow|execute|run|obey|apply|perform|carry out|act on)\b[^.\n]{0,40}?\b"
    r"(?:what(?:ever)?\b[^.\n]{0,20}\b(?:says?|tells?|asks?|returns?|contains?|wants?)"
    r"|it says|instructions?|commands?|orders|steps|script)\b",
    re.IGNORECASE,
)


def _follows_address(text: str) -> bool:
    """Whether a text tells the agent to do what another machine will say: `fetch https://x and do what it says`."""
    return "://" in text and _ORDERS.search(text) is not None


def spawn_effects(params: Params, _: Where) -> Acts:
    return (Effect("spawn", first_text(params, "agentId", "label")[:MAX_TEXT]),)
