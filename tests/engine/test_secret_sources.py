"""Where secrets are known to be, and what is read there."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tables import each_row
from toolguard_engine.stores import secret_fields
from toolguard_engine.stores.secret_sources import DATABASE_SECONDS, SecretPlaces, SecretSources

HEX = "8f3a1c9b7e2d4f60a1b2c3d4e5f60718"
BOT = "1234567890:AAHk3f9d-aBcDeFgHiJkLmNoPqRsTuVwXyZ"
KEY = "sk-proj-4e5f607188f3a1c9b7e2d4f60"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Machine:
    """A home with a state directory."""

    def __init__(self, root: Path) -> None:
        self.home, self.state, self.clock = root, root / ".openclaw", Clock()
        self.state.mkdir()
        self.config({})

    def config(self, value: Any) -> None:
        self.write(".openclaw/openclaw.json", json.dumps(value))

    def write(self, path: str, text: str) -> None:
        place = self.home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def sources(self, environment: dict[str, str] | None = None, *, is_on: bool = True) -> SecretSources:
        places = SecretPlaces(
            str(self.state), str(self.state / "openclaw.json"), str(self.home), str(self.state / "metrics.db.token")
        )
        return SecretSources(places, environment or {}, self.clock, is_on=is_on)

    def found(self, environment: dict[str, str] | None = None) -> dict[str, str]:
        """The kinds of the secrets, by value; the first one that has a value names it."""
        return {secret.value: secret.kind for secret in reversed(self.sources(environment).collect())}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        ({"gateway": {"auth": {"token": HEX}}}, "gateway token"),
        ({"gateway": {"auth": {"password": HEX}}}, "gateway password"),
        ({"models": {"providers": {"x": {"apiKey": HEX}}}}, "model key"),
        ({"models": {"providers": {"x": {"headers": {"X-Custom": HEX}}}}}, "model key"),
        ({"channels": {"slack": {"accounts": {"a": {"signingSecret": HEX}}}}}, "channel token"),
        ({"hooks": {"token": HEX}}, "hooks token"),
        ({"mcp": {"servers": {"a": {"env": {"NOTION": HEX}}}}}, "MCP secret"),
        ({"env": {"vars": {"GROQ_API_KEY": HEX}}}, "environment secret"),
        ({"skills": {"entries": {"s": {"apiKey": HEX}}}}, "skill key"),
        ({"plugins": {"entries": {"p": {"config": {"webSearch": {"apiKey": HEX}}}}}}, "plugin secret"),
        ({"cron": {"webhookToken": HEX}}, "secret"),
    ],
)  # fmt: skip
def test_a_secret_of_the_config(machine, config, kind) -> None:
    machine.config(config)
    assert machine.found()[HEX] == kind


@pytest.mark.parametrize(
    "config",
    [
        {"gateway": {"auth": {"mode": "token", "tokenFile": "a1/b2c3d4e5f6"}}},
        {"models": {"providers": {"x": {"models": [{"id": "accounts/x/models/llama4maverick17b128e"}]}}}},
        {"agents": {"defaults": {"model": {"primary": "x/claude-sonnet-4-20250514"}}}},
        {"memory": {"tokenizer": "cl100k_base_2"}},
        {"mcp": {"servers": {"a": {"args": ["--key-name", "abcdef1234567890abcd"], "env": {"REGION": "eu-central-1"}}}}},
        {"session": {"key": "agent:main:main1"}},
    ],
)  # fmt: skip
def test_no_secret_of_the_config(machine, config) -> None:
    machine.config(config)
    assert machine.found() == {}


def test_variables_of_the_config(machine) -> None:
    """From the environment, the environment file and the config itself, written as text or as a reference."""
    machine.config({
        "env": {"vars": {"FROM_CONFIG": HEX}},
        "gateway": {"auth": {"token": "${FROM_FILE}"}},
        "models": {"providers": {
            "a": {"apiKey": "${FROM_CONFIG}"},
            "b": {"apiKey": {"source": "env", "provider": "default", "id": "FROM_PROCESS"}},
        }},
    })  # fmt: skip
    machine.write(".openclaw/.env", f'# mine\nexport FROM_FILE="{BOT}"  # the token\nEMPTY=\n')
    found = machine.found({"FROM_PROCESS": KEY, "HOME": "/home/me1", "INVOCATION_ID": "0f9e8d7c6b5a49382716f5e4d3c2b1a0"})
    assert "0f9e8d7c6b5a49382716f5e4d3c2b1a0" not in found
    assert found[BOT] == "gateway token"
    assert found[KEY] == "model key"
    assert found[HEX] == "model key"
    assert "/home/me1" not in found


def test_included_files(machine) -> None:
    machine.config({"gateway": {"$include": "./parts/auth.json5"}})
    machine.write(".openclaw/parts/auth.json5", f"{{ auth: {{ token: '{HEX}' }} }} // mine")
    sources = machine.sources()
    assert HEX in {secret.value for secret in sources.collect()}
    machine.write(".openclaw/parts/auth.json5", f"{{ auth: {{ token: '{BOT}' }} }} // new one")
    assert BOT in {secret.value for secret in sources.collect()}


FILES = [
    (".openclaw/secrets.json", json.dumps({"providers": {"openai": {"anything": HEX}}})),
    (".openclaw/agents/main/agent/auth-profiles.json", json.dumps({"profiles": {"openai:default": {"key": HEX}}})),
    (".openclaw/agents/main/agent/auth-profiles.json", json.dumps({"profiles": {"x:y": {"access": HEX, "expires": 17}}})),
    (".openclaw/devices/paired.json", json.dumps({"d1": {"tokens": {"operator": {"token": HEX}}}})),
    (".openclaw/metrics.db.token", HEX + "\n"),
    (".aws/credentials", f"[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = {HEX}\n"),
    (".netrc", f"machine host.example login me password {HEX}\n"),
    (".git-credentials", f"https://me:{HEX}@git.host.example\n"),
    (".npmrc", f"//registry.host.example/:_authToken={HEX}\nloglevel=error\n"),
    (".pgpass", f"db.example:5432:app:me:{HEX}\n"),
    (".docker/config.json", json.dumps({"auths": {"r.example": {"auth": HEX}}})),
    (".kube/config", f"users:\n- name: me\n  user:\n    token: {HEX}\n"),
    (".config/gh/hosts.yml", f"github.com:\n    user: me\n    oauth_token: {HEX}\n"),
    (".vault-token", HEX),
]


@pytest.mark.parametrize(("path", "text"), FILES, ids=[f"{path}-{at}" for at, (path, _) in enumerate(FILES)])
def test_a_file_of_secrets(machine, path, text) -> None:
    machine.write(path, text)
    assert HEX in machine.found()


def test_a_file_that_the_config_names(machine) -> None:
    machine.config({"secrets": {"providers": {"mine": {"source": "file", "path": "~/keys/all.json", "mode": "json"}}}})
    machine.write("keys/all.json", json.dumps({"telegram": BOT}))
    assert machine.found()[BOT] == "secret"


def test_the_key_of_the_guard(machine) -> None:
    """As tools print bytes."""
    key = bytes(range(60, 92))
    (machine.state / "toolguard").mkdir()
    (machine.state / "toolguard" / "key").write_bytes(key)
    assert machine.found()[key.hex()] == "guard key"


def test_a_file_is_read_again_only_when_it_changes(machine, monkeypatch) -> None:
    machine.write(".openclaw/secrets.json", json.dumps({"a": HEX}))
    sources = machine.sources()
    assert HEX in {secret.value for secret in sources.collect()}
    reads: list[str] = []
    opened = os.open
    monkeypatch.setattr(os, "open", lambda path, *more, **named: reads.append(str(path)) or opened(path, *more, **named))
    sources.collect()
    assert [path for path in reads if path.endswith((".json", "config"))] == []
    machine.write(".openclaw/secrets.json", json.dumps({"a": BOT, "b": "x"}))
    assert BOT in {secret.value for secret in sources.collect()}


def test_the_databases_of_the_gateway(machine) -> None:
    (machine.state / "state").mkdir()
    path = machine.state / "state" / "openclaw.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE device_auth_tokens (device_id TEXT, role TEXT, token TEXT)")
        database.execute("INSERT INTO device_auth_tokens VALUES ('d1', 'operator', ?)", (HEX,))
        database.execute("CREATE TABLE config_machine_state (state_key TEXT, value_json TEXT)")
        stored = json.dumps({"profiles": {"openai:default": {"type": "api_key", "key": KEY}}})
        database.execute("INSERT INTO config_machine_state VALUES ('authProfiles.store', ?)", (stored,))
        database.commit()
        sources = machine.sources()
        assert {HEX, KEY} <= {secret.value for secret in sources.collect()}
        database.execute("INSERT INTO device_auth_tokens VALUES ('d2', 'operator', ?)", (BOT,))
        database.commit()
        machine.clock.now += DATABASE_SECONDS
        assert BOT in {secret.value for secret in sources.collect()}


def test_what_cannot_be_read(machine) -> None:
    """A pipe, a loop of links, binary data, a folder, and a config that is none: nothing hangs and nothing is raised."""
    os.mkfifo(machine.home / ".netrc")
    (machine.home / ".npmrc").symlink_to(machine.home / ".npmrc")
    (machine.home / ".pgpass").mkdir()
    (machine.home / ".vault-token").write_bytes(b"\0\xff" * 40)
    machine.write(".openclaw/openclaw.json", "{ gateway: ")
    machine.write(".openclaw/secrets.json", "[" * 10_000)
    assert machine.found() == {}


def test_switched_off(machine) -> None:
    machine.config({"gateway": {"auth": {"token": HEX}}})
    assert machine.sources(is_on=False).collect() == ()


@each_row(
    ("line", "expected"),
    [
        ("A=1", {"A": "1"}), ("export A = b c ", {"A": "b c"}), ("A='x # y' # z", {"A": "x # y"}), ("A=x # y", {"A": "x"}),
        ("# A=1", {}), ("=1", {}), ("A", {}), ('A=""', {"A": ""}), ("A=x#y", {"A": "x#y"}),
    ],
)  # fmt: skip
def test_environment_files(line, expected) -> None:
    assert secret_fields.variables_of(line) == expected
