"""What the tests about answer links share: a gateway that has them switched on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolguard_cli.system.paths import Places

HOST = "box.tail1.ts.net"


def enable(places: Places, *, hosts: tuple[str, ...] = (HOST,), links: bool = True, **approval: Any) -> None:
    dashboard = {"dashboard": {"hosts": list(hosts)}}
    settings = {"metrics": dashboard, "approval": {"answerLinks": links, **approval}}
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"config": settings}}}}))


def gateway(folder: Path) -> Places:
    places = Places(folder, folder / "openclaw.json")
    places.own.mkdir(parents=True, exist_ok=True)
    enable(places)
    return places
