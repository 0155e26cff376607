"""Whether the fleet stops a gateway, and who could change what it trusts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.stores.fleet import fleet_state, trust_root
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
    assert made.why() == "the fleet's kill switch is on: mad (anna)"
    made.take(FleetStatus(error="gone"))
    clock.now += 1e6
    assert made.why().startswith("the fleet's kill switch is on: mad")
    made.take(FleetStatus(clock.now, is_connected=True))
    assert made.why() == ""


@pytest.mark.parametrize(("contact", "stopped"), [(0.0, True), (4_990.0, False), (4_900.0, True), (5_100.0, True)], ids=str)
def test_without_contact_it_stops(contact: float, stopped: bool) -> None:  # noqa: FBT001
    clock = Clock()
    made = switch(clock, FleetStatus(contact), when_stale="stop")
    assert bool(made.why()) is stopped
    made.take(FleetStatus(clock.now, is_connected=True))
    assert made.why() == ""
    clock.now += 59.9
    assert made.why() == ""
    clock.now += 0.2
    assert made.why() == "no contact with the fleet for 60 s (fleet.whenStale)"


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


def test_who_could_change_the_signers(tmp_path: Path) -> None:
    assert "cannot be read" in trust_root.problem(tmp_path / "nowhere")
    (tmp_path / "allowed_signers").touch()
    assert "can be changed by the gateway's own user" in trust_root.problem(tmp_path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to root and become another user")
def test_signers_of_root_are_trusted_by_another_user(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = Path("/usr/lib")  # root's, up to the top
    user = os.geteuid()
    os.seteuid(65_534)
    try:
        assert [place for place in trust_root._above(folder) if trust_root._can_change(place)] == []
        assert trust_root._can_change(Path("/dev/null"))
    finally:
        os.seteuid(user)
