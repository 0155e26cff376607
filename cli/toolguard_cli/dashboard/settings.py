"""What one dashboard serves, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolguard_cli.dashboard.vouched import Voucher
from toolguard_cli.paths import Places

BIND = "127.0.0.1"
PORT = 8080


@dataclass(frozen=True)
class Settings:
    """`db`: the metrics file; it does not have to be there. `places`: the gateway that is shown even if it records nothing.
    `owned`: it ends when its standard input does, so that it never outlives who started it.
    `voucher`: a gateway holds it, and has to prove at each gateway whose settings or calls are decided on that it may."""

    db: Path
    places: Places
    bind: str = BIND
    port: int = PORT
    owned: bool = False
    voucher: Voucher | None = None
