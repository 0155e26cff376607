"""The guard as installed here: the folder of its plugin and the interpreter of its engine.

The plugin is loaded from its own folder, so that the gateway checks the owner, modes and links of the actual files. If
nothing is installed yet, the proof uses what `toolguard install` would install.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.doctor.checks import discovery_check, engine_check
from toolguard_cli.hostconfig import config_tree
from toolguard_cli.rig.private_home import Home
from toolguard_cli.setup import install_record, plugin_folder
from toolguard_cli.setup.install_record import Record
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID, Places
from toolguard_engine import __version__
from toolguard_engine.config.settings import Config

T = TypeVar("T")

SETTINGS = {"alwaysBlock": ["exec"], "approvalWindowMs": 120_000, "approval": {"wake": False}}
"""What the proof needs besides the defaults: a tool that is held, time on slow machines, and no other calls."""


@dataclass(frozen=True)
class InstalledGuard:
    """`folder`: the plugin's, None if it is not installed. `named`: the Python of the settings, `recorded`: that of
    `install`, each empty if there is none. `python`: the one in force, and its `fix` if it does not work."""

    folder: Path | None
    named: str
    recorded: str
    python: str
    fix: str

    @property
    def plugins(self) -> dict[str, Any]:
        python = {"python": self.named} if self.named else {}
        load = {"load": {"paths": [str(self.folder)]}} if self.folder else {}
        return {**load, "entries": {PLUGIN_ID: {"enabled": True, "config": {**SETTINGS, **python}}}}

    def put_into(self, home: Home) -> Path:
        places = places_of(home)
        if self.folder is None:
            plugin_folder.copy(paths.plugin_source(), places.extension, __version__)
        if self.recorded:
            folder = str(self.folder or places.extension)
            install_record.save(
                places.record, Record(__version__, self.recorded, "link", folder, str(places.config), "", [])
            )
        return self.folder or places.extension


def find(places: Places, settings: Config) -> InstalledGuard:
    """The guard of these places. Damaged files count as missing; other checks report them."""
    known = _readable(lambda: install_record.load(places.record))
    subject = DoctorSubject(places, _readable(lambda: config_tree.read(places.config)), known, settings=settings)
    folder = next(iter(discovery_check.locations(subject)), None)
    named = settings.python if settings.python is not msgspec.UNSET else ""
    if folder is None and not named and known is None:
        return InstalledGuard(None, "", sys.executable, sys.executable, engine_check.interpreter(subject)[1])
    python, fix = engine_check.interpreter(subject)
    return InstalledGuard(folder, named, known.python if known else "", python, fix)


def _readable(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except UserError:
        return None


def places_of(home: Home) -> Places:
    return Places(home.state_dir, home.config_path)
