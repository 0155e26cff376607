"""Where the metrics are: one file for all gateways of the machine, and what the dashboard keeps beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

TOKEN = ".token"  # noqa: S105 - the end of a file's name
SERVER = ".server"
DOOR = ".token.html"
ENDS = ("", "-wal", "-shm", "-journal", SERVER)
"""How the names of the metrics file and of what lies beside it end, those with the token apart."""

SECRETS = (TOKEN, DOOR)


def resolve(db_path: str, env: Mapping[str, str] = os.environ) -> Path:
    """The metrics file that `metrics.dbPath` names. Unlike other paths of the settings `~` is the home and never the state
    directory, so that gateways with state directories of their own (profiles) write into one file."""
    home = Path(env.get("OPENCLAW_HOME") or env.get("HOME") or Path.home())
    path = home / db_path[2:] if db_path.startswith("~/") else Path(db_path)
    return path if path.is_absolute() else home / path


def token_path(db: Path) -> Path:
    """The secret that the dashboard asks for (0600)."""
    return db.with_name(db.name + TOKEN)


def door_path(db: Path) -> Path:
    """A page with the token in it that leads a browser to the dashboard (0600)."""
    return db.with_name(db.name + DOOR)


def server_path(db: Path) -> Path:
    """What the running dashboard says about itself."""
    return db.with_name(db.name + SERVER)
