"""What the answers are made from: which dashboard is asked, when, and by whom."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from toolguard_cli.dashboard import reading
from toolguard_cli.dashboard.security import Door
from toolguard_cli.dashboard.settings import Settings
from toolguard_engine.metrics.shapes import Known

JSON = "application/json"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Memory:
    """What was found out while the server runs: the gateways that record or did, and how the own one is called."""

    known: list[Known] = field(default_factory=list)
    own: str = ""


@dataclass(frozen=True)
class Site:
    """What is the same for all requests. `started`: milliseconds since 1970; `series`, `base`: see `prometheus`."""

    settings: Settings
    door: Door
    started: int = field(default_factory=now_ms)
    series: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    base: dict[str, dict[tuple[object, ...], list[float]]] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)


@dataclass(frozen=True)
class Visit:
    """One request. `trusted`: it came with the token."""

    site: Site
    trusted: bool = False
    now: int = field(default_factory=now_ms)

    @property
    def settings(self) -> Settings:
        return self.site.settings

    @contextmanager
    def metrics(self) -> Iterator[sqlite3.Connection]:
        with reading.opened(self.settings.db) as connection:
            yield connection


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a request, those in its path too."""


@dataclass(frozen=True)
class Endpoint:
    """One path of the API. `work` runs in a thread; it is given a `Visit` and an `asks`, and gives an `answers`.
    `one_of`: members of the body of which exactly one is given."""

    method: Literal["GET", "POST"]
    path: str
    work: Callable[[Visit, Any], Any]
    asks: type[msgspec.Struct]
    answers: Any
    says: str
    kind: str = JSON
    one_of: tuple[str, ...] = ()
    refusals: tuple[int, ...] = ()
