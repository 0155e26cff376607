"""A login service of its own: OpenSSH's on a free loopback port, with keys that it makes."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LIMIT_SECONDS = 60
CONFIG = """
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/client.pub
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
PermitRootLogin yes
"""


def _found(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    assert found, f"{name} is not installed"
    return found


@contextmanager
def sshd(folder: Path, port: int) -> Iterator[list[str]]:
    """The beginning of a command line that runs the rest here, logged in as the same user."""
    folder.mkdir()
    for name in ("host", "client"):
        subprocess.run([_found("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
    (folder / "config").write_text(CONFIG.format(port=port, folder=folder))
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it locks itself up before a login
    command = [_found("sshd"), "-D", "-e", "-f", str(folder / "config")]
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log) as server:
        try:
            _wait(server, port, folder / "log")
            yield [
                "ssh", "-F", "none", "-p", str(port), "-i", str(folder / "client"), "-o", "BatchMode=yes",
                "-o", "StrictHostKeyChecking=no", "-o", f"UserKnownHostsFile={folder}/known",
                f"{getpass.getuser()}@127.0.0.1",
            ]  # fmt: skip
        finally:
            server.terminate()


def _wait(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    limit = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < limit:
        assert server.poll() is None, log.read_text()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError("sshd does not answer")
