"""The names of the files that the stores keep in toolguard's folder."""

from __future__ import annotations

KEY = "key"
HELD_CALLS = "nonces.json"
AUDIT_LOG = "audit.jsonl"
AUDIT_HEAD = "audit.head"
COUNTERS = "counters.json"
MADE_FILES = "made-files.json"
POLICY = "policy.toml"
EXPIRED_GRANTS = "expired-grants"
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
