"""`toolguard config get`: one value as the gateway sees it, to be read or piped on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from toolguard_cli import configtree, configvars
from toolguard_cli.commands.config import names
from toolguard_cli.commands.config.names import Named
from toolguard_cli.configtree import ConfigTree
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Result
from toolguard_cli.validation import finding, schema
from toolguard_cli.validation.subject import DEFAULTS, OWN, value_at
from toolguard_engine import manifest

AGENT_DEPTH = 2
"""Steps that lead to an agent: `agents`, and its id."""


@dataclass(frozen=True)
class Found:
    """A value and where it comes from: `file`, `default`, or `general` for an agent without one of its own."""

    value: Any
    source: str
    file: str = ""
    line: int = 0


def run(places: Places, path: str, *, root: bool) -> Result:
    """Raises `UserError` where nothing is."""
    tree = configtree.read(places.config)
    named = names.resolve(path, tree, root=root)
    names.refuse_other_agents(named, path, tree, "toolguard config get")
    found = look(tree, named)
    if found is None:
        raise UserError(*missing(tree, named))
    data = {"path": named.whole, "value": found.value, "source": found.source, "file": found.file, "line": found.line}
    return Result("config get", data, printed=json.dumps(found.value, indent=2, ensure_ascii=False))


def look(tree: ConfigTree, named: Named) -> Found | None:
    """With variables filled in; an object of ours with the defaults of what it does not have."""
    part = tree.part(named.steps)
    default = value_at(DEFAULTS, named.setting) if named.is_ours else None
    if part is not None:
        spot = finding.finding(tree, named.steps, "info", "")
        return Found(_over(configvars.filled(part.value), default), "file", spot.file, spot.line)
    if default is not None:
        return Found(default, "default")
    general = _general(named)
    behind = look(tree, general) if general else None
    return Found(behind.value, "general", behind.file, behind.line) if behind else None


def _over(value: Any, default: Any) -> Any:
    if isinstance(value, dict) and isinstance(default, dict):
        return {**default, **{key: _over(item, default.get(key)) for key, item in value.items()}}
    return value


def _general(named: Named) -> Named | None:
    """The setting for all agents behind one of an agent; None where this is none, or an agent cannot have it."""
    agents, _, *setting = named.setting if len(named.setting) > AGENT_DEPTH else ("", "")
    if not named.is_ours or named.schema is None or agents != "agents":
        return None
    return Named((*OWN, *setting), schema.at(manifest.config_schema(), tuple(setting)))


def missing(tree: ConfigTree, named: Named) -> tuple[str, str]:
    """What to say where nothing is, and what to do."""
    if not named.is_ours:
        return f"{tree.path} has no {named.whole}", "toolguard config show lists toolguard's settings"
    if named.schema is not None:
        words = manifest.build()["uiHints"].get(finding.name(named.setting), {})
        return f"{named.whole} is not set, and has no default", words.get("help", "toolguard config set gives it a value")
    return f"there is no setting {named.whole}", names.nearest(named) or "toolguard config show lists all settings"
