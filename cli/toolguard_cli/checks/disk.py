"""Is there room where toolguard writes: a call that cannot be written down cannot be approved."""

from __future__ import annotations

import os
from pathlib import Path

from toolguard_cli.checks import stores
from toolguard_cli.checks.check import Check, Subject, shown
from toolguard_cli.checks.log import log_path, metrics_path

MEGA = 1024 * 1024
NONE_LEFT, FEW_LEFT = 10 * MEGA, 200 * MEGA


def room(subject: Subject) -> Check:
    places = dict.fromkeys(_existing(place) for place in _written(subject))
    if closed := [place for place in places if not os.access(place, os.W_OK | os.X_OK)]:
        told = f"{closed[0]} cannot be written: held calls and logs cannot be written down"
        return Check("disk", "error", told, f"mend its owner, its mode or its mount: ls -ld {shown(closed[0])}")
    free = {place: _free(os.statvfs(place)) for place in places}
    place, least = min(free.items(), key=lambda item: item[1])
    data = {"free": {str(path): size for path, size in free.items()}}
    told = f"{least // MEGA} MB free at {place}"
    mend = f"make room: df -h {shown(place)}; df -i {shown(place)}"
    if least < NONE_LEFT:
        return Check("disk", "error", f"{told}: held calls cannot be written down", mend, data)
    if least < FEW_LEFT:
        return Check("disk", "warn", told, mend, data)
    return Check("disk", "ok", told, data=data)


def _written(subject: Subject) -> list[Path]:
    files = stores.book(subject).path, log_path(subject), metrics_path(subject)
    return [subject.places.own, *(path.parent for path in files)]


def _existing(place: Path) -> Path:
    """The folder itself, or the nearest one above it that is there."""
    while not place.is_dir() and place != place.parent:
        place = place.parent
    return place


def _free(found: os.statvfs_result) -> int:
    """Bytes that may still be written; none where no file can be made. Some file systems do not count files."""
    no_files = found.f_files > 0 and found.f_favail == 0
    return 0 if no_files else found.f_bavail * found.f_frsize
