"""Settings that became weaker: shown by status and doctor, accepted by a person, and accepted with a person's own change."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from cli_stage import envelope, put_in, take_out, texts, toolguard

from toolguard_cli.commands import config_accept as accept
from toolguard_cli.commands import config_unset as unset
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.commands import show_status as status
from toolguard_cli.doctor.checks import weakened_check
from toolguard_cli.operations import set_setting as set_command
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.policy import accepted_view
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine.config.settings import parse
from toolguard_engine.config.strictness import settings_of
from toolguard_engine.stores.accepted_settings import NOT_KNOWN
from toolguard_engine.stores.files import accepted_settings_file as accepted_settings
from toolguard_engine.stores.files import signing_key_file as signing_key
from toolguard_engine.stores.files.accepted_settings_file import AcceptedSettings
from toolguard_engine.stores.files.audit_log_file import AuditLog

OFFLINE = ChangeOptions(offline=True)
SOFTER = "mode changed from enforce to soft"
GONE = "the gateway no longer loads toolguard (plugins.entries.toolguard.enabled is false): nothing is guarded"


def ran(places: Places, config: Path | None = None, **settings: Any) -> None:
    """What the engine does when the gateway starts."""
    log = AuditLog(places.state_dir).append
    store = AcceptedSettings(places.state_dir)
    store.ran(str(config or places.config), settings_of(parse(settings), conversation=False), 1_000.0, log)


def lines(places: Places) -> list[tuple[str, str, str]]:
    return [(each["event"], each.get("where", ""), each["reason"]) for each in AuditLog(places.state_dir).events()]


def shown(places: Places) -> list[str]:
    """What status says, and doctor as well."""
    data = status.run(places).data["weakened"]
    check = weakened_check.accepted_all(doctor.look(places))
    assert check.data.get("weaker", []) == data["weaker"]
    assert check.status == ("warn" if data["weaker"] else "ok")
    return [each["text"] for each in data["weaker"]]


def accepting(places: Places, **options: Any) -> Result:
    return accept.run(places, **{"yes": True, "dry_run": False, "reason": "", "as_json": False} | options)


@pytest.fixture
def places(places: Places) -> Places:
    """A gateway with toolguard, which ran with the default settings."""
    put_in(places)
    ran(places)
    return places


def test_nothing_is_weaker(places: Places) -> None:
    assert shown(places) == []
    result = accepting(places)
    assert (texts(result), result.data["accepted"], result.exit_code) == ([accept.NOTHING], [], 0)
    assert lines(places) == []


def test_where_nothing_ever_ran(tmp_path: Path) -> None:
    places = Places(tmp_path / "none", tmp_path / "none" / "openclaw.json")
    assert shown(places) == []
    assert texts(accepting(places)) == [accept.NOTHING]
    assert not places.state_dir.exists()


def test_it_is_shown_and_accepted(places: Places) -> None:
    ran(places, mode="soft", agents={"main": {"escalationThreshold": 99}})
    expected = [SOFTER, "agents.main.escalationThreshold changed from 36 to 99"]
    assert shown(places) == expected
    reported = status.run(places)
    warned = [line.text for line in reported.lines if line.kind == "warn" and line.text.startswith("weaker")]
    assert [text.partition(", since ")[0] for text in warned] == [
        f"weaker than the accepted setting: {text}" for text in expected
    ]
    assert "toolguard config accept accepts it; otherwise restore the setting" in texts(reported)
    one = reported.data["weakened"]["weaker"][0]
    assert one == {"setting": "mode", "text": SOFTER, "since": 1_000.0, "from": "enforce", "to": "soft"}

    before = AcceptedSettings(places.state_dir).path.read_bytes()
    assert [text.partition(", since ")[0] for text in texts(accepting(places, dry_run=True))] == [
        f"would accept: {text}" for text in expected
    ]
    assert AcceptedSettings(places.state_dir).path.read_bytes() == before

    result = accepting(places, reason="a quiet week\x1b[2J")
    assert [each["text"] for each in result.data["accepted"]] == expected
    assert shown(places) == []
    assert [line for line in lines(places) if line[0] == "accepted"] == [("accepted", "cli", text) for text in expected]
    assert [each["why"] for each in AuditLog(places.state_dir).events() if each["event"] == "accepted"] == [
        "a quiet week<U+001B>[2J"
    ] * 2


def test_the_console_script_asks(places: Places) -> None:
    ran(places, failMode="open")
    where = ("--state-dir", places.state_dir)
    done = toolguard("config", "accept", *where)
    assert done.returncode == 1
    assert "failMode changed from closed to open" in done.stderr
    assert "add --yes and try again" in done.stderr
    done = toolguard("config", "accept", "--yes", "--json", *where)
    found = envelope(done)
    assert (found["command"], found["ok"], len(found["data"]["accepted"])) == ("config accept", True, 1)
    assert shown(places) == []


def test_a_no_leaves_it(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(places, failMode="open")
    monkeypatch.setattr(accept.asking, "confirm", lambda *_, **__: False)
    result = accepting(places, yes=False)
    assert (result.exit_code, result.data["accepted"]) == (1, [])
    assert len(shown(places)) == 1


def test_what_became_weaker_while_it_was_asked_is_not_accepted(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(places, mode="soft")

    def meanwhile(*_: object, **__: object) -> bool:
        ran(places, mode="disabled")
        return True

    monkeypatch.setattr(accept.asking, "confirm", meanwhile)
    with pytest.raises(UserError, match="something else became weaker meanwhile"):
        accepting(places, yes=False)
    assert shown(places) == ["mode changed from enforce to disabled"]


@pytest.mark.parametrize(
    ("path", "value", "weaker"),
    [
        ("mode", "soft", [SOFTER]),
        ("mode", "enforce", []),
        ("escalationThreshold", "20", []),
        ("neverBlock", '["exec"]', ["neverBlock also names exec"]),
        ("agents.main.mode", "shadow", ["agents.main.mode changed from enforce to shadow"]),
        (
            "plugins.entries.toolguard.enabled",
            "false",
            ["plugins.entries.toolguard.enabled changed from true to false"],
        ),
    ],
)
def test_a_persons_own_change_is_accepted_with_it(places: Places, path: str, value: str, weaker: list[str]) -> None:
    dry = set_command.run(places, path, value, ChangeOptions(offline=True, dry_run=True))
    assert dry.data["weaker"] == weaker
    assert lines(places) == []
    result = set_command.run(places, path, value, OFFLINE)
    assert result.data["weaker"] == weaker
    reported = [line.text for line in result.lines if line.text.startswith("this weakens the guard: ")]
    assert reported == [f"this weakens the guard: {text}" for text in weaker]
    assert [line[:2] for line in lines(places)] == [("accepted", "cli")] * len(weaker)
    entry = json.loads(places.config.read_text())["plugins"]["entries"]["toolguard"]
    if entry["enabled"]:
        ran(places, **entry.get("config", {}))
    assert shown(places) == []


def test_unset_is_a_change_too(places: Places) -> None:
    set_command.run(places, "alwaysBlock", '["exec"]', OFFLINE)
    ran(places, alwaysBlock=["exec"])
    result = unset.run(places, "alwaysBlock", OFFLINE)
    assert result.data["weaker"] == ["alwaysBlock no longer names exec"]
    ran(places)
    assert shown(places) == []


def test_what_somebody_else_made_weaker_still_waits(places: Places) -> None:
    ran(places, failMode="open")
    set_command.run(places, "mode", "soft", OFFLINE)
    assert shown(places) == ["failMode changed from closed to open"]


def edit(places: Places, **entry: Any) -> None:
    config = json.loads(places.config.read_text())
    config["plugins"]["entries"]["toolguard"].update(entry)
    places.config.write_text(json.dumps(config))


def test_a_plugin_that_is_switched_off_while_no_engine_runs(places: Places) -> None:
    edit(places, enabled=False)
    os.utime(places.config, (2_000, 2_000))
    assert shown(places) == [GONE]
    assert status.run(places).data["weakened"]["weaker"][0]["since"] == 2_000.0
    accepting(places)
    assert shown(places) == []
    edit(places, enabled=True)
    ran(places)
    edit(places, enabled=False)
    assert shown(places) == [GONE], "it ran again in between"
    edit(places, enabled=True)
    assert shown(places) == []


def test_a_plugin_that_was_removed_by_hand(places: Places) -> None:
    places.config.write_text("{}")
    for path in sorted(places.extension.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    places.extension.rmdir()
    assert shown(places) == [
        "the gateway no longer loads toolguard (its folder is gone): nothing is guarded",
    ]
    places.record.unlink()
    assert shown(places) == [
        "the gateway no longer loads toolguard (it is no longer installed): nothing is guarded",
    ]


def test_an_uninstall_by_a_person_leaves_no_warning(places: Places) -> None:
    ran(places, mode="soft")
    take_out(places)
    assert shown(places) == []
    assert lines(places)[-1] == ("ended", "cli", "toolguard was uninstalled")
    put_in(places)
    ran(places, mode="shadow")
    assert shown(places) == [], "what is installed anew starts again"


def test_a_dry_run_of_an_uninstall_changes_nothing(places: Places) -> None:
    ran(places, mode="soft")
    take_out(places, dry_run=True)
    assert shown(places) == [SOFTER]


def test_a_setting_set_over_a_hand_edit_names_both_values(places: Places) -> None:
    ran(places)
    whole = json.loads(places.config.read_text())
    whole["plugins"]["entries"]["toolguard"]["config"] = {"mode": "shadow"}
    places.config.write_text(json.dumps(whole))
    done = set_command.run(places, "mode", "soft", OFFLINE)
    assert done.data["byHand"] == [
        "mode: the accepted value was enforce, the file had shadow (changed by hand, not accepted); it is now soft"
    ]
    assert done.data["weaker"] == [SOFTER], "compared with what was accepted"
    ran(places, mode="soft")
    assert shown(places) == [], "who set it accepted it"


def test_a_setting_that_nobody_edited_names_no_other_value(places: Places) -> None:
    ran(places)
    assert set_command.run(places, "mode", "soft", OFFLINE).data["byHand"] == []


TAKEN = f"{NOT_KNOWN}; compared with the defaults: {SOFTER}"


def test_a_damaged_record_is_told_and_repaired(places: Places) -> None:
    ran(places, mode="soft")
    store = AcceptedSettings(places.state_dir)
    store.path.write_bytes(store.path.read_bytes().replace(b"enforce", b"disabled"))
    reported = status.run(places)
    assert any(line.kind == "error" and "accepted-settings.json is damaged" in line.text for line in reported.lines)
    assert reported.data["weakened"]["problem"]
    check = weakened_check.accepted_all(doctor.look(places))
    assert (check.status, check.fix) == ("error", "toolguard doctor --fix")
    with pytest.raises(UserError) as caught:
        accepting(places)
    assert caught.value.fix == "toolguard doctor --fix"
    (step,) = weakened_check.fix(doctor.look(places))
    step.perform()
    assert [path.name for path in (places.own / "damaged").iterdir()] == [accepted_settings.NAME]
    assert shown(places) == []
    ran(places, mode="soft")
    assert shown(places) == [TAKEN]
    check = weakened_check.accepted_all(doctor.look(places))
    assert (check.status, TAKEN in check.detail) == ("warn", True)
    accepting(places)
    assert shown(places) == []


def test_a_key_that_is_gone_is_repaired(places: Places) -> None:
    """Nothing else was signed with it, so nothing but the record says that there was one."""
    (places.own / signing_key.NAME).unlink()
    assert status.run(places).data["weakened"]["problem"]
    check = weakened_check.accepted_all(doctor.look(places))
    assert (check.status, check.fix) == ("error", "toolguard doctor --fix")
    (step,) = weakened_check.fix(doctor.look(places))
    step.perform()
    assert step.perform() == "", "it was done already"
    ran(places, mode="soft")
    assert shown(places) == [TAKEN]


def test_a_key_that_others_can_read_comes_first(places: Places) -> None:
    (places.own / signing_key.NAME).chmod(0o644)
    check = weakened_check.accepted_all(doctor.look(places))
    assert (check.status, check.fix) == ("warn", "fix `key` first")
    assert list(weakened_check.fix(doctor.look(places))) == []


def test_many_are_cut(places: Places) -> None:
    ran(places, agents={f"a{number:02}": {"mode": "soft"} for number in range(30)})
    seen = accepted_view.look(places)
    reported = accepted_view.lines(seen, places)
    assert len(reported) == accepted_view.MAX_SHOWN + 2
    assert reported[-2].text == "and 20 more (toolguard status --json lists all)"
    assert len(accepting(places).data["accepted"]) == 30
