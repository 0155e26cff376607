"""The gateways that the dashboard knows: those that record, and the one that it was started for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from toolguard_cli import stores
from toolguard_cli.dashboard.problems import Wrong
from toolguard_cli.dashboard.visit import Visit
from toolguard_cli.paths import Places
from toolguard_engine import answers
from toolguard_engine.metrics import queries
from toolguard_engine.metrics.database import MetricsError
from toolguard_engine.metrics.shapes import Known
from toolguard_engine.stores import engines
from toolguard_engine.stores.nonces import FileNonces

MAX_GATEWAYS = 50
MAX_ID = 200
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


def watched(visit: Visit) -> list[Watched]:
    """Raises `MetricsError`."""
    with visit.metrics() as db:
        known = [each for each in queries.known(db) if _is_path(each.state_dir) and 0 < len(each.id) <= MAX_ID]
    found = [Watched(each.id, _places(each), each) for each in known[:MAX_GATEWAYS]]
    own = visit.settings.places
    if any(_same(each.places.state_dir, own.state_dir) for each in found):
        return found
    return [*found, Watched(_free_name(own, {each.id for each in found}), own)]


def lenient(visit: Visit) -> tuple[list[Watched], list[str]]:
    """The same where the metrics file cannot be read: then the one it was started for, and what is wrong."""
    try:
        return watched(visit), []
    except MetricsError as error:
        own = visit.settings.places
        return [Watched(_free_name(own, set()), own)], [answers.plain(str(error))]


def named(visit: Visit, name: str) -> Watched:
    """Raises `Wrong`."""
    for each in lenient(visit)[0]:
        if each.id == name:
            return each
    raise Wrong(404, "gateway", "no gateway of that name is known", "/api/state names those that are")


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


def _free_name(places: Places, taken: set[str]) -> str:
    """As its engine calls it, where one has run; unlike all that are taken."""
    running = engines.running(places.state_dir)
    info = running[0] if running else engines.last(places.state_dir)
    name = answers.cut(info.gateway if info else "", MAX_ID - 8) or UNNAMED
    return next(each for each in (name, *(f"{name}-{number}" for number in range(2, 1_000))) if each not in taken)
