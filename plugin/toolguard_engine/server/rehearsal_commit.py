"""Makes the changes of a rehearsed command in the real files: all of them or none, whenever the process is killed.

What is to be done is written down with the new contents first (`keep`), in a folder of its own. The changes are made from
the moment when that folder is moved to `COMMITTING`: whoever finds it there finishes it (`finish`). Until then nothing has
changed. Each step can be done twice.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from toolguard_engine.containment.rehearsed_changes import After, Before, RehearsedChange
from toolguard_engine.server import present_state
from toolguard_engine.stores import atomic, system_calls, unlinked_paths

COMMITTING = "committing"
DONE = "done"
LOCK = "lock"
JOURNAL = "journal.json"
MAX_JOURNAL = 64_000_000
BLOCK = 1 << 20
MAX_NAMED = 5
_OF_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})
_BESIDE = ".toolguard-"
"""What the name of a new file begins with until it is in place; a number follows, so any name has room for it."""


class StaleError(Exception):
    """What is to be changed is not what it was when the command ran; nothing was done."""


class IncompleteError(Exception):
    """Some of the changes could not be made although all had been checked; the text says which."""


class CommitJournal(msgspec.Struct, frozen=True):
    """`changes`: in the order in which they are made; `kept` names a file beside the journal."""

    changes: list[RehearsedChange]


_JOURNALS = msgspec.json.Decoder(CommitJournal)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One commit at a time. What a killed one has left to do is done before."""
    with open(folder / LOCK, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        finish(folder)
        yield


def keep(changes: list[RehearsedChange], into: Path) -> None:
    """Copies the new contents and writes the journal; both are on disk when this returns."""
    kept = []
    for number, change in enumerate(_ordered([*changes, *_read_only(changes)])):
        after = change.after
        if after.what == "file":
            name = str(number)
            _copy(after.kept, into / name)
            after = msgspec.structs.replace(after, kept=name)
        kept.append(_as_text(msgspec.structs.replace(change, after=after)))
    atomic.replace(into / JOURNAL, msgspec.json.encode(CommitJournal(kept)))
    _sync_folder(into)


def _read_only(changes: list[RehearsedChange]) -> list[RehearsedChange]:
    """The folders of the changes that have to be made writable for them, as what they are: they get their mode back."""
    problems = []
    for path in {os.path.dirname(change.path) for change in changes}.difference(change.path for change in changes):
        was = present_state.before(path)
        if was.what == "folder" and was.mode & stat.S_IRWXU != stat.S_IRWXU:
            problems.append(RehearsedChange(path, was, After("folder", was.mode)))
    return problems


def _ordered(changes: list[RehearsedChange]) -> list[RehearsedChange]:
    """What is removed first, innermost first; then what is made, outermost first."""
    removed = [change for change in changes if change.after.what == "nothing"]
    made = [change for change in changes if change.after.what != "nothing"]
    return [
        *sorted(removed, key=lambda change: (-change.path.count("/"), change.path)),
        *sorted(made, key=lambda change: (change.path.count("/"), change.path)),
    ]


def read(kept: Path) -> CommitJournal:
    """Raises `OSError` and `ValueError`."""
    journal = _JOURNALS.decode(atomic.read_bounded(kept / JOURNAL, MAX_JOURNAL))
    return CommitJournal([_as_paths(change) for change in journal.changes])


def _as_text(change: RehearsedChange) -> RehearsedChange:
    """The change with a sign for each byte of its paths: JSON takes no name that is not UTF-8."""
    path, link = (os.fsencode(name).decode("latin-1") for name in (change.path, change.after.link))
    return msgspec.structs.replace(change, path=path, after=msgspec.structs.replace(change.after, link=link))


def _as_paths(change: RehearsedChange) -> RehearsedChange:
    path, link = (os.fsdecode(name.encode("latin-1")) for name in (change.path, change.after.link))
    return msgspec.structs.replace(change, path=path, after=msgspec.structs.replace(change.after, link=link))


def is_current(journal: CommitJournal, since: int | None = None) -> bool:
    """Whether all that is to be changed is as it was. `since`: nothing may have changed from then on, in nanoseconds."""
    made = {change.path for change in journal.changes if change.after.what == "folder"}
    for change in journal.changes:
        above = os.path.dirname(change.path)
        try:
            now = present_state.before(change.path)
            if change.after.what != "nothing" and above not in made and present_state.before(above).what != "folder":
                return False
        except OSError:
            return False
        if now != change.before or (since is not None and now.changed >= since):
            return False
    return True


def check(journal: CommitJournal, since: int | None) -> None:
    """Raises `StaleError` unless it is current."""
    if not is_current(journal, since):
        raise StaleError


def commit(folder: Path, kept: Path, since: int | None = None) -> int:
    """Makes the changes that are kept in a folder, under the lock. Returns their number. Raises `StaleError`, `OSError` and
    `ValueError`; then nothing has changed; and `IncompleteError`."""
    journal = read(kept)
    check(journal, since)
    _check_rights(journal)
    (folder / COMMITTING).mkdir(exist_ok=True)
    at = folder / COMMITTING / f"{os.getpid()}-{kept.name}"
    kept.rename(at)
    _sync_folder(folder / COMMITTING)
    try:
        failed = _make(folder, at, journal)
    except OSError as error:
        raise IncompleteError(f"{error}; the next command that is rehearsed goes on with it") from error
    if failed:
        raise IncompleteError("; ".join(failed[:MAX_NAMED]))
    return sum(change.before.what != "folder" or change.before.mode != change.after.mode for change in journal.changes)


def _check_rights(journal: CommitJournal) -> None:
    """Raises `OSError` where a folder does not take the change."""
    made = {change.path for change in journal.changes if change.after.what == "folder"}
    for above in {os.path.dirname(change.path) for change in journal.changes}.difference(made):
        if os.stat(above).st_uid != os.getuid() and not os.access(above, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "it cannot be changed", above)


def finish(folder: Path) -> int:
    """Finishes what a killed process had begun to make. Returns how many commits that were."""
    with suppress(FileNotFoundError):
        for gone in list((folder / DONE).iterdir()):
            shutil.rmtree(gone, ignore_errors=True)
    begun = []
    with suppress(FileNotFoundError):
        begun = sorted((folder / COMMITTING).iterdir())
    for at in begun:
        _make(folder, at, read(at))
    return len(begun)


def _make(folder: Path, at: Path, journal: CommitJournal) -> list[str]:
    """Returns what could not be done."""
    failed = [_apply(change, at) for change in journal.changes]
    folders = [change for change in reversed(journal.changes) if change.after.what == "folder"]
    failed += map(_set_mode, folders)  # last: what lies in a folder could not be made if it is read-only
    (folder / DONE).mkdir(exist_ok=True)
    gone = folder / DONE / at.name
    at.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    return [problem for problem in failed if problem]


def _apply(change: RehearsedChange, at: Path) -> str:
    """Leaves alone what is already done, and what something else has changed since the commit began. Returns why it could
    not be done. Raises `OSError` where the disk does not take it: then it is tried again."""
    try:
        with unlinked_paths.parent(change.path) as (folder, name):
            now = present_state.before_in(folder, name)
            if _is_done(change, now, folder, name):
                return ""
            if not _is_as_before(change, now):
                return f"{change.path}: something else has changed it"
            _make_writable(folder)
            _replace(change.after, now, folder, name, at)
    except OSError as error:
        if error.errno in _OF_DISK:
            raise
        # what is to be gone, and lies in a folder that is
        return "" if change.after.what == "nothing" and error.errno == errno.ENOENT else f"{change.path}: {error.strerror}"
    return ""


def _make_writable(folder: int) -> None:
    """Makes it writable as the command did before it changed something there."""
    status = os.fstat(folder)
    if status.st_mode & stat.S_IRWXU != stat.S_IRWXU and status.st_uid == os.getuid():
        os.fchmod(folder, stat.S_IMODE(status.st_mode) | stat.S_IRWXU)


def _replace(after: After, now: Before, folder: int, name: str, at: Path) -> None:
    if now.what == "folder" and after.what != "folder":
        os.rmdir(name, dir_fd=folder)  # fails if something else has put a file into it
    elif after.what != "file" and now.what not in ("nothing", "folder"):
        os.unlink(name, dir_fd=folder)
    if after.what == "folder":
        with suppress(FileExistsError):
            os.mkdir(name, after.mode | stat.S_IRWXU, dir_fd=folder)
    elif after.what == "link":
        os.symlink(after.link, name, dir_fd=folder)
    elif after.what == "file":
        _put(after, folder, name, at)


def _put(after: After, folder: int, name: str, at: Path) -> None:
    beside = f"{_BESIDE}{after.kept}"
    with suppress(FileNotFoundError):
        os.unlink(beside, dir_fd=folder)  # of a commit that was killed
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(handle, "wb") as out, open(at / after.kept, "rb") as file:
        shutil.copyfileobj(file, out, BLOCK)
        out.flush()
        os.fchmod(handle, after.mode)
        os.utime(handle, ns=(after.modified, after.modified))
        system_calls.sync(handle)
    os.rename(beside, name, src_dir_fd=folder, dst_dir_fd=folder)


def _set_mode(change: RehearsedChange) -> str:
    try:
        with unlinked_paths.parent(f"{change.path}/.") as (folder, _):
            os.fchmod(folder, change.after.mode)
    except OSError as error:
        return f"{change.path}: {error.strerror}"
    return ""


def _is_done(change: RehearsedChange, now: Before, folder: int, name: str) -> bool:
    after = change.after
    if after.what == "file":
        return (now.what, now.size, now.modified, now.mode) == ("file", after.size, after.modified, after.mode)
    if after.what == "folder":
        return now.what == "folder"
    if after.what == "link":
        return now.what == "link" and os.readlink(name, dir_fd=folder) == after.link
    return now.what == "nothing"


def _is_as_before(change: RehearsedChange, now: Before) -> bool:
    """Also where this commit has removed or made a part of it."""
    if now == change.before or now.what == "nothing":
        return True
    return now.what == "folder" == change.after.what


def _copy(source: str, target: Path) -> None:
    with open(source, "rb") as file, open(target, "wb") as out:
        shutil.copyfileobj(file, out, BLOCK)
        out.flush()
        system_calls.sync(out.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
