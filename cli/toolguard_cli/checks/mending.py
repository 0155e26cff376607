"""Repairs that several checks share."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from toolguard_cli.checks.check import RESTART, Step, Subject, shown
from toolguard_cli.errors import UserError


def reinstall(subject: Subject) -> Iterator[Step]:
    """What `toolguard install` does, in the way it was done here before; nothing where it was never installed."""
    from toolguard_cli.commands import install  # noqa: PLC0415 - it imports the checks

    known = subject.record
    if known is None or subject.config is None:
        return
    link = known.mode == "link"
    with suppress(UserError, OSError):  # it would refuse: then a person has to look
        planned = install.run(subject.places, link=link, dry_run=True)
        if planned.data["changed"]:
            would = "; ".join(line.text.removeprefix("would ") for line in planned.lines if line.kind == "ok")
            yield Step(f"install it again: {would}", partial(_install, subject, link=link))


def _install(subject: Subject, *, link: bool) -> str:
    from toolguard_cli.commands import install  # noqa: PLC0415 - it imports the checks

    install.run(subject.places, link=link, dry_run=False)
    return RESTART


def close(path: Path, mask: int) -> Iterator[Step]:
    """Takes these permissions away; nothing where the file belongs to somebody else, or is a link."""
    info = path.lstat()
    mode = stat.S_IMODE(info.st_mode)
    if mode & mask and not stat.S_ISLNK(info.st_mode) and os.geteuid() in (0, info.st_uid):
        yield Step(f"chmod {mode & ~mask:o} {shown(path)} (it has {mode:o})", partial(_chmod, path, mode & ~mask))


def open_for_owner(path: Path) -> Iterator[Step]:
    """Lets its owner read and write it; nothing where it belongs to somebody else."""
    if os.geteuid() in (0, path.lstat().st_uid):
        yield Step(f"chmod 600 {shown(path)}", partial(_chmod, path, 0o600))


def _chmod(path: Path, mode: int) -> str:
    path.chmod(mode)
    return ""
