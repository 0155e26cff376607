"""Whether toolguard can write where it has to, by trying it: a held call that cannot be stored cannot be approved."""

from __future__ import annotations

import os
from pathlib import Path

from toolguard_cli.doctor.check_types import Check, DoctorSubject, shown
from toolguard_cli.doctor.checks import stores_check
from toolguard_cli.doctor.checks.log_check import log_path, metrics_path
from toolguard_cli.system import disk_trial

MEGA = 1024 * 1024
NONE_LEFT, FEW_LEFT = 10 * MEGA, 200 * MEGA


def room(subject: DoctorSubject) -> Check:
    places = dict.fromkeys(_existing(place) for place in _written(subject))
    if closed := [place for place in places if not os.access(place, os.W_OK | os.X_OK)]:
        text = f"{closed[0]} is not writable: held calls and logs cannot be stored"
        return Check("disk", "error", text, f"check its owner, mode and mount: ls -ld {shown(closed[0])}")
    for folder in dict.fromkeys((subject.places.own, stores_check.ledger(subject).path.parent)):
        if folder.is_dir() and (problem := disk_trial.problem(folder)):
            fix = f"check the disk, its mount and the system's log: findmnt -T {shown(folder)}; touch {shown(folder / 'x')}"
            return Check("disk", "error", f"{disk_trial.MEANS}: {problem}", fix)
    free = {place: _free(os.statvfs(place)) for place in places}
    place, least = min(free.items(), key=lambda item: item[1])
    data = {"free": {str(path): size for path, size in free.items()}}
    text = f"{least // MEGA} MB free at {place}"
    fix = f"free some space: df -h {shown(place)}; df -i {shown(place)}"
    if least < NONE_LEFT:
        return Check("disk", "error", f"{text}: held calls cannot be stored", fix, data)
    if least < FEW_LEFT:
        return Check("disk", "warn", text, fix, data)
    return Check("disk", "ok", text, data=data)


def _written(subject: DoctorSubject) -> list[Path]:
    files = stores_check.ledger(subject).path, log_path(subject), metrics_path(subject)
    return [subject.places.own, *(path.parent for path in files)]


def _existing(place: Path) -> Path:
    while not place.is_dir() and place != place.parent:
        place = place.parent
    return place


def _free(result: os.statvfs_result) -> int:
    """Bytes that can still be written; 0 if no inode is left. Some file systems report no inodes at all."""
    no_files = result.f_files > 0 and result.f_favail == 0
    return 0 if no_files else result.f_bavail * result.f_frsize
