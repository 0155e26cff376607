"""Whether a command in the gateway's own chat may come from a program instead of a person.

Whoever has the gateway's token is its owner in chat, and a program that an agent started can read the token. The gateway
does not say on which connection a command came. So each connection from this machine counts that was open at some time
since the command was possible: for an approval since the call is held, because nobody could name its nonce before. One of
these has to be a person's: what the gateway says to itself (a schedule, a restart, a tool) comes on none.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolguard_engine.wire.messages import Carrier, DoubtfulPeer

SELF_APPROVAL = "security.self-approval"
NO_PERSON = "security.no-person"
RECENT = 600.0
"""Seconds for which a command that names no held call may have been under way."""


NOBODY = DoubtfulPeer(0.0, 0.0, "unknown", "")
"""Stands for the connection of a command that came on none."""


def in_doubt(peers: Iterable[DoubtfulPeer], since: float, carriers: Iterable[Carrier] | None = None) -> DoubtfulPeer | None:
    """The connection because of which the command does not count, one of an agent first; None if a person sent it."""
    doubtful = [peer for peer in peers if _was_open(peer, since)]
    if doubtful:
        return next((peer for peer in doubtful if peer.kind == "agent"), doubtful[-1])
    if carriers is None or any(_was_open(carrier, since) for carrier in carriers):
        return None
    return NOBODY


def _was_open(connection: DoubtfulPeer | Carrier, since: float) -> bool:
    return not connection.closed or connection.closed >= since


def code(peer: DoubtfulPeer) -> str:
    return SELF_APPROVAL if peer.kind == "agent" else NO_PERSON


def reason(peer: DoubtfulPeer) -> str:
    """Why the command does not count, as a sentence without its end."""
    if peer is NOBODY:
        return "no person was connected to the gateway"
    return f"a connection from this machine to the gateway is held {peer.why}" if peer.why else "a connection is in doubt"


def refusal(peer: DoubtfulPeer, instead: str) -> str:
    """The answer in chat. `instead`: the command for a terminal."""
    return (
        f"Nothing was changed: {reason(peer)}, so it is not certain that you sent this.\n"
        f"Run `{instead}` in a terminal, or use the dashboard (`toolguard dashboard --open`) or a channel such as Telegram."
    )
