"""Where a conversation comes from: `telegram`, `webchat`, `cron`, `subagent`, ..."""

from __future__ import annotations

from toolguard_engine import texts

_OF_THE_GATEWAY = frozenset({"acp", "boot", "cron", "dashboard", "heartbeat", "hook", "subagent", "voice"})
_PEERS = frozenset({"channel", "direct", "dm", "group", "room", "slash"})
"""What stands behind the name of a channel in a session key, or behind the account there."""


def channel(told: str, session: str) -> str:
    """What the gateway says, else what the session key does (OpenClaw: `agent:<id>:<channel>:group:<peer>`,
    `agent:<id>:cron:...`); empty where neither does."""
    return texts.name(told or _of_key(session))


def _of_key(session: str) -> str:
    """Only words that are known, or that stand where OpenClaw writes a channel: a person may call a session anything."""
    parts = session.split(":", 6)
    if parts[0] != "agent":
        return parts[0] if parts[0] in _OF_THE_GATEWAY else ""
    first, behind = parts[2] if len(parts) > 2 else "", parts[3:5]  # noqa: PLR2004 - agent, its id, ...
    if first in _OF_THE_GATEWAY:
        return first
    return first if first not in _PEERS and _PEERS & set(behind) else ""
