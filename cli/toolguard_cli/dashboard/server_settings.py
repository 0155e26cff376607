"""The settings of one dashboard server."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolguard_cli.dashboard.vouched import Voucher
from toolguard_cli.system.paths import Places

BIND = "127.0.0.1"
PORT = 8080


@dataclass(frozen=True)
class DashboardSettings:
    """`db`: the metrics file, which need not exist. `places`: the gateway that is shown even if it records nothing.
    `hosts`: see `metrics.dashboard.hosts`.
    `owned`: ends with its standard input, so that it never outlives its parent process.
    `voucher`: set if a gateway runs it; the gateway has to prove that it holds the key of each gateway that is changed."""

    db: Path
    places: Places
    bind: str = BIND
    port: int = PORT
    hosts: tuple[str, ...] = ()
    owned: bool = False
    voucher: Voucher | None = None
