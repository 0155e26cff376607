"""A gateway that runs as a user without privileges, although the tests run as root: root has no room to be held in.

In a mount namespace of its own, the folders that it needs are opened to that user where an ancestor, such as `/root`, is
closed, and the user has an entry in `/etc/passwd`. Nothing outside of the namespace changes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from toolguard_cli.rig import downloads
from toolguard_cli.rig.private_home import Home

UID = 54_321 + os.getpid() % 10_000
"""Nobody's: no account of a machine that runs tests has it, and hardly any other run of tests on the same machine."""


def as_user(*command: str) -> list[str]:
    """The command as that user, with no capabilities and no other groups."""
    return ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--inh-caps=-all", *command]


@dataclass(frozen=True)
class Unprivileged:
    """An OpenClaw whose processes belong to that user; `home` is theirs."""

    real: downloads.Runtime
    home: Home

    def command(self, *arguments: str) -> list[str]:
        return self.wrapped(*self.real.command(*arguments))

    def wrapped(self, *command: str) -> list[str]:
        """This command in the namespace, as that user; as it is where nobody is root."""
        if os.geteuid() != 0:
            return list(command)
        prepared = [*self._account(), *_opened(self._folders())]
        script = "\n".join(["set -e", *prepared, 'exec "$@"'])
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *as_user(*command)]

    def own(self) -> None:
        """Gives the home to that user, with all that tests have written into it."""
        if os.geteuid() != 0:
            return
        for path in (self.home.root, *self.home.root.rglob("*")):
            os.chown(path, UID, UID, follow_symlinks=False)

    def tidy(self) -> None:
        """Removes what OpenClaw keeps outside of its home for each user."""
        if os.geteuid() == 0:
            for name in ("openclaw", "openclaw-state-locks"):
                shutil.rmtree(Path(f"/tmp/{name}-{UID}"), ignore_errors=True)

    def _folders(self) -> list[Path]:
        places = (self.real.node.parent, self.real.openclaw, sys.prefix, sys.base_prefix, Path(__file__).parents[2])
        return [self._package(Path(place)) for place in places]

    @staticmethod
    def _package(place: Path) -> Path:
        """The whole installation that a program is part of, links resolved."""
        place = place.resolve()
        return next((parent for parent in place.parents if parent.name == "node_modules"), place)

    def _account(self) -> list[str]:
        """Node asks for the name of its user."""
        passwd = self.home.root / "passwd"
        line = f"agent:x:{UID}:{UID}::{self.home.root}:/bin/bash\n"
        passwd.write_text(Path("/etc/passwd").read_text() + line)
        return [f"mount --bind {shlex.quote(str(passwd))} /etc/passwd"]


def _opened(folders: list[Path]) -> list[str]:
    """Commands after which the folders can be reached by everybody."""
    closed: dict[Path, list[Path]] = {}
    for folder in dict.fromkeys(folders):
        if ancestor := _closed_ancestor(folder):
            closed.setdefault(ancestor, []).append(folder)
    commands = []
    for ancestor, inside in closed.items():
        numbered = [(number, shlex.quote(str(folder))) for number, folder in enumerate(inside, 3)]
        commands += [f"exec {number}< {folder}" for number, folder in numbered]
        commands.append(f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(ancestor))}")
        for number, folder in numbered:
            commands.append(f"mkdir -p {folder}")
            commands.append(f"mount --no-canonicalize --bind /proc/self/fd/{number} {folder}")
            commands.append(f"exec {number}<&-")
    return commands


def _closed_ancestor(folder: Path) -> Path | None:
    """The uppermost folder on the way that others may not enter."""
    return next((each for each in reversed([folder, *folder.parents]) if not each.stat().st_mode & 0o001), None)


def missing() -> str:
    """Why no gateway can run like that here; empty if it can."""
    if sys.platform != "linux":
        return "no namespaces here"
    room = ["unshare", "--user", "--mount", "--map-current-user", "true"]
    probe = ["unshare", "--mount", *as_user(*room)] if os.geteuid() == 0 else room
    try:
        done = subprocess.run(probe, capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        return str(error)
    return done.stderr.strip() if done.returncode else ""
