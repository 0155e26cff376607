"""The record of accepted settings: what is kept, what is pointed out, and what happens to a damaged or missing one."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.settings import parse
from toolguard_engine.config.strictness import PLUGIN, EffectiveSettings, settings_of, weaker
from toolguard_engine.stores.accepted_settings import NOT_KNOWN, mark
from toolguard_engine.stores.files import accepted_settings_file as accepted_settings
from toolguard_engine.stores.files import audit_log_file as audit_log
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files import signing_key_file as signing_key
from toolguard_engine.stores.files.accepted_settings_file import AcceptedSettings, AcceptedState, ChangedMeanwhile
from toolguard_engine.stores.locked import Busy, Damaged, StoreError

CONFIG = "/home/ada/.openclaw/openclaw.json"
OTHER = "/home/ada/other.json"
ANN = Decision("ann", "cli", "a test")
DISABLED = f"{NOT_KNOWN}; compared with the defaults: mode changed from enforce to disabled"


def settings(**config: Any) -> EffectiveSettings:
    return settings_of(parse(config))


class Stage:
    """One state directory; each run is a second later."""

    def __init__(self, state: Path) -> None:
        self.state = state
        self.store = AcceptedSettings(state)
        self.now = 1_000.0

    def run(self, config: str = CONFIG, **values: Any) -> AcceptedState:
        self.now += 1
        return self.store.ran(config, settings(**values), self.now, self.log)

    def log(self, events: list[audit_log.AuditEvent]) -> None:
        audit_log.AuditLog(self.state).append(events)

    def accept(self) -> list[str]:
        taken = self.store.accept(self.store.pending(), CONFIG, ANN, self.now, self.log)
        return [each.text for each in taken]

    @property
    def pending(self) -> list[tuple[str, float]]:
        return [(each.text, each.since) for each in self.store.pending()]

    @property
    def lines(self) -> list[tuple[str, str]]:
        return [(each["event"], each["reason"]) for each in audit_log.AuditLog(self.state).events()]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    state = tmp_path / "state"
    (state / "toolguard").mkdir(parents=True)
    return Stage(state)


def test_the_first_settings_are_pointed_out_to_nobody(stage: Stage) -> None:
    assert stage.run(mode="shadow", neverBlock=["exec"]) == AcceptedState()
    assert (stage.pending, stage.lines) == ([], [])


def test_weaker_settings_wait_until_they_are_accepted(stage: Stage) -> None:
    stage.run()
    found = stage.run(mode="soft")
    assert [each.text for each in found.fresh] == ["mode changed from enforce to soft"]
    again = stage.run(mode="soft")
    assert (again.fresh, again.pending) == ((), found.pending)
    stage.run(mode="shadow")
    assert stage.pending == [("mode changed from enforce to shadow", 1_002.0)], "since when it is weaker stays"
    assert stage.accept() == ["mode changed from enforce to shadow"]
    assert stage.pending == []
    assert stage.run(mode="shadow") == AcceptedState()
    assert [each.text for each in stage.run(mode="disabled").fresh] == ["mode changed from shadow to disabled"]
    assert stage.lines == [
        ("weakened", "mode changed from enforce to soft"),
        ("weakened", "mode changed from enforce to shadow"),
        ("accepted", "mode changed from enforce to shadow"),
        ("weakened", "mode changed from shadow to disabled"),
    ]
    reported = [each for each in audit_log.AuditLog(stage.state).events() if each["event"] == "accepted"]
    assert [(each["by"], each["where"], each["why"]) for each in reported] == [("ann", "cli", "a test")]


def test_stricter_settings_say_nothing_and_become_the_measure(stage: Stage) -> None:
    stage.run()
    assert stage.run(escalationThreshold=20, alwaysBlock=["exec"]) == AcceptedState()
    assert stage.lines == []
    assert [each.text for each in stage.run(alwaysBlock=["exec"]).fresh] == ["escalationThreshold changed from 20 to 36"]


@pytest.mark.parametrize("back", [{}, {"alwaysBlock": ["nodes"]}], ids=["as before", "stricter"])
def test_what_is_put_back_waits_no_more(stage: Stage, back: dict[str, Any]) -> None:
    stage.run()
    stage.run(neverBlock=["exec"], failMode="open")
    found = stage.run(failMode="open", **back)
    assert [each.setting for each in found.over] == ["neverBlock"]
    assert [each.setting for each in stage.store.pending()] == ["failMode"]
    stage.run(**back)
    assert stage.pending == []
    assert stage.lines[-2:] == [
        ("restored", "as strict as before: neverBlock"),
        ("restored", "as strict as before: failMode"),
    ]


def test_nothing_is_written_where_nothing_changed(stage: Stage) -> None:
    stage.run(mode="soft")
    before = stage.store.path.stat()
    stage.run(mode="soft")
    after = stage.store.path.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_another_config_is_compared_with_the_one_that_ran_last(stage: Stage) -> None:
    stage.run()
    assert [each.setting for each in stage.run(OTHER, mode="shadow").fresh] == ["mode"]
    assert stage.run().pending == (), "the first one is as strict as ever"
    assert [text for text, _ in stage.pending] == ["mode changed from enforce to shadow"], (
        "and does not answer for the other"
    )
    stage.accept()
    assert stage.run(OTHER, mode="shadow") == stage.run() == AcceptedState()


def test_many_configs_do_not_make_it_grow(stage: Stage) -> None:
    for number in range(accepted_settings.MAX_CONFIGS + 5):
        stage.run(f"/configs/{number}.json")
    assert len(json.loads(stage.store.path.read_bytes())["configs"]) == accepted_settings.MAX_CONFIGS


@pytest.mark.thorough
def test_a_config_of_which_something_is_pending_is_never_dropped(stage: Stage) -> None:
    stage.run(CONFIG)
    stage.run(CONFIG, failMode="open")
    for number in range(2 * accepted_settings.MAX_CONFIGS):
        stage.run(f"/configs/{number}.json", failMode="open")
    assert [text for text, _ in stage.pending] == ["failMode changed from closed to open"]
    assert stage.run(CONFIG, failMode="open").fresh == (), "it is known since the first time"
    changes = weaker(settings(), settings(mode="soft"))
    stage.accept()
    for number in range(2 * accepted_settings.MAX_CONFIGS):
        stage.store.take(f"/others/{number}.json", changes, ANN, stage.now, stage.log)
    assert [each.setting for each in stage.run("/new.json", mode="shadow", failMode="open").fresh] == ["mode"], (
        "nor is the one that ran last"
    )


def test_only_what_was_seen_is_accepted(stage: Stage) -> None:
    stage.run()
    stage.run(mode="soft")
    seen = stage.store.pending()
    stage.run(mode="disabled")
    with pytest.raises(ChangedMeanwhile):
        stage.store.accept(seen, CONFIG, ANN, 1.0, stage.log)
    assert mark(seen) != mark(stage.store.pending())
    assert [text for text, _ in stage.pending] == ["mode changed from enforce to disabled"]


def test_a_change_by_a_person_is_accepted_with_it(stage: Stage) -> None:
    stage.run()
    stage.run(failMode="open")
    changes = weaker(settings(failMode="open"), settings(failMode="open", mode="soft"))
    assert stage.store.take(CONFIG, changes, ANN, stage.now, stage.log)
    assert stage.run(failMode="open", mode="soft").fresh == ()
    stage.now += accepted_settings.SETTLING
    assert [each.setting for each in stage.store.pending()] == ["failMode"], "what somebody else changed still waits"
    assert [each.setting for each in stage.run(failMode="open", mode="shadow").fresh] == ["mode"]


@pytest.mark.parametrize(
    "accepted", [{"mode": "soft"}, {"mode": "soft", "failMode": "open"}], ids=["one", "another as well"]
)
def test_an_engine_with_the_settings_from_before_a_change_alters_nothing(stage: Stage, accepted: dict[str, Any]) -> None:
    """The gateway reloads while a user makes the next change, and starts an engine that knows only the first one."""
    stage.run()
    stage.store.take(CONFIG, weaker(settings(), settings(**accepted)), ANN, stage.now, stage.log)
    lines = stage.lines
    with pytest.raises(Busy):
        stage.run()
    assert stage.run(**accepted).fresh == ()
    assert stage.store.pending() == []
    assert stage.lines == lines


def test_settings_that_differ_from_the_change_are_reported_when_it_has_settled(stage: Stage) -> None:
    stage.run()
    stage.store.take(CONFIG, (), ANN, stage.now, stage.log)
    with pytest.raises(Busy):
        stage.run(mode="shadow")
    stage.now += accepted_settings.SETTLING
    assert [each.setting for each in stage.run(mode="shadow").fresh] == ["mode"]
    assert [event for event, _ in stage.lines] == ["weakened"]


def test_a_clock_that_was_set_back_delays_nothing(stage: Stage) -> None:
    stage.run()
    stage.store.take(CONFIG, (), ANN, stage.now + 3600, stage.log)
    assert [each.setting for each in stage.run(mode="shadow").fresh] == ["mode"]


def test_a_change_before_the_first_run_is_not_kept(stage: Stage) -> None:
    assert not stage.store.take(CONFIG, weaker(settings(), settings(mode="soft")), ANN, 1.0, stage.log)
    assert not stage.store.path.exists()


def test_the_end_of_the_guard(stage: Stage) -> None:
    assert stage.store.ended(CONFIG, "plugins.enabled is false", 5.0, stage.log) == AcceptedState(), "nothing ever ran"
    stage.run()
    for _ in range(2):
        stage.store.ended(CONFIG, "plugins.enabled is false", 5.0, stage.log)
    said = "the gateway no longer loads toolguard (plugins.enabled is false): nothing is guarded"
    assert stage.pending == [(said, 5.0)]
    assert [each.setting for each in stage.run().over] == [PLUGIN]
    stage.store.ended(CONFIG, "plugins.enabled is false", 6.0, stage.log)
    stage.accept()
    stage.store.ended(CONFIG, "plugins.enabled is false", 7.0, stage.log)
    assert stage.pending == []
    stage.run()
    assert stage.store.ended(CONFIG, "", 8.0, stage.log).fresh, "it ran again in between"


def test_after_an_uninstall_it_begins_anew(stage: Stage) -> None:
    stage.run(alwaysBlock=["exec"])
    stage.run()
    stage.store.forget(CONFIG)
    assert stage.store.ended(CONFIG, "its folder is gone", 5.0, stage.log) == AcceptedState()
    assert stage.run(mode="shadow") == AcceptedState()
    assert stage.pending == []


def corrupt(data: bytes) -> bytes:
    return data[: len(data) // 2]


def weakened(data: bytes) -> bytes:
    return data.replace(b'"mode":"enforce"', b'"mode":"disabled"')


def without_notices(data: bytes) -> bytes:
    value = json.loads(data)
    for known in value["configs"].values():
        known["pending"] = []
    return json.dumps(value).encode()


def unsigned(data: bytes) -> bytes:
    return json.dumps({**json.loads(data), "mac": ""}).encode()


@pytest.mark.parametrize("damage", [corrupt, weakened, without_notices, unsigned, lambda _: b"", lambda _: b"[" * 5_000])
def test_a_record_that_is_not_ours_is_kept_aside_and_told(stage: Stage, damage: Callable[[bytes], bytes]) -> None:
    stage.run()
    stage.run(failMode="open")
    stage.store.path.write_bytes(damage(stage.store.path.read_bytes()))
    with pytest.raises(Damaged):
        stage.store.pending()
    assert stage.store.path.exists(), "looking changes nothing"
    for _ in range(2):
        with pytest.raises(Damaged):
            stage.run(mode="disabled")
    (kept,) = stage.store.path.parent.glob(f"{accepted_settings.NAME}.corrupt-*")
    kept.unlink()  # as `toolguard doctor --fix` moves it away
    found = stage.run(mode="disabled")
    assert [each.text for each in found.fresh] == [DISABLED]
    assert stage.accept() == [DISABLED]
    assert stage.run(mode="disabled") == AcceptedState()
    assert ("weakened", DISABLED) in stage.lines


def test_a_record_that_was_removed_is_told(stage: Stage) -> None:
    stage.run()
    stage.store.path.unlink()
    assert [each.text for each in stage.run(mode="disabled").fresh] == [DISABLED]
    assert [text for text, _ in stage.pending] == [DISABLED]
    assert stage.run(mode="disabled").fresh == (), "that is said once"
    assert [text for _, text in stage.lines] == [DISABLED]


def test_settings_as_strict_as_the_defaults_are_taken_in_place_of_a_lost_record(stage: Stage) -> None:
    stage.run(mode="soft")
    stage.store.path.unlink()
    assert [each.text for each in stage.run().fresh] == [f"{NOT_KNOWN}; {accepted_settings.AS_STRICT}"]


def test_of_many_taken_settings_some_are_named(stage: Stage) -> None:
    stage.run()
    stage.store.path.unlink()
    stage.run(agents={f"agent{number:02}": {"mode": "shadow"} for number in range(accepted_settings.MAX_NAMED + 3)})
    ((text, _),) = stage.pending
    assert text.endswith("agents.agent09.mode changed from enforce to shadow; and 3 more")


def test_a_record_that_was_removed_with_its_lock_is_told_where_an_engine_ended_before(stage: Stage) -> None:
    stage.run()
    for path in (stage.store.path, stage.store.path.with_name(f"{accepted_settings.NAME}.lock")):
        path.unlink()
    engines.publish(stage.state, engines.EngineInfo(7, 8, "gw", "2026.9.6", "1", "1", 0.0, "enforce", "/log"))
    engines.retire(stage.state, 7)
    assert [each.text for each in stage.run(mode="disabled").fresh] == [DISABLED]


def test_a_first_start_that_fails_leaves_no_report_of_a_lost_record(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("link", "fsync"):
        with monkeypatch.context() as patch:
            patch.setattr(f"toolguard_engine.stores.atomic.os.{name}", killed)
            with pytest.raises(KeyboardInterrupt):
                stage.run()
    assert stage.run() == AcceptedState()
    assert stage.pending == []


def test_the_start_after_one_that_ended_before_it_made_the_lock_makes_it(stage: Stage) -> None:
    stage.run()
    lock = stage.store.path.with_name(f"{accepted_settings.NAME}.lock")
    lock.unlink()
    assert stage.run() == AcceptedState()
    assert lock.exists()


@pytest.mark.usefixtures("patient_locks")
def test_first_starts_at_the_same_time(stage: Stage) -> None:
    stores = [AcceptedSettings(stage.state) for _ in range(8)]
    found: list[AcceptedState] = []
    threads = [
        threading.Thread(target=lambda store=store: found.append(store.ran(CONFIG, settings(), 5.0, stage.log)))
        for store in stores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [AcceptedState()] * len(stores)
    assert stage.pending == []


def test_a_key_that_is_gone_proves_nothing(stage: Stage) -> None:
    stage.run()
    signing_key.path(stage.state).unlink()
    with pytest.raises(StoreError):
        stage.run(mode="shadow")
    with pytest.raises(StoreError):
        stage.store.pending()
    assert not signing_key.path(stage.state).exists()


def test_a_line_is_in_the_audit_log_before_it_is_kept(stage: Stage) -> None:
    """Whoever is killed in between tells it again, and the log takes it once."""
    stage.run()

    def killed(events: list[audit_log.AuditEvent]) -> None:
        stage.log(events)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stage.store.ran(CONFIG, settings(mode="soft"), 9.0, killed)
    assert stage.pending == []
    stage.now = 8.0
    stage.run(mode="soft")
    assert stage.pending == [("mode changed from enforce to soft", 9.0)]
    assert stage.lines == [("weakened", "mode changed from enforce to soft")]


@pytest.mark.usefixtures("patient_locks")
def test_at_the_same_time(stage: Stage) -> None:
    """Engines and persons in any order: nothing is lost, and nothing is told twice."""
    stage.run()
    stores = [AcceptedSettings(stage.state) for _ in range(8)]
    values = {"mode": "soft", "failMode": "open", "neverBlock": ["exec"], "escalationThreshold": 90}
    threads = [threading.Thread(target=store.ran, args=(CONFIG, settings(**values), 50.0, stage.log)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stage.pending) == len(values)
    assert sorted(stage.lines) == sorted(("weakened", text) for text, _ in stage.pending)


def test_names_that_are_no_paths(stage: Stage) -> None:
    for config in ("", "a\0b", "x" * 5_000):
        stage.run(config)
    assert [each.setting for each in stage.run("a\0b", mode="soft").fresh] == ["mode"]


def test_a_config_below_a_folder_whose_name_is_not_unicode(stage: Stage, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    link = tmp_path / "openclaw.json"
    link.symlink_to(folder / "openclaw.json")
    stage.run(str(link))
    stage.run(str(link), mode="soft")
    assert stage.accept() == ["mode changed from enforce to soft"]
    assert stage.run(str(folder / "openclaw.json"), mode="soft") == AcceptedState(), "one file, one name"
    stage.store.ended("\ud800", "", 1.0, stage.log)


def test_settings_that_are_not_unicode_are_a_problem_of_the_store(stage: Stage) -> None:
    stage.run()
    with pytest.raises(StoreError, match="not valid Unicode"):
        stage.run(alwaysBlock=["\ud800"])
    assert stage.run() == AcceptedState()
