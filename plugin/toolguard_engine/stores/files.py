"""Small files that other processes read: written beside, then put in place at once, so that nobody sees half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

OUR_FOLDER = "toolguard"


def own_folder(state_dir: Path) -> Path:
    """Where toolguard keeps its own files inside the gateway's state directory."""
    return state_dir / OUR_FOLDER


def replace(path: Path, data: bytes, mode: int = 0o600, *, durable: bool = True) -> None:
    """Puts `data` at `path`, whole. Raises `OSError`; then the old file is untouched.

    `durable`: it is on the disk when this returns, which can take long; without it a power cut may lose the change.
    """
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        Path(beside).replace(path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    if durable:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
