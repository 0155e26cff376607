"""The gateways that the dashboard knows: those that record metrics, and the one that it was started for.

Invariant: a known gateway stays known, under its name, while its state directory exists. Nothing that happens to the metrics
file hides a held call.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import RequestContext
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.system.paths import Places
from toolguard_engine.metrics import queries
from toolguard_engine.metrics.database import MetricsError
from toolguard_engine.metrics.result_types import Known
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.stores.state_files import FLEET_NEWS
from toolguard_engine.wording import printable

MAX_GATEWAYS = 50
MAX_ID = 200
MAX_SHOWN_ID = 60
MAX_PATH = 4_096
"""A path of this length was truncated."""
UNNAMED = "gateway"


@dataclass(frozen=True)
class WatchedGateway:
    """One gateway of this machine. `known`: its entry in the metrics file; None if it records nothing."""

    id: str
    places: Places
    known: Known | None = None

    def ledger(self) -> HeldCallStore:
        """Its held calls. Raises `UserError`."""
        if self.known is None or not _is_path(self.known.nonces) or self.known.nonces.endswith(f"/{FLEET_NEWS}"):
            return gateway_stores.nonces(self.places)
        return stores.held_calls(self.places.state_dir, Path(self.known.nonces))


def watched(visit: RequestContext) -> tuple[list[WatchedGateway], list[str]]:
    """All known gateways, and the problems with the metrics file."""
    own, memory = visit.settings.places, visit.site.memory
    known, problems = _known(visit)
    gateways = [
        WatchedGateway(gateway.id, own if _same(Path(gateway.state_dir), own.state_dir) else _places(gateway), gateway)
        for gateway in known
    ]
    if any(gateway.places is own for gateway in gateways):
        return gateways, problems
    memory.own = _free_name(memory.own or _own_name(own), {gateway.id for gateway in gateways})
    return [*gateways, WatchedGateway(memory.own, own)], problems


def _known(visit: RequestContext) -> tuple[list[Known], list[str]]:
    memory = visit.site.memory
    try:
        with visit.metrics() as db:
            recorded = [known for known in queries.known(db) if _is_path(known.state_dir) and 0 < len(known.id) <= MAX_ID]
    except MetricsError as error:
        return memory.known, [printable.plain(str(error))]
    recorded, places, names = (
        recorded[:MAX_GATEWAYS],
        {known.state_dir for known in recorded},
        {known.id for known in recorded},
    )
    lost = []
    for gateway in memory.known:
        if gateway.state_dir not in places and os.path.isdir(gateway.state_dir):  # noqa: PTH112 - this one never raises
            lost.append(structs.replace(gateway, id=_free_name(gateway.id, names)))
            names.add(lost[-1].id)
    memory.known = [*recorded, *lost][: 2 * MAX_GATEWAYS]
    missing = ", ".join(printable.cut(known.id, MAX_SHOWN_ID) for known in lost)
    gone = f"{visit.settings.db} no longer contains {missing}; held calls are still shown"
    return memory.known, [printable.plain(gone)] if lost else []


def named(visit: RequestContext, name: str) -> WatchedGateway:
    """The gateway to act on. Raises `ApiError`."""
    for gateway in watched(visit)[0]:
        if gateway.id == name:
            _refuse_unproven(visit, gateway)
            return gateway
    raise ApiError(404, "gateway", "no gateway has that name", "/api/state lists the known ones")


def _refuse_unproven(visit: RequestContext, gateway: WatchedGateway) -> None:
    """Any process can start a server with a metrics file that names other gateways: their keys have to be proven."""
    voucher = visit.settings.voucher
    if voucher and os.path.isdir(gateway.places.state_dir) and not voucher.speaks_for(gateway.places):  # noqa: PTH112 - as above
        message = f"the gateway that runs this dashboard cannot read {stores.signing_key(gateway.places.state_dir).path}"
        raise ApiError(403, "key", message, "decide with the toolguard command instead")


def _places(known: Known) -> Places:
    state_dir = Path(known.state_dir)
    config = known.config_path
    return Places(state_dir, Path(config) if _is_path(config) else state_dir / "openclaw.json")


def _is_path(text: str) -> bool:
    return text.startswith("/") and len(text) < MAX_PATH and "\0" not in text


def _same(one: Path, other: Path) -> bool:
    try:
        return one == other or one.resolve() == other.resolve()
    except (OSError, RuntimeError):
        return False


def _own_name(places: Places) -> str:
    """The name that its engine uses, if one has run."""
    running = stores.engines(places.state_dir).running()
    info = running[0] if running else stores.engines(places.state_dir).last()
    return printable.cut(info.gateway if info else "", MAX_ID - 8) or UNNAMED


def _free_name(name: str, taken: set[str]) -> str:
    return next(
        candidate for candidate in (name, *(f"{name}-{number}" for number in range(2, 1_000))) if candidate not in taken
    )
