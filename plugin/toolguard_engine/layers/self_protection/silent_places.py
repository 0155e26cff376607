"""The protected places as data for the gateway plugin, which uses them while the engine does not answer.

`scripts/build_manifest` generates it from the engine's own tables; `plugin/gateway/places.mjs` reads it. Everything is in
lower case: the plugin compares case-insensitively.
"""

from __future__ import annotations

import json
from typing import Any

from toolguard_engine.config import limits
from toolguard_engine.config.settings import MetricsConfig
from toolguard_engine.effects.facts import place_names, program_catalogue, protected_paths
from toolguard_engine.host import file_names, metrics_path, repair_catalogue

STATE = ".openclaw"
"""The secrets of a state folder are listed under this name among those of the home."""

DRIVE = "/c:"
"""Left out: no gateway runs on Windows itself."""

PROGRAMS = program_catalogue.programs("gateway_cli") | {"toolguard"}
"""Programs that show and change settings, and approve calls."""

CONTROL_TOOLS = program_catalogue.tools("answers_or_controls")
"""Tools of the gateway that do so."""


def build() -> dict[str, Any]:
    secrets = place_names.secret_names()
    return {
        "states": [name for name in protected_paths.FILE_NAMES if name.startswith(".")],
        "guarded": list(protected_paths.GUARDED),
        "configs": list(protected_paths.CONFIG_NAMES),
        "ownFiles": [f"toolguard/{name}" for name in file_names.NAMES],
        "stateSecrets": _lower(place_names.HOME_SECRETS[STATE]),
        "homeSecrets": {first.lower(): _lower(tails) for first, tails in (*place_names.HOME_SECRETS.items(), (".ssh", ()))},
        "systemSecrets": [start for start in _lower(place_names.SYSTEM_SECRETS) if not start.startswith(DRIVE)],
        "systemPattern": place_names.SECRET_PATTERN.pattern.replace(r"\Z", "$"),
        "secretNames": sorted(_lower(secrets.names)),
        "secretEnds": _lower(secrets.ends),
        "secretGlobs": _lower(secrets.globs),
        "publicParts": _lower(secrets.public_parts),
        "publicFolders": _lower(place_names.PUBLIC_FOLDERS),
        "envFile": secrets.env_files.replace(r"\Z", "$"),
        "homeVariables": {name.lower(): tail.lower() for name, tail in place_names.HOME_VARIABLES.items()},
        "metrics": {"path": MetricsConfig().db_path, "ends": list(metrics_path.ENDS), "secrets": list(metrics_path.SECRETS)},
        "programs": sorted(PROGRAMS),
        "controlTools": sorted(CONTROL_TOOLS),
        "repairs": [
            _repair(repair) for repair in repair_catalogue.load().repairs if repair.kind == "cut" and repair.at != "both"
        ],
        "includes": {"files": limits.CONFIG_FILES, "bytes": limits.CONFIG_BYTES},
    }


def _repair(repair: repair_catalogue.PathRepair) -> dict[str, Any]:
    """A text that the gateway's tools cut from a path. Blanks at both ends are left out: JavaScript trims the same ones."""
    return {"pattern": repair.pattern, "at": repair.at, "put": repair.put, "ignoreCase": repair.ignore_case}


def _lower(names: tuple[str, ...] | frozenset[str]) -> list[str]:
    return [name.lower() for name in names]


def encode(table: dict[str, Any]) -> str:
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"
