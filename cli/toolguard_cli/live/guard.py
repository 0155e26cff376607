"""The guard as this installation has it: the folder of its plugin and the interpreter of its engine.

The plugin is loaded from where it lies, so that owner, modes and links of the very files are judged by the gateway. Where
nothing is installed yet, it is what `toolguard install` would put there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from toolguard_cli import configtree, paths
from toolguard_cli.checks import discovery, engine
from toolguard_cli.checks.check import Subject
from toolguard_cli.errors import UserError
from toolguard_cli.paths import PLUGIN_ID, Places
from toolguard_cli.rig.home import Home
from toolguard_cli.setup import folder, record
from toolguard_cli.setup.record import Record
from toolguard_engine import __version__
from toolguard_engine.config import Config

T = TypeVar("T")

SETTINGS = {"alwaysBlock": ["exec"], "approvalWindowMs": 120_000, "approval": {"wake": False}}
"""What the canary needs beside the defaults: a tool that is held, time on a slow machine, and no call but its own."""


@dataclass(frozen=True)
class Guard:
    """`lies`: the plugin's folder, None where it is not installed. `named`: the Python of the settings, `recorded`: that of
    `install`, each empty where there is none. `python`: the one that counts, and how to `mend` it."""

    lies: Path | None
    named: str
    recorded: str
    python: str
    mend: str

    @property
    def plugins(self) -> dict[str, Any]:
        """For the throw-away config."""
        python = {"python": self.named} if self.named else {}
        load = {"load": {"paths": [str(self.lies)]}} if self.lies else {}
        return {**load, "entries": {PLUGIN_ID: {"enabled": True, "config": {**SETTINGS, **python}}}}

    def put_into(self, home: Home) -> Path:
        """The folder from which the gateway of this home loads the plugin."""
        places = places_of(home)
        if self.lies is None:
            folder.copy(paths.plugin_source(), places.extension, __version__)
        if self.recorded:
            lies = str(self.lies or places.extension)
            record.save(places.record, Record(__version__, self.recorded, "link", lies, str(places.config), "", []))
        return self.lies or places.extension


def find(places: Places, settings: Config) -> Guard:
    """The guard of these places. What is damaged there counts as missing: other checks report it."""
    known = _readable(lambda: record.load(places.record))
    subject = Subject(places, _readable(lambda: configtree.read(places.config)), known, settings=settings)
    lies = next(iter(discovery.locations(subject)), None)
    named = settings.python if settings.python is not msgspec.UNSET else ""
    if lies is None and not named and known is None:
        return Guard(None, "", sys.executable, sys.executable, engine.interpreter(subject)[1])
    python, mend = engine.interpreter(subject)
    return Guard(lies, named, known.python if known else "", python, mend)


def _readable(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except UserError:
        return None


def places_of(home: Home) -> Places:
    return Places(home.state_dir, home.config_path)
