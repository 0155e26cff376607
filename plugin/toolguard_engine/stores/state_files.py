"""The names of the files that the stores keep in toolguard's folder."""

from __future__ import annotations

KEY = "key"
HELD_CALLS = "nonces.json"
HELD_CALLS_JOURNAL = "nonces.journal"
AUDIT_LOG = "audit.jsonl"
AUDIT_HEAD = "audit.head"
COUNTERS = "counters.json"
MADE_FILES = "made-files.json"
MADE_FILES_JOURNAL = "made-files.journal"
POLICY = "policy.toml"
EXPIRED_GRANTS = "expired-grants"
GRANT_SIGNATURES = "grant-signatures.json"
GRANT_MEANINGS = "grant-meanings.json"
SESSION_GRANTS = "session-grants.json"
TOOL_ANSWERS = "tool-answers.json"
LAST_GOOD = "policy.last-good.toml"
KILL_SWITCH = "kill-switch"
ACCEPTED_SETTINGS = "accepted-settings.json"
LAST_ENGINE = "last-engine.json"
STANDINGS = "standings.db"
STANDINGS_BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside the file of standings while it is open."""
NOTIFICATIONS = "notifications.db"
FLEET_IDENTITY = "fleet-identity.json"
FLEET_STATE = "fleet-state.json"
FLEET_NEWS = "fleet-news"
FLEET_USED = "fleet-used"
FLEET_POLICY = "fleet-policy.last-good"
FORWARDED = "forwarded"
"""The beginning of the names of files that say how far the audit log was sent elsewhere, one for each target."""
UNDO = "undo"
"""A folder: what calls replaced or removed."""
EXPORTS = "exports"
"""A folder: archives of the state, and what an import replaced. Agents may read nothing in it."""


def is_log_part(name: str) -> bool:
    """Whether it is the audit log or a part of it that was rotated, such as `audit.3.jsonl`."""
    begin, end = AUDIT_LOG.split(".")
    number = name.removeprefix(f"{begin}.").removesuffix(f".{end}")
    return name == AUDIT_LOG or (number.isdecimal() and name == f"{begin}.{number}.{end}")
