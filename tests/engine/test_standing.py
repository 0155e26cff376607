"""How agents stand, in memory: each by itself, bounded, the idle ones forgotten."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import structs

from tables import each_row
from toolguard_engine.approvals import standing as module
from toolguard_engine.approvals.standing import IDLE_SECONDS, Base, Seen, Standing, Standings, merged, place_in, place_of
from toolguard_engine.model.call import Call


def test_one_for_each_agent_and_session() -> None:
    known = Standings()
    mine = known.get("main", "a", 0.7)
    assert known.get("main", "a", 0.1) is mine
    assert known.get("main", "b", 0.3).trust == 0.3
    assert known.get("other", "a", 0.7) is not mine
    assert len(known) == 3
    assert known.find("main", "c") is None


@each_row(
    ("session", "place"),
    [
        ("agent:main:main", "agent:main:main"),
        ("agent:main:telegram:group:1", "agent:main:telegram:group:1"),
        ("agent:main:subagent:5f2c", "agent:main:subagent"),
        ("agent:main:subagent:5f2c:subagent:77aa", "agent:main:subagent"),
        ("agent:main:acp:5f2c", "agent:main:acp"),
        ("agent:main:cron:5f2c:run:77aa", "agent:main:cron"),
        ("agent:main:hook:5f2c", "agent:main:hook"),
        ("agent:main:boot:5f2c", "agent:main:boot"),
        ("hook:5f2c", "hook"),
        ("cron:5f2c", "cron"),
        ("cron", "cron"),
        ("global", "global"),
        ("", ""),
    ],
)
def test_sessions_that_come_anew_with_each_run_stand_together(session: str, place: str) -> None:
    assert place_of(Call("read", {}, session=session, run="r")) == place_in(place) == place


def test_a_chat_and_what_its_agent_began() -> None:
    known = Standings()
    for agent, session in (
        ("main", "agent:main:main"),
        ("main", "agent:main:subagent"),
        ("main", "agent:main:cron"),
        ("main", "agent:main:other"),
        ("helper", "agent:helper:subagent"),
    ):
        known.get(agent, session, 0.7)
    places = ["agent:main:main", "agent:main:subagent"]
    assert [each.session for each in known.within("agent:main:main")] == places
    assert [each.session for each in known.within("agent:main:new")] == places[1:]
    assert [each.session for each in known.within("agent:main:subagent:5f2c")] == places[1:]
    assert known.within("elsewhere") == []


def both(**changes: Any) -> Standing:
    return structs.replace(Standing("main", "s", 0.6, spent=0.3, streak=5, reported=["a"]), **changes)


def test_what_two_engines_did_adds_up() -> None:
    base = Base.copy(both())
    ours = both(spent=0.45, trust=0.58, reported=["a", "b"], seen=Seen(warnings=1))
    theirs = both(spent=0.7, trust=0.4, streak=0, reported=["a", "c"], touched=9.0, seen=Seen(warnings=2, highest=3))
    assert merged(ours, base, theirs) == both(
        spent=0.85, trust=0.38, streak=0, reported=["a", "c", "b"], touched=9.0, seen=Seen(warnings=3, highest=3)
    )


def test_of_what_an_engine_began_anew_all_counts() -> None:
    fresh = Standing("main", "s", 0.65, spent=0.1, began=0.7)
    assert merged(fresh, Base.fresh(fresh), both()).spent == 0.4
    assert merged(fresh, Base.fresh(fresh), both()).trust == 0.55


def test_a_person_who_wrote_to_one_engine_is_not_forgotten() -> None:
    before = both(seen=Seen(since=1.0, warnings=4), reported=["drift.warnings"])
    after = both(seen=Seen(since=5.0), reported=[])
    assert merged(after, Base.copy(before), before).seen == Seen(since=5.0)
    assert merged(after, Base.copy(before), before).reported == []
    mine = both(seen=Seen(since=1.0, warnings=5), reported=["drift.warnings"])
    assert merged(mine, Base.copy(before), after).seen == Seen(since=5.0, warnings=1)
    assert merged(mine, Base.copy(before), after).reported == []


def test_after_a_checkpoint_in_both_only_what_came_since_counts() -> None:
    ours, theirs = both(spent=0.2, epoch=1), both(spent=0.1, epoch=1)
    assert merged(ours, Base.copy(both()), theirs).spent == 0.3


def test_the_least_recently_used_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STANDINGS", 2)
    known = Standings()
    first = known.get("main", "a", 0.7)
    known.get("main", "b", 0.7)
    assert known.get("main", "a", 0.7) is first
    known.get("main", "c", 0.7)
    assert known.find("main", "b") is None
    assert known.find("main", "a") is first


def test_the_idle_are_forgotten() -> None:
    known = Standings()
    known.get("main", "old", 0.7).touched = 1_000.0
    known.get("main", "new", 0.7).touched = 1_001.0
    known.get("main", "untimed", 0.7)
    known.sweep(1_000.5 + IDLE_SECONDS)
    assert [each.session for each in known.within("")] == ["new", "untimed"]
    known.sweep(1_002.0 + IDLE_SECONDS)
    assert [each.session for each in known.within("")] == ["untimed"]
    known.sweep(1_001.0 + 2 * IDLE_SECONDS)
    assert len(known) == 0


def test_within_a_session() -> None:
    known = Standings()
    for agent, session in (("main", "a"), ("helper", "a"), ("main", "b")):
        known.get(agent, session, 0.7)
    assert [each.agent for each in known.within("a")] == ["main", "helper"]
    assert len(known.within("")) == 3


def test_saved_whole() -> None:
    seen = Seen(1.5, 3, 2, 4, 1, {7: 3, 9: 1}, [0, 1], 61, 1)
    known = Standing("main", "a", 0.65, 0.4, 3, 2, 9.5, ["drift.speed"], seen)
    assert msgspec.json.decode(msgspec.json.encode(known), type=Standing) == known


def test_two_standings_have_nothing_in_common() -> None:
    one, other = Standing("a", "s"), Standing("b", "s")
    one.reported.append("x")
    one.seen.resources[1] = 1
    one.seen.recent.append(1)
    assert other == Standing("b", "s")
    assert other.seen == Seen()
