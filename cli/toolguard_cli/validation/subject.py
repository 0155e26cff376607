"""The subject of the checks: a config and the gateway that it is for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from toolguard_cli.hostconfig import env_vars
from toolguard_cli.hostconfig.config_tree import ConfigTree, Part, Steps
from toolguard_cli.setup.plugin_entry import ENTRY
from toolguard_cli.system.paths import Places
from toolguard_engine.config import settings

OWN: Steps = (*ENTRY, "config")
"""The path of toolguard's settings in the config."""


@dataclass(frozen=True)
class ConfigSubject:
    """`env`: the variables for `${VAR}`; the gateway may have others."""

    tree: ConfigTree
    places: Places
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @cached_property
    def written(self) -> Any:
        return self.tree.get(*OWN)

    @cached_property
    def own(self) -> Any:
        """Toolguard's settings as the engine receives them: with variables substituted, and `3.0` as 3."""
        return env_vars.whole_numbers(env_vars.filled(self.written, self.env))

    @cached_property
    def settings(self) -> settings.Config | None:
        try:
            return settings.parse(self.own)
        except msgspec.ValidationError:
            return None

    def is_open(self, steps: Steps) -> bool:
        """Whether a setting contains a variable that is not set here, so that its value is unknown."""
        return any(env_vars.unset(value_at(self.written, steps), self.env))

    @property
    def installed(self) -> bool:
        return self.tree.part(ENTRY) is not None

    def setting(self, *steps: str) -> Any:
        """The effective value of a setting: as written, else its default, else None."""
        return first_of((self.own, DEFAULTS), steps)

    def command(self, *words: str) -> str:
        return shlex.join(["toolguard", *words, *self.places.given])


DEFAULTS: dict[str, Any] = msgspec.to_builtins(settings.Config())


def first_of(values: tuple[Any, ...], steps: Steps) -> Any:
    return next((item for value in values if (item := value_at(value, steps)) is not None), None)


def value_at(value: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def parts(part: Part | None, steps: Steps = ()) -> Iterator[tuple[Steps, Part]]:
    if part is None:
        return
    yield steps, part
    if isinstance(part.content, dict):
        for key, inner in part.content.items():
            yield from parts(inner, (*steps, key))
    elif isinstance(part.content, list):
        for at, inner in enumerate(part.content):
            yield from parts(inner, (*steps, at))
