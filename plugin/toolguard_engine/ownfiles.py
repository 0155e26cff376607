"""The names of the files that toolguard keeps at fixed places in its folder: one list for all who must leave them alone."""

from __future__ import annotations

KEPT = (
    "key",
    "audit.*",
    "counters.json",
    "policy.toml",
    "policy.last-good.toml",
    "install.json",
    "last-engine.json",
    "*.lock",
    "standings.db*",
    "kill-switch",
    "accepted-settings.json",
)
"""Globs; no setting moves what they cover."""

NAMES = (
    "key",
    "audit.jsonl",
    "audit.head",
    "counters.json",
    "policy.toml",
    "policy.last-good.toml",
    "install.json",
    "last-engine.json",
    "nonces.json.lock",
    "standings.db",
    "standings.db-wal",
    "standings.db-shm",
    "kill-switch",
    "accepted-settings.json",
    "nonces.json",
    "grants.json",
)
"""Such names in full, and those of stores that a setting may move: what a search could find them by."""

TELLING = (
    "standings.db",
    "kill-switch",
    "policy.toml",
    "policy.last-good.toml",
    "nonces.json",
    "last-engine.json",
    "accepted-settings.json",
)
"""Those that hardly anybody else has."""
