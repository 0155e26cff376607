"""Brings back a state from an archive. What has happened is never turned back.

On a machine that has no state, or one that was signed with another key, the whole archive is put in place, and what was
there is kept beside it. On a machine with the same key, only what a person decided comes back: the log, the budgets, the
expired grants and the kill switch of now stay, because the ones of then would forget what agents have done since.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from toolguard_cli.operations import state_archive
from toolguard_cli.operations.state_archive import Archive
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores import atomic, state_files
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.signing_key import SigningKeyError

REPLACED = "before-import-"
"""The beginning of the name of the folder that has what was there before."""


_OF_ONE_KEY = {
    *(state_files.HELD_CALLS, state_files.HELD_CALLS_JOURNAL, state_files.SESSION_GRANTS),
    *(f"{state_files.STANDINGS}{end}" for end in state_files.STANDINGS_BESIDE),
}
"""Files that are in no archive, and mean nothing beside another key or another database."""


class ImportPlan(msgspec.Struct, frozen=True):
    """`written`: the files to put in place. `put_aside`: those that are there and are replaced or removed. `whole`: the
    state is replaced, not only what was decided."""

    written: dict[str, bytes]
    put_aside: tuple[str, ...]
    whole: bool


def plan(state_dir: Path, archive: Archive) -> ImportPlan:
    """What an import would do. Raises `UserError` for a key that cannot be read."""
    own = atomic.own_folder(state_dir)
    try:
        key = stores.signing_key(state_dir).known() if (own / state_files.KEY).exists() else b""
    except SigningKeyError as error:
        raise UserError(str(error), "move it away, then import again") from error
    whole = key != archive.contents.get(state_files.KEY)
    written = archive.contents if whole else archive.of_kind("decided")
    written = {name: data for name, data in written.items() if not _is_same(own / name, data)}
    stale = tuple(_present(own, whole=whole, archived=archive.contents))
    return ImportPlan(written, tuple(sorted({*stale, *(name for name in written if (own / name).exists())})), whole)


def perform(state_dir: Path, planned: ImportPlan, now: float) -> Path | None:
    """Puts the files in place, the key last: until then nothing that was signed with it counts. Returns the folder with
    what was there, if there was anything. Raises `OSError`; the import can then be repeated."""
    own = atomic.own_folder(state_dir)
    atomic.make_folder(own)
    kept = state_archive.folder(state_dir) / f"{REPLACED}{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}"
    for name in planned.put_aside:
        # It is on the disk before it is replaced.
        atomic.create(kept / name, atomic.read_bounded(own / name, state_archive.MAX_BYTES))
        if name not in planned.written:
            (own / name).unlink()
    for name in sorted(planned.written, key=lambda name: name == state_files.KEY):
        atomic.replace(own / name, planned.written[name])
    return kept if planned.put_aside else None


def _present(own: Path, *, whole: bool, archived: dict[str, bytes]) -> Iterator[str]:
    """Files that are there, are not in the archive, and would contradict what is put in place. A kill switch that is on is
    none of them."""
    for path in sorted(own.iterdir()) if own.is_dir() else ():
        kind = state_archive.kind_of(path.name)
        replaced = kind == "decided" or (whole and (kind == "happened" or path.name in _OF_ONE_KEY))
        if replaced and path.is_file() and path.name not in archived and path.name != state_files.KILL_SWITCH:
            yield path.name


def _is_same(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except OSError:
        return False
