"""One `openclaw.json` on disk: read, edited as text, and replaced as a whole.

A change is written only if the file has not changed since it was read. Before that, a backup is written beside it. Mode,
owner and symlinks are kept.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.json5_edit import Node
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores import atomic

NEW_MODE = 0o600
EMPTY = "{}\n"
MAX_BYTES = 20 * 1024 * 1024


@dataclass(frozen=True)
class ConfigFile:
    """A config as it was read. `data` is None if there is no file yet; `text` is then an empty object."""

    path: Path
    data: bytes | None
    text: str
    root: Node

    @property
    def exists(self) -> bool:
        return self.data is not None

    def edited(self, text: str) -> ConfigFile:
        """The same file with another text. Raises `Json5Error`."""
        return replace(self, text=text, root=json5_edit.parse(text))


def read(path: Path) -> ConfigFile:
    """Raises `UserError` if the file cannot be read or is not JSON5 (with line and column)."""
    data = _bytes(path)
    if data is None:
        return ConfigFile(path, None, EMPTY, json5_edit.parse(EMPTY))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not UTF-8 text (byte {error.start})", "save it as UTF-8, then try again") from error
    try:
        root = json5_edit.parse(text)
    except json5_edit.Json5Error as error:
        message = f"{path} is not valid JSON5: {error.message}\n{error.excerpt}"
        raise UserError(message, "fix that line, then try again; the file was not changed") from error
    return ConfigFile(path, data, text, root)


def _bytes(path: Path) -> bytes | None:
    try:
        with atomic.opened(path) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}", "check its owner and mode") from error
    if len(data) > MAX_BYTES:
        raise UserError(f"{path} is larger than {MAX_BYTES} bytes", "is this really the config of OpenClaw?")
    return data


def write(config: ConfigFile, data: bytes, *, again: bool = False) -> Path | None:
    """Replaces the file with `data` and returns the backup's path. Raises `UserError`.

    `again`: toolguard has changed this file before; the first backup is kept and another name is used.
    """
    real = config.path.resolve()
    _refuse_changed(config)
    atomic.clear_abandoned(real.parent)
    try:
        if config.data is None:
            real.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            atomic.replace(real, data, NEW_MODE, last=lambda: _refuse_changed(config))
            return None
        info = real.stat()
        backup = backup_path(real, again=again)
        _put(backup, config.data, info)
        _put(real, data, info, last=lambda: _refuse_changed(config))
    except OSError as error:
        raise UserError(f"cannot write {real}: {error.strerror}", "check its owner and mode; nothing was changed") from error
    return backup


def restore(config: ConfigFile, written: bytes, *, again: bool = False) -> None:
    """Undoes a `write` of `written`, unless the file has changed since. Raises `UserError`."""
    real = config.path.resolve()
    backup = backup_path(real, again=again)
    if _bytes(config.path) != written:
        return
    try:
        if config.data is None:
            real.unlink()
        elif _bytes(backup) == config.data:  # needs no space on the disk
            backup.replace(real)
        else:
            _put(real, config.data, real.stat())
    except OSError as error:
        raise UserError(f"cannot restore {real}: {error.strerror}", f"its backup is {backup}") from error


def _refuse_changed(config: ConfigFile) -> None:
    if _bytes(config.path) != config.data:
        raise UserError(f"{config.path} was changed by another process", "nothing was written; run the command again")


def _put(path: Path, data: bytes, like: os.stat_result, last: Callable[[], None] = lambda: None) -> None:
    """Writes with the mode and owner of `like`: what root writes must stay readable for the gateway."""
    atomic.replace(path, data, like.st_mode & 0o7777, last=last)
    if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
        with suppress(PermissionError):
            os.chown(path, like.st_uid, like.st_gid)


def backup_path(path: Path, *, again: bool = False) -> Path:
    return path.with_name(f"{path.name}.toolguard{'.last' if again else ''}.bak")


def digest(data: bytes | None) -> str:
    """The SHA-256 of a file's content; empty if there is no file."""
    return hashlib.sha256(data).hexdigest() if data is not None else ""
