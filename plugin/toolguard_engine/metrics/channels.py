"""The channel of a conversation: `telegram`, `webchat`, `cron`, `subagent`, ..."""

from __future__ import annotations

from toolguard_engine.wording import correction

_OF_THE_GATEWAY = frozenset({"acp", "boot", "cron", "dashboard", "heartbeat", "hook", "subagent", "voice"})
_PEERS = frozenset({"channel", "direct", "dm", "group", "room", "slash"})
"""What follows the name of a channel in a session key, or the account there."""


def channel(named: str, session: str) -> str:
    """What the gateway reports, else the channel in the session key (OpenClaw: `agent:<id>:<channel>:group:<peer>`,
    `agent:<id>:cron:...`); empty if there is neither."""
    return correction.name(named or _of_key(session))


def _of_key(session: str) -> str:
    """Only known words, or words where OpenClaw writes a channel: users may give a session any name."""
    parts = session.split(":", 6)
    if parts[0] != "agent":
        return parts[0] if parts[0] in _OF_THE_GATEWAY else ""
    first, behind = parts[2] if len(parts) > 2 else "", parts[3:5]  # noqa: PLR2004 - agent, its id, ...
    if first in _OF_THE_GATEWAY:
        return first
    return first if first not in _PEERS and _PEERS & set(behind) else ""
