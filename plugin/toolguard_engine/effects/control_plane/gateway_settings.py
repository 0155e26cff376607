"""The effect of changing the gateway's settings: parses paths as the gateway does and finds the worst effect they cover."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, NamedTuple

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane.verb_catalogue import UNKNOWN_VERB, Setting, load
from toolguard_engine.effects.facts.command import UNKNOWN

_SEGMENT = lazy_re.compile(
    r"""\[\s*(?:"(?P<double>(?:\\.|[^"\\])*)"|'(?P<single>(?:\\.|[^'\\])*)'|(?P<bare>[^\]\[]*))\s*\]|(?P<plain>(?:\\.|[^.\[\]\\])+)"""
)
_ESCAPED = lazy_re.compile(r"\\(.)")
_MAX_PATH = 1_000
_MAX_NAMES = 30
_MAX_LEAVES = 500
_MAX_TEXT = 200_000
INCLUDE = "$include"
_ORDER = ("open", "settings", UNKNOWN_VERB, "destroy", "access", "secret", "run", "agent", "guard")
_GUARD_WORDS = lazy_re.compile(r"toolguard|(?<![\w-])plugins(?![\w-])", re.IGNORECASE)
_ESCAPES = lazy_re.compile(r"\\(?:u\{?([0-9a-fA-F]{1,6})\}?|x([0-9a-fA-F]{2}))")

Path = tuple[str, ...]


class SettingEffect(NamedTuple):
    """The effect of changing a setting. `certain` is false if the path is not known from the text alone."""

    effect: str
    path: str
    certain: bool = True


def names(path: str) -> Path:
    """The names of a path, as in `plugins.entries["toolguard"].enabled` or `agents.list[0].tools`."""
    if len(path) > _MAX_PATH:
        return (UNKNOWN,)
    segments = (next(text for text in match.groups() if text is not None) for match in _SEGMENT.finditer(path))
    return tuple(_ESCAPED.sub(r"\1", name).strip() for name in segments)[:_MAX_NAMES]


def change(path: Path, *, branch: bool = True) -> SettingEffect:
    """The effect of changing the value at a path. `branch`: everything below is replaced too."""
    return _change(path, branch) if sum(map(len, path)) <= _MAX_PATH else SettingEffect(UNKNOWN_VERB, "")


def change_to(path: Path, value: Any) -> SettingEffect:
    """The same where the value that it gets is known: a value, or its text as the command line takes it."""
    found = change(path)
    takes = found.effect in _GIVES and found.certain and _is_strict(path, value)
    return SettingEffect("open", found.path) if takes else found


_GIVES = ("access", "run", "settings")


def _is_strict(path: Path, value: Any) -> bool:
    if not isinstance(value, bool | str):
        return False
    text, lower = str(value).strip(" \"'").lower(), tuple(name.lower() for name in path)
    return any(str(each.value).lower() == text and _fit(Setting(each.path, ""), lower) == "covers" for each in load().strict)


@lru_cache(maxsize=1_000)
def _change(path: Path, branch: bool) -> SettingEffect:  # noqa: FBT001 - an argument of the cache
    shown = ".".join(path)
    lower = tuple(name.lower() for name in path)
    worst = ""
    for setting in load().settings_at(lower[0] if lower else ""):
        fits = _fit(setting, lower)
        if not fits or (fits == "below" and not branch):
            continue
        worst = worse(worst, setting.effect)
        if fits == "covers":
            break
    certain = not any(UNKNOWN in name for name in path)
    return SettingEffect(worst or UNKNOWN_VERB, shown, certain)


def _fit(setting: Setting, path: Path) -> str:
    """`covers` if the setting includes the whole path; `below` if it is under the path; else empty."""
    wanted = setting.path
    open_end = wanted[-1] == "**"
    wanted = wanted[:-1] if open_end else wanted
    if not all(_same(want, name) for want, name in zip(wanted, path, strict=False)):
        return ""
    if len(path) < len(wanted):
        return "below"
    return "covers" if open_end or len(path) == len(wanted) else ""


def _same(wanted: str, name: str) -> bool:
    return wanted in (name, "*") or UNKNOWN in name or ("*" in wanted and fnmatchcase(name, wanted))


def worse(one: str, other: str) -> str:
    """The more severe of two effects; an empty one counts as none."""
    return max(one, other, key=lambda effect: _ORDER.index(effect) if effect else -1)


def worst(changes: Iterable[SettingEffect]) -> SettingEffect | None:
    """The most severe change; of equal ones, a certain one."""
    listed = list(changes)
    return max(listed, key=lambda effect: (_ORDER.index(effect.effect), effect.certain)) if listed else None


def of_patch(text: str) -> SettingEffect:
    """The effect of merging a patch into the settings. One that cannot be parsed may mean anything."""
    value = parsed(text)
    return of_value(value) if isinstance(value, dict) else unread(text)


def of_value(value: dict[str, Any]) -> SettingEffect:
    """The same for a patch that is already parsed."""
    effect = worst(change_to(path, part) for path, part in _leaves(value)) if value else None
    if effect and effect.effect != "guard" and chooses_unguarded_model(value):
        return SettingEffect("agent", effect.path)
    return effect or SettingEffect("open", "")


def unread(text: str) -> SettingEffect:
    """A text that cannot be parsed as the gateway does. It is certain only if it mentions plugins."""
    named = _GUARD_WORDS.search(_unescaped(text[:_MAX_TEXT]))
    return SettingEffect("guard", "", certain=named is not None)


def parsed(text: str) -> Any:
    """The value of a JSON text; None if it is invalid, or if names could be hidden in it."""
    if len(text) > _MAX_TEXT:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _leaves(value: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """The paths and values of everything a patch sets. An include may set anything below its path."""
    waiting: list[tuple[Path, Any]] = [((), value)]
    count = 0
    while waiting:
        path, item = waiting.pop()
        count += 1
        if count > _MAX_LEAVES or len(path) > _MAX_NAMES:
            yield (), None
            return
        if not isinstance(item, dict) or not item or INCLUDE in item:
            yield path, item
        else:
            waiting += [((*path, str(name)), part) for name, part in item.items()]


def _unescaped(text: str) -> str:
    return _ESCAPES.sub(lambda match: chr(min(int(match[1] or match[2], 16), 0x10FFFF)), text).replace("\\", "")


def is_shown_secret(path: Path) -> bool:
    """Whether showing this setting reveals a secret."""
    lower = tuple(name.lower() for name in path)
    if not lower:
        return False
    if lower[-1].replace("_", "").replace("-", "") in load().secret_names:
        return True
    return any(_fit(Setting(tuple(name.lower() for name in wanted), ""), lower) == "covers" for wanted in load().shown_paths)


def names_unguarded_model(value: str) -> bool:
    """Whether this names a model whose own program runs the tools."""
    lower = _unescaped(value[:_MAX_TEXT]).lower()
    return any(f"{before}{name}" in f" {lower}" for name in load().unguarded_models for before in " \"'")


def chooses_unguarded_model(value: Any) -> bool:
    """The same for a nested value. One that is too large to search counts as such."""
    waiting = [value]
    count = 0
    while waiting:
        item = waiting.pop()
        count += 1
        if count > _MAX_LEAVES:
            return True
        if isinstance(item, str) and names_unguarded_model(item):
            return True
        waiting += item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return False
