"""The sample packs of rules that come with toolguard for a person to adapt.

A pack is `samples/<name>.toml`: a comment of which the first line says what it is for, then `[[rule]]` tables with comments.
`toolguard rules add` appends it to `policy.toml` as it stands; before that none of its rules counts.
"""

from __future__ import annotations

import tomllib

from toolguard_engine import packaged

_SAMPLES = packaged.FOLDER.joinpath("samples")


def names() -> list[str]:
    return sorted(file.name.removesuffix(".toml") for file in _SAMPLES.iterdir() if file.name.endswith(".toml"))


def text(name: str) -> str:
    """The pack as it is written. `name`: one of `names()`."""
    return _SAMPLES.joinpath(f"{name}.toml").read_text("utf-8")


def about(name: str) -> str:
    """What a pack is for, in a line."""
    return text(name).partition("\n")[0].removeprefix("#").strip()


def ids(name: str) -> list[str]:
    """The ids of its rules, as they are written."""
    return [table["id"] for table in tomllib.loads(text(name))["rule"]]
