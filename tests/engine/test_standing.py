"""How agents stand, in memory: each by itself, bounded, the idle ones forgotten."""

from __future__ import annotations

import msgspec
import pytest

from toolguard_engine import standing as module
from toolguard_engine.model import Call
from toolguard_engine.standing import IDLE_SECONDS, Seen, Standing, Standings, place_of


def test_one_for_each_agent_and_session() -> None:
    known = Standings()
    mine = known.of("main", "a", 0.7)
    assert known.of("main", "a", 0.1) is mine
    assert known.of("main", "b", 0.3).trust == 0.3
    assert known.of("other", "a", 0.7) is not mine
    assert len(known) == 3
    assert known.find("main", "c") is None


def test_strangers_share_nothing() -> None:
    known = Standings()
    assert known.of("", "", 0.7) is not known.of("", "", 0.7)
    assert known.of("main", "", 0.7) is not known.of("main", "", 0.7)
    assert len(known) == 0


def test_a_call_of_no_known_session_stands_by_its_run() -> None:
    assert place_of(Call("read", {}, session="s", run="r")) == "s"
    assert place_of(Call("read", {}, run="r")) == "r"
    assert place_of(Call("read", {})) == ""


def test_the_least_recently_used_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STANDINGS", 2)
    known = Standings()
    first = known.of("main", "a", 0.7)
    known.of("main", "b", 0.7)
    assert known.of("main", "a", 0.7) is first
    known.of("main", "c", 0.7)
    assert known.find("main", "b") is None
    assert known.find("main", "a") is first


def test_the_idle_are_forgotten() -> None:
    known = Standings()
    known.of("main", "old", 0.7).touched = 1_000.0
    known.of("main", "new", 0.7).touched = 1_001.0
    known.of("main", "untimed", 0.7)
    known.sweep(1_000.5 + IDLE_SECONDS)
    assert [each.session for each in known.within("")] == ["new", "untimed"]
    known.sweep(1_002.0 + IDLE_SECONDS)
    assert [each.session for each in known.within("")] == ["untimed"]
    known.sweep(1_001.0 + 2 * IDLE_SECONDS)
    assert len(known) == 0


def test_within_a_session() -> None:
    known = Standings()
    for agent, session in (("main", "a"), ("helper", "a"), ("main", "b")):
        known.of(agent, session, 0.7)
    assert [each.agent for each in known.within("a")] == ["main", "helper"]
    assert len(known.within("")) == 3


def test_saved_whole() -> None:
    seen = Seen(1.5, 3, 2, 4, 1, {7: 3, 9: 1}, [0, 1], 61, 1)
    known = Standing("main", "a", 0.65, 0.4, 3, 2, 9.5, ["drift.speed"], seen)
    assert msgspec.json.decode(msgspec.json.encode(known), type=Standing) == known


def test_two_standings_have_nothing_in_common() -> None:
    one, other = Standing("a", "s"), Standing("b", "s")
    one.told.append("x")
    one.seen.resources[1] = 1
    one.seen.recent.append(1)
    assert other == Standing("b", "s")
    assert other.seen == Seen()
