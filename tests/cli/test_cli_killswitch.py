"""`toolguard kill-switch`."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from cli_stage import envelope, texts, toolguard
from judged_stage import settings

from toolguard_cli.commands import show_status as status
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import set_kill_switch
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.server.engine_context import Intervals
from toolguard_engine.stores.atomic import own_folder
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.locked import StoreError


@pytest.fixture
def places(places: Places) -> Places:
    """A gateway that toolguard has been at."""
    own_folder(places.state_dir).mkdir()
    return places


NOWHERE = "no gateway with the plugin is running here; it applies as soon as one is"


def test_it_returns_when_no_engine_uses_the_state_before(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[float, bool]] = []
    switch = KillSwitchFile(places.state_dir)
    monkeypatch.setattr(time, "sleep", lambda seconds: waits.append((seconds, switch.thrown() is not None)))
    set_kill_switch.throw(places, "on", "", "cli")
    set_kill_switch.throw(places, "off", "", "cli")
    assert waits == [(Intervals().switch, True), (Intervals().switch, False)]


def test_on_off_and_what_is_written_down(places: Places) -> None:
    result = set_kill_switch.run(places, "on", why="it mails\neverybody")
    assert texts(result) == [
        set_kill_switch.IS_ON,
        "new calls are blocked and end their run; a call that is already running is not stopped",
        NOWHERE,
        (
            f"nothing is stopped: toolguard is not installed in {places.state_dir}, "
            "so nothing is guarded there (toolguard install)"
        ),
        "openclaw gateway stop stops the gateway itself",
        "toolguard kill-switch off allows calls again",
    ]
    assert "it mails everybody (by " in KillSwitchFile(places.state_dir).why()
    assert (result.exit_code, result.data["on"], result.data["why"]) == (0, True, "it mails everybody")
    off = set_kill_switch.run(places, "off", why="mended")
    assert re.fullmatch(rf"{set_kill_switch.IS_OFF}; it had been on since \S+ \S+ \(.+, it mails everybody\)", texts(off)[0])
    assert off.data == {"on": False, "gateways": []}
    events = AuditLog(places.state_dir).events()
    assert [(event["event"], event["code"], event["where"], event.get("why", "")) for event in events] == [
        ("kill-switch", "kill-switch.on", "cli", "it mails everybody"),
        ("kill-switch", "kill-switch.off", "cli", "mended"),
    ]


def test_off_where_it_was_not_on(places: Places) -> None:
    assert texts(set_kill_switch.run(places, "off"))[0] == "the kill switch was not on"
    assert list(own_folder(places.state_dir).iterdir()) == []


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("wish", ["on", "off"])
def test_where_toolguard_has_never_been(tmp_path: Path, wish: set_kill_switch.KillSwitchRequest, *, there: bool) -> None:
    state = tmp_path / "typo"
    if there:
        state.mkdir()
    with pytest.raises(UserError, match="toolguard has never run in"):
        set_kill_switch.run(Places(state, state / "openclaw.json"), wish)
    assert state.exists() is there
    assert not own_folder(state).exists()


def test_on_again_tells_what_it_was(places: Places) -> None:
    set_kill_switch.run(places, "on", why="first")
    assert "(it was already on: first (by " in texts(set_kill_switch.run(places, "on", why="second"))[0]
    assert KillSwitchFile(places.state_dir).why().startswith("second")


def test_on_again_keeps_reason_and_time(places: Places) -> None:
    set_kill_switch.run(places, "on", why="first")
    before = KillSwitchFile(places.state_dir).thrown()
    assert "(it was already on and stays unchanged: first (by " in texts(set_kill_switch.run(places, "on"))[0]
    assert KillSwitchFile(places.state_dir).thrown() == before
    KillSwitchFile(places.state_dir).path.write_text("{")
    set_kill_switch.run(places, "on")
    found = KillSwitchFile(places.state_dir).thrown()
    assert found is not None
    assert found.why == ""


def _unwritten(*_: object, **__: object) -> None:
    raise StoreError("the disk is full")


def test_what_cannot_be_written_is_not_on(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KillSwitchFile, "set", _unwritten)
    with pytest.raises(UserError, match="the kill switch is NOT on, so calls still run: the disk is full") as raised:
        set_kill_switch.run(places, "on")
    assert raised.value.fix == "stop the gateway: openclaw gateway stop"


def test_what_cannot_be_written_while_it_is_on(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    set_kill_switch.run(places, "on", why="first")
    monkeypatch.setattr(KillSwitchFile, "set", _unwritten)
    with pytest.raises(UserError, match="it still counts as ON: the disk is full"):
        set_kill_switch.run(places, "on", why="second")
    with pytest.raises(UserError, match="the kill switch is still ON: no call runs: the disk is full"):
        set_kill_switch.run(places, "off")


def test_what_the_disk_has_not_confirmed_is_off(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    set_kill_switch.run(places, "on")

    def unconfirmed(switch: KillSwitchFile, **_: object) -> None:
        switch.path.unlink()
        raise StoreError("the disk is full")

    monkeypatch.setattr(KillSwitchFile, "set", unconfirmed)
    monkeypatch.setattr(gateway_stores, "logged", lambda *_: ["this could not be written to the audit log: full"])
    with pytest.raises(UserError, match="is off, so calls run: the disk is full; this could not be written to the audit"):
        set_kill_switch.run(places, "off")


def test_where_the_gateway_does_not_load_the_plugin(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    settings(places)
    assert not any("nothing is stopped" in text for text in texts(set_kill_switch.run(places, "on")))
    places.config.write_text('{"plugins": {"enabled": false}}')
    result = set_kill_switch.run(places, "on")
    warned = [line.text for line in result.lines if line.kind == "warn"]
    assert warned == ["nothing is stopped: plugins.enabled is false: the gateway loads no plugin, so nothing is guarded"]
    assert "openclaw gateway stop stops the gateway itself" in texts(result)
    monkeypatch.setattr(engines, "running", lambda _: [engines.EngineInfo(5, 7, "", "", "0", "0", 1.0, "enforce", "/log")])
    assert not any("nothing is stopped" in text for text in texts(set_kill_switch.run(places, "on")))


def test_near_misses_and_capitals(places: Places) -> None:
    assert set_kill_switch.parse_request("ON") == "on"
    done = toolguard("kill-switch", "onn", "--state-dir", places.state_dir)
    assert (done.returncode, "did you mean on?" in done.stderr, "Value error" in done.stderr) == (2, True, False)
    assert toolguard("kill-switch", "ON", "--state-dir", places.state_dir).returncode == 0
    assert KillSwitchFile(places.state_dir).thrown()


def test_nothing_asks_for_the_status(places: Places) -> None:
    done = toolguard("kill-switch", "--state-dir", places.state_dir)
    assert (done.returncode, set_kill_switch.IS_OFF in done.stdout) == (0, True)


def test_status_changes_nothing(places: Places) -> None:
    assert texts(set_kill_switch.run(places, "status"))[0] == set_kill_switch.IS_OFF
    assert list(own_folder(places.state_dir).iterdir()) == []
    set_kill_switch.run(places, "on", why="why not")
    shown = set_kill_switch.run(places, "status")
    assert shown.lines[0].kind == "warn"
    assert texts(shown)[0].startswith(f"{set_kill_switch.IS_ON}: why not (by ")
    assert len(list(AuditLog(places.state_dir).events())) == 1


def test_it_names_the_gateways_that_run(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    info = engines.EngineInfo(5, 7, "openclaw", "2026.9.6", "0", "0", time.time(), "enforce", "/log")
    monkeypatch.setattr(engines, "running", lambda _state: [info])
    result = set_kill_switch.run(places, "on")
    assert "it applies to the next call of gateway 7" in texts(result)
    assert result.data["gateways"] == [7]


def test_what_cannot_be_written_down_stops_all_the_same(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(AuditLog, "append", full)
    result = set_kill_switch.run(places, "on")
    assert "this could not be written to the audit log: the disk is full" in texts(result)
    assert KillSwitchFile(places.state_dir).thrown()


def test_a_hostile_file_moves_no_cursor(places: Places) -> None:
    KillSwitchFile(places.state_dir).path.write_text('{"by": "\\u001b[2J", "why": "\\u202e\\n", "at": 1e308}')
    for result in (set_kill_switch.run(places, "status"), status.run(places)):
        assert all(text.isprintable() for text in texts(result))
        assert set_kill_switch.IS_ON in texts(result)[0]


@pytest.mark.parametrize("more", [(), ("--why", "too fast"), ("--json",), ("--json", "--why", "x")], ids=" ".join)
def test_the_command_with_and_without_the_parser(places: Places, more: tuple[str, ...]) -> None:
    for spelled in (("on", *more), (*more, "on")):
        done = toolguard("kill-switch", *spelled, "--state-dir", places.state_dir)
        assert (done.returncode, KillSwitchFile(places.state_dir).thrown() is not None) == (0, True), done.stderr
        if "--json" in more:
            assert envelope(done)["command"] == "kill-switch"
        KillSwitchFile(places.state_dir).path.unlink()
    done = toolguard("kill-switch", "on", "--why=with the parser", "--state-dir", places.state_dir)
    assert (done.returncode, KillSwitchFile(places.state_dir).why()[:15]) == (0, "with the parser")


@pytest.mark.parametrize("words", [("onn",), ("on", "off"), ("on", "--reasons", "x"), ("on", "--yes")], ids=" ".join)
def test_wrong_usage_switches_nothing(places: Places, words: tuple[str, ...]) -> None:
    assert toolguard("kill-switch", *words, "--state-dir", places.state_dir).returncode == 2
    assert KillSwitchFile(places.state_dir).thrown() is None


def test_a_folder_in_its_place_is_a_mistake_to_mend(places: Places) -> None:
    KillSwitchFile(places.state_dir).path.mkdir(parents=True)
    for wish in ("off", "on"):
        done = toolguard("kill-switch", wish, "--state-dir", places.state_dir)
        assert done.returncode == 1
        assert "its file is a folder, so the switch counts as on" in done.stderr
        assert f"-> check what is in it, then run: rm -r {KillSwitchFile(places.state_dir).path}" in done.stderr


def test_status_says_it_first(places: Places) -> None:
    set_kill_switch.run(places, "on", why="it mails everybody")
    result = status.run(places)
    assert result.lines[0].kind == set_kill_switch.run(places, "status").lines[0].kind == "warn"
    assert texts(result)[0].startswith(f"{set_kill_switch.IS_ON}: it mails everybody (by ")
    assert texts(result)[1] == "toolguard kill-switch off allows calls again"
    assert result.data["killSwitch"]["why"] == "it mails everybody"
    set_kill_switch.run(places, "off")
    assert status.run(places).data["killSwitch"] == {"on": False}
