"""PostgreSQL servers with the template of a fleet's database. One is set up; the others begin as copies of its files."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from typing import Self

from fleet_database import make_template
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres

UNSYNCED = {"fsync": "off", "full_page_writes": "off"}


class SharedPostgres(TemporaryPostgres):
    """It syncs nothing to the disk: tests that stop a server or slow it down have an `OwnPostgres`, which does."""

    def __init__(self) -> None:
        super().__init__(UNSYNCED)
        self.seed = self.folder / "seed"

    def __enter__(self) -> Self:
        super().__enter__()
        try:
            make_template(self)
            self.stop()
            _copy(self, self.data, self.seed)
            self.start()
        except BaseException:
            self.remove()
            raise
        return self


class OwnPostgres(TemporaryPostgres):
    """With the template; all else as a new server."""

    def __init__(self, shared: SharedPostgres, settings: Mapping[str, str] | None = None) -> None:
        self._seed = shared.seed
        super().__init__(settings)

    def _create(self) -> None:
        try:
            _copy(self, self._seed, self.data)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise


def _copy(server: TemporaryPostgres, source: object, target: object) -> None:
    """As the user of the server: its files belong to that user."""
    subprocess.run(["/bin/cp", "-R", "-p", str(source), str(target)], check=True, cwd="/", **server._as_user)
