"""The plugin's lines in `openclaw.json`, as edits of its text: what `install` adds is what `uninstall` takes away.

An `Edit` remembers what was there before, so that it can be undone on a file that has changed elsewhere since.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from toolguard_cli import json5_edit
from toolguard_cli.configfile import ConfigFile
from toolguard_cli.errors import UserError
from toolguard_cli.paths import PLUGIN_ID

ENTRY = ("plugins", "entries", PLUGIN_ID)
ENABLED = (*ENTRY, "enabled")
ALLOW = ("plugins", "allow")
LOAD_PATHS = ("plugins", "load", "paths")


@dataclass(frozen=True)
class Edit:
    """`set` a value at a path, or `append` / `remove` it in a list. `top` is the outermost part of the path that was new."""

    kind: Literal["set", "append", "remove"]
    path: tuple[str, ...]
    value: Any
    top: tuple[str, ...] = ()
    before: Any = None

    @property
    def words(self) -> str:
        """For a person, behind the verb."""
        shown, where = json.dumps(self.value), ".".join(self.path)
        return f"{where}: {shown}" if self.kind == "set" else f"{shown} {'to' if self.kind == 'append' else 'from'} {where}"


def wanted(config: ConfigFile, link: str | None, drop: str | None) -> list[Edit]:
    """The edits that make the gateway load the plugin; none where it does already. Raises `UserError`.

    `link`: load it from this folder. `drop`: a load path of an earlier link that is not wanted any more.
    """
    _refuse_includes(config)
    _refuse_odd_shapes(config)
    if PLUGIN_ID in (config.get("plugins", "deny") or []):
        raise UserError(f"plugins.deny in {config.path} names {PLUGIN_ID}", f'remove "{PLUGIN_ID}" there, then repeat')
    edits: list[Edit] = []
    if config.get(*ENABLED) is not True:
        edits.append(Edit("set", ENABLED, value=True, top=_first_missing(config, ENABLED), before=config.get(*ENABLED)))
    if isinstance(config.get(*ALLOW), list) and PLUGIN_ID not in config.get(*ALLOW):
        edits.append(Edit("append", ALLOW, PLUGIN_ID))
    paths = config.get(*LOAD_PATHS) or []
    if drop and drop != link and drop in paths:
        edits.append(Edit("remove", LOAD_PATHS, drop))
    if link and link not in paths:
        edits.append(Edit("append", LOAD_PATHS, link, top=_first_missing(config, LOAD_PATHS)))
    return edits


def _refuse_includes(config: ConfigFile) -> None:
    """`plugins` may come from another file; adding to the wrong one would do nothing, or shadow what is there."""
    plugins = config.get("plugins")
    inside = isinstance(plugins, dict) and any(
        "$include" in part for part in (plugins, plugins.get("entries"), plugins.get("load")) if isinstance(part, dict)
    )
    if inside or ("$include" in config.value and plugins is None):
        raise UserError(
            f"{config.path} takes its plugins from another file ($include)",
            f"name that file with --config, or add there: plugins: {{ entries: {{ {PLUGIN_ID}: {{ enabled: true }} }} }}",
        )


def _refuse_odd_shapes(config: ConfigFile) -> None:
    for steps, kind, word in (
        (("plugins",), dict, "an object"),
        (("plugins", "entries"), dict, "an object"),
        (ENTRY, dict, "an object"),
        (("plugins", "load"), dict, "an object"),
        (LOAD_PATHS, list, "a list"),
        (ALLOW, list, "a list"),
        (("plugins", "deny"), list, "a list"),
    ):
        if config.get(*steps) is not None and not isinstance(config.get(*steps), kind):
            raise UserError(f"{'.'.join(steps)} in {config.path} is not {word}", "mend it, then repeat")


def _first_missing(config: ConfigFile, path: tuple[str, ...]) -> tuple[str, ...]:
    """The outermost part of this path that the config does not have; empty where it has all of it."""
    for length in range(1, len(path) + 1):
        holder = config.get(*path[: length - 1]) if length > 1 else config.value
        if path[length - 1] not in holder:
            return path[:length]
    return ()


def apply(text: str, edits: list[Edit]) -> str:
    """The text with all edits made."""
    for edit in edits:
        match edit.kind:
            case "set":
                text = json5_edit.set_value(text, edit.path, edit.value)
            case "append":
                text = json5_edit.append_unique(text, edit.path, edit.value)
            case "remove":
                text = json5_edit.remove_element(text, edit.path, edit.value)
    return text


def undo(text: str, edits: list[Edit]) -> str:
    """The text with the edits taken back, newest first. What somebody added beside them stays."""
    for edit in reversed(edits):
        match edit.kind:
            case "set":
                text = _undo_set(text, edit)
            case "append":
                text = _without_empty(json5_edit.remove_element(text, edit.path, edit.value), edit)
            case "remove":
                text = json5_edit.append_unique(text, edit.path, edit.value)
    return text


def _undo_set(text: str, edit: Edit) -> str:
    if json5_edit.find(json5_edit.parse(text), edit.path) is None and not edit.top:
        return text  # it was taken out by hand
    if not edit.top:
        return json5_edit.set_value(text, edit.path, edit.before)
    # The plugin's entry goes as a whole: its settings mean nothing without the plugin, and the backup has them.
    owned = edit.path[: max(len(ENTRY), len(edit.top))] if edit.path[: len(ENTRY)] == ENTRY else edit.path
    return _without_empty(json5_edit.delete(text, owned), edit)


def _without_empty(text: str, edit: Edit) -> str:
    """Removes the containers that the edit had made, from the inside out, as far as they are empty."""
    if not edit.top:
        return text
    for length in range(len(edit.path), len(edit.top) - 1, -1):
        node = json5_edit.find(json5_edit.parse(text), edit.path[:length])
        if node is not None and json5_edit.value_of(node) in ({}, []):
            text = json5_edit.delete(text, edit.path[:length])
    return text
