"""The context of a request: the dashboard, the time, and whether the token was given."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_type_hints

import msgspec

from toolguard_cli.dashboard import metrics_file
from toolguard_cli.dashboard.link_pages import LinkPages
from toolguard_cli.dashboard.security import AccessPolicy
from toolguard_cli.dashboard.server_settings import DashboardSettings
from toolguard_cli.person.peers import Connection
from toolguard_engine.metrics.database import Connection as Database
from toolguard_engine.metrics.result_types import Known

JSON = "application/json"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Memory:
    """State kept while the server runs: the gateways that record or did, the name of the own one, pages of answer links."""

    known: list[Known] = field(default_factory=list)
    own: str = ""
    pages: LinkPages = field(default_factory=LinkPages)


@dataclass(frozen=True)
class Site:
    """State shared by all requests. `started`: milliseconds since 1970; `series`, `base`: see `prometheus`."""

    settings: DashboardSettings
    door: AccessPolicy
    started: int = field(default_factory=now_ms)
    series: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)
    base: dict[str, dict[tuple[object, ...], list[float]]] = field(default_factory=dict)
    memory: Memory = field(default_factory=Memory)


@dataclass(frozen=True)
class RequestContext:
    """One request. `trusted`: it came with the token; `client`: the connection that it came on, if that is known."""

    site: Site
    trusted: bool = False
    client: Connection | None = None
    now: int = field(default_factory=now_ms)

    @property
    def settings(self) -> DashboardSettings:
        return self.site.settings

    @contextmanager
    def metrics(self) -> Iterator[Database]:
        with metrics_file.opened(self.settings.db) as connection:
            yield connection


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The parameters of a request, those in its path too."""


@dataclass(frozen=True)
class Endpoint:
    """One path of an API. `work` gets the context of the request and runs in a thread; the types of its parameter `asked`
    and of its result are those of the request and of the answer. `one_of`: members of the body of which exactly one is
    required. `linked`: an answer link takes the place of the token."""

    method: Literal["GET", "POST"]
    path: str
    work: Callable[[Any, Any], Any]
    summary: str
    kind: str = JSON
    one_of: tuple[str, ...] = ()
    refusals: tuple[int, ...] = ()
    linked: bool = False

    @cached_property
    def asks(self) -> type[msgspec.Struct]:
        struct: type[msgspec.Struct] = get_type_hints(self.work)["asked"]
        return struct

    @cached_property
    def answers(self) -> Any:
        return get_type_hints(self.work)["return"] if self.kind == JSON else str
