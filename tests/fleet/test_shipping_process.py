"""Shippers as processes that are killed, of which there are two, and whose database goes away."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from audit_logs import log_with
from effort import ALL
from fleet_database import Connection, FleetDatabase, Gateway
from fleet_servers import OwnPostgres, SharedPostgres
from metrics_files import write
from test_audit_shipping import events, gaps, local, state, stored
from test_metrics_shipping import count, let_one_lead, some_calls, sum_up, sums_equal_rows
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_engine.stores import open as stores

HERE = Path(__file__).parent
LIMIT = 120.0
KILLS = 25 if ALL else 8


@pytest.fixture
def gateway(database: FleetDatabase) -> Gateway:
    return database.gateway()


class Shippers:
    """Processes of one gateway."""

    def __init__(self, database: FleetDatabase, gateway: Gateway, state_dir: Path) -> None:
        self._arguments = [database.dsn("toolguard_gateway"), gateway.id, gateway.token.hex(), str(state_dir)]
        self._arguments.append(str(state_dir / "metrics.db"))
        self._running: list[subprocess.Popen[bytes]] = []
        self._output = state_dir / "reports"

    def start(self) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(HERE), *(part for part in sys.path if part)])
        with self._output.open("a") as output:
            process = subprocess.Popen(
                [sys.executable, HERE / "shipping_process.py", *self._arguments],
                stdin=subprocess.PIPE,
                stdout=output,
                env={**os.environ, "PYTHONPATH": path},
            )
        self._running.append(process)
        return process

    def reports(self) -> str:
        return self._output.read_text()

    def end(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.wait()
            assert process.stdin
            process.stdin.close()


@pytest.fixture
def shippers(database: FleetDatabase, gateway: Gateway, tmp_path: Path) -> Iterator[Shippers]:
    made = Shippers(database, gateway, tmp_path)
    yield made
    made.end()


def wait_until(is_met: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT
    while not is_met():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


@pytest.mark.thorough
def test_a_shipper_that_is_killed_at_any_moment_loses_and_doubles_nothing(
    database: FleetDatabase, owner: Connection, gateway: Gateway, shippers: Shippers, tmp_path: Path
) -> None:
    chance = random.Random(19)  # noqa: S311
    metrics = tmp_path / "metrics.db"
    log_with(tmp_path, 400)
    write(metrics, tmp_path, some_calls(400))
    for turn in range(KILLS):
        process = shippers.start()
        has = count(owner, "audit")
        if turn % 3 == 0:
            wait_until(lambda: count(owner, "audit") > has)  # noqa: B023 - called in this turn
        else:
            time.sleep(chance.random())  # the moment is what the test varies
        process.send_signal(signal.SIGKILL)
        process.wait()
        log_with(tmp_path, chance.randrange(1, 300))
        write(metrics, tmp_path, some_calls(chance.randrange(1, 300), turn))
        let_one_lead(owner)
    shippers.start()
    lines = local(tmp_path).count(b"\n")
    rows = 400
    wait_until(lambda: count(owner, "audit") == lines and count(owner, "call") >= rows)
    shippers.end()
    assert stored(owner) == local(tmp_path)
    assert (events(owner), gaps(owner), state(owner, gateway)) == ([], [], "admitted")


@pytest.mark.thorough
def test_rows_of_killed_shippers_are_summed_once(
    database: FleetDatabase, owner: Connection, gateway: Gateway, shippers: Shippers, tmp_path: Path
) -> None:
    metrics = tmp_path / "metrics.db"
    total = 0
    for turn in range(6):
        write(metrics, tmp_path, some_calls(600, turn))
        total += 600
        let_one_lead(owner)
        process = shippers.start()
        wait_until(lambda: count(owner, "call") > total - 600)  # noqa: B023 - called in this turn
        process.send_signal(signal.SIGKILL)
        process.wait()
    shippers.start()
    wait_until(lambda: count(owner, "call") == total)
    shippers.end()
    login = database.gateway_login()

    def summed() -> bool:
        """A server that has not noticed yet that a shipper was killed keeps the newest rows from being summed."""
        let_one_lead(owner)
        sum_up(login, gateway)
        return sums_equal_rows(owner)

    wait_until(summed)


def test_two_shippers_of_one_gateway(owner: Connection, gateway: Gateway, shippers: Shippers, tmp_path: Path) -> None:
    """As while a new engine starts before the courier of the old one has ended."""
    log_with(tmp_path, 300)
    for _ in range(2):
        shippers.start()
    for _ in range(30):
        log_with(tmp_path, 7)
    wait_until(lambda: count(owner, "audit") == 300 + 210)
    shippers.end()
    assert stored(owner) == local(tmp_path)
    assert (events(owner), state(owner, gateway)) == ([], "admitted")


def test_a_shipper_ends_with_its_input(owner: Connection, shippers: Shippers, tmp_path: Path) -> None:
    log_with(tmp_path, 3)
    process = shippers.start()
    wait_until(lambda: count(owner, "audit") == 3)
    assert process.stdin
    process.stdin.close()
    assert process.wait(LIMIT) == 0


@pytest.fixture
def own_server(postgres: SharedPostgres) -> Iterator[TemporaryPostgres]:
    with OwnPostgres(postgres) as server:
        yield server


LATER = [pytest.param(each, marks=pytest.mark.thorough) for each in (signal.SIGQUIT, signal.SIGSTOP)]


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGINT, *LATER])
def test_while_the_database_is_away_files_grow_and_are_sent_later(
    own_server: TemporaryPostgres, tmp_path: Path, how: signal.Signals
) -> None:
    database = FleetDatabase(own_server)
    gateway = database.gateway()
    shippers = Shippers(database, gateway, tmp_path)
    try:
        log_with(tmp_path, 5)
        shippers.start()
        first = database.owner()
        wait_until(lambda: count(first, "audit") == 5)
        if how == signal.SIGSTOP:
            _signal_all(own_server.pid, signal.SIGSTOP)
        else:
            own_server.stop(how)
        log_with(tmp_path, 900)
        wait_until(lambda: "database cannot be reached" in shippers.reports())
        log_with(tmp_path, 5)
        if how == signal.SIGSTOP:
            _signal_all(own_server.pid, signal.SIGCONT)
        else:
            own_server.start()
        owner = database.owner()
        wait_until(lambda: count(owner, "audit") == 910)
        assert stored(owner) == local(tmp_path)
        assert stores.audit_log(tmp_path).verify().error == ""
        assert events(owner) == []
    finally:
        shippers.end()
        for connection in (*database._open, database._superuser):  # the server that they know has ended
            connection.close()


def _signal_all(postmaster: int, number: signal.Signals) -> None:
    """The server and all its sessions."""
    server = psutil.Process(postmaster)
    for process in [server, *server.children()]:
        process.send_signal(number)
