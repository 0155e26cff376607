"""How the agents stand, on disk: `<state dir>/toolguard/standings.db` (SQLite, WAL), shared by all engines and the command line."""

from __future__ import annotations

from pathlib import Path

from toolguard_engine.standing import Standing


class FileStandings:
    """Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def load(self) -> list[Standing]:
        """All that were touched lately."""
        return []

    def newer(self, standing: tuple[str, str], epoch: int) -> Standing | None:
        """What a person changed meanwhile: the standing of this agent and session where its epoch is another one."""
        return None

    def save(self, changed: dict[tuple[str, str], Standing]) -> None:
        """Writes these; one of which the epoch on disk is newer stays as it is there."""
