"""Settings that guard less than a person accepted, and an end that the gateway outlives: nobody misses them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import pytest

from engine_talk import Talk
from toolguard_engine.stores.accepted_settings import mark as accepted_mark
from toolguard_engine.stores.files.accepted_settings_file import AcceptedSettings
from toolguard_engine.stores.files.audit_log_file import AuditLog


class Engines:
    """One engine after the other on the same state directory, as a gateway starts them."""

    def __init__(self, folder: Path, start: Callable[[], Talk]) -> None:
        self.folder = folder
        self.start = start
        self.state = folder / "state"
        self.state.mkdir()
        self.config = self.state / "openclaw.json"
        self.write("{plugins: {entries: {toolguard: {enabled: true}}}} // by hand")

    def write(self, text: str) -> None:
        self.config.write_text(text)

    def greeted(self, config: Any, **more: Any) -> Talk:
        talk = self.start()
        assert talk.hello(self.state, config, configPath=str(self.config), **more)["type"] == "ready"
        return talk

    def run(self, config: Any, *messages: dict[str, Any], **more: Any) -> list[Any]:
        """What an engine says after its first answer until its end."""
        talk = self.greeted(config, **more)
        for message in messages:
            talk.send(**message)
        return talk.end()

    def warned(self, config: Any, *messages: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
        return [(each["level"], each["text"]) for each in self.run(config, *messages, **more) if each["type"] == "log"]

    @property
    def lines(self) -> list[tuple[str, str]]:
        return [(each["code"], each["reason"]) for each in AuditLog(self.state).events()]


ACCEPT = "If this is intended, run: toolguard config accept"
LEAVING = {"type": "leaving", "reason": "gateway stopping"}


@pytest.fixture
def engines_of(tmp_path: Path, start: Callable[[], Talk]) -> Engines:
    return Engines(tmp_path, start)


def test_weaker_settings_are_said_at_each_start_until_they_are_accepted(engines_of: Engines) -> None:
    assert engines_of.warned({}) == []
    assert engines_of.warned({"escalationThreshold": 30}) == []
    expected = "mode changed from enforce to soft"
    settings = {"mode": "soft", "escalationThreshold": 30}
    assert engines_of.warned(settings) == [("warn", f"the guard is WEAKER than before: {expected}. {ACCEPT}")]
    assert engines_of.warned(settings) == [("warn", f"still weaker than the accepted settings: {expected}. {ACCEPT}")]
    pending = {"id": 1, "type": "decide", "action": "pending", "where": "chat", "by": "ann"}
    mark = accepted_mark(AcceptedSettings(engines_of.state).pending())
    accept = {**pending, "action": "accept", "nonce": mark}
    asked = [pending, {**accept, "id": 2}, {**accept, "id": 3}, {**pending, "id": 4}]
    answers = {each["id"]: each for each in engines_of.run(settings, *asked) if each["type"] == "told"}
    assert expected in answers[1]["text"]
    assert f"/toolguard accept {mark}" in answers[1]["text"]
    assert (answers[2]["ok"], answers[2]["text"]) == (True, f"accepted: {expected}")
    assert answers[3]["text"] == "no setting is weaker than what was accepted"
    assert answers[4]["text"] == "no call is waiting"
    assert engines_of.warned(settings) == []
    assert engines_of.lines == [("settings.weakened", expected), ("settings.accepted", expected)]
    (accepted,) = [each for each in AuditLog(engines_of.state).events() if each["event"] == "accepted"]
    assert (accepted["by"], accepted["where"], accepted["gateway"]) == ("ann", "chat", "gw")


def test_a_level_that_keeps_warnings_back_does_not_keep_this_one_back(engines_of: Engines) -> None:
    engines_of.run({})
    ((level, text),) = engines_of.warned({"logLevel": "error"})
    assert (level, "logLevel changed from info to error" in text) == ("error", True)


def test_an_agent_accepts_nothing(engines_of: Engines) -> None:
    engines_of.run({})
    settings = {"mode": "soft", "approval": {"agentTool": True}}
    word = {"id": 1, "type": "decide", "action": "accept", "where": "tool", "by": "agent"}
    (reply,) = [each for each in engines_of.run(settings, word) if each["type"] == "told"]
    assert reply["ok"] is False
    assert len(engines_of.warned(settings)) == 1


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("{plugins: {entries: {toolguard: {enabled: false}}}} // by hand", "plugins.entries.toolguard.enabled is false"),
        ('{"plugins": {"enabled": false}}', "plugins.enabled is false"),
        ("{plugins: {deny: ['toolguard',]}}", "plugins.deny names toolguard"),
    ],
)
def test_an_end_that_the_gateway_outlives(engines_of: Engines, config: str, why: str) -> None:
    engines_of.run({})
    engines_of.write(config)
    expected = f"the gateway no longer loads toolguard ({why}): nothing is guarded"
    assert engines_of.warned({}) == [("warn", f"the guard stopped: {expected}. {ACCEPT}")]
    ended = ("guard.unloaded", f"the gateway stopped the guard: {why}")
    assert sorted(engines_of.lines) == sorted([("settings.weakened", expected), ended])
    engines_of.write("{}")
    assert engines_of.warned({}) == []
    assert engines_of.lines[-1] == ("settings.restored", "as strict as before: plugins.entries.toolguard.enabled")


def test_the_folder_of_the_plugin_is_gone(engines_of: Engines) -> None:
    ((_, text),) = engines_of.warned({}, root=str(engines_of.folder / "gone"))
    assert "its folder is gone" in text


def test_a_folder_that_the_config_no_longer_names(engines_of: Engines) -> None:
    plugin = engines_of.folder / "plugins" / "toolguard"
    plugin.mkdir(parents=True)
    engines_of.write(json.dumps({"plugins": {"load": {"paths": [str(plugin.parent)]}}}))
    talk = engines_of.greeted({}, root=str(plugin))
    engines_of.write('{"plugins": {"load": {"paths": []}}}')
    assert "plugins.load.paths does not name its folder" in talk.end()[0]["text"]


@pytest.mark.parametrize("paths", [[], ["${TG}/plugins"], ["./plugins"]])
def test_a_folder_that_was_found_in_another_way_is_not_missed(engines_of: Engines, paths: list[str]) -> None:
    """The gateway looks into its workspace as well, and knows variables that the engine does not know."""
    plugin = engines_of.folder / "workspace" / ".openclaw" / "extensions" / "toolguard"
    plugin.mkdir(parents=True)
    engines_of.write(json.dumps({"plugins": {"load": {"paths": paths}}}))
    assert engines_of.warned({}, root=str(plugin)) == []
    assert engines_of.lines == []


def test_an_end_that_a_file_of_the_config_orders(engines_of: Engines) -> None:
    engines_of.write('{"$include": "./plugins.json"}')
    engines_of.config.with_name("plugins.json").write_text('{"plugins": {"enabled": false}}')
    engines_of.run({}, {"type": "leaving", "reason": "gateway restarting"})
    assert ("guard.unloaded", "the gateway stopped the guard: plugins.enabled is false") in engines_of.lines


UNREADABLE = ["{ broken", '{"$include": "./more.json"}', '{"plugins": {"$include": "./x"}}']


@pytest.mark.parametrize("config", ["{}", *UNREADABLE])
def test_an_end_with_the_gateway(engines_of: Engines, config: str) -> None:
    engines_of.write(config)
    assert engines_of.warned({}, LEAVING) == []
    assert engines_of.lines == [("guard.gateway-stopped", "the guard stopped with its gateway")]


@pytest.mark.parametrize("reason", ["", "gateway restarting"])
def test_an_end_whose_reason_is_not_known_leaves_a_line(engines_of: Engines, reason: str) -> None:
    for config in UNREADABLE:
        engines_of.write(config)
        engines_of.run({}, *([{"type": "leaving", "reason": reason}] if reason else []))
    assert [code for code, _ in engines_of.lines] == ["guard.ended"] * len(UNREADABLE)


def test_a_reload_leaves_nothing(engines_of: Engines) -> None:
    assert engines_of.warned({}) == []
    assert engines_of.lines == []


def test_a_weaker_setting_is_in_the_audit_log_before_it_is_in_the_record(engines_of: Engines) -> None:
    """Who ends the engine in between loses nothing: the next one reports it as new."""
    engines_of.run({})
    log = AuditLog(engines_of.state).path
    with filelock.FileLock(log.with_name(f"{log.name}.lock")):
        talk = engines_of.greeted({"mode": "soft"})
        talk.assert_alive()
        assert AcceptedSettings(engines_of.state).pending() == []
        talk.kill()
    expected = "mode changed from enforce to soft"
    assert engines_of.warned({"mode": "soft"}) == [("warn", f"the guard is WEAKER than before: {expected}. {ACCEPT}")]
    assert ("settings.weakened", expected) in engines_of.lines


def test_where_the_audit_log_cannot_be_written_the_change_is_said_at_each_start(engines_of: Engines) -> None:
    engines_of.run({})
    log = AuditLog(engines_of.state).path
    log.unlink(missing_ok=True)
    log.mkdir()
    for _ in range(2):
        assert any("mode changed from enforce to soft" in text for _, text in engines_of.warned({"mode": "soft"}))
        assert AcceptedSettings(engines_of.state).pending() == []
    log.rmdir()
    engines_of.run({"mode": "soft"})
    assert ("settings.weakened", "mode changed from enforce to soft") in engines_of.lines


def test_calls_are_answered_where_the_record_is_damaged(engines_of: Engines) -> None:
    engines_of.run({})
    (engines_of.state / "toolguard" / "accepted-settings.json").write_text("{")
    judge = {"id": 1, "type": "judge", "tool": "read", "params": {"path": "a"}, "run": "r"}
    accept = {"id": 2, "type": "decide", "action": "accept", "where": "chat", "by": "ann"}
    said = engines_of.run({"mode": "soft"}, judge, accept)
    assert [each["decision"] for each in said if each["type"] == "verdict"] == ["allow"]
    assert [each["ok"] for each in said if each["type"] == "told"] == [False]
    assert any("cannot find out whether settings became weaker" in each["text"] for each in said if each["type"] == "log")


def test_whoever_holds_the_record_is_waited_for(engines_of: Engines) -> None:
    """The engine goes on answering, and compares as soon as it can."""
    engines_of.run({})
    with filelock.FileLock(engines_of.state / "toolguard" / "accepted-settings.json.lock"):
        talk = engines_of.greeted({"mode": "soft"})
        talk.assert_alive()
    talk.later(0.5)
    assert "the guard is WEAKER than before" in talk.read()["text"]
    assert talk.end() == []
