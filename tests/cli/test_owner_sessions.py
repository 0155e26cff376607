"""Honest owners are asked seldom, and never blocked: what may be asked without need in `owner_sessions/` only falls."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pytest

import owner_replay


@dataclass(frozen=True)
class Most:
    """The highest figures. `missed`: calls that ran though their owner wants to be asked."""

    asked: int
    asking: int
    blocked: int
    missed: int


MOST = {
    "read": Most(asked=38, asking=16, blocked=0, missed=12),
    "unread": Most(asked=27, asking=13, blocked=0, missed=12),
    "later": Most(asked=16, asking=6, blocked=0, missed=7),
}

SAVED = {"read": 2, "unread": 0, "later": 1}
"""Questions that an earlier answer for the rest of the session saves, at least."""


@pytest.mark.parametrize("half", owner_replay.HALVES)
def test_no_more_is_asked_without_need_than_before(half: str) -> None:
    found, most = owner_replay.figures(half), MOST[half]
    figures = found.public()
    risen = {name: figures[name] for name, value in asdict(most).items() if figures[name] > value}
    assert risen == {}, "a figure that has fallen is written here; one that has risen is a fault"
    assert found.saved >= SAVED[half]


def test_there_are_enough_sessions() -> None:
    halves = {half: owner_replay.rows(half) for half in owner_replay.HALVES}
    names = {half: {row["session"] for row in rows} for half, rows in halves.items()}
    assert not names["read"] & names["unread"]
    assert sum(map(len, names.values())) >= 60
    assert sum(map(len, halves.values())) >= 1_800
    assert len({row["lang"] for rows in halves.values() for row in rows}) >= 15
