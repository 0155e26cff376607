"""What the checks look at: one config, and the gateway that it is for."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import msgspec

from toolguard_cli import configvars
from toolguard_cli.configtree import ConfigTree, Part, Steps
from toolguard_cli.paths import Places
from toolguard_cli.setup.entry import ENTRY
from toolguard_engine import config as settings

OWN: Steps = (*ENTRY, "config")
"""Where our settings lie in the whole config."""


@dataclass(frozen=True)
class Subject:
    """`env`: the variables that fill in `${VAR}`; the gateway may know others."""

    tree: ConfigTree
    places: Places
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)

    @cached_property
    def written(self) -> Any:
        """Our settings as they are written; None where there are none."""
        return self.tree.get(*OWN)

    @cached_property
    def own(self) -> Any:
        """Our settings as the engine gets them: variables filled in, and `3.0` is 3."""
        return configvars.whole_numbers(configvars.filled(self.written, self.env))

    @cached_property
    def settings(self) -> settings.Config | None:
        """None where they do not fit."""
        try:
            return settings.parse(self.own)
        except msgspec.ValidationError:
            return None

    def is_open(self, steps: Steps) -> bool:
        """Whether a variable in one of our settings is not set here, so that its value cannot be told."""
        return any(configvars.unset(value_at(self.written, steps), self.env))

    @property
    def installed(self) -> bool:
        return self.tree.part(ENTRY) is not None

    def setting(self, *steps: str) -> Any:
        """What counts for one of our settings: what is written, else its default, else None."""
        return first_of((self.own, DEFAULTS), steps)

    def mend(self, *words: str) -> str:
        """A command of toolguard for the gateway that is looked at."""
        return shlex.join(["toolguard", *words, *self.places.given])


DEFAULTS: dict[str, Any] = msgspec.to_builtins(settings.Config())


def first_of(values: tuple[Any, ...], steps: Steps) -> Any:
    """What the first of these has at this path; None where none has anything."""
    return next((found for value in values if (found := value_at(value, steps)) is not None), None)


def value_at(value: Any, steps: Steps) -> Any:
    """What lies at this path of a value; None where nothing does."""
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def parts(part: Part | None, steps: Steps = ()) -> Iterator[tuple[Steps, Part]]:
    """This part and all in it, each with its path."""
    if part is None:
        return
    yield steps, part
    if isinstance(part.content, dict):
        for key, inner in part.content.items():
            yield from parts(inner, (*steps, key))
    elif isinstance(part.content, list):
        for at, inner in enumerate(part.content):
            yield from parts(inner, (*steps, at))
