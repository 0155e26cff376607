"""What a check is, and what it may look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from toolguard_cli.configtree import ConfigTree
from toolguard_cli.paths import Places
from toolguard_cli.setup.entry import ENTRY
from toolguard_cli.setup.record import Record
from toolguard_engine import config as settings

UNREAD = "cannot be told: the config cannot be read"

Status = Literal["ok", "warn", "error"]


@dataclass(frozen=True)
class Check:
    """`fix` is the next step where the status is not `ok`."""

    id: str
    status: Status
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Subject:
    """One installation to look at. `config` is None where it cannot be read; `problem` then says why.

    `openclaw`: the command that runs OpenClaw; empty where there is none.
    """

    places: Places
    config: ConfigTree | None
    record: Record | None
    problem: str = ""
    settings: settings.Config = field(default_factory=settings.Config)
    openclaw: tuple[str, ...] = ()

    def get(self, *steps: str) -> Any:
        return self.config.get(*steps) if self.config else None

    @property
    def entry(self) -> dict[str, Any]:
        found = self.get(*ENTRY)
        return found if isinstance(found, dict) else {}
