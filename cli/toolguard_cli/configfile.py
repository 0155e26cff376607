"""One `openclaw.json` on disk: read, edited as text, put back whole.

A change is written only if the file is still the one that was read. A backup of what was there lies beside it before
the new text takes its place; mode, owner and a symlink to the real file are kept.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolguard_cli import json5_edit
from toolguard_cli.errors import UserError
from toolguard_engine.stores import files

NEW_MODE = 0o600
EMPTY = "{}\n"
MAX_BYTES = 20 * 1024 * 1024


@dataclass(frozen=True)
class ConfigFile:
    """A config as it was read. `data` is None where there is no file yet; then `text` is an empty object."""

    path: Path
    data: bytes | None
    text: str
    value: dict[str, Any]

    @property
    def exists(self) -> bool:
        return self.data is not None

    def get(self, *steps: str) -> Any:
        """The value at this path, or None."""
        value: Any = self.value
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        return value


def read(path: Path) -> ConfigFile:
    """Raises `UserError` where the file cannot be read, or is no JSON5 object (`Json5Error` with line and column)."""
    data = _bytes(path)
    if data is None:
        return ConfigFile(path, None, EMPTY, {})
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start})", "save it as UTF-8, then repeat") from error
    try:
        value = json5_edit.loads(text)
    except json5_edit.Json5Error as error:
        message = f"{path} is not valid JSON5: {error.message}\n{error.excerpt}"
        raise UserError(message, "mend that line, then repeat; the file was not touched") from error
    if not isinstance(value, dict):
        raise UserError(f"{path} holds no object", "its outermost value must be { ... }; the file was not touched")
    return ConfigFile(path, data, text, value)


def _bytes(path: Path) -> bytes | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{path} is larger than {MAX_BYTES} bytes", "is this really the config of OpenClaw?")
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "check its owner and mode") from error


def write(config: ConfigFile, data: bytes, *, again: bool = False) -> Path | None:
    """Puts `data` in the place of what was read; the answer is the backup's path. Raises `UserError`.

    `again`: toolguard has changed this file before, and the backup of what was there before that is kept.
    """
    real = config.path.resolve()
    if _bytes(config.path) != config.data:
        raise UserError(f"{config.path} was changed by somebody else just now", "repeat the command")
    try:
        if config.data is None:
            real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            files.replace(real, data, NEW_MODE)
            return None
        info = real.stat()
        backup = backup_path(real, again=again)
        _put(backup, config.data, info)
        _put(real, data, info)
    except OSError as error:
        raise UserError(f"cannot write {real}: {error.strerror}", "check its owner and mode; nothing was changed") from error
    return backup


def _put(path: Path, data: bytes, like: os.stat_result) -> None:
    """With mode and owner of the file that `like` is about: what root writes must stay readable to the gateway."""
    files.replace(path, data, like.st_mode & 0o7777)
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(path, like.st_uid, like.st_gid)


def backup_path(path: Path, *, again: bool = False) -> Path:
    return path.with_name(f"{path.name}.toolguard{'.last' if again else ''}.bak")


def digest(data: bytes | None) -> str:
    """Names the content of a file; empty where there is none."""
    return hashlib.sha256(data).hexdigest() if data is not None else ""
