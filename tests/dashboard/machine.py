"""A machine with two gateways and the dashboard's real server: what it serves is made here, nothing else runs."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from subprocess import PIPE
from types import TracebackType
from typing import Self

from toolguard_cli.dashboard import vouched
from toolguard_cli.operations import guard_proof
from toolguard_cli.rig.private_home import free_port
from toolguard_cli.system import gateway_processes
from toolguard_cli.system.paths import Places
from toolguard_engine import __version__
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores import signing_key as signatures
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files.engine_files import EngineInfo
from toolguard_engine.stores.files.nonces import NAME
from toolguard_engine.stores.sqlite.standings import FileStandings
from toolguard_engine.stores.transactions import transaction

START_SECONDS = 120
POLL_SECONDS = 0.05
HOME, LAB = "home", "lab"
"""The gateways, by the ids under which they write. The server belongs to the first, and only that one runs."""

GATEWAY = gateway_processes.TITLE
ENGINE = """
import subprocess, sys
engine = subprocess.Popen([sys.argv[1], "-c", "import sys; sys.stdin.read()", "toolguard_engine"], stdin=subprocess.PIPE)
print(engine.pid, flush=True)
sys.stdin.read()
engine.communicate()
"""
"""A process that is called like a gateway, and an engine that it started. Neither does anything, but they are there."""

CONFIG = """{
  // what this gateway is for
  plugins: {
    entries: {
      toolguard: {
        enabled: true,
        config: {
          mode: "enforce", // ask twice
          approvalWindowMs: 60000,
          metrics: { enabled: true },
        },
      },
    },
  },
}
"""


RECORDS = "metrics: { enabled: true }"
PUBLIC = "approval: {{ answerLinks: true }}, metrics: {{ enabled: true, dashboard: {{ hosts: {hosts} }} }}"


class Machine:
    """Use it as a context manager. `root` is thrown away at the end. `public`: answer links lead to the page itself,
    which is also known as `tunnel`."""

    def __init__(self, *, metrics: bool = True, public: bool = False) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="toolguard-dashboard-"))
        self.db = self.root / "metrics" / "metrics.db"
        self.port = free_port()
        self.tunnel = f"http://guard.localhost:{free_port()}"
        self.hosts = [self.url, self.tunnel] if public else []
        self.log = self.root / "server.log"
        self.gateways = {name: self._gateway(name) for name in (HOME, LAB)}
        self.process: subprocess.Popen[str] | None = None
        self._gateway_process = self._run_gateway()
        engines.publish(self.places.state_dir, self._info())
        if metrics:
            self._know_gateways()

    def _gateway(self, name: str) -> Places:
        state = self.root / name / ".openclaw"
        state.mkdir(parents=True)
        places = Places(state, state / "openclaw.json")
        places.own.mkdir(mode=0o700)
        places.config.write_text(
            CONFIG.replace(RECORDS, PUBLIC.format(hosts=json.dumps(self.hosts))) if self.hosts else CONFIG
        )
        places.config.chmod(0o600)
        return places

    def _run_gateway(self) -> subprocess.Popen[str]:
        command, env = (
            [GATEWAY, "-c", ENGINE, sys.executable],
            {**os.environ, "OPENCLAW_STATE_DIR": str(self.places.state_dir)},
        )
        return subprocess.Popen(command, executable=sys.executable, env=env, stdin=PIPE, stdout=PIPE, text=True)

    def _info(self) -> EngineInfo:
        assert self._gateway_process.stdout
        pid, log = int(self._gateway_process.stdout.readline()), str(self.places.state_dir / "tool-guard.log")
        now, own = time.time(), guard_proof.wanted(self.places).settings or {}
        known = (HOME, "2026.9.6", __version__, __version__, now, "enforce", log)
        return EngineInfo(pid, self._gateway_process.pid, *known, settings=own)

    def _know_gateways(self) -> None:
        with closing(connect(self.db)) as connection, transaction(connection):
            for name, places in self.gateways.items():
                known = (name, str(places.state_dir), str(places.config), str(places.own / NAME))
                connection.execute(
                    "INSERT INTO toolguard_gateways (id, state_dir, config_path, nonces, host, version, mode, pid, seen) "
                    "VALUES (?, ?, ?, ?, '2026.9.6', '0.1.0', 'enforce', ?, ?)",
                    (*known, os.getpid(), time.time_ns() // 1_000_000),
                )

    @property
    def places(self) -> Places:
        """Those of the first gateway."""
        return self.gateways[HOME]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return metrics_path.token_path(self.db).read_text().strip()

    def calls(self) -> list[sqlite3.Row]:
        """All of the metrics file, the newest first."""
        return self._rows("SELECT * FROM toolguard_calls ORDER BY id DESC")

    def verdicts(self) -> list[sqlite3.Row]:
        return self._rows("SELECT * FROM toolguard_verdicts ORDER BY id DESC")

    def _rows(self, statement: str) -> list[sqlite3.Row]:
        with closing(connect(self.db)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(statement).fetchall()

    def record(self, calls: Sequence[CallRecord] = (), verdicts: Sequence[VerdictRecord] = ()) -> None:
        with closing(connect(self.db)) as connection, transaction(connection):
            record(connection, calls)
            record_verdicts(connection, verdicts)

    def stand(self, *standings: Standing) -> None:
        store = FileStandings(self.places.state_dir, patient=True)
        store.save({each.key: each for each in standings})
        store.close()

    def start(self) -> Self:
        """Returns when the server answers, at the same port every time."""
        command = [sys.executable, "-m", "toolguard_cli.dashboard", "--db", str(self.db)]
        command += ["--state-dir", str(self.places.state_dir), "--config", str(self.places.config)]
        command += ["--bind", "127.0.0.1", "--port", str(self.port), "--owned", "--vouched"]
        command += [f"--host={host}" for host in self.hosts]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                env=self._environment(),
                cwd=self.root,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        threading.Thread(target=_vouch, args=(self.process,), daemon=True).start()
        limit = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, f"the server ended:\n{self.log.read_text()}"
            assert time.monotonic() < limit, f"the server does not answer:\n{self.log.read_text()}"
            time.sleep(POLL_SECONDS)
        return self

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "HOME": str(self.root)}

    def _answers(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)
        with closing(connection), suppress(OSError):
            connection.request("GET", "/")
            return connection.getresponse().status == 200
        return False

    def kill(self) -> None:
        """As `kill -9` does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdin
            with suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process = None

    def stop_gateway(self) -> None:
        """As the gateway does with its engine."""
        if self._gateway_process.poll() is None:
            self._gateway_process.communicate()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.kill()
        self.stop_gateway()
        shutil.rmtree(self.root, ignore_errors=True)


def _vouch(process: subprocess.Popen[str]) -> None:
    """Signs what the server asks to be signed, as the gateway part does."""
    assert process.stdin
    assert process.stdout
    with process.stdout as lines, suppress(OSError, ValueError):  # ValueError: closed meanwhile
        for line in lines:
            asked, _, rest = line.strip().partition(" ")
            challenge, _, path = rest.partition(" ")
            if asked == "challenge":
                process.stdin.write(signatures.sign(Path(path).read_bytes(), vouched.PURPOSE + challenge.encode()) + "\n")
                process.stdin.flush()
