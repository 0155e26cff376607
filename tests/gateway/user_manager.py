"""A service manager for users of its own, where the system was not started by systemd.

systemd runs only where it finds `/run/systemd/system`: it gets a `/run` of its own with that folder in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MANAGER = Path("/lib/systemd/systemd")
GROUPS = (Path("/sys/fs/cgroup/systemd"), Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
LIMIT_SECONDS = 60
START = """
for group in "$@"; do echo $$ > "$group/cgroup.procs" || exit 1; done
exec unshare --mount sh -c '
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system && exec "$0" --user' "$MANAGER"
"""


@contextmanager
def running(folder: Path) -> Iterator[Path | None]:
    """Its `XDG_RUNTIME_DIR`; None if it cannot run here."""
    folder.mkdir(mode=0o700)
    groups = list(_groups(f"toolguard-test-{os.getpid()}"))
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder), "MANAGER": str(MANAGER)}
    command = ["sh", "-c", START, "sh", *map(str, groups)]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, env=environment, stdout=log, stderr=log) as manager:
        try:
            yield folder if groups and _answers(manager, environment) else None
        finally:
            manager.terminate()
            with suppress(subprocess.TimeoutExpired):
                manager.wait(LIMIT_SECONDS)
            manager.kill()
            manager.wait()
            for group in groups:
                _removed(group)


def _groups(name: str) -> Iterator[Path]:
    """A control group for it in each hierarchy that there is."""
    for top in GROUPS:
        if (top / "cgroup.procs").exists():
            with suppress(OSError):
                (top / name).mkdir()
                yield top / name


def _answers(manager: subprocess.Popen[bytes], environment: dict[str, str]) -> bool:
    limit = time.monotonic() + LIMIT_SECONDS
    while manager.poll() is None and time.monotonic() < limit:
        command = ["systemd-run", "--user", "--quiet", "true"]
        if subprocess.run(command, env=environment, check=False, capture_output=True).returncode == 0:
            return True
        time.sleep(0.1)
    return False


def _removed(group: Path) -> None:
    """Once its processes have ended."""
    limit = time.monotonic() + LIMIT_SECONDS
    while group.exists() and time.monotonic() < limit:
        for folder in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            with suppress(OSError):
                folder.rmdir()
        with suppress(OSError):
            group.rmdir()
        time.sleep(0.1)


MISSING = os.geteuid() != 0 or not MANAGER.exists() or not all(map(shutil.which, ("unshare", "systemd-run")))
