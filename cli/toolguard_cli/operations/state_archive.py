"""An archive of toolguard's state: a gzipped tar file with the files of `stores/durability.py` that are not of this machine.

Its first member, `about.json`, names each file with its length and digest, so an archive that is damaged or cut off is
noticed before anything is written. It holds the key that signs approvals and grants: whoever can read the archive can forge
them.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from toolguard_cli.system.errors import UserError
from toolguard_engine import __version__
from toolguard_engine.stores import atomic, durability, state_files, transactions
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import lock
from toolguard_engine.wording import printable

ABOUT = "about.json"
ENDING = ".toolguard-state"
FORMAT = 1
MAX_ABOUT_BYTES = 1024 * 1024
MAX_BYTES = 2 * 1024**3
"""Of all files together. The largest one, the audit log, is rotated long before it takes as much."""


class ArchivedFile(msgspec.Struct, frozen=True):
    """`size` in bytes; `digest` is SHA-256, in hexadecimal."""

    name: str
    size: int
    digest: str


class About(msgspec.Struct, frozen=True):
    """`v`: the format. `at`: seconds since 1970. `gateway`: the state directory that the archive was made of."""

    v: int
    version: str
    at: float
    gateway: str
    files: tuple[ArchivedFile, ...]


class Archive(msgspec.Struct, frozen=True):
    """An archive that was read and is whole."""

    about: About
    contents: dict[str, bytes]

    def of_kind(self, kind: durability.Kind) -> dict[str, bytes]:
        return {name: data for name, data in self.contents.items() if kind_of(name) == kind}


def kind_of(name: str) -> durability.Kind:
    """A part of the audit log that was rotated belongs to the log."""
    if state_files.is_log_part(name):
        return "happened"
    return next((file.kind for file in durability.FILES if file.name == name), "here")


def folder(state_dir: Path) -> Path:
    """Where archives are written unless another file is named. Agents may read nothing in it."""
    return atomic.own_folder(state_dir) / state_files.EXPORTS


def usual_name(now: float) -> str:
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}{ENDING}"


def write(state_dir: Path, target: Path) -> About:
    """Writes an archive of the state to `target`, which only its owner can read, where the file system knows modes.
    Raises `UserError`, `StoreError` or `OSError`; nothing is left behind then."""
    if target.exists():
        raise _exists(target)
    contents = dict(_contents(state_dir))
    if not contents:
        raise UserError(f"{state_dir} has no state of toolguard yet", "run `toolguard install` and start the gateway")
    listed = tuple(ArchivedFile(name, len(data), _digest(data)) for name, data in contents.items())
    about = About(FORMAT, __version__, time.time(), str(state_dir), listed)
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, data in {ABOUT: msgspec.json.encode(about), **contents}.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(data), 0o600, int(about.at)
            tar.addfile(member, io.BytesIO(data))
    if not atomic.create_anywhere(target, packed.getvalue()):
        raise _exists(target)
    return about


def read(path: Path) -> Archive:
    """Reads an archive into memory. Raises `UserError` unless it is one, whole and of a format that this version knows."""
    try:
        with gzip.open(path) as zipped, tarfile.open(fileobj=zipped, mode="r|") as tar:
            members = _members(tar)
            name, data = next(members, ("", b""))
            if name != ABOUT:
                raise _unusable(path, f"it does not begin with {ABOUT}")
            about = _about(path, data)
            contents = dict(members)
            while zipped.read(1024 * 1024):  # up to the checksum at the end
                pass
    except FileNotFoundError as error:
        raise UserError(f"{printable.plain(str(path))} does not exist", "give a file of `toolguard state export`") from error
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError) as error:
        raise _unusable(path, str(getattr(error, "strerror", "") or error)) from error
    files = tuple(ArchivedFile(name, len(data), _digest(data)) for name, data in contents.items())
    if files != about.files:
        raise _unusable(path, "a file in it is missing or damaged")
    if unknown := [name for name in contents if kind_of(name) == "here"]:
        raise _unusable(path, f"it has {unknown[0]!a}, which belongs in no archive")
    return Archive(about, contents)


def _contents(state_dir: Path) -> Iterator[tuple[str, bytes]]:
    """The files that are there, each in a state that a reader may see; those of the log belong together."""
    own = atomic.own_folder(state_dir)
    log = stores.audit_log(state_dir)
    if log.path.exists():
        with lock(log.path):
            for path in (*log.files(), own / state_files.AUDIT_HEAD):
                if path.exists():
                    yield path.name, atomic.read_bounded(path, MAX_BYTES)
    for file in durability.FILES:
        path = own / file.name
        if file.kind == "here" or file.name in (state_files.AUDIT_LOG, state_files.AUDIT_HEAD) or not path.exists():
            continue
        data = transactions.serialized(path) if file.name == state_files.STANDINGS else atomic.read_bounded(path, MAX_BYTES)
        yield file.name, data


def _members(tar: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    """The members, which must be plain files without a folder, each once. Raises `ValueError`."""
    seen: set[str] = set()
    room = MAX_BYTES
    for member in tar:
        if not member.isreg() or os.path.basename(member.name) != member.name or member.name in seen:  # noqa: PTH119
            raise ValueError(f"{member.name!a} does not belong in it")
        seen.add(member.name)
        room -= member.size
        if room < 0 or (member.name == ABOUT and member.size > MAX_ABOUT_BYTES):
            raise ValueError("it is too large")
        file = tar.extractfile(member)
        yield member.name, file.read() if file else b""


def _about(path: Path, data: bytes) -> About:
    try:
        about = msgspec.json.decode(data, type=About)
    except msgspec.DecodeError as error:
        raise _unusable(path, f"{ABOUT} cannot be read") from error
    if about.v > FORMAT:
        raise UserError(f"the archive was made by toolguard {printable.plain(about.version)}", "update toolguard first")
    return about


def _exists(target: Path) -> UserError:
    return UserError(f"{printable.plain(str(target))} exists", "give the name of a new file")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _unusable(path: Path, why: str) -> UserError:
    shown = printable.plain(str(path))
    return UserError(f"{shown} is not a whole archive: {printable.plain(why)}", "give a file of `toolguard state export`")
