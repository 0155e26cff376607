"""`toolguard config show`: what counts for each of our settings, and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolguard_cli import configtree, configvars, tables
from toolguard_cli.configtree import ConfigTree, Steps
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.validation import Subject, entry, finding, schema
from toolguard_cli.validation.subject import DEFAULTS, OWN, value_at
from toolguard_engine import manifest

HEAD = (" ", "SETTING", "VALUE", "FROM")
CHANGED = "*"
NOT_SET = "(not set)"
MAX_CELL = 60


@dataclass(frozen=True)
class Row:
    """One setting. `value` is None where it is not set and has no default; `written`: as it stands in the file."""

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
        """With the file as it is called in the folder of the config."""
        if not self.is_set:
            return "default"
        file = Path(self.file)
        name = file.relative_to(folder) if file.is_relative_to(folder) else file
        return ", ".join([f"{name}:{self.line}", *sorted(set(_variables(self.written)))])


def run(places: Places) -> Result:
    tree = configtree.read(places.config)
    rows = list(_rows(tree))
    lines = tables.table(HEAD, (_cells(row, tree.path.parent) for row in rows), MAX_CELL)
    lines += _legend(rows)
    lines += _problems(Subject(tree, places))
    data = {"config": str(places.config), "settings": [_public(row) for row in rows]}
    return Result("config show", data, tuple(lines))


def _rows(tree: ConfigTree) -> Iterator[Row]:
    """In the order of the schema; then what it does not know."""
    yield from _below(tree, manifest.config_schema(), ())


def _below(tree: ConfigTree, group: dict[str, Any], steps: Steps) -> Iterator[Row]:
    part = tree.part((*OWN, *steps))
    written = list(part.content) if part is not None and isinstance(part.content, dict) else []
    known = list(group.get("properties", {}))
    in_general = not _of_agent(steps)
    for key in [*(key for key in known if in_general or key in written), *(key for key in written if key not in known)]:
        inner, here = schema.below(group, key), (*steps, key)
        if inner is not None and inner.get("type") == "object" and _opens(tree, inner, here):
            yield from _below(tree, inner, here)
        else:
            yield _row(tree, here)


def _of_agent(steps: Steps) -> bool:
    """Agents have only what they override."""
    return steps[:1] == ("agents",)


def _opens(tree: ConfigTree, group: dict[str, Any], steps: Steps) -> bool:
    """Whether a group is shown as its settings: those that the schema names, and agents where there are any."""
    part = tree.part((*OWN, *steps))
    as_object = part is None or isinstance(part.content, dict)
    return as_object and ("properties" in group or (_of_agent(steps) and part is not None and bool(part.content)))


def _row(tree: ConfigTree, steps: Steps) -> Row:
    part, default = tree.part((*OWN, *steps)), value_at(DEFAULTS, steps)
    if part is None:
        return Row(steps, default, default)
    place = finding.finding(tree, (*OWN, *steps), "info", "")
    return Row(steps, configvars.filled(part.value), default, part.value, place.file, place.line)


def _variables(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from (f"${{{found[2]}}}" for found in configvars.NAME.finditer(value) if not found[1])
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _variables(item)


def _cells(row: Row, folder: Path) -> tuple[str, ...]:
    mark = CHANGED if row.differs else " "
    value = NOT_SET if row.value is None and not row.is_set else json.dumps(row.value, ensure_ascii=False)
    return mark, row.name, value, row.source(folder)


def _legend(rows: list[Row]) -> Iterator[Line]:
    if any(row.differs for row in rows):
        yield Line("info", f"{CHANGED} differs from the default")


def _problems(subject: Subject) -> Iterator[Line]:
    if not subject.installed:
        yield Line("warn", "toolguard is not in this config; these would count after")
        yield Line("next", subject.mend("install"))
    elif any(each.level == "error" for each in entry.fits(subject)):
        yield Line("error", "some do not fit, and the gateway does not start with them")
        yield Line("next", subject.mend("config", "validate"))


def _public(row: Row) -> dict[str, Any]:
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
