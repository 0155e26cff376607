"""Which connections make a command in chat doubtful."""

from __future__ import annotations

import pytest

from toolguard_engine.approvals import chat_senders
from toolguard_engine.wire.messages import DoubtfulPeer

SINCE = 1_000.0


def peer(closed: float, kind: str = "unknown") -> DoubtfulPeer:
    return DoubtfulPeer(10.0, closed, kind, f"by {kind} {closed}")


@pytest.mark.parametrize(
    ("peers", "expected"),
    [
        ((), None),
        ((peer(SINCE - 1),), None),
        ((peer(SINCE - 1, "agent"),), None),
        ((peer(0),), peer(0)),
        ((peer(SINCE),), peer(SINCE)),
        ((peer(SINCE + 5), peer(0)), peer(0)),
        ((peer(0, "agent"), peer(0)), peer(0, "agent")),
        ((peer(0), peer(SINCE + 1, "agent")), peer(SINCE + 1, "agent")),
    ],
)
def test_what_was_open_since_then_counts(peers: tuple[DoubtfulPeer, ...], expected: DoubtfulPeer | None) -> None:
    assert chat_senders.in_doubt(peers, SINCE) == expected


def test_the_codes_and_the_answer_name_the_reason() -> None:
    assert chat_senders.code(peer(0, "agent")) == "security.self-approval"
    assert chat_senders.code(peer(0)) == "security.no-person"
    answer = chat_senders.refusal(peer(0, "agent"), "toolguard approve 3fa9")
    assert "by agent 0" in answer
    assert "`toolguard approve 3fa9`" in answer
