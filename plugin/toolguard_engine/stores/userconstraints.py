"""The person's constraints: the tables `[[constraint]]` of `<state dir>/toolguard/policy.toml`."""

from __future__ import annotations

from pathlib import Path

from toolguard_engine.layers.constraints import Constraint


class UserConstraints:
    """Those of one state directory. The file is read again when it was changed."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir

    def constraints(self) -> tuple[Constraint, ...]:
        """In the order of the file; the same tuple while nothing changes. Raises `StoreError`."""
        return ()
