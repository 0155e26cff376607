"""What `doctor` says of agents whose tools do not pass the guard, and of what runs on a gateway without a tool call."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_stage import picture
from doctor_stage import Host, host

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor import guard_verdict
from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_cli.doctor.checks import agents_check, entry_points_check
from toolguard_cli.hostconfig import gateway_files
from toolguard_cli.system.paths import Places

GEMINI = "google-gemini-cli/gemini-3-pro"
HEALTHY = {"agents": {"defaults": {"model": {"primary": "anthropic/claude-opus-5"}}}}
COMMAND = {"kind": "command", "argv": ["date"]}
NODE = {"commands": ["system.run", "device.info"]}


@pytest.fixture
def installed(tmp_path: Path) -> Host:
    return host(tmp_path / "host")


def look(places: Places, installed: Host, **config: Any) -> DoctorSubject:
    places.config.write_text(json.dumps(config))
    return replace(doctor.look(places), openclaw=installed.openclaw)


def database(places: Places, jobs: list[tuple[Any, ...]], nodes: list[tuple[Any, ...]]) -> Path:
    """As 2026.9 keeps them, as far as it is looked at."""
    path = places.state_dir / "state" / "openclaw.sqlite"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as store:
        store.execute("CREATE TABLE cron_jobs (job_id TEXT, name TEXT, enabled INTEGER, payload_kind TEXT)")
        store.execute("CREATE TABLE device_pairing_paired (device_id TEXT, display_name TEXT, node_surface_json TEXT)")
        store.executemany("INSERT INTO cron_jobs VALUES (?, ?, ?, ?)", jobs)
        store.executemany("INSERT INTO device_pairing_paired VALUES (?, ?, ?)", nodes)
        store.commit()
    return path


def kinds(check: Check) -> list[str]:
    return [way["kind"] for way in check.data["ways"]]


def test_a_healthy_config_has_nothing_to_be_named(places: Places, installed: Host) -> None:
    subject = look(places, installed, **HEALTHY)
    assert (agents_check.guarded(subject).status, entry_points_check.open_ways(subject).status) == ("ok", "ok")
    assert guard_verdict.draw([agents_check.guarded(subject), entry_points_check.open_ways(subject)]).why == ()


def test_each_agent_with_what_it_lacks(places: Places, installed: Host) -> None:
    entries = {"ann": {}, "gem": {"model": GEMINI}, "cod": {"model": "codex/gpt-5"}, "cl": {"model": "claude-cli/opus"}}
    subject = look(places, installed, agents={**HEALTHY["agents"], "entries": entries}, mcp={"servers": {"files": {}}})
    check = agents_check.guarded(subject)
    assert check.status == "warn"
    assert [line.partition(" (")[0] for line in check.detail.splitlines()] == [
        "gem: not guarded", "cod: partly guarded", "cl: partly guarded",
    ]  # fmt: skip
    assert {name: each["guards"] for name, each in check.data["agents"].items()} == {
        "ann": "guarded", "gem": "not guarded", "cod": "partly guarded", "cl": "partly guarded",
    }  # fmt: skip
    assert check.fix
    assert guard_verdict.draw([check]).guarded == "partly"


def test_where_no_agent_is_guarded_nothing_is(places: Places, installed: Host) -> None:
    check = agents_check.guarded(look(places, installed, agents={"defaults": {"model": GEMINI}}))
    assert guard_verdict.draw([check]).guarded == "no"


def test_included_files_and_variables_count(places: Places, installed: Host) -> None:
    (places.state_dir / "agents.json5").write_text('{ defaults: { model: "${MODEL}" } }')
    subject = replace(look(places, installed, agents={"$include": "./agents.json5"}), env={"MODEL": GEMINI})
    assert agents_check.guarded(subject).data["agents"]["main"]["guards"] == "not guarded"


def test_the_claude_cli_of_a_release_that_asks_no_hook(places: Places, installed: Host) -> None:
    installed.is_release("2026.7.35")
    check = agents_check.guarded(look(places, installed, agents={"defaults": {"model": "claude-cli/opus"}}))
    assert "this release of OpenClaw calls no hook" in check.detail


@pytest.mark.parametrize("folder", ["extensions/codex", "npm/projects/openclaw__codex", "npm/projects/@openclaw%2Fcodex"])
def test_the_codex_plugin_is_found_where_it_was_installed(places: Places, installed: Host, folder: str) -> None:
    (places.state_dir / folder).mkdir(parents=True)
    check = agents_check.guarded(look(places, installed, agents={"defaults": {"model": "openai/gpt-6-astra"}}))
    assert check.data["agents"]["main"]["guards"] == "partly guarded"


def test_many_agents_are_counted(places: Places, installed: Host) -> None:
    entries = {f"a{number}": {"model": GEMINI} for number in range(8)}
    check = agents_check.guarded(look(places, installed, agents={"entries": entries}))
    assert check.detail.endswith("and 3 more agents")


def test_a_name_cannot_write_into_the_report(places: Places, installed: Host) -> None:
    check = agents_check.guarded(look(places, installed, agents={"entries": {"a\x1b[31m\nok": {"model": GEMINI}}}))
    assert "\x1b" not in check.detail
    assert "\nok" not in check.detail


@pytest.mark.parametrize("stored", ["sqlite", "json"])
def test_automations_and_nodes_that_run_commands(places: Places, installed: Host, stored: str) -> None:
    if stored == "sqlite":
        jobs = [("1", "backup", 1, "command"), ("2", "off", 0, "command"), ("3", "reminder", 1, "agentTurn")]
        nodes = [("d1", "laptop", json.dumps(NODE)), ("d2", "phone", '{"commands": ["camera.snap"]}'), ("d3", "", None)]
        database(places, jobs, nodes)
    else:
        (places.state_dir / "cron").mkdir()
        (places.state_dir / "nodes").mkdir()
        jobs_kept = [{"name": "backup", "payload": COMMAND}, {"name": "off", "enabled": False, "payload": COMMAND}, "odd"]
        (places.state_dir / "cron" / "jobs.json").write_text(json.dumps({"jobs": jobs_kept}))
        (places.state_dir / "nodes" / "paired.json").write_text(
            json.dumps({"d1": {"displayName": "laptop", **NODE}, "d2": 7})
        )
    check = entry_points_check.open_ways(look(places, installed, **HEALTHY))
    assert check.data["ways"] == [{"kind": "automations", "names": ["backup"]}, {"kind": "nodes", "names": ["laptop"]}]
    assert check.status == "warn"
    assert guard_verdict.draw([check]).why == ()  # a person set them up


def test_looking_writes_nothing(places: Places, installed: Host) -> None:
    with closing(sqlite3.connect(database(places, [("1", "backup", 1, "command")], []))) as store:
        store.execute("PRAGMA journal_mode=WAL")
    subject = look(places, installed, **HEALTHY)
    before = picture(places.state_dir)
    assert kinds(entry_points_check.open_ways(subject)) == ["automations"]
    assert picture(places.state_dir) == before


def test_what_a_running_gateway_has_not_written_back_counts(places: Places, installed: Host) -> None:
    with closing(sqlite3.connect(database(places, [], []))) as store:
        store.execute("PRAGMA journal_mode=WAL")
        store.execute("INSERT INTO cron_jobs VALUES ('1', 'backup', 1, 'command')")
        store.commit()
        assert kinds(entry_points_check.open_ways(look(places, installed, **HEALTHY))) == ["automations"]


def test_automations_that_the_host_made_for_itself_are_not_the_users(places: Places) -> None:
    path = database(places, [("1", "nightly", 1, "agentTurn"), ("2", "sleep", 1, "agentTurn")], [])
    assert gateway_files.agent_jobs(places.state_dir) == ["nightly", "sleep"]
    with closing(sqlite3.connect(path)) as store:
        store.execute("ALTER TABLE cron_jobs ADD COLUMN declaration_key TEXT")
        store.execute("UPDATE cron_jobs SET declaration_key = 'memory-core:memory-dreaming-promotion' WHERE name = 'sleep'")
        store.commit()
    assert gateway_files.agent_jobs(places.state_dir) == ["nightly"]


@pytest.mark.parametrize("text", [b"", b"not a database" * 100])
def test_a_store_that_cannot_be_read_is_no_crash(places: Places, installed: Host, text: bytes) -> None:
    path = places.state_dir / "state" / "openclaw.sqlite"
    path.parent.mkdir()
    path.write_bytes(text)
    check = entry_points_check.open_ways(look(places, installed, **HEALTHY))
    assert check.status == ("warn" if text else "ok")


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"plugins": {"entries": {"acpx": {"enabled": True}}}}, ["acp"]),
        ({"plugins": {"entries": {"acpx": {"enabled": True}}}, "acp": {"enabled": False}}, []),
        ({"plugins": {"entries": {"acpx": {"enabled": False}}}}, []),
        ({"acp": {"enabled": True}}, []),
    ],
)
def test_acp_agents_that_can_be_started(places: Places, installed: Host, config: Any, expected: list[str]) -> None:
    assert kinds(entry_points_check.open_ways(look(places, installed, **config))) == expected


def test_embedded_runs_without_hooks(places: Places, installed: Host) -> None:
    installed.is_release("2026.8.2")
    assert kinds(entry_points_check.open_ways(look(places, installed, **HEALTHY))) == ["embedded"]


def test_the_report_of_the_whole_command_has_them(places: Places, installed: Host) -> None:
    look(places, installed, agents={"defaults": {"model": GEMINI}})
    found = {each["id"]: each for each in doctor.run(places, openclaw=installed.openclaw).data["checks"]}
    assert found["agents"]["status"] == "warn"
    assert found["agents"]["data"]["agents"]["main"]["routes"][0]["model"] == GEMINI
    assert found["entry-points"]["status"] == "ok"
