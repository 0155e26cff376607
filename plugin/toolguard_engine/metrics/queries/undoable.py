"""Recorded decisions, with what is true by now of calls that can be undone."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from toolguard_engine.metrics.queries.gateway_totals import known
from toolguard_engine.metrics.result_types import DecisionRow, Timeline, TimelineEvent
from toolguard_engine.stores.undo import undo_notes


def decisions(connection: sqlite3.Connection, rows: list[DecisionRow]) -> list[DecisionRow]:
    """The same rows. What says that a call can be undone says so only while it can."""
    if not any(row.code in undo_notes.CODES for row in rows):
        return rows
    state_dirs = _state_dirs(connection)
    return [_current(row, state_dirs) for row in rows]


def timeline(connection: sqlite3.Connection, report: Timeline) -> Timeline:
    """The same events, with such rows."""
    if not any(event.decision and event.decision.code in undo_notes.CODES for event in report.events):
        return report
    state_dirs = _state_dirs(connection)
    return structs.replace(report, events=[_event(event, state_dirs) for event in report.events])


def _state_dirs(connection: sqlite3.Connection) -> dict[str, Path]:
    """The state directory of each gateway."""
    return {gateway.id: Path(gateway.state_dir) for gateway in known(connection) if gateway.state_dir.startswith("/")}


def _event(event: TimelineEvent, state_dirs: Mapping[str, Path]) -> TimelineEvent:
    return structs.replace(event, decision=_current(event.decision, state_dirs)) if event.decision else event


def _current(row: DecisionRow, state_dirs: Mapping[str, Path]) -> DecisionRow:
    state_dir = state_dirs.get(row.gateway) if row.code in undo_notes.CODES else None
    if state_dir is None:
        return row
    return structs.replace(row, reason=undo_notes.current(state_dir, row.code, row.reason))
