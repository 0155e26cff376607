"""Fixes that several checks share."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from toolguard_cli.doctor.check_types import RESTART, DoctorSubject, Fix, shown
from toolguard_cli.system.errors import UserError


def reinstall(subject: DoctorSubject) -> Iterator[Fix]:
    """Runs `toolguard install` in the recorded mode; yields nothing if toolguard was never installed here."""
    from toolguard_cli.operations import install_plugin  # noqa: PLC0415 - it imports the checks

    known = subject.record
    if known is None or subject.config is None:
        return
    link = known.mode == "link"
    with suppress(UserError, OSError):  # `install` would refuse, so the user must fix the cause
        planned = install_plugin.run(subject.places, link=link, dry_run=True)
        if planned.data["changed"]:
            would = "; ".join(line.text.removeprefix("would ") for line in planned.lines if line.kind == "ok")
            yield Fix(f"install again: {would}", partial(_install, subject, link=link))


def _install(subject: DoctorSubject, *, link: bool) -> str:
    from toolguard_cli.operations import install_plugin  # noqa: PLC0415 - it imports the checks

    install_plugin.run(subject.places, link=link, dry_run=False)
    return RESTART


def close(path: Path, mask: int) -> Iterator[Fix]:
    """Removes these permissions; yields nothing if the file belongs to another user or is a symbolic link."""
    info = path.lstat()
    mode = stat.S_IMODE(info.st_mode)
    if mode & mask and not stat.S_ISLNK(info.st_mode) and os.geteuid() in (0, info.st_uid):
        yield Fix(f"chmod {mode & ~mask:o} {shown(path)} (now {mode:o})", partial(_chmod, path, mode & ~mask))


def open_for_owner(path: Path) -> Iterator[Fix]:
    """Lets the owner read and write the file; yields nothing if it belongs to another user."""
    if os.geteuid() in (0, path.lstat().st_uid):
        yield Fix(f"chmod 600 {shown(path)}", partial(_chmod, path, 0o600))


def _chmod(path: Path, mode: int) -> str:
    path.chmod(mode)
    return ""
