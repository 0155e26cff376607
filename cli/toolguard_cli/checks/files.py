"""Who may read and write what toolguard keeps: its files are for their owner's eyes only, and the owner runs the gateway."""

from __future__ import annotations

import os
import pwd
import shlex
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.checks import mending, stores
from toolguard_cli.checks.check import Check, Status, Step, Subject, account, shown
from toolguard_cli.checks.log import log_path, metrics_path
from toolguard_engine.stores import key, policy

WRITABLE, READABLE = 0o022, 0o077
EDITED, LOCK = frozenset({policy.NAME}), ".lock"
"""What people edit with their own editor, and what is empty, may be read: that gives nothing away that could be misused."""
SHOWN = 3


def state_dir(subject: Subject) -> Check:
    """Whoever may write there may put another plugin and another state in the place of ours."""
    place = subject.places.state_dir
    try:
        info = place.stat()
    except OSError as error:
        return Check("state-dir", "error", f"{place}: {error.strerror}", f"start the gateway once, or name it: {_NAMED}")
    open_to = _others(info)
    if open_to:
        return Check("state-dir", "error", f"{place} may be written by {open_to}", f"chmod go-w {shown(place)}")
    return Check("state-dir", "ok", f"{place}")


_NAMED = "--state-dir"


def _others(info: os.stat_result) -> str:
    """Who else may write; a group of the owner's own, as many systems make them, is nobody else."""
    if info.st_mode & 0o002:
        return "everybody"
    return "its group" if info.st_mode & 0o020 and not _is_own_group(info) else ""


def _is_own_group(info: os.stat_result) -> bool:
    return info.st_gid == info.st_uid


def mend_state_dir(subject: Subject) -> Iterator[Step]:
    place = subject.places.state_dir
    if place.is_dir() and _others(place.stat()):
        yield from mending.close(place, WRITABLE)


def own_files(subject: Subject) -> Check:
    found = list(_faults(subject))
    if not found:
        return Check("state-files", "ok", "for their owner only")
    worst: Status = "error" if any(fault.grave for fault in found) else "warn"
    told = "; ".join(fault.text for fault in found[:SHOWN])
    more = f"; and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    hand = found[0].hand or _by_hand(subject)
    mend = subject.command("doctor", "--fix") if list(mend_own_files(subject)) else hand
    return Check("state-files", worst, told + more, mend, {"files": [str(fault.path) for fault in found]})


def _by_hand(subject: Subject) -> str:
    return f"sudo chown -R {_name(subject.user)} {shown(subject.places.own)}"


class _Fault:
    """Something about one file: `grave` where others could change what counts, or the gateway cannot use it. `hand`: what a
    person does where no step does."""

    def __init__(self, path: Path, text: str, mend: Callable[[], Iterator[Step]], *, grave: bool, hand: str = "") -> None:
        self.path, self.text, self.mend, self.grave, self.hand = path, text, mend, grave, hand


def _faults(subject: Subject) -> Iterator[_Fault]:
    for path in _own(subject.places.own):
        try:
            info = path.lstat()
        except FileNotFoundError:
            continue  # an engine replaced it just now
        yield from _mode(path, info)
        if info.st_uid != subject.user and not stat.S_ISLNK(info.st_mode):
            text = f"{path} belongs to {_name(info.st_uid)}, not to {_name(subject.user)}"
            yield _Fault(path, text, partial(_give, path, subject), grave=True)
    yield from _elsewhere(subject)


def _elsewhere(subject: Subject) -> Iterator[_Fault]:
    """What counts and lies where the settings say, or beside our folder; a folder there is the person's to close."""
    book = stores.book(subject).path
    for path in dict.fromkeys([subject.places.config, log_path(subject), metrics_path(subject), book, book.parent]):
        if path == subject.places.state_dir or path.is_relative_to(subject.places.own) or not path.exists():
            continue
        info = path.stat()
        sticky = path.is_dir() and info.st_mode & stat.S_ISVTX
        if (who := _others(info)) and not sticky:
            text = f"{path} may be changed by {who} (mode {stat.S_IMODE(info.st_mode):o})"
            mend = partial(mending.close, path, WRITABLE) if path.is_file() else partial(iter, ())
            yield _Fault(path, text, mend, grave=True, hand=f"chmod go-w {shown(path)}")


def _own(root: Path) -> Iterator[Path]:
    if root.is_dir():
        yield root
        yield from sorted(root.rglob("*"))


def _mode(path: Path, info: os.stat_result) -> Iterator[_Fault]:
    mode = stat.S_IMODE(info.st_mode)
    mask = WRITABLE if path.name in EDITED or path.suffix == LOCK else READABLE
    if stat.S_ISLNK(info.st_mode) or path.name == key.NAME or not mode & mask:
        return  # the key has a check of its own
    grave = bool(mode & WRITABLE)
    text = f"{path} may be {'changed' if grave else 'read'} by others (mode {mode:o})"
    yield _Fault(path, text, partial(mending.close, path, mask), grave=grave)


def _give(path: Path, subject: Subject) -> Iterator[Step]:
    if os.geteuid() == 0:
        yield Step(f"chown {_name(subject.user)} {shown(path)}", partial(_chown, path, subject.user))


def _chown(path: Path, user: int) -> str:
    os.chown(path, user, -1, follow_symlinks=False)
    return ""


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def mend_own_files(subject: Subject) -> Iterator[Step]:
    for fault in _faults(subject):
        yield from fault.mend()


def user(subject: Subject) -> Check:
    """What this account does there must be of use to the one that runs the gateway."""
    me, owner = os.geteuid(), subject.user
    if me == owner:
        return Check("user", "ok", f"{_name(me)}, whose state directory this is")
    command = f"sudo -u {shlex.quote(account(owner))} {subject.command('doctor')}"
    whose = f"{subject.places.state_dir} belongs to {_name(owner)}"
    if me == 0:
        return Check("user", "warn", f"you are root, and {whose}", command)
    return Check("user", "error", f"you are {_name(me)}, and {whose}", command)
