"""Tries whether a rehearsal can be made here: `FOLDER [WRITABLE FOLDER]...`. Exits with 1 and says why if not."""

from __future__ import annotations

import os
import sys
import tempfile

from toolguard_engine.server import mounted_folders, rehearsal_room
from toolguard_engine.server.rehearsal_room import RehearsalError, RehearsalRoom

REMOVES = "/bin/rm"
TRIED = "tried"


def main() -> None:
    """A file is removed in the copy, and must be gone there and there only."""
    folder, *writable = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=folder) as holder:
        file = os.path.join(holder, TRIED)
        with open(file, "wb"):
            pass
        try:
            fault = _fault(file, holder, mounted_folders.roots([*writable, folder]))
        except (RehearsalError, OSError) as error:
            fault = str(error)
    sys.exit(fault or 0)


def _fault(file: str, holder: str, roots: list[str]) -> str:
    with rehearsal_room.rehearsed(RehearsalRoom(roots, [], [], holder, []), [REMOVES, file], "/") as ended:
        pairs = zip(roots, ended.uppers, strict=True)
        places = [os.path.join(upper, os.path.relpath(file, root)) for root, upper in pairs]
        if ended.code or not any(map(os.path.lexists, places)):
            return f"what a command removes is not seen (exit code {ended.code})"
    return "" if os.path.exists(file) else "what a command removes on the copy is gone"


if __name__ == "__main__":
    main()
