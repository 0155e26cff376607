"""The data that is packaged with toolguard (`toolguard_manifests`).

What is read at each start is JSON, which `scripts/build_manifest` makes from TOML: parsing that takes longer.
"""

from __future__ import annotations

import tomllib
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

import toolguard_manifests

FOLDER = Path(toolguard_manifests.__file__).parent
MADE = "tables.json"
_SOURCES = (
    "containment.toml",
    "levels.toml",
    "prices.toml",
    "rubric.toml",
    "rules/publishing.toml",
    "rules/unknown.toml",
    "services.toml",
    "tool_hints.toml",
)


class Tables(msgspec.Struct):
    """The tables by the names of their files, and the digest of each file."""

    sources: dict[str, str]
    tables: dict[str, dict[str, Any]]


@cache
def _tables() -> dict[str, dict[str, Any]]:
    return msgspec.json.decode((FOLDER / MADE).read_bytes(), type=Tables).tables


def table(name: str) -> dict[str, Any]:
    """What one of the TOML files holds."""
    return _tables()[name]


def from_toml() -> Tables:
    texts = {name: (FOLDER / name).read_bytes() for name in _SOURCES}
    return Tables(
        sources={name: sha256(text).hexdigest() for name, text in texts.items()},
        tables={name: tomllib.loads(text.decode()) for name, text in texts.items()},
    )


def encode(tables: Tables) -> str:
    return msgspec.json.format(msgspec.json.encode(tables), indent=1).decode() + "\n"
