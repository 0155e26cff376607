"""The protected places as data for the gateway part, which decides by them while the engine does not answer.

Made by `scripts/build_manifest` from what the engine itself goes by; `plugin/gateway/places.mjs` reads it. All in small
letters: the gateway part compares without regard to capitals.
"""

from __future__ import annotations

import json
from typing import Any

from toolguard_engine import ownfiles, protectedpaths
from toolguard_engine.config import MetricsConfig
from toolguard_engine.metrics import place
from toolguard_engine.shell import placenames

STATE = ".openclaw"
"""What of a state folder is secret stands under this name among the secrets of a home folder."""

DRIVE = "/c:"
"""No gateway runs on Windows itself."""

PROGRAMS = ("openclaw", "clawdbot", "toolguard")
"""They show and change the settings, and answer for a person."""

CONTROL_TOOLS = ("gateway", "openclaw", "secrets", "toolguard_approve")
"""Tools of the gateway that do the same."""


def build() -> dict[str, Any]:
    """The table."""
    secrets = placenames.secret_names()
    return {
        "states": [name for name in protectedpaths.FILE_NAMES if name.startswith(".")],
        "guarded": ["toolguard", "extensions/toolguard", *protectedpaths.CONFIG_NAMES],
        "configs": list(protectedpaths.CONFIG_NAMES),
        "ownFiles": [f"toolguard/{name}" for name in ownfiles.NAMES],
        "stateSecrets": _lower(placenames.HOME_SECRETS[STATE]),
        "homeSecrets": {first.lower(): _lower(tails) for first, tails in (*placenames.HOME_SECRETS.items(), (".ssh", ()))},
        "systemSecrets": [start for start in _lower(placenames.SYSTEM_SECRETS) if not start.startswith(DRIVE)],
        "systemPattern": placenames.SECRET_PATTERN.pattern.replace(r"\Z", "$"),
        "secretNames": sorted(_lower(secrets.names)),
        "secretEnds": _lower(secrets.ends),
        "secretGlobs": _lower(secrets.globs),
        "publicParts": _lower(secrets.public_parts),
        "publicFolders": _lower(placenames.PUBLIC_FOLDERS),
        "envFile": secrets.env_files.replace(r"\Z", "$"),
        "homeVariables": {name.lower(): tail.lower() for name, tail in placenames.HOME_VARIABLES.items()},
        "metrics": {"path": MetricsConfig().db_path, "ends": list(place.ENDS), "secrets": list(place.SECRETS)},
        "programs": list(PROGRAMS),
        "controlTools": list(CONTROL_TOOLS),
    }


def _lower(names: tuple[str, ...] | frozenset[str]) -> list[str]:
    return [name.lower() for name in names]


def encode(table: dict[str, Any]) -> str:
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"
