"""The gateways that the dashboard knows: those that record, and the one that it was started for.

The law: one that was known stays known, under its name, while its state directory is there. What happens to the metrics file
takes no held call out of sight.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from toolguard_cli import stores
from toolguard_cli.dashboard.problems import Wrong
from toolguard_cli.dashboard.visit import Visit
from toolguard_cli.paths import Places
from toolguard_engine import answers
from toolguard_engine.metrics import queries
from toolguard_engine.metrics.database import MetricsError
from toolguard_engine.metrics.shapes import Known
from toolguard_engine.stores import engines, key
from toolguard_engine.stores.nonces import FileNonces

MAX_GATEWAYS = 50
MAX_ID = 200
MAX_TOLD = 60
MAX_PATH = 4_096
"""A path of this length is one that was cut."""
UNNAMED = "gateway"


@dataclass(frozen=True)
class Watched:
    """One gateway of this machine. `known`: what it wrote about itself; None where it does not record."""

    id: str
    places: Places
    known: Known | None = None

    def book(self) -> FileNonces:
        """Its held calls. Raises `UserError`."""
        if self.known is None or not _is_path(self.known.nonces):
            return stores.nonces(self.places)
        return FileNonces(self.places.state_dir, Path(self.known.nonces))


def watched(visit: Visit) -> tuple[list[Watched], list[str]]:
    """All of them, and in words what is wrong with the metrics file."""
    own, memory = visit.settings.places, visit.site.memory
    known, problems = _known(visit)
    found = [Watched(each.id, own if _same(Path(each.state_dir), own.state_dir) else _places(each), each) for each in known]
    if any(each.places is own for each in found):
        return found, problems
    memory.own = _free_name(memory.own or _own_name(own), {each.id for each in found})
    return [*found, Watched(memory.own, own)], problems


def _known(visit: Visit) -> tuple[list[Known], list[str]]:
    """Those that record now, and those that did before."""
    memory = visit.site.memory
    try:
        with visit.metrics() as db:
            told = [each for each in queries.known(db) if _is_path(each.state_dir) and 0 < len(each.id) <= MAX_ID]
    except MetricsError as error:
        return memory.known, [answers.plain(str(error))]
    told, places, names = told[:MAX_GATEWAYS], {each.state_dir for each in told}, {each.id for each in told}
    lost = []
    for each in memory.known:
        if each.state_dir not in places and os.path.isdir(each.state_dir):  # noqa: PTH112 - this one never raises
            lost.append(structs.replace(each, id=_free_name(each.id, names)))
            names.add(lost[-1].id)
    memory.known = [*told, *lost][: 2 * MAX_GATEWAYS]
    said = ", ".join(answers.cut(each.id, MAX_TOLD) for each in lost)
    gone = f"{visit.settings.db} tells no more of {said}; the held calls are shown as before"
    return memory.known, [answers.plain(gone)] if lost else []


def named(visit: Visit, name: str) -> Watched:
    """The gateway that something is to be done at. Raises `Wrong`."""
    for each in watched(visit)[0]:
        if each.id == name:
            _refuse_unproven(visit, each)
            return each
    raise Wrong(404, "gateway", "no gateway of that name is known", "/api/state names those that are")


def _refuse_unproven(visit: Visit, each: Watched) -> None:
    """Whoever starts a server names the metrics file, and that names the gateways."""
    voucher = visit.settings.voucher
    if voucher and os.path.isdir(each.places.state_dir) and not voucher.speaks_for(each.places):  # noqa: PTH112 - as above
        message = f"the gateway that runs this dashboard cannot read {key.path(each.places.state_dir)}"
        raise Wrong(403, "key", message, "decide with the toolguard command instead")


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
    """As its engine calls it, where one has run."""
    running = engines.running(places.state_dir)
    info = running[0] if running else engines.last(places.state_dir)
    return answers.cut(info.gateway if info else "", MAX_ID - 8) or UNNAMED


def _free_name(name: str, taken: set[str]) -> str:
    return next(each for each in (name, *(f"{name}-{number}" for number in range(2, 1_000))) if each not in taken)
