"""`toolguard fleet dashboard` and `toolguard fleet tokens` as a user runs them."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cli_stage import toolguard
from psycopg import conninfo

from fleet_database import OWNER, PASSWORD, FleetDatabase
from toolguard_cli.fleet import page_calls


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody else's machine: no gateway runs here. Passwords are in a password file."""
    folder = tmp_path / "state"
    folder.mkdir()
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    return folder


def dsn(database: FleetDatabase, login: str) -> str:
    known = conninfo.conninfo_to_dict(database.dsn(login))
    return conninfo.make_conninfo("", **{name: value for name, value in known.items() if name != "password"})


def tokens(state: Path, *words: str, code: int = 0) -> Any:
    done = toolguard("fleet", "tokens", *words, "--state-dir", state, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout).get("data")


def test_tokens_are_added_listed_and_revoked(database: FleetDatabase, state: Path) -> None:
    owner = dsn(database, OWNER)
    database.person("anna")
    made = tokens(state, "add", "anna", "--days", "7", "--dsn", owner)
    assert (made["person"], made["valid"], len(made["token"])) == ("anna", True, 68)
    listed = tokens(state, "list", "--dsn", owner)["tokens"]
    assert [(each["id"], each["valid"]) for each in listed] == [(made["id"], True)]
    assert made["token"] not in json.dumps(listed)
    assert tokens(state, "revoke", made["id"], "--dsn", owner)["valid"] is False
    done = toolguard("fleet", "tokens", "add", "nobody", "--state-dir", state, "--dsn", owner)
    assert (done.returncode, "no such person in the fleet" in done.stderr + done.stdout) == (1, True)


def test_the_login_gets_a_password(database: FleetDatabase, state: Path) -> None:
    made = tokens(state, "login", "--dsn", dsn(database, OWNER))
    with psycopg.connect(dsn(database, "toolguard_page"), password=made["password"]):
        pass
    database.superuser().execute(f"ALTER ROLE toolguard_page PASSWORD '{PASSWORD}'".encode())


def test_the_dashboard_serves_until_it_is_told_to_stop(database: FleetDatabase, state: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "toolguard_cli",
        "fleet",
        "dashboard",
        "--listen",
        "127.0.0.1:0",
        "--state-dir",
        str(state),
    ]
    env = {**os.environ, "TOOLGUARD_FLEET_DSN": dsn(database, "toolguard_page")}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        line = process.stdout.readline()
        if "running at http://" not in line:
            process.kill()
            pytest.fail(f"it did not start: {line} {process.communicate()}")
        connection = http.client.HTTPConnection(line.split("http://")[1].strip(), timeout=60)
        connection.request("GET", "/api/me")
        assert connection.getresponse().status == 401
        connection.close()
        process.terminate()
        assert (process.wait(60), "has stopped" in process.stdout.read()) == (0, True)


def test_the_command_that_the_page_shows_is_one(database: FleetDatabase, state: Path) -> None:
    login = database.person("anna").info.user
    words = page_calls.COMMAND.format(nonce="0" * 12, gateway=f"gw-{'0' * 16}").split()[1:]
    done = toolguard(*words, "--dsn", dsn(database, login), "--state-dir", state)
    assert (done.returncode, "no call has that nonce" in done.stdout + done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--listen", "0.0.0.0:8090"), "reachable from other machines"),
        (("--listen", "8090"), "is not ADDRESS:PORT"),
        (("--listen", "127.0.0.1:99999"), "is not ADDRESS:PORT"),
        (("--hosts", "https://a b"), "is not a public address"),
        (("--socket", "/tmp/fleet.sock"), "other users can write to the folder"),
    ],
)
def test_settings_that_are_refused(database: FleetDatabase, state: Path, words: tuple[str, ...], problem: str) -> None:
    done = toolguard("fleet", "dashboard", *words, "--dsn", dsn(database, "toolguard_page"), "--state-dir", state)
    assert (done.returncode, problem in done.stdout + done.stderr) == (1, True), done.stdout + done.stderr
