"""Metrics files for tests: those of one machine, with a gateway that writes to them."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from toolguard_engine.metrics import database, registry
from toolguard_engine.metrics.registry import GatewayFacts
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.transactions import transaction


def write(path: Path, state_dir: Path, calls: Sequence[CallRecord] = (), verdicts: Sequence[VerdictRecord] = ()) -> str:
    """Adds rows as the engine of this state directory does; the name of its gateway."""
    facts = GatewayFacts(state_dir.name, str(state_dir), "", "", "", "", "enforce", 1)
    with closing(database.connect(path)) as connection:
        name = registry.claim(connection, facts, 1)
        with transaction(connection):
            record(connection, [call._replace(gateway=name) for call in calls])
            record_verdicts(connection, [verdict._replace(gateway=name) for verdict in verdicts])
    return name
