"""The changes of settings that the gateway itself is asked for: by its command line, its tools and messages to it.

What a text means is what the gateway makes of it: a value is JSON5 where it can be read as such, else a text; a patch takes
away what it sets to `null`, and its lists replace those that are there, unless their items have an `id`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Literal, NamedTuple

from toolguard_engine.effects.control_plane import command_line, gateway_settings, gateway_tools
from toolguard_engine.effects.control_plane.gateway_settings import Path
from toolguard_engine.effects.control_plane.setting_changes import NOT_KNOWN, UNSET, ChangedSetting, merged
from toolguard_engine.effects.control_plane.verb_catalogue import load
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.host import json5_text

MAX_EDITS = 200
_WHOLE = frozenset({"config.apply", "config.set"})
_ABOUT_SETTINGS = frozenset({"config set", "config unset", "config patch", "gateway call"})
_MERGES = frozenset({"--merge"})
_STEERING = frozenset({"action", "raw", "baseHash", "note", "sessionKey", "restartDelayMs", "timeoutMs", "replacePaths"})
_FORBIDDEN = frozenset({"__proto__", "prototype", "constructor"})


class SettingEdit(NamedTuple):
    """One change: a value at a path, `UNSET` to take it away; a patch of what is at a path; or a whole config."""

    kind: Literal["set", "patch", "whole"]
    path: Path
    value: Any
    by_id: bool = False
    """Whether lists of items with an `id` are merged."""

    replaced: frozenset[Path] = frozenset()
    """The lists of a patch that are replaced all the same."""


def of_words(words: tuple[str, ...], stdin: str | None) -> tuple[SettingEdit, ...] | None:
    """The changes that `openclaw` with these words makes; None if that is not known, or it makes none."""
    parsed = command_line.verb(words)
    if parsed is None or parsed[0] not in _ABOUT_SETTINGS:
        return None
    verb, rest = parsed
    if verb == "gateway call":
        return _called(rest)
    if verb == "config set" and (texts := command_line.values(rest, "--batch-json")):
        return _batch(texts[0]) if len(rest) == 2 else None  # noqa: PLR2004 - the option and its value
    plain = command_line.plain_words(rest, load())
    given = Counter(rest) - Counter(plain)
    special = frozenset(name for option in load().options if verb in option.verbs for name in option.names) | _MERGES
    if not load().plain.issuperset(given) or command_line.asks(rest, special, load()):
        return None
    if verb == "config patch":
        text = plain[0] if stdin is None and len(plain) == 1 else stdin if not plain else None
        return None if text is None else _patch(text, by_id=False)
    if len(plain) != (1 if verb == "config unset" else 2) or UNKNOWN in plain[0]:
        return None
    return _at(plain[0], UNSET if verb == "config unset" else value(plain[1], strict="--strict-json" in rest))


def of_tool(tool: str, params: dict[str, Any]) -> tuple[SettingEdit, ...] | None:
    """The changes that a call of one of the gateway's tools makes; None if that is not known, or it makes none."""
    action = params.get("action")
    if tool == "openclaw" and action is None:
        return _of_message(params.get("message"))
    if tool == "openclaw" and action == "config_set":
        path, given = params.get("path"), params.get("value")
        return _at(path, value(given) if isinstance(given, str) else given) if isinstance(path, str) else None
    raw = params.get("raw")
    if tool != "gateway" or not isinstance(raw, str) or not _STEERING.issuperset(params):
        return None
    if action in _WHOLE:
        parsed = _read(raw)
        return (SettingEdit("whole", (), parsed),) if isinstance(parsed, dict) else None
    replaced = params.get("replacePaths", [])
    if action != "config.patch" or not isinstance(replaced, list):
        return None
    return _patch(raw, by_id=True, replaced=frozenset(gateway_settings.names(str(name)) for name in replaced))


def _called(rest: tuple[str, ...]) -> tuple[SettingEdit, ...] | None:
    """The changes of `openclaw gateway call config.patch --params TEXT`."""
    texts = command_line.values(rest[1:], "--params")
    params = gateway_settings.parsed(texts[0]) if texts and len(rest) == 3 and UNKNOWN not in texts[0] else None  # noqa: PLR2004
    return of_tool("gateway", {**params, "action": rest[0]}) if isinstance(params, dict) else None


def _of_message(message: Any) -> tuple[SettingEdit, ...] | None:
    setting = gateway_tools.set_in_message(message)
    return _at(setting[0], value(setting[1])) if setting is not None else None


def value(text: str, *, strict: bool = False) -> Any:
    """What the gateway takes a word for."""
    if UNKNOWN in text:
        return NOT_KNOWN
    try:
        return json5_text.decoded(text.strip().encode())
    except (ValueError, RecursionError):
        return NOT_KNOWN if strict else text


def _read(text: str) -> Any:
    try:
        return json5_text.decoded(text.encode())
    except (ValueError, RecursionError):
        return None


def _at(path: str, given: Any) -> tuple[SettingEdit, ...] | None:
    names = gateway_settings.names(path)
    return (SettingEdit("set", names, given),) if names and _FORBIDDEN.isdisjoint(names) else None


def _batch(text: str) -> tuple[SettingEdit, ...] | None:
    items = _read(text)
    if not isinstance(items, list) or len(items) > MAX_EDITS:
        return None
    edits: list[SettingEdit] = []
    for item in items:
        if not isinstance(item, dict) or set(item) != {"path", "value"} or not isinstance(item["path"], str):
            return None
        edits += _at(item["path"], item["value"]) or ()
    return tuple(edits) if len(edits) == len(items) else None


def _patch(text: str, *, by_id: bool, replaced: frozenset[Path] = frozenset()) -> tuple[SettingEdit, ...] | None:
    parsed = _read(text) if UNKNOWN not in text else None
    return (SettingEdit("patch", (), parsed, by_id, replaced),) if isinstance(parsed, dict) else None


def applied(config: dict[str, Any], edits: Iterable[SettingEdit]) -> dict[str, Any] | None:
    """The config after these changes; None if that is not known."""
    for edit in edits:
        if edit.kind == "whole":
            config = edit.value
        elif edit.kind == "patch":
            config = _patched(config, edit.value, (), edit)
        else:
            config = deepcopy(config)
            if edit.value is NOT_KNOWN or not _set(config, edit.path, edit.value):
                return None
    return config


def unseen(edits: Iterable[SettingEdit]) -> tuple[ChangedSetting, ...] | None:
    """The settings that change, where the config is not known. None if others may change with them."""
    changes: list[ChangedSetting] = []
    for edit in edits:
        if edit.kind == "whole" or edit.replaced or (edit.kind == "set" and isinstance(edit.value, dict | list)):
            return None
        changes += (
            merged(edit.path, edit.value) if edit.kind == "patch" else [ChangedSetting(edit.path, NOT_KNOWN, edit.value)]
        )
    return tuple(changes)


def _set(config: Any, path: Path, given: Any) -> bool:
    *above, last = path
    for name in above:
        below = _below(config, name)
        if below is UNSET:
            if not isinstance(config, dict) or given is UNSET:
                return given is UNSET
            below = config[name] = {}
        config = below
    if isinstance(config, list):
        at = int(last) if last.isdecimal() else len(config)
        if given is UNSET:
            del config[at : at + 1]
        elif at < len(config):
            config[at] = given
        return given is UNSET or at < len(config)
    if not isinstance(config, dict):
        return False
    if given is UNSET:
        config.pop(last, None)
    else:
        config[last] = given
    return True


def _below(config: Any, name: str) -> Any:
    if isinstance(config, dict):
        return config.get(name, UNSET)
    if isinstance(config, list) and name.isdecimal() and int(name) < len(config):
        return config[int(name)]
    return UNSET


def _patched(base: Any, patch: Any, path: Path, edit: SettingEdit) -> Any:
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for name, given in patch.items():
        inner = (*path, name)
        if given is None:
            result.pop(name, None)
        elif isinstance(given, list) and edit.by_id and inner not in edit.replaced and _have_ids(result.get(name)):
            result[name] = _by_id(result[name], given, inner, edit)
        elif isinstance(given, dict):
            result[name] = _patched(result.get(name), given, inner, edit)
        else:
            result[name] = given
    return result


def _have_ids(items: Any) -> bool:
    return isinstance(items, list) and all(isinstance(item, dict) and _id(item) for item in items)


def _id(item: Any) -> str:
    item_id = item.get("id") if isinstance(item, dict) else None
    return item_id if isinstance(item_id, str) else ""


def _by_id(base: list[Any], patch: list[Any], path: Path, edit: SettingEdit) -> list[Any]:
    result = list(base)
    for item in patch:
        at = next((at for at, old in enumerate(result) if _id(old) == _id(item) != ""), None)
        if at is None:
            result.append(item)
        else:
            result[at] = _patched(result[at], item, path, edit)
    return result
