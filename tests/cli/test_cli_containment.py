"""`toolguard containment`: what it shows, probes, prints and runs, as a user without privileges and as root."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import room_stage
from room_stage import Done, RoomStage
from toolguard_cli.commands import containment_exec, containment_probe, containment_setup, containment_status
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.server import room_causes


@pytest.fixture(scope="module")
def stage() -> Iterator[RoomStage]:
    room_stage.needed()
    made = RoomStage()
    yield made
    made.close()


def run(stage: RoomStage, *words: str) -> Done:
    return stage.run(sys.executable, "-m", "toolguard_cli", "containment", *words)


def test_status_where_commands_are_contained(stage: RoomStage) -> None:
    done = run(stage, "status", "--json")
    found = json.loads(done.out)["data"]
    assert (done.code, found["contained"], found["profile"], found["reason"]) == (0, True, "protect", "")
    assert {"kind": "hide", "path": str(stage.state), "door": ""} in found["rules"]
    assert run(stage, "probe").code == 0


def test_a_command_is_run_as_an_agents_command(stage: RoomStage) -> None:
    held = run(stage, "exec", "--", "python3 -c 'print(open(\"../toolguard/key\").read())' || echo kept; exit 7")
    assert (held.code, held.out) == (7, "kept\n")
    words = run(stage, "exec", "--", "echo", "two words", "$HOME")
    assert (words.code, words.out) == (0, "two words $HOME\n")
    assert run(stage, "exec", "--", "kill -TERM $$").code == 143


def test_a_command_that_belongs_outside_runs_there(stage: RoomStage) -> None:
    done = run(stage, "exec", "--json", "--", "cat ~/.openclaw/openclaw.json")
    said, envelope = done.out.split("\n", 1)[0], json.loads(done.out[done.out.index('{"schema"') :])
    assert said.startswith('{"gateway": {}}')
    assert envelope["data"] == {"ran": "outside", "exit": 0}


def test_a_command_whose_code_cannot_be_read_runs_on_a_copy(stage: RoomStage) -> None:
    config, report = stage.state / "openclaw.json", stage.home / "Documents/report.txt"
    before, settings = config.read_text(), {"containment": {"unknown": "rehearse"}}
    config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"enabled": True, "config": settings}}}}))
    try:
        command = f"python3 -c 'import os, sys; getattr(os, sys.argv[1])(sys.argv[2])' remove {report}"
        harmful, honest = run(stage, "exec", "--", command), run(stage, "exec", "--", f"{command}.2 || touch made; exit 3")
    finally:
        config.write_text(before)
    assert harmful.code == 125
    assert "deletes ~/Documents/report.txt" in harmful.err
    assert report.exists()
    assert (honest.code, (stage.workspace / "made").exists()) == (3, True), honest.err


@pytest.fixture
def unable(places: Places, monkeypatch: pytest.MonkeyPatch) -> Places:
    """A gateway that runs as root."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(room_causes.system_calls, "NAME", "linux")
    _set(places)
    return places


def _set(places: Places, **settings: Any) -> None:
    entry = {"enabled": True, "config": {"containment": settings}}
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": entry}}}))


def test_the_cause_and_what_to_do(unable: Places) -> None:
    status, probe, setup = (
        each(unable) for each in (containment_status.status, containment_probe.probe, containment_setup.setup)
    )
    assert (status.exit_code, probe.exit_code, setup.exit_code) == (1, 1, 0)
    assert status.data["reason"] == probe.data["reason"] == setup.data["reason"] == room_causes.ROOT.text
    assert setup.data["steps"] == [room_causes.ROOT.fix]
    assert any("run as without containment" in line.text for line in status.lines)


def test_off_is_no_fault(unable: Places) -> None:
    _set(unable, profile="off")
    status = containment_status.status(unable)
    assert (status.exit_code, status.data["contained"], status.data["reason"]) == (0, False, "")
    assert containment_exec.execute(unable, ["exit 3"]).data == {"ran": "outside", "exit": 3}


def test_without_a_room_a_command_runs_or_does_not(unable: Places, capsys: pytest.CaptureFixture[str]) -> None:
    assert containment_exec.execute(unable, ["exit 3"]).data == {"ran": "none", "exit": 3}
    assert room_causes.ROOT.text in capsys.readouterr().err
    _set(unable, whenUnavailable="hold")
    with pytest.raises(UserError, match="did not run"):
        containment_exec.execute(unable, ["exit 3"])


def test_the_settings_of_one_agent(unable: Places) -> None:
    _set(unable, profile="off")
    config = json.loads(unable.config.read_text())
    config["plugins"]["entries"]["toolguard"]["config"]["agents"] = {"main": {"containment": {"profile": "secrets"}}}
    unable.config.write_text(json.dumps(config))
    assert containment_status.status(unable, agent="main").data["profile"] == "secrets"
    assert containment_status.status(unable, agent="other").data["profile"] == "off"


CAUSES = (
    ("user/max_user_namespaces", "0", room_causes.NO_NAMESPACES),
    ("kernel/unprivileged_userns_clone", "0", room_causes.NO_CLONE),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", room_causes.APPARMOR),
)


@pytest.mark.parametrize(("name", "value", "cause"), CAUSES)
def test_causes(places: Places, monkeypatch: pytest.MonkeyPatch, name: str, value: str, cause: Any) -> None:
    sysctl = places.state_dir / name
    sysctl.parent.mkdir()
    sysctl.write_text(f"{value}\n")
    monkeypatch.setattr(room_causes, "_SYSCTL", str(places.state_dir))
    monkeypatch.setattr(room_causes, "standing", lambda: None)
    assert room_causes.identify("EPERM") == cause


def test_other_systems_and_missing_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(room_causes.system_calls, "NAME", "freebsd14")
    assert room_causes.standing() == room_causes.OTHER_SYSTEM
    monkeypatch.setattr(room_causes.system_calls, "NAME", "darwin")
    monkeypatch.setattr(room_causes, "SANDBOX", "/nowhere/sandbox-exec")
    assert room_causes.standing() == room_causes.NO_SANDBOX
    monkeypatch.setattr(room_causes, "SANDBOX", "/bin/sh")
    assert room_causes.standing() is None
    monkeypatch.setattr(room_causes.system_calls, "NAME", "linux")
    monkeypatch.setattr(room_causes, "NSENTER", ("/nowhere/nsenter",))
    assert room_causes.standing() == room_causes.NO_NSENTER


def test_the_profile_for_apparmor(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_causes, "standing", lambda: room_causes.APPARMOR)
    steps = containment_setup.setup(places).data["steps"]
    assert os.path.realpath(sys.executable) in steps[0]
    assert "userns," in steps[0]
    assert steps[1].startswith("sudo apparmor_parser ")
