"""Who may read and write toolguard's files: only their owner, who runs the gateway."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.doctor import fixes
from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix, Status, account, owner_name, shown
from toolguard_cli.doctor.checks import stores_check
from toolguard_cli.doctor.checks.log_check import log_path, metrics_path
from toolguard_engine.stores import state_files
from toolguard_engine.stores.undo.undo_entry import WRITTEN_HERE

WRITABLE, READABLE = 0o022, 0o077
EDITED, LOCK = frozenset({state_files.POLICY}), ".lock"
"""Files that users edit and empty lock files may be readable by others: they hold nothing that could be misused."""
SHOWN = 3


def state_dir(subject: DoctorSubject) -> Check:
    """Anyone who can write there can replace the plugin and its state."""
    place = subject.places.state_dir
    try:
        info = place.stat()
    except OSError as error:
        return Check("state-dir", "error", f"{place}: {error.strerror}", "start the gateway once, or pass --state-dir")
    open_to = _others(info)
    if open_to:
        return Check("state-dir", "error", f"{place} is writable by {open_to}", f"chmod go-w {shown(place)}")
    return Check("state-dir", "ok", f"{place}")


def _others(info: os.stat_result) -> str:
    """Who else may write; empty for nobody. The owner's private group does not count."""
    if info.st_mode & 0o002:
        return "everyone"
    return "its group" if info.st_mode & 0o020 and not _is_own_group(info) else ""


def _is_own_group(info: os.stat_result) -> bool:
    return info.st_gid == info.st_uid


def fix_state_dir(subject: DoctorSubject) -> Iterator[Fix]:
    place = subject.places.state_dir
    if place.is_dir() and _others(place.stat()):
        yield from fixes.close(place, WRITABLE)


def own_files(subject: DoctorSubject) -> Check:
    faults = list(_faults(subject))
    if not faults:
        return Check("state-files", "ok", "accessible by their owner only")
    worst: Status = "error" if any(fault.severe for fault in faults) else "warn"
    text = "; ".join(fault.text for fault in faults[:SHOWN])
    more = f"; and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    hand = faults[0].hand or _by_hand(subject)
    fix = subject.command("doctor", "--fix") if list(fix_own_files(subject)) else hand
    return Check("state-files", worst, text + more, fix, {"files": [str(fault.path) for fault in faults]})


def _by_hand(subject: DoctorSubject) -> str:
    return f"sudo chown -R {owner_name(subject.user)} {shown(subject.places.own)}"


class _Fault:
    """A problem with one file. `severe`: others could change it, or the gateway cannot use it. `hand`: what the user can do
    if `fix` yields nothing."""

    def __init__(self, path: Path, text: str, fix: Callable[[], Iterator[Fix]], *, severe: bool, hand: str = "") -> None:
        self.path, self.text, self.fix, self.severe, self.hand = path, text, fix, severe, hand


def _faults(subject: DoctorSubject) -> Iterator[_Fault]:
    for path in _own(subject.places.own):
        try:
            info = path.lstat()
        except FileNotFoundError:
            continue  # an engine has just replaced it
        yield from _mode(path, info)
        if info.st_uid != subject.user and not stat.S_ISLNK(info.st_mode):
            text = f"{path} belongs to {owner_name(info.st_uid)}, not to {owner_name(subject.user)}"
            yield _Fault(path, text, partial(_give, path, subject), severe=True)
    yield from _elsewhere(subject)


def _elsewhere(subject: DoctorSubject) -> Iterator[_Fault]:
    """Faults of the files outside toolguard's folder that the settings name. Folders there are left to the user."""
    store = stores_check.ledger(subject).path
    for path in dict.fromkeys([subject.places.config, log_path(subject), metrics_path(subject), store, store.parent]):
        if path == subject.places.state_dir or path.is_relative_to(subject.places.own) or not path.exists():
            continue
        info = path.stat()
        sticky = path.is_dir() and info.st_mode & stat.S_ISVTX
        if (who := _others(info)) and not sticky:
            text = f"{path} is writable by {who} (mode {stat.S_IMODE(info.st_mode):o})"
            fix = partial(fixes.close, path, WRITABLE) if path.is_file() else partial(iter, ())
            yield _Fault(path, text, fix, severe=True, hand=f"chmod go-w {shown(path)}")


def _own(root: Path) -> Iterator[Path]:
    if root.is_dir():
        yield root
        yield from sorted(path for path in root.rglob("*") if not _is_kept(path, root / state_files.UNDO))


def _is_kept(path: Path, undo: Path) -> bool:
    """Whether undo keeps it of somebody's files: a hard link has the mode of the file that is still in use. Its folder,
    which only we may enter, protects it."""
    return path.is_relative_to(undo) and path.name not in WRITTEN_HERE and (path.is_symlink() or not path.is_dir())


def _mode(path: Path, info: os.stat_result) -> Iterator[_Fault]:
    mode = stat.S_IMODE(info.st_mode)
    mask = WRITABLE if path.name in EDITED or path.suffix == LOCK else READABLE
    if stat.S_ISLNK(info.st_mode) or path.name == state_files.KEY or not mode & mask:
        return  # the key has a check of its own
    severe = bool(mode & WRITABLE)
    text = f"{path} is {'writable' if severe else 'readable'} by others (mode {mode:o})"
    yield _Fault(path, text, partial(fixes.close, path, mask), severe=severe)


def _give(path: Path, subject: DoctorSubject) -> Iterator[Fix]:
    if os.geteuid() == 0:
        yield Fix(f"chown {owner_name(subject.user)} {shown(path)}", partial(_chown, path, subject.user))


def _chown(path: Path, user: int) -> str:
    os.chown(path, user, -1, follow_symlinks=False)
    return ""


def fix_own_files(subject: DoctorSubject) -> Iterator[Fix]:
    for fault in _faults(subject):
        yield from fault.fix()


def user(subject: DoctorSubject) -> Check:
    """This account must be the one that runs the gateway, which must be able to use what is written here."""
    me, owner = os.geteuid(), subject.user
    if me == owner:
        return Check("user", "ok", f"{owner_name(me)}, the owner of the state directory")
    command = f"sudo -u {shlex.quote(account(owner))} {subject.command('doctor')}"
    whose = f"{subject.places.state_dir} belongs to {owner_name(owner)}"
    if me == 0:
        return Check("user", "warn", f"you are root, and {whose}", command)
    return Check("user", "error", f"you are {owner_name(me)}, and {whose}", command)
