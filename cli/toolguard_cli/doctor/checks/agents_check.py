"""Which agents have all, some or none of their tools guarded, according to the config."""

from __future__ import annotations

import re
from typing import Any

from toolguard_cli.doctor import agent_runtimes
from toolguard_cli.doctor.agent_runtimes import Agent, Route
from toolguard_cli.doctor.check_types import FIX_CONFIG, UNREAD, Check, DoctorSubject
from toolguard_cli.doctor.checks import host_check
from toolguard_cli.hostconfig import env_vars
from toolguard_engine.wording import printable

ID = "agents"
SHOWN = 5
CODEX = re.compile(r"openclaw.{0,6}codex")
PARTS = ("agents", "models", "plugins", "mcp", "bindings")


def guarded(subject: DoctorSubject) -> Check:
    if subject.config is None:
        return Check(ID, "warn", UNREAD, FIX_CONFIG)
    parts = {name: env_vars.filled(subject.get(name), subject.env) for name in PARTS}
    release = host_check.numbers(host_check.known_version(subject))
    agents = agent_runtimes.agents(
        agent_runtimes.RuntimeConfig(**parts, release=release, codex_installed=_has_codex(subject))
    )
    exposed = sorted((agent for agent in agents if agent.guards != "guarded"), key=_worst_first)
    data = {"agents": {agent.id: _as_data(agent) for agent in agents}, "guards": _verdict(agents)}
    if not exposed:
        return Check(ID, "ok", "the tools of every agent are guarded", data=data)
    lines = [f"{printable.plain(agent.id)[:64]}: {agent.guards} ({_reasons(agent)})" for agent in exposed[:SHOWN]]
    if len(exposed) > SHOWN:
        lines.append(f"and {len(exposed) - SHOWN} more agents")
    fixes = dict.fromkeys(route.fix for agent in exposed for route in _exposed(agent))
    return Check(ID, "warn", "\n".join(lines), f"{'; '.join(fixes)}; see docs/compatibility.md", data)


def _has_codex(subject: DoctorSubject) -> bool:
    """Whether the Codex plugin is installed, judged by name alone: as a folder or as an npm package."""
    state = subject.places.state_dir
    projects = state / "npm" / "projects"
    folders = [state / "extensions" / "codex", state / "npm" / "node_modules" / "@openclaw" / "codex"]
    listed = [path.name for path in projects.iterdir()] if projects.is_dir() else []
    return any(folder.is_dir() for folder in folders) or any(CODEX.search(name) for name in listed)


def _worst_first(agent: Agent) -> int:
    return -agent_runtimes.GRADES.index(agent.guards)


def _exposed(agent: Agent) -> list[Route]:
    return [route for route in agent.routes if route.guards != "guarded"]


def _reasons(agent: Agent) -> str:
    return "; ".join(dict.fromkeys(printable.plain(f"{_named(route)}{route.why}") for route in _exposed(agent)[:SHOWN]))


def _named(route: Route) -> str:
    return f"{route.role} {printable.cut(route.model, 80)}: " if route.model else ""


def _verdict(agents: list[Agent]) -> str:
    grades = {agent.guards for agent in agents}
    if grades == {"guarded"}:
        return "yes"
    return "no" if grades == {"not guarded"} else "partly"


def _as_data(agent: Agent) -> dict[str, Any]:
    routes = [
        {"model": route.model, "role": route.role, "runtime": route.runtime, "guards": route.guards, "why": route.why}
        for route in agent.routes
    ]
    return {"guards": agent.guards, "routes": routes}
