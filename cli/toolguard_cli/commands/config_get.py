"""`toolguard config get`: one value, as the gateway sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from toolguard_cli.commands.command_options import Root, Setting, command, command_app
from toolguard_cli.hostconfig import config_tree, env_vars, finding, schema_check
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.operations import setting_names
from toolguard_cli.operations.setting_names import NamedSetting
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_cli.validation.subject import DEFAULTS, OWN, value_at
from toolguard_engine.config import notify_targets, plugin_manifest

AGENT_DEPTH = 2
"""The steps to an agent: `agents` and its id."""

app = command_app()


@dataclass(frozen=True)
class FoundSetting:
    """A value and where it comes from: `file`, `default`, or `general` for an agent without one of its own."""

    value: Any
    source: str
    file: str = ""
    line: int = 0


@command(app, "toolguard config get mode", "toolguard config get plugins.allow", "toolguard config get --root agents")
def run(places: Places, path: Setting, *, root: Root = False) -> Result:
    """Print one value as JSON, as the gateway sees it.

    Follows includes, substitutes variables and applies the defaults of toolguard's settings. --json also shows the source.
    """
    tree = config_tree.read(places.config)
    named = setting_names.resolve(path, tree, root=root)
    setting_names.refuse_other_agents(named, path, tree, "toolguard config get")
    setting = look(tree, named)
    if setting is None:
        raise UserError(*missing(tree, named))
    data = {
        "path": named.whole,
        "value": setting.value,
        "source": setting.source,
        "file": setting.file,
        "line": setting.line,
    }
    return Result("config get", data, printed=json.dumps(setting.value, indent=2, ensure_ascii=False))


def look(tree: ConfigTree, named: NamedSetting) -> FoundSetting | None:
    """The value with variables substituted; objects of ours include the defaults of missing keys."""
    part = tree.part(named.steps)
    default = value_at(DEFAULTS, named.setting) if named.is_ours else None
    if part is not None:
        spot = finding.finding(tree, named.steps, "info", "")
        value = _over(env_vars.filled(part.value), default)
        shown = notify_targets.hidden(tuple(named.setting), value) if named.is_ours else value
        return FoundSetting(shown, "file", spot.file, spot.line)
    if default is not None:
        return FoundSetting(default, "default")
    general = _general(named)
    behind = look(tree, general) if general else None
    return FoundSetting(behind.value, "general", behind.file, behind.line) if behind else None


def _over(value: Any, default: Any) -> Any:
    if isinstance(value, dict) and isinstance(default, dict):
        return {**default, **{key: _over(item, default.get(key)) for key, item in value.items()}}
    return value


def _general(named: NamedSetting) -> NamedSetting | None:
    """The setting for all agents that an agent's setting overrides; None if there is none."""
    agents, _, *setting = named.setting if len(named.setting) > AGENT_DEPTH else ("", "")
    if not named.is_ours or named.schema is None or agents != "agents":
        return None
    return NamedSetting((*OWN, *setting), schema_check.follow(plugin_manifest.config_schema(), tuple(setting)))


def missing(tree: ConfigTree, named: NamedSetting) -> tuple[str, str]:
    if not named.is_ours:
        return f"{tree.path} has no {named.whole}", "toolguard config show lists toolguard's settings"
    if named.schema is not None:
        words = plugin_manifest.build()["uiHints"].get(finding.name(named.setting), {})
        return f"{named.whole} is not set, and has no default", words.get("help", "toolguard config set gives it a value")
    return f"there is no setting {named.whole}", setting_names.nearest(named) or "toolguard config show lists all settings"
