"""The settings of a fleet dashboard: options of the command line, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

BIND, PORT = "127.0.0.1", 8090
USER_HEADER = "x-forwarded-user"


@dataclass(frozen=True)
class PageSettings:
    """`socket`: listen there instead of at `bind` and `port`, for a reverse proxy; `group` may connect too. `hosts`: the
    public origins. `user_header`: in which the proxy names the person, over the socket only."""

    dsn: str
    bind: str = BIND
    port: int = PORT
    socket: Path | None = None
    group: str = ""
    hosts: tuple[str, ...] = ()
    user_header: str = USER_HEADER
