"""The dashboard's secret: 64 hexadecimal characters in a file of their own (0600), made by whoever needs it first."""

from __future__ import annotations

import hmac
import os
import re
import secrets
import shlex
import stat
import tempfile
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from toolguard_cli.errors import UserError
from toolguard_engine import answers
from toolguard_engine.metrics import place
from toolguard_engine.stores import files

BYTES = 32
MAX_BYTES = 200
OTHERS = 0o077
_FORM = re.compile(rb"[0-9a-f]{64}\n?\Z")


def of(db: Path) -> str:
    """The token of the dashboard over this metrics file. Raises `UserError`."""
    path = place.token_path(db)
    try:
        if not os.path.lexists(path):
            _make(path)
        return _read(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UserError(
            answers.plain(f"{path} cannot be used: {why}"), "check its folder, its owner and its mode"
        ) from error


def known(db: Path) -> str:
    """The token where there is one; else empty. Nothing is made. Raises `UserError`."""
    return of(db) if os.path.lexists(place.token_path(db)) else ""


class Kept:
    """The token as its file holds it now: one that others could read, or that was taken away, opens nothing any more."""

    def __init__(self, db: Path) -> None:
        self._db = db
        self._mark: tuple[int, ...] = ()
        self._token = ""

    def now(self) -> str:
        """Empty where it cannot be used. Where there is none a new one is made."""
        mark = self._seen()
        if not mark or mark != self._mark:
            try:
                self._token = of(self._db)
            except UserError:
                self._token = ""
            self._mark = mark
        return self._token

    def _seen(self) -> tuple[int, ...]:
        try:
            info = place.token_path(self._db).lstat()
        except OSError:
            return ()
        return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def proof(token: str, port: int, nonce: str) -> str:
    """What only a dashboard that knows the token can answer. It holds for this port alone, so that nobody can pass it on."""
    return hmac.new(token.encode(), f"toolguard dashboard {port} {nonce}".encode(), sha256).hexdigest()


def is_same(one: bytes, other: str) -> bool:
    return hmac.compare_digest(one, other.encode())


def _make(path: Path) -> None:
    """Whole before it is there; of two that make it at once one wins."""
    files.make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    beside = Path(name)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{secrets.token_hex(BYTES)}\n")
        files.belong_to_folder(beside)
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def _read(path: Path) -> str:
    with files.opened(path) as file:
        info = os.fstat(file.fileno())
        data = file.read(MAX_BYTES)
    named = shlex.quote(str(path))
    if stat.S_IMODE(info.st_mode) & OTHERS:
        mode = f"mode {stat.S_IMODE(info.st_mode):04o}"
        raise UserError(
            answers.plain(f"others may read {path} ({mode}), so it is no secret any more"),
            answers.plain(f"rm {named}; a new one is made at the next start"),
        )
    if info.st_uid not in (os.geteuid(), 0) and os.geteuid() != 0:
        raise UserError(answers.plain(f"{path} belongs to somebody else"), "run this as who runs the gateway")
    if not _FORM.match(data):
        raise UserError(
            answers.plain(f"{path} holds no token"), answers.plain(f"rm {named}; a new one is made at the next start")
        )
    return data.strip().decode()
