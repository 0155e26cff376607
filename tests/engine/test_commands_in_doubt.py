"""Which connections make a command in chat doubtful."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.approvals import chat_senders
from toolguard_engine.wire.messages import Carrier, DoubtfulPeer

SINCE = 1_000.0


def peer(closed: float, kind: str = "unknown") -> DoubtfulPeer:
    return DoubtfulPeer(10.0, closed, kind, f"by {kind} {closed}")


@each_row(
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


@each_row(
    ("carriers", "expected"),
    [
        (None, None),
        ((), chat_senders.NOBODY),
        ((Carrier(10.0, SINCE - 1),), chat_senders.NOBODY),
        ((Carrier(10.0, SINCE + 1),), None),
        ((Carrier(10.0),), None),
    ],
)
def test_a_person_has_to_be_connected(carriers: tuple[Carrier, ...] | None, expected: DoubtfulPeer | None) -> None:
    assert chat_senders.in_doubt((), SINCE, carriers) == expected
    assert chat_senders.in_doubt((peer(0),), SINCE, carriers) == peer(0)


def test_the_answer_where_nobody_is_connected() -> None:
    assert "no person was connected" in chat_senders.refusal(chat_senders.NOBODY, "toolguard checkpoint")
    assert chat_senders.code(chat_senders.NOBODY) == "security.no-person"


def test_the_codes_and_the_answer_name_the_reason() -> None:
    assert chat_senders.code(peer(0, "agent")) == "security.self-approval"
    assert chat_senders.code(peer(0)) == "security.no-person"
    answer = chat_senders.refusal(peer(0, "agent"), "toolguard approve 3fa9")
    assert "by agent 0" in answer
    assert "`toolguard approve 3fa9`" in answer
