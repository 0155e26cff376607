"""A PgBouncer in transaction mode before a temporary PostgreSQL, for tests and benchmarks."""

from __future__ import annotations

import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from toolguard_cli.rig.private_home import free_port
from toolguard_cli.rig.temporary_postgres import LOOPBACK, TemporaryPostgres, other_user

START_SECONDS = 30.0
ADMIN = "bouncer"
SETTINGS = """
[databases]
* = host={socket} port={server_port}
[pgbouncer]
listen_addr = {loopback}
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
admin_users = {admin}
pool_mode = transaction
max_client_conn = {clients}
default_pool_size = {pool}
server_tls_sslmode = disable
log_connections = 0
log_disconnections = 0
"""


class NoPgbouncerError(Exception):
    """The program is missing or does not start."""


def program() -> Path | None:
    inner = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin:/usr/local/sbin")
    return Path(inner) if inner else None


class TemporaryPgbouncer:
    """`logins`: with their passwords. `pool`: server connections of each login; `clients`: of all."""

    def __init__(
        self, server: TemporaryPostgres, logins: Mapping[str, str], *, pool: int = 20, clients: int = 8_000
    ) -> None:
        path = program()
        if path is None:
            raise NoPgbouncerError("PgBouncer is not installed (Debian: apt-get install pgbouncer)")
        self._program = path
        self._server = server
        self.port = free_port()
        self.folder = server.folder / f"bouncer-{self.port}"
        self.folder.mkdir(mode=0o755)
        users = {**logins, ADMIN: ADMIN}
        (self.folder / "users").write_text("".join(f'"{name}" "{password}"\n' for name, password in users.items()))
        values = {"socket": server.folder, "server_port": server.port, "port": self.port, "folder": self.folder}
        limits = {"clients": clients, "pool": pool, "admin": ADMIN, "loopback": LOOPBACK}
        (self.folder / "settings").write_text(SETTINGS.format(**values, **limits))
        self._process: subprocess.Popen[bytes] | None = None

    def dsn(self, user: str, database: str) -> str:
        return f"host={LOOPBACK} port={self.port} user={user} dbname={database}"

    @property
    def pid(self) -> int:
        assert self._process is not None  # noqa: S101 - asked only while it runs
        return self._process.pid

    def log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")

    def __enter__(self) -> Self:
        with (self.folder / "log").open("wb") as log:
            command = [self._program, self.folder / "settings"]
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd="/", start_new_session=True, **other_user()
            )
        limit = time.monotonic() + START_SECONDS
        while "process up" not in self.log():
            if self._process.poll() is not None or time.monotonic() > limit:
                self.__exit__(None, None, None)
                raise NoPgbouncerError(f"PgBouncer did not start: {self.log()[-500:]}")
            time.sleep(0.05)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(START_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
