"""Whether the fleet stops a gateway."""

from __future__ import annotations

from pathlib import Path

import pytest

from tables import each_row
from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.stores.fleet import fleet_state
from toolguard_engine.stores.fleet.fleet_switch import FleetSwitch
from toolguard_engine.stores.fleet.pipe_messages import FleetStatus


class Clock:
    def __init__(self) -> None:
        self.now = 5_000.0

    def __call__(self) -> float:
        return self.now


def switch(clock: Clock, status: FleetStatus | None = None, **settings: object) -> FleetSwitch:
    config = FleetConfig(enabled=True, **settings)  # type: ignore[arg-type]
    return FleetSwitch(config, status or FleetStatus(), clock, clock)


def test_the_last_known_state_stays() -> None:
    clock = Clock()
    made = switch(clock)
    assert made.why() == ""
    made.take(FleetStatus(clock.now, is_connected=True, kill=True, kill_why="mad", kill_by="anna"))
    assert made.why() == "stopped by the fleet's kill switch: mad (anna)"
    made.take(FleetStatus(error="gone"))
    clock.now += 1e6
    assert made.why().startswith("stopped by the fleet's kill switch: mad")
    made.take(FleetStatus(clock.now, is_connected=True))
    assert made.why() == ""


@pytest.mark.parametrize(("team", "named"), [("", "the fleet's"), ("*", "the fleet's"), ("ops\x1b", "ops<U+001B>'s")])
def test_whose_kill_switch_it_is(team: str, named: str) -> None:
    clock = Clock()
    made = switch(clock, FleetStatus(clock.now, kill=True, kill_team=team))
    assert made.why() == f"stopped by {named} kill switch: no reason given"


@each_row(("contact", "stopped"), [(0.0, True), (4_990.0, False), (4_900.0, True), (5_100.0, True)], ids=str)
def test_without_contact_it_stops(contact: float, stopped: bool) -> None:  # noqa: FBT001
    clock = Clock()
    made = switch(clock, FleetStatus(contact), when_stale="stop")
    assert bool(made.why()) is stopped
    made.take(FleetStatus(clock.now, is_connected=True))
    assert made.why() == ""
    clock.now += 59.9
    assert made.why() == ""
    clock.now += 0.2
    assert made.why() == "stopped: no contact with the fleet for 60 s (fleet.whenStale)"


def test_what_the_database_says_is_shown_as_plain_text() -> None:
    clock = Clock()
    made = switch(clock)
    made.take(FleetStatus(clock.now, is_connected=True, kill=True, kill_why="a\x1b[2Jb" + "c" * 5_000))
    assert "\x1b" not in made.why()
    assert len(made.why()) < 400


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"v": 1, "status": {"kill": 3}}', b"x" * 100_000])
def test_a_damaged_state_is_none(tmp_path: Path, content: bytes) -> None:
    fleet_state.path(tmp_path).parent.mkdir()
    fleet_state.path(tmp_path).write_bytes(content)
    assert fleet_state.load(tmp_path) == fleet_state.FleetState()
