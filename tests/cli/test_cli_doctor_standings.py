"""What `doctor` says about the kill switch, the store of standings, and two loop detections beside each other."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor.checks import native_loops_check, standings_check
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.locked import corrupt_files
from toolguard_engine.stores.sqlite.standings import FileStandings

ENFORCED = {"budget": {"mode": "enforce"}}


def config(places: Places, own: Any, **more: Any) -> None:
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": {"config": own}}}, **more}))


def save(places: Places) -> FileStandings:
    store = FileStandings(places.state_dir)
    store.save({("main", "s"): Standing("main", "s", spent=0.5, touched=time.time())})
    store.close()
    return store


def test_the_kill_switch_is_a_warning_with_its_command(places: Places) -> None:
    subject = doctor.look(places)
    assert standings_check.thrown(subject).status == "ok"
    KillSwitchFile(places.state_dir).set(on=True, by="ann", why="stop")
    check = standings_check.thrown(subject)
    assert (check.status, check.fix) == ("warn", "toolguard kill-switch off")
    assert "stop (by ann)" in check.detail


def test_whole_standings(places: Places) -> None:
    assert standings_check.whole(doctor.look(places)).status == "ok"
    assert not places.own.exists()
    save(places)
    assert standings_check.whole(doctor.look(places)).detail == "agents with a budget: 1; partly spent: 1"


@pytest.mark.parametrize("aside", [False, True], ids=["damaged", "put aside"])
@pytest.mark.parametrize(("own", "asks"), [({}, False), (ENFORCED, True), ({"agents": {"a": ENFORCED}}, True)])
def test_damaged_standings_are_moved_away(places: Places, aside: bool, own: Any, asks: bool) -> None:  # noqa: FBT001
    config(places, own)
    store = save(places)
    store.path.write_bytes(b"damaged" * 100)
    if aside:
        with pytest.raises(Exception, match="was damaged"):
            store.load()
    subject = doctor.look(places)
    check = standings_check.whole(subject)
    assert (check.status, check.fix) == ("error", "toolguard doctor --fix")
    assert ("every call with a cost needs an approval" in check.detail) is asks
    for step in standings_check.fix_whole(subject):
        assert step.perform() == "every agent starts with a full budget"
    assert standings_check.whole(subject).status == "ok"
    assert corrupt_files(store.path) == []
    assert [path.read_bytes() for path in (places.own / "damaged").iterdir()] == [b"damaged" * 100]
    save(places)


def test_a_folder_in_the_place_of_the_store(places: Places) -> None:
    FileStandings(places.state_dir).path.mkdir(parents=True)
    subject = doctor.look(places)
    assert standings_check.whole(subject).status == "error"
    for step in standings_check.fix_whole(subject):
        step.perform()
    assert standings_check.whole(subject).status == "ok"


ON, GUARD, OFF = "detection is on (it warns", "detection is off, except", "detection is off, even"
BOTH, AFTER = "the gateway checks first", "after a compaction, either of the two"


@pytest.mark.parametrize(
    ("native", "own", "expected", "untold"),
    [
        (None, None, [GUARD, "toolguard's is on for calls that demonstrably make no progress", AFTER], [BOTH]),
        (None, True, [GUARD, "toolguard's is on", AFTER], [BOTH]),
        (None, False, [GUARD, "toolguard's is off, even"], [BOTH, AFTER]),
        (True, None, [ON, "toolguard's is on for calls that demonstrably make no progress", AFTER], [BOTH]),
        (True, True, [ON, "toolguard's is on", BOTH, AFTER], []),
        (True, False, [ON, "toolguard's is off, even"], [BOTH, AFTER]),
        (False, None, [OFF, "toolguard's is on for calls that demonstrably make no progress"], [BOTH, AFTER]),
        (False, True, [OFF, "toolguard's is on"], [BOTH, AFTER]),
        (False, False, [OFF, "toolguard's is off, even"], [BOTH, AFTER]),
    ],
)
def test_both_detections(places: Places, native: Any, own: Any, expected: list[str], untold: list[str]) -> None:
    block = {} if native is None else {"enabled": native}
    config(places, {"loopDetection": {} if own is None else {"enabled": own}}, tools={"loopDetection": block})
    check = native_loops_check.beside(doctor.look(places))
    assert (check.status, check.data["native"], check.data["own"]) == ("ok", native, own)
    assert [text for text in expected if text not in check.detail] == []
    assert [text for text in untold if text in check.detail] == []
    assert native_loops_check.MALFORMED in check.detail


def test_whose_threshold_comes_first(places: Places) -> None:
    own = {"enabled": True, "warningThreshold": 8, "criticalThreshold": 25}
    config(places, {"loopDetection": own}, tools={"loopDetection": {"enabled": True}})
    said = native_loops_check.beside(doctor.look(places)).detail
    assert "(warning: toolguard, block: the gateway, breaker: the gateway)" in said


def test_agents_that_differ(places: Places) -> None:
    agents = {
        "entries": {"Safe Runner": {"tools": {"loopDetection": {"enabled": True}}}, "same": {}},
        "list": [None, {"id": 5}],
    }
    config(places, {"agents": {"quiet": {"loopDetection": {"enabled": False}}}}, agents=agents)
    check = native_loops_check.beside(doctor.look(places))
    assert check.data["agents"] == {"safe-runner": {"native": True, "own": None}, "quiet": {"native": None, "own": False}}
    assert [line.partition(":")[0] for line in check.detail.splitlines()[1:]] == ["agent quiet", "agent safe-runner"]


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ({}, "for identical errors, it warns after 3 and ends the run after 6"),
        ({"warn": 0}, "for identical errors, it ends the run after 6"),
        ({"warn": 0, "stop": 0}, "it does not count identical errors (identicalErrors is 0)"),
    ],
)
def test_identical_errors(places: Places, errors: dict[str, int], said: str) -> None:
    config(places, {"loopDetection": {"identicalErrors": errors}})
    assert said in native_loops_check.beside(doctor.look(places)).detail
