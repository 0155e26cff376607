"""Whether a command in the gateway's own chat may come from a program instead of a person.

Whoever has the gateway's token is its owner in chat, and a program that an agent started can read the token. The gateway
does not say on which connection a command came. So each connection from this machine counts that was open at some time
since the command was possible: for an approval since the call is held, because nobody could name its nonce before.
"""

from __future__ import annotations

from collections.abc import Iterable

from toolguard_engine.wire.messages import DoubtfulPeer

SELF_APPROVAL = "security.self-approval"
NO_PERSON = "security.no-person"
RECENT = 600.0
"""Seconds for which a command that names no held call may have been under way."""


def in_doubt(peers: Iterable[DoubtfulPeer], since: float) -> DoubtfulPeer | None:
    """The connection because of which the command does not count, one of an agent first; None if a person sent it."""
    found = [peer for peer in peers if not peer.closed or peer.closed >= since]
    return next((peer for peer in found if peer.kind == "agent"), found[-1] if found else None)


def code(peer: DoubtfulPeer) -> str:
    return SELF_APPROVAL if peer.kind == "agent" else NO_PERSON


def reason(peer: DoubtfulPeer) -> str:
    """Why the command does not count, as a sentence without its end."""
    return f"a connection from this machine to the gateway is held {peer.why}" if peer.why else "a connection is in doubt"


def refusal(peer: DoubtfulPeer, instead: str) -> str:
    """The answer in chat. `instead`: the command for a terminal."""
    return (
        f"Nothing was changed: {reason(peer)}, so it is not certain that you sent this.\n"
        f"Run `{instead}` in a terminal, or answer on the dashboard or on your phone."
    )
