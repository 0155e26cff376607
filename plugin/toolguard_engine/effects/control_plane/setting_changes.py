"""Which settings differ between two configs, and what each difference does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from toolguard_engine.effects.control_plane import gateway_settings
from toolguard_engine.effects.control_plane.gateway_settings import INCLUDE, Path, SettingEffect
from toolguard_engine.host import setting_schemas

MAX_CHANGES = 200
"""Differences of one change; a change with more of them counts as one of everything."""

MAX_SHOWN = 60
MAX_DEPTH = 30


class Unset:
    """No value."""


class NotKnown:
    """A value that the call does not show."""


UNSET: Final = Unset()
NOT_KNOWN: Final = NotKnown()


class ChangedSetting(NamedTuple):
    """A setting that gets another value; both may be `UNSET` or `NOT_KNOWN`."""

    path: Path
    old: Any = NOT_KNOWN
    new: Any = NOT_KNOWN

    @property
    def effect(self) -> SettingEffect:
        """What the change does. Everything below its path may change with it."""
        path = self.path[:-1] if self.path[-1:] == (INCLUDE,) else self.path
        other_effect = gateway_settings.change_to(path, self.new)
        chooses = self.new is NOT_KNOWN or gateway_settings.chooses_unguarded_model(self.new)
        if other_effect.effect not in ("guard", "agent") and chooses and (self.new is not NOT_KNOWN or _is_model(path)):
            return SettingEffect("agent", other_effect.path)
        return other_effect

    def refusal(self, release: str) -> str:
        """Why the gateway would refuse it; empty if it may accept it, or nothing is known of the release."""
        if self.new is UNSET or self.new is NOT_KNOWN:
            return ""
        return setting_schemas.refusal(release, self.path, self.new)

    @property
    def shown(self) -> str:
        """`gateway.port: 18789 -> 18790`, without secrets."""
        name = ".".join(self.path) or "everything"
        if gateway_settings.is_shown_secret(self.path):
            return f"{name}: (a secret)"
        return f"{name}: {_shown(self.old)} -> {_shown(self.new)}"


def _is_model(path: Path) -> bool:
    return any("model" in name.lower() or name.lower() == "fallbacks" for name in path)


def _shown(value: Any) -> str:
    if value is UNSET or value is NOT_KNOWN:
        return "unset" if value is UNSET else "?"
    if isinstance(value, dict | list):
        return "{...}" if isinstance(value, dict) else "[...]"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."


def differences(old: Any, new: Any) -> tuple[ChangedSetting, ...]:
    """The settings that differ, each by the longest path that both configs have."""
    changes: list[ChangedSetting] = []
    for difference in _differences(old, new, ()):
        changes.append(difference)
        if len(changes) > MAX_CHANGES:
            return (ChangedSetting(()),)
    return tuple(changes)


def _differences(old: Any, new: Any, path: Path) -> Iterator[ChangedSetting]:
    if type(old) is type(new) and old == new:  # by the type as well: to Python, 1 and True are equal
        return
    if len(path) < MAX_DEPTH:
        if isinstance(old, dict) and isinstance(new, dict):
            for name in [*old, *(name for name in new if name not in old)]:
                yield from _differences(old.get(name, UNSET), new.get(name, UNSET), (*path, name))
            return
        if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            for at, (one, other) in enumerate(zip(old, new, strict=True)):
                yield from _differences(one, other, (*path, str(at)))
            return
        # An object that comes or goes as a whole is compared by its members, so that a rule about one of them sees it.
        if isinstance(new, dict) and new and old is UNSET:
            for name, value in new.items():
                yield from _differences(UNSET, value, (*path, name))
            return
        if isinstance(old, dict) and old and new is UNSET:
            for name, value in old.items():
                yield from _differences(value, UNSET, (*path, name))
            return
    yield ChangedSetting(path, old, new)


def compared(changes: Iterable[ChangedSetting], config: dict[str, Any] | None) -> tuple[ChangedSetting, ...]:
    """The changes with what was there before, and only where that differs. `config`: None if it is not known."""
    differences: list[ChangedSetting] = []
    for change in changes:
        old = _value_at(config, change.path) if config is not None else NOT_KNOWN
        if old is NOT_KNOWN or change.new is NOT_KNOWN:
            differences.append(change._replace(old=old))
        else:
            differences += _differences(old, change.new, change.path)
    return tuple(differences) if len(differences) <= MAX_CHANGES else (ChangedSetting(()),)


def _value_at(config: Any, path: Path) -> Any:
    for name in path:
        if isinstance(config, list) and name.isdecimal() and int(name) < len(config):
            config = config[int(name)]
        elif isinstance(config, dict):
            config = config.get(name, UNSET)
        else:
            return UNSET if config is UNSET else NOT_KNOWN
    return config


def merged(path: Path, value: Any) -> Iterator[ChangedSetting]:
    """The settings that are replaced if a value is merged into what is at a path."""
    if isinstance(value, dict) and value and len(path) < MAX_DEPTH:
        for name, part in value.items():
            yield from merged((*path, str(name)), part)
    else:
        yield ChangedSetting(path, NOT_KNOWN, value)


def guards(changes: Iterable[ChangedSetting]) -> list[ChangedSetting]:
    """Those that are about the guard itself."""
    return [change for change in changes if change.effect.effect == "guard"]
