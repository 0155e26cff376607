"""Brings paths back to what an entry says was there.

What is there now is saved first, as an entry of its own: a restore can be undone as well. Each file comes back with one
rename, so that no reader sees half of it. A link on the way to a path is an error: nothing is written behind it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from typing import Literal

import msgspec

from toolguard_engine.stores import atomic, system_calls, unlinked_paths
from toolguard_engine.stores.undo.undo_entry import SavedPath, UndoCause, UndoEntry
from toolguard_engine.stores.undo.undo_folder import UndoFolder
from toolguard_engine.stores.undo.undo_saving import TooManyPathsError, UndoSaving, resolved

MODE = 0o777
"""What a restored file gets of its mode: nothing that runs with the rights of its owner."""

Leaving = set[tuple[int, int]]
"""Inodes and devices of what was moved, and goes back."""

Step = Literal["unchanged", "create", "replace", "remove", "move-back", "impossible"]


class RestoreStep(msgspec.Struct, frozen=True):
    """What restoring one path means now. `why`: of what is impossible."""

    path: str
    step: Step
    why: str = ""


class Restored(msgspec.Struct, frozen=True):
    """`undo`: the entry that undoes it, empty if nothing was changed; `failed`: paths that could not be restored."""

    done: int
    failed: tuple[RestoreStep, ...]
    undo: str = ""


def plan(entry: UndoEntry) -> list[RestoreStep]:
    """What restoring an entry would do to each of its paths, in its order."""
    leaving = {(path.inode, path.device) for path in entry.paths if path.was == "moved"}
    return [_planned(saved, leaving) for saved in _in_order(entry)]


def _in_order(entry: UndoEntry) -> list[SavedPath]:
    """What was moved goes back before its place is filled; what was not there goes last, innermost first."""
    moved = [path for path in reversed(entry.paths) if path.was == "moved"]
    gone = sorted((path for path in entry.paths if path.was == "nothing"), key=lambda saved: saved.path, reverse=True)
    return [*moved, *(path for path in entry.paths if path.was not in ("moved", "nothing")), *gone]


def _planned(saved: SavedPath, leaving: Leaving) -> RestoreStep:
    try:
        if resolved(saved.path) != saved.path:
            return RestoreStep(saved.path, "impossible", "a link is on the way to it now")
        return RestoreStep(saved.path, *_step(saved, leaving))
    except OSError as error:
        return RestoreStep(saved.path, "impossible", error.strerror or str(error))


def _step(saved: SavedPath, leaving: Leaving) -> tuple[Step, str]:
    now = _now(saved.path)
    if saved.was == "moved":
        return _step_back(saved, now, leaving)
    if now is not None and (now.st_ino, now.st_dev) in leaving:
        now = None  # it goes back first
    if now is not None and not any(is_kind(now.st_mode) for is_kind in (stat.S_ISREG, stat.S_ISLNK, stat.S_ISDIR)):
        return "impossible", "it is no file or folder now"
    is_folder = now is not None and stat.S_ISDIR(now.st_mode)
    if saved.was == "nothing":
        return ("unchanged", "") if now is None else ("remove", "")
    if now is None:
        return "create", ""
    if saved.was == "folder":
        return ("unchanged", "") if is_folder else ("impossible", "a file is there now")
    if is_folder:
        return "impossible", "a folder is there now"
    return ("unchanged", "") if _is_same(saved, now) else ("replace", "")


def _step_back(saved: SavedPath, now: os.stat_result | None, leaving: Leaving) -> tuple[Step, str]:
    there = _now(saved.leads_to)
    if now is not None:
        if (now.st_ino, now.st_dev) == (saved.inode, saved.device):
            return "unchanged", ""
        if stat.S_ISDIR(now.st_mode) and (now.st_ino, now.st_dev) not in leaving:
            return "impossible", "a folder is there now"
    if there is not None and (there.st_ino, there.st_dev) == (saved.inode, saved.device):
        return "move-back", ""
    if saved.kept:
        return ("create", "") if now is None else ("replace", "")
    return "impossible", f"it is no longer at {saved.leads_to}"


def _is_same(saved: SavedPath, now: os.stat_result) -> bool:
    if saved.was == "link":
        return stat.S_ISLNK(now.st_mode) and os.readlink(saved.path) == saved.leads_to
    known = (saved.size, saved.modified, saved.mode)
    return stat.S_ISREG(now.st_mode) and (now.st_size, now.st_mtime_ns, stat.S_IMODE(now.st_mode)) == known


def _now(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None


def restore(folder: UndoFolder, entry: UndoEntry, now: float) -> Restored:
    """Raises `OSError` if what is there now cannot be saved; then nothing is changed."""
    steps = plan(entry)
    wanted = [planned for planned in steps if planned.step not in ("unchanged", "impossible")]
    impossible = tuple(planned for planned in steps if planned.step == "impossible")
    if not wanted:
        return Restored(0, impossible)
    cause = UndoCause(now, restores=entry.id)
    try:
        undo = folder.save(cause, lambda saving: _save_present(saving, entry, wanted), lambda _: False)
    except TooManyPathsError as error:
        raise OSError(errno.E2BIG, str(error)) from error
    if undo.left_out:
        folder.remove(undo.id)
        raise OSError(errno.ENOSPC, f"what is there now cannot be kept: {undo.left_out[0]}")
    saved, failed, done = {path.path: path for path in entry.paths}, list(impossible), 0
    for step in wanted:
        try:
            _restore(folder, entry, saved[step.path], step.step)
            done += 1
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            failed.append(RestoreStep(step.path, "impossible", why))
    _set_times_of_folders(entry, {step.path for step in wanted})
    return Restored(done, tuple(failed), undo.id)


def _save_present(saving: UndoSaving, entry: UndoEntry, wanted: list[RestoreStep]) -> None:
    saved = {path.path: path for path in entry.paths}
    back = [saved[step.path] for step in wanted if step.step == "move-back"]
    for moved in back:
        saving.moves_back(moved)
        if os.path.lexists(moved.path):
            saving.present(moved.path)
    leaving = {moved.leads_to for moved in back}
    for step in wanted:
        if step.step != "move-back" and step.path not in leaving:  # what leaves is moved there again
            saving.present(step.path)


def _restore(folder: UndoFolder, entry: UndoEntry, saved: SavedPath, step: Step) -> None:
    if step == "move-back":
        _make_folders_above(saved.path)
        with unlinked_paths.parent(saved.leads_to) as (there, old), unlinked_paths.parent(saved.path) as (here, new):
            status = os.lstat(old, dir_fd=there)
            if (status.st_ino, status.st_dev) != (saved.inode, saved.device):
                raise OSError(errno.ESTALE, f"it is no longer at {saved.leads_to}")
            os.rename(old, new, src_dir_fd=there, dst_dir_fd=here)
        return
    if step == "create":
        _make_folders_above(saved.path)
    with unlinked_paths.parent(saved.path) as (place, name):
        if step == "remove":
            _remove(place, name)
        elif saved.was == "folder":
            os.mkdir(name, saved.mode & MODE | stat.S_IRWXU, dir_fd=place)
            _belong(place, name)
        elif saved.was == "link":
            beside = f".{secrets.token_hex(8)}{atomic.TEMPORARY}"
            os.symlink(saved.leads_to, beside, dir_fd=place)
            _belong(place, beside)
            os.replace(beside, name, src_dir_fd=place, dst_dir_fd=place)
        else:
            _put(folder, entry, saved, place, name)


def _make_folders_above(path: str) -> None:
    above = os.path.dirname(path)
    if os.path.lexists(above):
        return
    _make_folders_above(above)
    with unlinked_paths.parent(above) as (place, name):
        os.mkdir(name, dir_fd=place)
        _belong(place, name)


def _remove(place: int, name: str) -> None:
    if stat.S_ISDIR(os.lstat(name, dir_fd=place).st_mode):
        os.rmdir(name, dir_fd=place)  # what was put there meanwhile stays
    else:
        os.unlink(name, dir_fd=place)


def _put(folder: UndoFolder, entry: UndoEntry, saved: SavedPath, place: int, name: str) -> None:
    """A copy, so that the entry can be restored again. Raises `OSError` if the content is not the one that was saved."""
    beside = f".{secrets.token_hex(8)}{atomic.TEMPORARY}"
    with atomic.opened(folder.content(entry, saved.kept)) as source:
        kept = os.fstat(source.fileno())
        if (kept.st_size, kept.st_mtime_ns) != (saved.size, saved.modified):
            raise OSError(errno.ESTALE, "it was changed after it was saved: the call did not remove it")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=place)
        try:
            with os.fdopen(handle, "wb") as file:
                if not system_calls.share_blocks(source.fileno(), file.fileno()):
                    while block := source.read(1 << 20):
                        file.write(block)
                file.flush()
                system_calls.sync(file.fileno())
                os.fchmod(file.fileno(), saved.mode & MODE)
                os.utime(file.fileno(), ns=(saved.modified, saved.modified))
            _belong(place, beside)
            os.replace(beside, name, src_dir_fd=place, dst_dir_fd=place)
        except BaseException:
            os.unlink(beside, dir_fd=place)
            raise


def _belong(place: int, name: str) -> None:
    """Gives what root made to the owner of its folder."""
    owner = os.fstat(place)
    if os.geteuid() == 0 and owner.st_uid != 0:
        os.chown(name, owner.st_uid, owner.st_gid, dir_fd=place, follow_symlinks=False)


def _set_times_of_folders(entry: UndoEntry, changed: set[str]) -> None:
    """Once what is in them is back."""
    for saved in reversed(entry.paths):
        if saved.was != "folder" or saved.path not in changed:
            continue
        with suppress(OSError), unlinked_paths.parent(f"{saved.path}/.") as (place, _):  # the files are back all the same
            os.fchmod(place, saved.mode & MODE)
            os.utime(place, ns=(saved.modified, saved.modified))
