"""An engine process in a fleet: what stands still without the database, and what does not."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from chat_confirmation import confirmed
from engine_talk import PATIENT, ProcessTalk
from fleet_database import FleetDatabase
from fleet_desk import TEAM, Approver, join, passwordless, wait_until
from fleet_servers import OwnPostgres, SharedPostgres
from ssh_signers import SshRoom
from toolguard_cli.rig.temporary_postgres import TemporaryPostgres
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.fleet import fleet_state

PLACE = {"agent": "main", "session": "agent:main:main"}
IMPORTED = (
    f"{PATIENT}"
    "code = __main__.main()\n"
    "print([name for name in sys.modules if 'fleet' in name or 'psycopg' in name], file=sys.stderr)\n"
    "sys.exit(code)"
)


@pytest.fixture(scope="module")
def server(postgres: SharedPostgres) -> Iterator[TemporaryPostgres]:
    """One of our own, which the tests stop."""
    with OwnPostgres(postgres) as made:
        yield made


class EngineInFleet:
    """One engine process. `say` asks about a call of a tool under `alwaysBlock`; `safe` about one that may run."""

    def __init__(self, state: Path, config: dict[str, Any]) -> None:
        self.talk = ProcessTalk(state.parent / "home")
        self.question = 0
        self.news: list[dict[str, Any]] = []
        self.talk.hello(state, config)

    def send(self, tool: str, **params: Any) -> int:
        self.question += 1
        self.talk.send(
            id=self.question,
            type="judge",
            tool=tool,
            params=params,
            callId=f"c{self.question}",
            run=f"r{self.question}",
            **PLACE,
        )
        return self.question

    def verdict(self) -> dict[str, Any]:
        while (read := self.talk.read())["type"] != "verdict":
            self.news.append(read)
        return dict(read)

    def held(self, command: str = "ls build") -> dict[str, Any]:
        self.send("deploy", command=command)
        answer = self.verdict()
        return {**answer, "nonce": answer.get("text", "").split("|")[1] if answer["decision"] == "hold" else ""}


@pytest.fixture
def database(server: TemporaryPostgres) -> Iterator[FleetDatabase]:
    made = FleetDatabase(server)
    yield made
    made.close()


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


@pytest.fixture
def state(database: FleetDatabase, tmp_path: Path) -> Path:
    join(tmp_path / "state", database.gateway(TEAM))
    return tmp_path / "state"


def config(database: FleetDatabase, room: SshRoom, tmp_path: Path, **more: Any) -> dict[str, Any]:
    fleet = {
        "enabled": True, "team": TEAM, "dsn": passwordless(database, tmp_path), "trust": str(room.folder),
        "trustWritable": True, "deadlineMs": 3_000, **more,
    }  # fmt: skip
    return {"fleet": fleet, "alwaysBlock": ["deploy"]}


@pytest.fixture
def engine(database: FleetDatabase, room: SshRoom, tmp_path: Path, state: Path) -> Iterator[EngineInFleet]:
    made = EngineInFleet(state, config(database, room, tmp_path))
    yield made
    made.talk.kill()


def signal_all(server: TemporaryPostgres, how: signal.Signals) -> None:
    """The server and its processes: each leads a group of its own."""
    whole = psutil.Process(server.pid)
    for process in (whole, *whole.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(how)


def until_held(engine: EngineInFleet) -> dict[str, Any]:
    """The first verdict of a database that answers."""
    return dict(wait_until(lambda: answer if (answer := engine.held())["code"] == "approval.pending" else None))


def test_an_engine_without_a_fleet_loads_nothing_of_it(tmp_path: Path) -> None:
    talk = ProcessTalk(tmp_path / "home", [sys.executable, "-W", "error", "-c", IMPORTED])
    talk.hello(tmp_path / "state", {"alwaysBlock": ["deploy"]})
    talk.send(id=1, type="judge", tool="deploy", params={}, callId="c", **PLACE)
    assert talk.read()["decision"] == "hold"
    code, _, errors = talk.end()
    assert (code, errors.strip()) == (0, "['toolguard_engine.config.fleet_settings']")
    assert not [path.name for path in (tmp_path / "state" / "toolguard").iterdir() if "fleet" in path.name]


def test_an_approval_elsewhere_wakes_the_agent_and_the_call_runs_once(
    engine: EngineInFleet, database: FleetDatabase, room: SshRoom, state: Path
) -> None:
    anna = Approver(database, room, "anna")
    nonce = until_held(engine)["nonce"]
    assert engine.held()["nonce"] == nonce
    anna.approve(nonce)
    while (read := engine.talk.read())["type"] != "wake":
        pass
    assert (read["nonce"], read["session"]) == (nonce, "agent:main:main")
    answer = engine.held()
    assert (answer["decision"], answer["code"]) == ("allow", "approval.consumed")
    assert engine.held()["nonce"] not in ("", nonce)
    code, _, errors = engine.talk.end()
    assert (code, errors) == (0, "")
    events = [(event["event"], event["nonce"] == nonce) for event in stores.audit_log(state).events()]
    assert [kind for kind, is_it in events if is_it and kind != "hold-again"] == ["hold", "approve", "grant", "consume"]


@pytest.mark.thorough
def test_a_gateway_has_three_connections_at_most(engine: EngineInFleet, database: FleetDatabase) -> None:
    """However much it asks and ships: each counts as often as a fleet has gateways."""
    until_held(engine)
    owner = database.superuser()
    names = "SELECT application_name FROM pg_stat_activity WHERE usename = 'toolguard_gateway' AND datname = %s"

    def connections() -> list[str]:
        shipped = owner.execute("SELECT count(*) FROM fleet.audit").fetchone()
        found = owner.execute(names, (database.name,)).fetchall()
        return sorted(row[0] for row in found) if shipped and shipped[0] else []

    wait_until(lambda: connections() == ["toolguard gateway", "toolguard holds", "toolguard shipping"])


def test_a_frozen_server_blocks_what_asks_and_nothing_else(engine: EngineInFleet, server: TemporaryPostgres) -> None:
    """The first question waits for its deadline; the next ones may not: the connection is then known to be lost."""
    nonce = until_held(engine)["nonce"]
    signal_all(server, signal.SIGSTOP)
    try:
        for is_known in (False, True, True):
            asked = engine.send("deploy", command="ls build")
            safe = [engine.send("memory_search", query="x") for _ in range(5)]
            answers = {(answer := engine.verdict())["id"]: answer for _ in range(6)}
            assert is_known or list(answers) == [*safe, asked], "they did not wait for it"
            assert {answers[one]["decision"] for one in safe} == {"allow"}
            assert (answers[asked]["decision"], answers[asked]["code"]) == ("block", "approval.away")
    finally:
        signal_all(server, signal.SIGCONT)
    assert until_held(engine)["nonce"] == nonce


@pytest.mark.thorough
def test_a_server_that_is_killed_and_started_again(
    engine: EngineInFleet, server: TemporaryPostgres, database: FleetDatabase, room: SshRoom
) -> None:
    nonce = until_held(engine)["nonce"]
    server.stop(signal.SIGQUIT)
    assert engine.held()["code"] == "approval.away"
    server.start()
    assert until_held(engine)["nonce"] == nonce
    database.connect_again()
    Approver(database, room, "anna").approve(nonce)
    assert wait_until(lambda: engine.held()["code"] == "approval.consumed")


def test_the_kill_switch_of_the_fleet_blocks_every_call(engine: EngineInFleet, database: FleetDatabase, state: Path) -> None:
    until_held(engine)
    database.owner().execute("UPDATE fleet.team_state SET kill = true, kill_why = 'all mad' WHERE team = 'ops'")

    def code() -> str:
        engine.send("memory_search", query="x")
        return str(engine.verdict()["code"])

    wait_until(lambda: code() == "kill-switch.fleet")
    assert fleet_state.load(state).status.kill
    assert engine.held()["code"] == "kill-switch.fleet"
    database.owner().execute("UPDATE fleet.team_state SET kill = false WHERE team = 'ops'")
    wait_until(lambda: code() != "kill-switch.fleet")


def test_without_contact_a_gateway_stops_where_its_settings_say_so(
    database: FleetDatabase, room: SshRoom, tmp_path: Path, state: Path
) -> None:
    nowhere = "host=127.0.0.1 port=1 dbname=fleet user=toolguard_gateway"
    settings = config(database, room, tmp_path, dsn=nowhere, whenStale="stop", staleSeconds=10)
    stopped = EngineInFleet(state, settings)
    try:
        stopped.send("memory_search", query="x")
        answer = stopped.verdict()
        assert (answer["decision"], answer["code"]) == ("block", "kill-switch.fleet")
        assert "no contact with the fleet" in json.dumps(answer)
    finally:
        stopped.talk.kill()


@pytest.mark.thorough
def test_while_the_database_is_away_calls_can_be_approved_here(
    database: FleetDatabase, room: SshRoom, tmp_path: Path, state: Path
) -> None:
    nowhere = "host=127.0.0.1 port=1 dbname=fleet user=toolguard_gateway"
    alone = EngineInFleet(state, config(database, room, tmp_path, dsn=nowhere, whenAway="local"))
    try:
        nonce = alone.held()["nonce"]
        assert len(nonce) == 8

        def ask(why: str) -> dict[str, Any]:
            alone.talk.send(id=900, type="decide", action="approve", where="chat", nonce=nonce, why=why)
            while (read := alone.talk.read())["type"] != "told":
                assert read["type"] in ("wake", "log"), read
            return read

        told = confirmed(ask, text=lambda read: read["text"])
        assert told["ok"], told
        assert alone.held()["code"] == "approval.consumed"
    finally:
        alone.talk.kill()
