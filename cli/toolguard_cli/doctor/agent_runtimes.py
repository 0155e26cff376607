"""Determines from the config which runtime runs each agent's tools, for the config formats of all supported releases.

The first `agentRuntime` found counts: in the agent's own `models`, in `agents.defaults.models`, in the provider of
`models.providers`, or of the whole agent (older releases). Without any, the provider's name decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from toolguard_cli.validation.subject import value_at

Guards = Literal["guarded", "partly guarded", "not guarded"]
MAX_AGENTS = 200
MAX_MODELS = 200
GRADES: tuple[Guards, ...] = ("guarded", "partly guarded", "not guarded")
"""Best first."""

BY_PROVIDER = {
    "claude-cli": "claude-cli",
    "google-gemini-cli": "google-gemini-cli",
    "gemini-cli": "google-gemini-cli",
    "codex": "codex",
    "codex-cli": "codex",
    "openai-codex": "codex",
}
SAME = {"codex-cli": "codex", "codex-app-server": "codex", "gemini-cli": "google-gemini-cli", "gemini": "google-gemini-cli"}
EMBEDDED = frozenset({"", "auto", "openclaw", "pi", "embedded", "default", "copilot"})
"""`copilot` uses the gateway's own tools; those of the Copilot CLI are refused."""

RELAYED = (2026, 8, 1)
"""The first release known to call a PreToolUse hook for the Claude CLI's own tools."""


@dataclass(frozen=True)
class Route:
    """How one model of an agent is run. `role`: the setting that names the model."""

    model: str
    role: str
    runtime: str
    guards: Guards
    why: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Agent:
    id: str
    routes: tuple[Route, ...]

    @property
    def guards(self) -> Guards:
        """The grade that all routes share; "partly guarded" if they differ."""
        kinds = {route.guards for route in self.routes}
        return next(iter(kinds)) if len(kinds) == 1 else "partly guarded" if kinds else "guarded"


@dataclass(frozen=True)
class RuntimeConfig:
    """The relevant parts of `openclaw.json`, as read. `release`: of OpenClaw; empty if unknown. `codex_installed`: whether
    the Codex plugin is in a plugin folder, where OpenClaw enables it by itself."""

    agents: Any = None
    models: Any = None
    plugins: Any = None
    mcp: Any = None
    bindings: Any = None
    release: tuple[int, ...] = ()
    codex_installed: bool = False


def agents(config: RuntimeConfig) -> list[Agent]:
    """All agents of the config; only `main` if it names none."""
    bound = set(_bound(config.bindings))
    listed = dict(_listed(config.agents)) or {"main": {}}
    return [Agent(name, tuple(_routes(config, name, agent, bound))) for name, agent in listed.items()]


def _listed(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, agent in list(_dict(value_at(value, ("entries",))).items())[:MAX_AGENTS]:
        yield name, _dict(agent)
    for agent in _list(value_at(value, ("list",)))[:MAX_AGENTS]:
        if isinstance(agent, dict) and isinstance(agent.get("id"), str):
            yield agent["id"], agent


def _bound(bindings: Any) -> Iterator[str]:
    """The ids of agents that have an ACP session bound to a conversation."""
    for binding in _list(bindings)[:MAX_AGENTS]:
        if isinstance(binding, dict) and binding.get("type") == "acp" and isinstance(binding.get("agentId"), str):
            yield binding["agentId"]


def _routes(config: RuntimeConfig, name: str, agent: dict[str, Any], bound: set[str]) -> Iterator[Route]:
    if value_at(agent, ("runtime", "type")) == "acp":
        yield _acp(str(value_at(agent, ("runtime", "acp", "agent")) or "its harness"), "runtime")
        return
    if name in bound:
        yield _acp("its harness", "bindings")
    seen = set()
    for model, role in _models(agent, _dict(value_at(config.agents, ("defaults",)))):
        runtime = runtime_of(config, agent, model)
        if (model, runtime) not in seen:
            seen.add((model, runtime))
            yield _judged(config, model, role, runtime)


def _acp(harness: str, role: str) -> Route:
    why = f"{harness} runs over ACP with its own tools, for which OpenClaw calls no hooks"
    return Route("", role, "acp", "not guarded", why, "run the agent with runtime.type embedded")


def _models(agent: dict[str, Any], defaults: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for role in ("model", "subagents.model", "heartbeat.model"):
        steps = tuple(role.split("."))
        value = value_at(agent, steps)
        yield from _named(value_at(defaults, steps) if value is None else value, role)


def _named(value: Any, role: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and value:
        yield value, role
    elif isinstance(value, dict):
        yield from _named(value.get("primary"), role)
        for fallback in _list(value.get("fallbacks"))[:MAX_MODELS]:
            yield from _named(fallback, f"{role}.fallbacks")


def runtime_of(config: RuntimeConfig, agent: dict[str, Any], model: str) -> str:
    """The id of the runtime that runs this model for this agent; empty if the gateway itself does."""
    maps = [_dict(agent.get("models")), _dict(value_at(config.agents, ("defaults", "models")))]
    model = _spelled_out(model, maps).lower()
    provider, _, name = model.partition("/")
    given = [_runtime(_entry(mapping, model)) or _runtime(_entry(mapping, f"{provider}/*")) for mapping in maps]
    supplier = _dict(_entry(_dict(value_at(config.models, ("providers",))), provider))
    own = [
        model_entry
        for model_entry in _list(supplier.get("models"))
        if isinstance(model_entry, dict) and model_entry.get("id") == name
    ]
    given += [_runtime(holder) for holder in [*own, supplier, agent, _dict(value_at(config.agents, ("defaults",)))]]
    runtime = next((given_runtime for given_runtime in given if given_runtime and given_runtime != "auto"), "")
    if runtime:
        return SAME.get(runtime, runtime)
    if provider.startswith("acp-"):
        return "acp"
    return BY_PROVIDER.get(provider) or ("codex" if provider == "openai" and _codex_may_take(config, supplier) else "")


def _spelled_out(model: str, maps: list[dict[str, Any]]) -> str:
    """The model for an alias; any other name unchanged."""
    if "/" in model:
        return model
    named = (key for mapping in maps for key, value in mapping.items() if value_at(value, ("alias",)) == model)
    return next(named, model)


def _entry(table: dict[str, Any], name: str) -> Any:
    return next((value for key, value in table.items() if key.lower() == name), None)


def _runtime(entry: Any) -> str:
    runtime = value_at(entry, ("agentRuntime", "id"))
    return runtime.strip().lower() if isinstance(runtime, str) else ""


def _codex_may_take(config: RuntimeConfig, supplier: dict[str, Any]) -> bool:
    """Whether Codex runs OpenAI models by default: with its plugin, and unless another base URL is set."""
    entry = value_at(config.plugins, ("entries", "codex"))
    enabled = value_at(entry, ("enabled",))
    address = supplier.get("baseUrl")
    official = not address or "openai.com" in str(address) or "chatgpt.com" in str(address)
    return official and enabled is not False and (enabled is True or config.codex_installed)


def _judged(config: RuntimeConfig, model: str, role: str, runtime: str) -> Route:
    elsewhere = "choose a model that OpenClaw runs itself, or set its agentRuntime.id to openclaw"
    if runtime in EMBEDDED:
        return Route(model, role, runtime or "openclaw", "guarded")
    if runtime == "claude-cli":
        return _claude(config, model, role, elsewhere)
    if runtime == "codex":
        why = "hooks can block a call of Codex but not rewrite it, so approved parameters cannot be pinned (pinParams)"
        return Route(model, role, runtime, "partly guarded", why, f"{elsewhere}, if you need pinned parameters")
    if runtime == "google-gemini-cli":
        why = "the Gemini CLI runs its own tools, for which OpenClaw calls no hooks"
        return Route(model, role, runtime, "not guarded", why, elsewhere)
    if runtime == "acp":
        why = "an ACP harness runs its own tools, for which OpenClaw calls no hooks"
        return Route(model, role, runtime, "not guarded", why, elsewhere)
    why = f"toolguard does not know the runtime {runtime[:64]}: its own tools may not reach the guard"
    fix = "check in its documentation whether it calls before_tool_call"
    return Route(model, role, runtime, "partly guarded", why, fix)


def _claude(config: RuntimeConfig, model: str, role: str, elsewhere: str) -> Route:
    if config.release and config.release < RELAYED:
        why = "this release of OpenClaw calls no hooks for the Claude CLI's own tools"
        return Route(model, role, "claude-cli", "not guarded", why, "update OpenClaw to 2026.9.6 or later")
    servers = [
        name
        for name, server in _dict(value_at(config.mcp, ("servers",))).items()
        if value_at(server, ("enabled",)) is not False
    ]
    if servers:
        shown = ", ".join(servers[:3]) + (f" and {len(servers) - 3} more" if len(servers) > 3 else "")  # noqa: PLR2004
        why = f"the Claude CLI calls MCP servers itself ({shown}): judged only if the CLI asks first"
        fix = f"deny these servers to this agent (tools.deny), or {elsewhere}"
        return Route(model, role, "claude-cli", "partly guarded", why, fix)
    return Route(model, role, "claude-cli", "guarded")


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
