"""The plugin's lines in the config, as edits of its text: `uninstall` removes exactly what `install` added.

An `Edit` contains the previous value, so that it can be undone even if the file has changed elsewhere since.
"""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec

from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID

ENTRIES = ("plugins", "entries")
ENTRY = (*ENTRIES, PLUGIN_ID)
ENABLED = (*ENTRY, "enabled")
ALLOW = ("plugins", "allow")
DENY = ("plugins", "deny")
LOAD_PATHS = ("plugins", "load", "paths")
HOST_KEYS = frozenset({"enabled", "hooks", "subagent", "llm", "config"})
"""The keys that the gateway accepts in an entry; it does not start with any others."""


class Edit(msgspec.Struct, frozen=True):
    """Sets a value at a path, or adds it to or removes it from a list. `top`: the outermost part of the path that is new."""

    kind: Literal["set", "append", "remove"]
    path: tuple[str, ...]
    value: Any
    top: tuple[str, ...] = ()
    before: Any = None

    @property
    def words(self) -> str:
        shown, where = json.dumps(self.value), ".".join(self.path)
        return f"{where}: {shown}" if self.kind == "set" else f"{shown} {'to' if self.kind == 'append' else 'from'} {where}"


def wanted(config: ConfigTree, link: str | None, drop: str | None) -> list[Edit]:
    """The edits that make the gateway load the plugin; none if it already does. Raises `UserError`.

    `link`: load it from this folder. `drop`: a load path of an earlier link, which is removed.
    """
    _refuse_odd_shapes(config)
    if PLUGIN_ID in (config.get(*DENY) or []):
        raise UserError(f"plugins.deny in {config.path} names {PLUGIN_ID}", f'remove "{PLUGIN_ID}" there, then try again')
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


def _refuse_odd_shapes(config: ConfigTree) -> None:
    for steps, kind, word in (
        (("plugins",), dict, "an object"),
        (ENTRIES, dict, "an object"),
        (ENTRY, dict, "an object"),
        (("plugins", "load"), dict, "an object"),
        (LOAD_PATHS, list, "a list"),
        (ALLOW, list, "a list"),
        (DENY, list, "a list"),
    ):
        if config.get(*steps) is not None and not isinstance(config.get(*steps), kind):
            raise UserError(f"{'.'.join(steps)} in {config.path} is not {word}", "fix it, then try again")


def _first_missing(config: ConfigTree, path: tuple[str, ...]) -> tuple[str, ...]:
    """The outermost part of this path that the config does not have; empty if it has all of it."""
    for length in range(1, len(path) + 1):
        holder = config.get(*path[: length - 1]) if length > 1 else config.value
        if path[length - 1] not in holder:
            return path[:length]
    return ()


def apply(draft: Draft, edits: list[Edit]) -> None:
    for edit in edits:
        match edit.kind:
            case "set":
                draft.set(edit.path, edit.value)
            case "append":
                draft.append(edit.path, edit.value)
            case "remove":
                draft.remove(edit.path, edit.value)


def undo(draft: Draft, edits: list[Edit]) -> None:
    """Undoes the edits, newest first. Anything that was added later is kept."""
    for edit in reversed(edits):
        match edit.kind:
            case "set":
                _undo_set(draft, edit)
            case "append":
                draft.remove(edit.path, edit.value)
                _drop_empty(draft, edit)
            case "remove":
                draft.append(edit.path, edit.value)


def _undo_set(draft: Draft, edit: Edit) -> None:
    if draft.tree.part(edit.path) is None and not edit.top:
        return  # it was removed by hand
    if not edit.top:
        draft.set(edit.path, edit.before)
        return
    # The plugin's entry is removed as a whole: its settings are useless without the plugin, and the backup has them.
    owned = edit.path[: max(len(ENTRY), len(edit.top))] if edit.path[: len(ENTRY)] == ENTRY else edit.path
    draft.delete(owned)
    _drop_empty(draft, edit)


def _drop_empty(draft: Draft, edit: Edit) -> None:
    """Removes the containers that the edit created, from the inside out, as long as they are empty."""
    if not edit.top:
        return
    for length in range(len(edit.path), len(edit.top) - 1, -1):
        if draft.tree.get(*edit.path[:length]) in ({}, []):
            draft.delete(edit.path[:length])
