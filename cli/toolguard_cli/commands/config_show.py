"""`toolguard config show`: toolguard's settings, their values and where they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import config_tree, env_vars, finding, schema_check
from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.operations import setting_names
from toolguard_cli.operations.setting_names import NamedSetting
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_cli.validation import ConfigSubject, entry_settings
from toolguard_cli.validation.subject import DEFAULTS, OWN, value_at
from toolguard_engine.config import notify_targets, plugin_manifest
from toolguard_engine.wording import printable

HEAD = (" ", "SETTING", "VALUE", "FROM")
CHANGED = "*"
NOT_SET = "(not set)"
MAX_CELL = 60

app = command_app()


@dataclass(frozen=True)
class SettingRow:
    """One setting. `value` is None if it is not set and has no default; `written`: the text in the file."""

    steps: Steps
    value: Any
    default: Any
    written: Any = None
    file: str = ""
    line: int = 0

    @property
    def name(self) -> str:
        return finding.name(self.steps)

    @property
    def is_set(self) -> bool:
        return bool(self.file)

    @property
    def differs(self) -> bool:
        return self.is_set and self.value != self.default

    def source(self, folder: Path) -> str:
        """Where the value comes from; the file is relative to the config's folder."""
        if not self.is_set:
            return "default"
        file = Path(self.file)
        name = file.relative_to(folder) if file.is_relative_to(folder) else file
        return ", ".join([f"{name}:{self.line}", *sorted(set(_variables(self.written)))])


@command(app, "toolguard config show", "toolguard config show --json")
def run(places: Places) -> Result:
    """List toolguard's settings, their values and where they come from."""
    tree = config_tree.read(places.config)
    rows = list(_rows(tree))
    lines = tables.table(HEAD, (_cells(row, tree.path.parent) for row in rows), MAX_CELL)
    lines += _legend(rows)
    lines += _problems(ConfigSubject(tree, places))
    data = {"config": str(places.config), "settings": [_public(row) for row in rows]}
    return Result("config show", data, tuple(lines))


def _rows(tree: ConfigTree) -> Iterator[SettingRow]:
    """The rows in the order of the schema, then keys that are not in it."""
    yield from _below(tree, plugin_manifest.config_schema(), ())


def _below(tree: ConfigTree, group: dict[str, Any], steps: Steps) -> Iterator[SettingRow]:
    part = tree.part((*OWN, *steps))
    written = list(part.content) if part is not None and isinstance(part.content, dict) else []
    known = list(group.get("properties", {}))
    in_general = not _of_agent(steps)
    for key in [*(key for key in known if in_general or key in written), *(key for key in written if key not in known)]:
        inner, here = schema_check.below(group, key), (*steps, key)
        if inner is not None and inner.get("type") == "object" and _opens(tree, inner, here):
            yield from _below(tree, inner, here)
        else:
            yield _row(tree, here)


def _of_agent(steps: Steps) -> bool:
    """Agents list only what they override."""
    return steps[:1] == ("agents",)


def _opens(tree: ConfigTree, group: dict[str, Any], steps: Steps) -> bool:
    """Whether a group is listed by its settings: groups in the schema, and agents if there are any."""
    part = tree.part((*OWN, *steps))
    as_object = part is None or isinstance(part.content, dict)
    return as_object and ("properties" in group or (_of_agent(steps) and part is not None and bool(part.content)))


def _row(tree: ConfigTree, steps: Steps) -> SettingRow:
    part, default = tree.part((*OWN, *steps)), value_at(DEFAULTS, steps)
    if part is None:
        return SettingRow(steps, default, default)
    place = finding.finding(tree, (*OWN, *steps), "info", "")
    value = notify_targets.hidden(steps, env_vars.filled(part.value))
    return SettingRow(steps, value, default, part.value, place.file, place.line)


def _variables(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (f"${{{match[2]}}}" for match in env_vars.NAME.finditer(value) if not match[1])
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _variables(item)


def _cells(row: SettingRow, folder: Path) -> tuple[str, ...]:
    mark = CHANGED if row.differs else " "
    named = NamedSetting((*OWN, *row.steps), schema_check.follow(plugin_manifest.config_schema(), row.steps))
    unit = setting_names.unit_of(named) if isinstance(row.value, int) else 0
    value = NOT_SET if row.value is None and not row.is_set else json.dumps(row.value, ensure_ascii=False)
    length = f" ({printable.duration(row.value * unit / 1000)})" if unit else ""
    return mark, row.name, value + length, row.source(folder)


def _legend(rows: list[SettingRow]) -> Iterator[Line]:
    if any(row.differs for row in rows):
        yield Line("info", f"{CHANGED} differs from the default")


def _problems(subject: ConfigSubject) -> Iterator[Line]:
    if not subject.installed:
        yield Line("warn", "toolguard is not in this config; these settings would apply once it is installed")
        yield Line("next", subject.command("install"))
    elif any(problem.level == "error" for problem in entry_settings.fits(subject)):
        yield Line("error", "some settings are invalid, and the gateway does not start with them")
        yield Line("next", subject.command("config", "validate"))


def _public(row: SettingRow) -> dict[str, Any]:
    return {
        "setting": row.name,
        "value": row.value,
        "default": row.default,
        "source": "file" if row.is_set else "default",
        "file": row.file,
        "line": row.line,
        "variables": sorted(set(_variables(row.written))),
        "differs": row.differs,
    }
