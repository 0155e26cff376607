"""Types of the doctor: a check's result, its subject, and a fix."""

from __future__ import annotations

import os
import pwd
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.setup.install_record import Record
from toolguard_cli.setup.plugin_entry import ENTRY
from toolguard_cli.system.paths import Places
from toolguard_engine.config import settings

UNREAD = "unknown: the config cannot be read"
FIX_CONFIG = "fix the config first"
RESTART = "openclaw gateway restart"

Status = Literal["ok", "warn", "error"]
Guards = Literal["yes", "installed", "unknown", "partly", "observes", "no"]
"""`observes`: calls are judged and logged, but none is held or blocked (mode `shadow`). `installed`: no gateway is running.
`unknown`: what the verdict needs could not be checked."""


@dataclass(frozen=True)
class Check:
    """`fix`: the next step for the user, if the status is not `ok`. `data`: the details for scripts; its `guards`, a value
    of `Guards`, is what the check means for the verdict."""

    id: str
    status: Status
    detail: str
    fix: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Fix:
    """A change that `doctor --fix` can make. `words`: what it does, in one line. `perform` returns a note for the user, or
    an empty string; it raises `UserError`, `StoreError` or `OSError`."""

    words: str
    perform: Callable[[], str]


@dataclass(frozen=True)
class DoctorSubject:
    """The installation to check. `config`: None if it cannot be read; `problem` then says why.

    `openclaw`: the command that runs OpenClaw; empty if there is none. `now`: seconds since 1970.
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
        section = self.get(*ENTRY)
        return section if isinstance(section, dict) else {}

    @property
    def user(self) -> int:
        """The user that the gateway most likely runs as: the owner of its state directory."""
        try:
            return self.places.state_dir.stat().st_uid
        except OSError:
            return os.geteuid()

    @property
    def is_anothers(self) -> bool:
        """Whether OpenClaw, started by this user, would leave files that the gateway's user cannot write."""
        return self.user != os.geteuid()

    def command(self, *words: str) -> str:
        return shlex.join(["toolguard", *words, *self.places.given])

    def set_command(self, name: str, value: str) -> str:
        return self.command("config", "set", name, value)


def account(user: int) -> str:
    """The user's name in the form that sudo accepts."""
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"


def owner_name(user: int) -> str:
    """The user's name in the form that chown accepts."""
    return account(user).removeprefix("#")


def unused(path: Path, between: str = "") -> Path:
    """This path, or the first unused one with a number appended."""
    names = (path.with_name(f"{path.name}{between}{number}") for number in range(1, 1000))
    return next(name for name in (path, *names) if not os.path.lexists(name))


def shown(path: Path) -> str:
    """The path, quoted for a shell command."""
    return shlex.quote(str(path))
