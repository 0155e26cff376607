"""The dashboard's token: 64 hexadecimal characters in a file of their own (0600), created on first use."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import shlex
import stat
from hashlib import sha256
from pathlib import Path

from toolguard_cli.system.errors import UserError
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import atomic
from toolguard_engine.wording import printable

BYTES = 32
MAX_BYTES = 200
OTHERS = 0o077
_FORM = re.compile(rb"[0-9a-f]{64}\n?\Z")


def obtain(db: Path) -> str:
    """The token for this metrics file, created if there is none. Raises `UserError`."""
    path = metrics_path.token_path(db)
    try:
        if not os.path.lexists(path):
            atomic.create(path, f"{secrets.token_hex(BYTES)}\n".encode())  # of several processes, the first one wins
        return _read(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(
            printable.plain(f"{path} cannot be used: {why}"), "check its folder, its owner and its mode"
        ) from error


def known(db: Path) -> str:
    """The token; empty if there is none. Raises `UserError`."""
    return obtain(db) if os.path.lexists(metrics_path.token_path(db)) else ""


class StoredToken:
    """The current token in the file: one that others could read, or that was removed, is no longer accepted."""

    def __init__(self, db: Path) -> None:
        self._db = db
        self._mark: tuple[int, ...] = ()
        self._token = ""

    def now(self) -> str:
        """The token, created if there is none; empty if it cannot be used."""
        mark = self._seen()
        if not mark or mark != self._mark:
            try:
                self._token = obtain(self._db)
            except UserError:
                self._token = ""
            self._mark = mark
        return self._token

    def _seen(self) -> tuple[int, ...]:
        try:
            info = metrics_path.token_path(self._db).lstat()
        except OSError:
            return ()
        return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def proof(token: str, port: int, nonce: str) -> str:
    """Proof that the dashboard knows the token. Valid for this port only, so that it cannot be relayed."""
    return hmac.new(token.encode(), f"toolguard dashboard {port} {nonce}".encode(), sha256).hexdigest()


def is_same(one: bytes, other: str) -> bool:
    return hmac.compare_digest(one, other.encode())


def _read(path: Path) -> str:
    with atomic.opened(path) as file:
        info = os.fstat(file.fileno())
        data = file.read(MAX_BYTES)
    named = shlex.quote(str(path))
    if stat.S_IMODE(info.st_mode) & OTHERS:
        mode = f"mode {stat.S_IMODE(info.st_mode):04o}"
        raise UserError(
            printable.plain(f"other users can read {path} ({mode}), so it is no longer secret"),
            printable.plain(f"rm {named}; a new one is created at the next start"),
        )
    if info.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0:
        raise UserError(printable.plain(f"{path} belongs to another user"), "run this as the user that runs the gateway")
    if not _FORM.match(data):
        raise UserError(
            printable.plain(f"{path} does not contain a token"),
            printable.plain(f"rm {named}; a new one is created at the next start"),
        )
    return data.strip().decode()
