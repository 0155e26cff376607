"""What the number of days that a fleet's database keeps costs: one round of a held call, with 3, 33 and 400 days.

`python fleet_days.py` prints one JSON object. The databases are asked in turn, so a busy machine slows all of them alike,
and what is compared is the processor time of the server's processes.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import psutil
import psycopg

sys.path.insert(0, str(Path(__file__).parent))

from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_fleet import schema

DAYS = (3, 33, 400)
TURN = 10
"""Rounds before the next database is asked."""
WARM = 20
SECRET = secrets.token_hex(16)
BEHIND = """
DO $$ DECLARE v_table text; v_day date; BEGIN
    FOR v_table IN SELECT table_name FROM fleet.retention LOOP
        FOR v_day IN SELECT fleet.utc_day(now()) - n FROM generate_series(2, {days}) AS n LOOP
            EXECUTE format('CREATE TABLE fleet.%I PARTITION OF fleet.%I FOR VALUES FROM (%L) TO (%L)',
                v_table || '_' || to_char(v_day, 'YYYYMMDD'), v_table, v_day, v_day + 1);
        END LOOP;
        COMMIT;
    END LOOP;
END $$
"""
PRESENT = "SELECT fleet.present(%s, %s, %s, %s, %s, 'main', '', %s, '{}', 3600, 1, '{}', 600)"


def make_days(connection: psycopg.Connection[Any], days: int) -> None:
    """Makes the tables in a new database, with empty days: one ahead, the others behind."""
    schema.migrate(connection, days_ahead=1)
    connection.execute(BEHIND.format(days=days - 2).encode())


class AgedFleet:
    """A database with so many days. Gateway and person are the owner's."""

    def __init__(self, server: TemporaryPostgres, days: int) -> None:
        with psycopg.connect(server.dsn(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE days_{days}".encode())
        self.connection = psycopg.connect(server.dsn(database=f"days_{days}"), autocommit=True)
        make_days(self.connection, days)
        self._who = (f"gw-{secrets.token_hex(8)}", secrets.token_bytes(32))
        self.connection.execute("SELECT fleet.join(%s, sha256(%s), 'ops', 'host', '1')", self._who)
        self.connection.execute("SELECT fleet.admit(%s)", self._who[:1])
        person = f"anna_{days}"
        self.connection.execute(f"CREATE ROLE {person} LOGIN SUPERUSER PASSWORD '{SECRET}'".encode())
        self.connection.execute("SELECT fleet.add_approver('anna', %s, 'approver', '{ops}')", (person,))
        self._anna = psycopg.connect(server.dsn(person, f"days_{days}", SECRET), autocommit=True)
        pids = (self.connection.info.backend_pid, self._anna.info.backend_pid)
        self.processes = [psutil.Process(pid) for pid in pids]
        self.spent = 0.0
        self.rounds = 0

    def turn(self, rounds: int = TURN) -> None:
        before = self._time()
        for _ in range(rounds):
            self.round()
        self.spent += self._time() - before
        self.rounds += rounds

    def _time(self) -> float:
        times = [process.cpu_times() for process in self.processes]
        return sum(each.user + each.system for each in times)

    def round(self) -> None:
        """A call is held, approved, found by the heartbeat and used."""
        binding = secrets.token_hex(16)
        held = self._present(binding)
        self._asked("SELECT fleet.sync(%s, %s, %s, '1')", (*self._who, [held["nonce"]]))
        decision = "SELECT fleet.decide(%s, %s, 'approved', 'body', 'signature', '')"
        self._anna.execute(decision, (self._who[0], held["nonce"]))
        self._asked("SELECT fleet.sync(%s, %s, %s, '1')", (*self._who, [held["nonce"]]))
        used = self._present(binding)
        if used["outcome"] != "used":
            raise RuntimeError(f"the call is {used['outcome']}")

    def _present(self, binding: str) -> Any:
        digest = sha256(binding.encode()).digest()
        values = (*self._who, secrets.token_bytes(16), secrets.token_hex(6), binding, digest)
        return self._asked(PRESENT, values)

    def _asked(self, statement: Any, values: tuple[Any, ...]) -> Any:
        row = self.connection.execute(statement, values).fetchone()
        return row[0] if row else None

    def locks(self) -> int:
        with self.connection.transaction():
            self._present(secrets.token_hex(16))
            return int(self._asked("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()", ()))


def run(rounds: int, days: tuple[int, ...] = DAYS) -> dict[str, Any]:
    """Raises `NoPostgresError`."""
    with TemporaryPostgres({"fsync": "off", "max_locks_per_transaction": "4096"}) as server:
        fleets = {each: AgedFleet(server, each) for each in days}
        for fleet in fleets.values():
            fleet.turn(WARM)
            fleet.spent, fleet.rounds = 0.0, 0
        while next(iter(fleets.values())).rounds < rounds:
            for fleet in fleets.values():
                fleet.turn()
        found = {each: 1000 * fleet.spent / fleet.rounds for each, fleet in fleets.items()}
        least = min(found.values())
        return {
            "milliseconds of a round": {each: round(spent, 3) for each, spent in found.items()},
            "times": {each: round(spent / least, 2) for each, spent in found.items()},
            "locks of present": {each: fleet.locks() for each, fleet in fleets.items()},
        }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    print(json.dumps(run(parser.parse_args().rounds), indent=2))
