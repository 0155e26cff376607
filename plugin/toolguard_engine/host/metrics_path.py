"""Paths of the metrics database, which all gateways of a machine share, and of the dashboard's files beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

TOKEN = ".token"  # noqa: S105 - a file suffix
SERVER = ".server"
DOOR = ".token.html"
ENDS = ("", "-wal", "-shm", "-journal", SERVER)
"""Suffixes of the metrics file and the files beside it, except those that hold the token."""

SECRETS = (TOKEN, DOOR)


def resolve(db_path: str, env: Mapping[str, str] = os.environ) -> Path:
    """The metrics file that `metrics.dbPath` names. Unlike in other settings, `~` is always the home folder and never the
    state directory, so that gateways with their own state directories (profiles) share one file."""
    home = Path(env.get("OPENCLAW_HOME") or env.get("HOME") or Path.home())
    path = home / db_path[2:] if db_path.startswith("~/") else Path(db_path)
    return path if path.is_absolute() else home / path


def token_path(db: Path) -> Path:
    """File with the secret that the dashboard asks for (mode 0600)."""
    return db.with_name(db.name + TOKEN)


def door_path(db: Path) -> Path:
    """HTML page that carries the token and opens the dashboard in a browser (mode 0600)."""
    return db.with_name(db.name + DOOR)


def server_path(db: Path) -> Path:
    """File in which the running dashboard describes itself."""
    return db.with_name(db.name + SERVER)
