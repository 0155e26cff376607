"""A PostgreSQL server of the system's programs in a temporary folder, for tests, benchmarks and the demo.

It listens on a loopback port and on a Unix socket in its folder. PostgreSQL refuses to run as root: then it runs as
`postgres` or `nobody`.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SUPERUSER = "postgres"
START_SECONDS = 60.0
STOP_SECONDS = 60.0
LOOPBACK = "127.0.0.1"
ACCESS = """
local all {superuser} trust
local all all scram-sha-256
host all all {loopback}/32 scram-sha-256
"""


class NoPostgresError(Exception):
    """The programs are missing or the server does not start."""


def programs() -> Path | None:
    """The folder with `initdb` and `postgres` of the newest PostgreSQL from 15 on, None where there is none."""
    candidates = [*Path("/usr/lib/postgresql").glob("*/bin"), *Path("/usr").glob("pgsql-*/bin")]
    candidates += [path for root in ("/opt/homebrew/opt", "/usr/local/opt") for path in Path(root).glob("postgresql@*/bin")]
    if program := shutil.which("initdb"):
        candidates.append(Path(program).resolve().parent)
    usable = {path: _major(path) for path in candidates if (path / "initdb").exists() and (path / "postgres").exists()}
    new = [path for path, major in usable.items() if major >= 15]  # noqa: PLR2004
    return max(new, key=lambda path: usable[path], default=None)


def _major(folder: Path) -> int:
    done = subprocess.run([folder / "postgres", "--version"], capture_output=True, text=True, check=False)
    number = done.stdout.split()[-1:] if "Debian" not in done.stdout else done.stdout.split()[2:3]
    return int(number[0].partition(".")[0]) if number and number[0].partition(".")[0].isdigit() else 0


def other_user() -> dict[str, Any]:
    """Arguments for `Popen`: another user than root."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name: entry for entry in pwd.getpwall()}
    user = known.get("postgres") or known["nobody"]
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class TemporaryPostgres:
    """A running server. `settings`: of postgresql.conf. With an own `port` it can be stopped and started again there."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        path = programs()
        if path is None:
            raise NoPostgresError("PostgreSQL 15 or later is not installed (Debian: apt-get install postgresql)")
        self._programs = path
        self._as_user = other_user()
        self.folder = Path(tempfile.mkdtemp(prefix="tg-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        self.port = _free_port()
        self._settings = {"listen_addresses": LOOPBACK, "max_connections": "200", **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        if self._as_user:
            os.chown(self.folder, self._as_user["user"], self._as_user["group"])
        self._create()

    def _create(self) -> None:
        command: list[str | Path] = [
            self._programs / "initdb",
            "-D",
            self.data,
            "-U",
            SUPERUSER,
            "-E",
            "UTF8",
            "--no-locale",
            "-N",
        ]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False, **self._as_user)
        if done.returncode != 0:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise NoPostgresError(f"initdb failed: {done.stderr.strip()[-300:]}")
        (self.data / "pg_hba.conf").write_text(ACCESS.format(superuser=SUPERUSER, loopback=LOOPBACK))

    def dsn(self, user: str = SUPERUSER, database: str = "postgres", password: str = "", *, tcp: bool = False) -> str:
        """A connection string; by the Unix socket unless `tcp`."""
        parts = {"host": LOOPBACK if tcp else str(self.folder), "port": str(self.port), "user": user, "dbname": database}
        if password:
            parts["password"] = password
        return " ".join(f"{name}={value}" for name, value in parts.items())

    @property
    def pid(self) -> int:
        """The process id of the postmaster. Raises `NoPostgresError` if the server does not run."""
        if self._process is None:
            raise NoPostgresError("the server does not run")
        return self._process.pid

    def start(self) -> None:
        """Returns when the server accepts connections. Raises `NoPostgresError`."""
        options = {**self._settings, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            command: list[str | Path] = [self._programs / "postgres", "-D", self.data, *flags]
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd="/", start_new_session=True, **self._as_user
            )
        limit = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > limit:
                raise NoPostgresError(f"PostgreSQL did not start: {self.log()[-500:]}")
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        command: list[str | Path] = [self._programs / "pg_isready", "-q", "-h", self.folder, "-p", str(self.port), "-t", "3"]
        return subprocess.run(command, check=False).returncode == 0

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT: at once, in order. SIGQUIT: as a crash; the next start recovers."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(how)
            try:
                self._process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.send_signal(signal.SIGQUIT)
                self._process.wait(STOP_SECONDS)
        self._process = None

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.remove()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
