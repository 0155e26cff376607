"""Which paths are the gateway's own: its config, credentials and approvals, and what it loads or runs on its own."""

from __future__ import annotations

import re
from functools import lru_cache

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import place_globs, started_places

_FOLDERS = ("extensions", "cron", "hooks", "service-env", "credentials", "devices", "identity")
_DATA = ("workspace", "sandbox", "media", "canvas", "logs", "memory", "skills", "browser", "tmp", "agents")
"""Prefixes of folder names whose files are data or work, not settings."""

_STATE = lazy_re.compile(r"\.(?:openclaw|clawdbot)(?:-[\w.-]{1,60})?")
_STATE_NAMES = (".openclaw", ".clawdbot")
_FILE = lazy_re.compile(r"[^/]{0,60}\.json5?|\.env\b.*|exec-approvals.*", re.DOTALL)
_SETTINGS = (".json", ".json5")
_AGENT_DEPTH = 3
_MAX_PART = 256
_MAX_PARTS = 40


def is_own(full: str, state: str = "", workspace: str = "") -> bool:
    """Whether an absolute, normalized path is one of the gateway's own files or folders.

    `state`: the gateway's folder, if known; any folder with its usual name counts too. Inside `workspace`, only the name
    counts.
    """
    lower = full.lower()
    inside = _below(lower, workspace.lower()) if workspace and not is_near(workspace, state) else None
    if inside is None and state and (rest := _below(lower, state.lower())) is not None:
        return _is_own_part(rest.split("/"))
    parts = (lower if inside is None else inside).split("/")[:_MAX_PARTS]
    return any(_is_state(part) and _is_own_part(parts[at + 1 :]) for at, part in enumerate(parts))


def is_state(full: str, state: str = "") -> bool:
    """Whether a path is the gateway's folder itself."""
    return full.lower() == state.lower() or _is_state(full.rpartition("/")[2].lower())


@lru_cache(maxsize=256)
def is_near(folder: str, state: str) -> bool:
    """Whether bare names in a folder may be the gateway's: the folder is the gateway's, contains it, or is one of its
    own."""
    if is_state(folder, state) or (state and _below(state.lower(), folder.lower()) is not None):
        return True
    return is_own(folder, state)


def _below(path: str, folder: str) -> str | None:
    folder = folder.rstrip("/")
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


def _is_state(part: str) -> bool:
    if not part.startswith("."):
        return False
    return _STATE.fullmatch(part) is not None or any(_fits(part, name) for name in _STATE_NAMES)


def _is_own_part(parts: list[str]) -> bool:
    """`parts`: the parts of a path from the gateway's folder on."""
    first = parts[0] if parts else ""
    if not first:
        return False
    if any(_fits(first, name) for name in _FOLDERS):
        return True
    if (len(parts) == 1 or first == ".env") and _FILE.fullmatch(first):
        return True
    if _fits(first, "agents"):
        return len(parts) >= _AGENT_DEPTH and _fits(parts[2], "agent")
    if parts[-1].endswith(_SETTINGS) and not first.startswith(_DATA):
        return True
    return started_places.bundled().holds("state", "/".join(parts))


def _fits(part: str, name: str) -> bool:
    """Whether a part of a path is this name, or a pattern that matches it."""
    if part == name:
        return True
    return any(sign in part for sign in "*?[") and len(part) <= _MAX_PART and place_globs.fits(part, name)
