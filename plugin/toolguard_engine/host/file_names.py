"""Names of the files that toolguard keeps at fixed places in its folder."""

from __future__ import annotations

ENVIRONMENTS = (
    ".toolguard",
    ".local/share/uv/tools/openclaw-toolguard",
    ".local/share/pipx/venvs/openclaw-toolguard",
    ".local/pipx/venvs/openclaw-toolguard",
)
"""Where toolguard's environment is, below the home: as its documentation, uv and pipx put it there;
plugin/gateway/command.mjs has the same list."""

KEPT = (
    "key",
    "audit.*",
    "counters.json",
    "made-files.*",
    "policy.toml",
    "expired-grants",
    "session-grants.json",
    "tool-answers.json",
    "policy.last-good.toml",
    "install.json",
    "last-engine.json",
    "*.lock",
    "standings.db*",
    "notifications.db*",
    "kill-switch",
    "accepted-settings.json",
    "fleet-*",
)
"""Globs for the files that no setting can move."""

NAMES = (
    "key",
    "audit.jsonl",
    "audit.head",
    "counters.json",
    "made-files.json",
    "made-files.journal",
    "policy.toml",
    "expired-grants",
    "session-grants.json",
    "tool-answers.json",
    "policy.last-good.toml",
    "install.json",
    "last-engine.json",
    "nonces.json.lock",
    "nonces.journal",
    "standings.db",
    "standings.db-wal",
    "standings.db-shm",
    "notifications.db",
    "notifications.db-wal",
    "notifications.db-shm",
    "kill-switch",
    "accepted-settings.json",
    "nonces.json",
    "fleet-identity.json",
    "fleet-state.json",
    "fleet-news",
    "fleet-used",
    "fleet-policy.last-good",
)
"""Full names, including those of stores that a setting can move: what a search could find them by."""

DISTINCTIVE = (
    "standings.db",
    "kill-switch",
    "policy.toml",
    "policy.last-good.toml",
    "nonces.json",
    "last-engine.json",
    "accepted-settings.json",
    "fleet-identity.json",
)
"""Names that hardly any other program uses."""
