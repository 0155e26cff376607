"""The agents' standings that the fleet shows: the latest ones, sent again only when they changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolguard_engine.approvals.standing import Standing
from toolguard_engine.metrics.bounds import clean
from toolguard_engine.stores import open as stores

MOST = 500
Row = dict[str, Any]


class StandingCopies:
    """Those of one state directory. Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._sent: dict[tuple[str, str], Row] = {}

    def changed(self) -> list[Row]:
        """The latest standings that differ from what was sent."""
        store = stores.standings(self._state_dir, patient=True)
        try:
            rows = [_row(standing) for standing in store.look()[:MOST]]
        finally:
            store.close()
        return [row for row in rows if self._sent.get(_key(row)) != row]

    def sent(self, rows: list[Row]) -> None:
        if len(self._sent) > 4 * MOST:
            self._sent.clear()
        self._sent.update((_key(row), row) for row in rows)


def _row(standing: Standing) -> Row:
    return {
        "agent": clean(standing.agent),
        "session": clean(standing.session),
        "trust": standing.trust,
        "spent": standing.spent,
        "warnings": standing.seen.warnings,
        "checkpoints": standing.epoch,
        "touched": int(standing.touched * 1000),
    }


def _key(row: Row) -> tuple[str, str]:
    return row["agent"], row["session"]
