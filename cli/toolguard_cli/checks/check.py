"""What a check is, what it may look at, and what a repair is."""

from __future__ import annotations

import os
import pwd
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from toolguard_cli.configtree import ConfigTree
from toolguard_cli.paths import Places
from toolguard_cli.setup.entry import ENTRY
from toolguard_cli.setup.record import Record
from toolguard_engine import config as settings

UNREAD = "cannot be told: the config cannot be read"
MEND_CONFIG = "mend the config first"
RESTART = "openclaw gateway restart"

Status = Literal["ok", "warn", "error"]


@dataclass(frozen=True)
class Check:
    """`fix` is the next step where the status is not `ok`; `data` is what a script may want of the detail."""

    id: str
    status: Status
    detail: str
    fix: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Step:
    """One repair: `words` say in one line what it does. `perform` answers what else a person should know, or nothing; it
    raises `UserError`, `StoreError` or `OSError`."""

    words: str
    perform: Callable[[], str]


@dataclass(frozen=True)
class Subject:
    """One installation to look at. `config` is None where it cannot be read; `problem` then says why.

    `openclaw`: the command that runs OpenClaw; empty where there is none. `now`: seconds since 1970.
    """

    places: Places
    config: ConfigTree | None
    record: Record | None
    problem: str = ""
    settings: settings.Config = field(default_factory=settings.Config)
    openclaw: tuple[str, ...] = ()
    now: float = field(default_factory=time.time)
    env: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def get(self, *steps: str) -> Any:
        return self.config.get(*steps) if self.config else None

    @property
    def entry(self) -> dict[str, Any]:
        found = self.get(*ENTRY)
        return found if isinstance(found, dict) else {}

    @property
    def user(self) -> int:
        """Who the gateway most likely runs as: the owner of its state directory."""
        try:
            return self.places.state_dir.stat().st_uid
        except OSError:
            return os.geteuid()

    @property
    def is_anothers(self) -> bool:
        """Whether OpenClaw, started by this user, would leave files that the gateway's user cannot write."""
        return self.user != os.geteuid()

    def command(self, *words: str) -> str:
        """A command of toolguard on this installation, for a person to run."""
        return shlex.join(["toolguard", *words, *self.places.given])

    def set_command(self, name: str, value: str) -> str:
        """The command that changes one of the plugin's settings."""
        return self.command("config", "set", name, value)


def account(user: int) -> str:
    """As sudo takes it."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"


def shown(path: Path) -> str:
    """For the shell, where a fix names it."""
    return shlex.quote(str(path))
