"""`toolguard fleet policy` and `toolguard fleet kill-switch` as a user runs them, on a real database with real keys."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_stage import toolguard

from fleet_database import PASSWORD, FleetDatabase
from fleet_desk import FleetDesk, wait_until
from policy_desk import RULE, PolicyAdmin, policy_text
from ssh_signers import SshRoom
from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy


class Stage:
    """A machine with the trust root, and an admin who runs commands there."""

    def __init__(self, folder: Path, database: FleetDatabase) -> None:
        self.database = database
        self.state = folder / "state"
        self.state.mkdir()
        self.room = SshRoom(folder / "trust")
        self.admin = PolicyAdmin(database.person("root", "admin"), self.room)
        self.file = folder / "ops.toml"
        settings = {"fleet": {"trust": str(self.room.folder), "team": "ops"}}
        config = {"plugins": {"entries": {"toolguard": {"config": settings}}}}
        (self.state / "openclaw.json").write_text(json.dumps(config))

    def dsn(self, connection: Any) -> str:
        return self.database.dsn(connection.info.user)

    def run(self, *words: str, code: int = 0, dsn: str = "") -> dict[str, Any]:
        """The JSON of `toolguard fleet WORDS`."""
        given = ("--dsn", dsn or self.dsn(self.admin.connection)) if words[1] != "check" else ()
        places = ("--state-dir", str(self.state)) if given else ()
        done = toolguard("fleet", *words, *given, *places, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def write(self, version: int, more: str = RULE) -> str:
        self.file.write_text(policy_text(version, more))
        return str(self.file)


@pytest.fixture
def stage(tmp_path: Path, database: FleetDatabase, monkeypatch: pytest.MonkeyPatch) -> Stage:
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    database.gateway("ops")
    return Stage(tmp_path, database)


@pytest.fixture
def desk(database: FleetDatabase, tmp_path: Path, stage: Stage) -> Iterator[FleetDesk]:
    made = FleetDesk(database, tmp_path / "gateway", stage.room)
    yield made
    made.close()


def test_a_policy_is_checked_pushed_compared_and_shown(stage: Stage, desk: FleetDesk) -> None:
    file, key = stage.write(1), str(stage.admin.key)
    assert stage.run("policy", "check", file)["data"]["version"] == 1
    assert stage.run("policy", "show", "--team", "ops")["data"]["policy"] is None
    pushed = stage.run("policy", "push", file, "--key", key)["data"]
    assert (pushed["signer"], [rule["id"] for rule in pushed["rules"]]) == ("root@example.com", ["fleet.no-deploy"])
    desk.calls.gateway_id()
    wait_until(LastGoodPolicy(desk.state, "ops", stage.room.folder).load)
    assert stage.run("policy", "diff", file)["data"]["diff"] == []
    stage.write(2, RULE.replace("make deploy", "make publish"))
    changes = stage.run("policy", "diff", file)["data"]["diff"]
    assert {'-run = ["make deploy"]', '+run = ["make publish"]'} <= set(changes)
    shown = stage.run("policy", "show")["data"]["policy"]
    assert (shown["version"], shown["by"], shown["signer"], shown["toml"]) == (1, "root", "root@example.com", policy_text(1))


def test_what_cannot_be_pushed_names_the_fix(stage: Stage) -> None:
    file, key = stage.write(1), str(stage.admin.key)
    stage.run("policy", "push", file, "--key", key)
    again = stage.run("policy", "push", file, "--key", key, code=1)
    assert "version 1 is not greater than version 1" in str(again)
    stage.write(2, RULE.replace("verdict", "verdikt"))
    wrong = stage.run("policy", "push", file, "--key", key, code=1)["data"]["error"]
    assert (wrong["line"], wrong["mend"]) == (7, "did you mean verdict?")
    stage.write(2, '[[rule]]\nid = "x"\nrun = ["make x"]\nverdict = "block"\nreason = "No."\nmatches = ["make y"]\n')
    assert "its own example" in str(stage.run("policy", "check", file, code=1))
    anna = stage.room.key("anna")
    stage.room.allow("anna@example.com", anna)
    stage.write(2)
    refused = str(stage.run("policy", "push", file, "--key", str(anna), code=1))
    assert "gateways would reject the signature" in refused
    assert "toolguard-policy" in refused
    assert stage.run("policy", "show")["data"]["policy"]["version"] == 1
    assert "does not exist" in str(stage.run("policy", "check", str(stage.file.with_name("none")), code=1))


def test_a_policy_that_somebody_else_wrote_into_the_database_is_shown_as_that(stage: Stage) -> None:
    text = policy_text(1).encode()
    stage.database.owner().execute("INSERT INTO fleet.policy VALUES ('ops', 1, %s, 'x', 'x')", (text,))
    found = stage.run("policy", "show")
    assert found["data"]["policy"]["signer"] == ""
    assert "gateways would reject" in str(found["messages"])


def test_the_kill_switch_of_a_team(stage: Stage, desk: FleetDesk) -> None:
    anna = stage.database.person("anna")
    desk.calls.gateway_id()
    wait_until(lambda: desk.client.switch.status.is_connected)
    on = stage.run("kill-switch", "on", "--why", "it mails everybody", dsn=stage.dsn(anna))["data"]["teams"][0]
    assert (on["team"], on["on"], on["why"], on["by"]) == ("ops", True, "it mails everybody", "anna")
    wait_until(desk.client.switch.why)
    assert desk.client.switch.why() == "stopped by ops's kill switch: it mails everybody (anna)"
    again = stage.run("kill-switch", "on", dsn=stage.dsn(anna))["data"]["teams"][0]
    assert again["why"] == "it mails everybody"
    assert "not an admin" in str(stage.run("kill-switch", "off", dsn=stage.dsn(anna), code=1))
    states = stage.run("kill-switch", "status", dsn=stage.dsn(anna))["data"]["teams"]
    assert [(each["team"], each["on"]) for each in states] == [("*", False), ("ops", True)]
    assert stage.run("kill-switch", "off", "--why", "mended")["data"]["teams"][0]["on"] is False
    wait_until(lambda: not desk.client.switch.why())
    rows = stage.database.owner().execute(
        "SELECT kind, team, who, detail FROM fleet.event WHERE kind LIKE 'kill%%' ORDER BY id"
    )
    assert rows.fetchall() == [("kill-on", "ops", "anna", "it mails everybody"), ("kill-off", "ops", "root", "mended")]


def test_who_may_stop_whom(stage: Stage) -> None:
    database = stage.database
    viewer, dev = database.person("vera", "viewer"), database.person("dev", "admin", ("dev",))
    for connection, team, words in (
        (viewer, "ops", "viewer cannot"),
        (dev, "ops", "not responsible"),
        (stage.admin.connection, "*", "not responsible"),
        (stage.admin.connection, "Ops!", "a team is"),
    ):
        found = stage.run("kill-switch", "on", "--team", team, dsn=stage.dsn(connection), code=1)
        assert words in str(found["errors"]), team
    everything = database.person("super", "admin", ("*",))
    stage.run("kill-switch", "on", "--team", "*", dsn=stage.dsn(everything))
    gateway = database.gateway("dev")
    row = database.gateway_login().execute("SELECT fleet.sync(%s, %s, '{}', '1')", (gateway.id, gateway.token)).fetchone()
    assert row
    assert (row[0]["kill"], row[0]["kill_team"]) == (True, "*")
