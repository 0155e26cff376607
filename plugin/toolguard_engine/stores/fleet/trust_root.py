"""The folder with the signers that this machine trusts. A gateway whose own user can change it proves nothing by it.

Run as a program, it prints the problem for the user that it runs as: `doctor` asks so for the gateway's user.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

ALLOWED = "allowed_signers"
REVOKED = "krl"
MAX_LINKS = 40
MAX_FILE = 4 * 1024 * 1024
ACCEPT = "accept this with fleet.trustWritable"
FIX = f"make root its owner (chown root:root, chmod go-w), or {ACCEPT}"


def problem(folder: Path, *, may_be_writable: bool = False) -> str:
    """Why the signers cannot be trusted; empty if they can. Never raises.

    `may_be_writable`: only whether they can be read.
    """
    try:
        names = [name for name in (ALLOWED, REVOKED) if name == ALLOWED or os.path.lexists(folder / name)]
        for name in names:
            _check_file(folder / name)
        places = {place for name in names for place in _passed(folder / name)}
        changeable = next((place for place in sorted(places) if _can_change(place, is_folder=place == folder)), None)
    except (OSError, RuntimeError, ValueError) as error:
        at = getattr(error, "filename", None) or folder / ALLOWED
        return f"{at}: {getattr(error, 'strerror', None) or error}; put the allowed signers there, readable for the gateway"
    if changeable is None or may_be_writable:
        return ""
    if os.geteuid() == 0:
        why = f"the gateway runs as root, so it could change who may approve in {folder}"
        return f"{why}; run it as another user, or {ACCEPT}"
    return f"{changeable} can be changed by the gateway's own user; {FIX}"


def _check_file(path: Path) -> None:
    """Raises `OSError`."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
        raise OSError(None, f"it is not a file of at most {MAX_FILE} bytes", str(path))
    with path.open("rb"):
        pass


def _passed(path: Path) -> Iterator[Path]:
    """All that is passed on the way to a file: folders, each symbolic link, and what is behind it. Raises `OSError`."""
    left, at, links = list(path.absolute().parts[1:]), Path("/"), 0
    yield at
    while left:
        name = left.pop(0)
        if name == "..":
            at = at.parent
            continue
        step = at / name
        yield step
        if not stat.S_ISLNK(step.lstat().st_mode):
            at = step
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError(None, "too many symbolic links", str(path))
        target = Path(os.readlink(step))  # noqa: PTH115 - of this step only
        at = Path("/") if target.is_absolute() else at
        left = [part for part in target.parts if part != "/"] + left


def _can_change(place: Path, *, is_folder: bool) -> bool:
    """Whether our user can write it, or owns it and so can change its mode. Rights of groups and access lists are the
    kernel's answer. In a sticky folder nobody can replace what others put there, but whatever is missing can be added."""
    status, user = place.lstat(), os.geteuid()
    if user in (0, status.st_uid):
        return True
    if stat.S_ISLNK(status.st_mode):
        return False  # who can replace it can write its folder
    is_sticky = stat.S_ISDIR(status.st_mode) and bool(status.st_mode & stat.S_ISVTX) and not is_folder
    return not is_sticky and os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


if __name__ == "__main__":
    print(problem(Path(sys.argv[1])))  # noqa: T201 - this is its answer
