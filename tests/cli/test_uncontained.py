"""Where commands cannot be contained, `status`, `doctor` and the dashboard say so in one line, with the way out."""

from __future__ import annotations

import pytest
from doctor_stage import LIVING, healthy, runs

from toolguard_cli.commands import show_status
from toolguard_cli.dashboard.api import gateway_state
from toolguard_cli.dashboard.api.protection import MachineSnapshot
from toolguard_cli.dashboard.known_gateways import WatchedGateway
from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.doctor.checks import contained_check
from toolguard_cli.hostconfig import config_tree
from toolguard_cli.operations import contained_lines
from toolguard_cli.system.paths import Places
from toolguard_engine.server import room_causes
from toolguard_engine.server.room_causes import RoomCause
from toolguard_engine.stores.files import engine_files as engines


@pytest.fixture(autouse=True)
def _an_engine(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(places)
    monkeypatch.setattr(engines, "alive", lambda pid: pid == LIVING)


@pytest.mark.parametrize("cause", [room_causes.ROOT, room_causes.NO_NAMESPACES, room_causes.APPARMOR, room_causes.SECCOMP])
def test_one_line_with_the_way_out(places: Places, cause: RoomCause) -> None:
    runs(places, uncontained=cause.text, way_out=cause.fix)
    told = [line.text for line in show_status.run(places).lines]
    assert [text for text in told if "contained" in text] == [f"commands are NOT contained: {cause.text}"]
    assert cause.fix in told
    check = contained_check.proven(DoctorSubject(places, config_tree.read(places.config), None))
    assert (check.status, check.detail, check.fix) == ("warn", f"commands are NOT contained: {cause.text}", cause.fix)
    state = gateway_state._gateway(WatchedGateway("openclaw", places), [], MachineSnapshot())
    assert [text for text in state.problems if "contained" in text] == [
        f"commands are not contained: {cause.text} ({cause.fix})"
    ]


def test_one_line_where_nothing_can_be_rehearsed(places: Places) -> None:
    runs(places, contained=True, unrehearsed="no overlay")
    line = "commands whose code cannot be read are NOT rehearsed: no overlay"
    told = [each.text for each in show_status.run(places).lines]
    assert [text for text in told if "rehearsed" in text] == [line]
    assert contained_lines.WITHOUT_COPIES in told
    check = contained_check.proven(DoctorSubject(places, config_tree.read(places.config), None))
    assert (check.status, check.detail, check.fix) == ("warn", line, contained_lines.WITHOUT_COPIES)
    problems = gateway_state._gateway(WatchedGateway("openclaw", places), [], MachineSnapshot()).problems
    assert [text for text in problems if "rehearsed" in text] == [line]


def test_no_line_where_they_are_contained_or_need_not_be(places: Places) -> None:
    runs(places)
    assert not [line.text for line in show_status.run(places).lines if "contained" in line.text]
    runs(places, contained=True)
    assert [line.text for line in show_status.run(places).lines if "CONTAINED" in line.text]
    assert not gateway_state._gateway(WatchedGateway("openclaw", places), [], MachineSnapshot()).problems
