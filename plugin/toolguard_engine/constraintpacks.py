"""The example packs of constraints that come with toolguard, and how the examples of any constraint are tried.

A pack is `constraints/<name>.toml`: a comment of which the first line says what it is for, then `[[constraint]]` tables with
comments for the person who adapts them. It is appended to `policy.toml` as it stands.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from functools import cache
from importlib.resources import files
from typing import Any

from toolguard_engine.clockhours import zone
from toolguard_engine.config import Config
from toolguard_engine.constraintform import Constraint, Example
from toolguard_engine.layers import constraints, rubric
from toolguard_engine.model import Call, Host
from toolguard_engine.rulebook import Rulebook

_DATA = files("toolguard_manifests").joinpath("constraints")
THERE = Host("/home/ada", "/home/ada/.openclaw")
"""Where examples happen: in a workspace `~/work` unless they say otherwise."""

_CWD = "/home/ada/work"


def names() -> list[str]:
    return sorted(file.name.removesuffix(".toml") for file in _DATA.iterdir() if file.name.endswith(".toml"))


def text(name: str) -> str:
    """The pack as it is written. `name`: one of `names()`."""
    return _DATA.joinpath(f"{name}.toml").read_text("utf-8")


def about(name: str) -> str:
    """What a pack is for, in a line."""
    return text(name).partition("\n")[0].removeprefix("#").strip()


def speaks(constraint: Constraint, example: Example) -> bool:
    """Whether a constraint speaks about one of its examples; what the example does not say counts as fitting."""
    call = _call(example, zone(constraint.timezone) if constraint.timezone else None)
    found = rubric.judge(call, Config(), THERE, _no_rules())
    return constraints.speaks(constraint, call, found, THERE)


@cache
def _no_rules() -> Rulebook:
    return Rulebook(())


def _call(example: Example, clock: tzinfo | None) -> Call:
    if isinstance(example, str):
        return Call("exec", {"command": example}, cwd=_CWD)
    said: dict[str, Any] = {name: example[name] for name in ("agent", "channel", "requester") if name in example}
    return Call(
        example["tool"], example["params"], cwd=example.get("cwd", _CWD), at=_seconds(example.get("at"), clock), **said
    )


def _seconds(moment: datetime | None, clock: tzinfo | None) -> float:
    """A date without an offset is one on the constraint's clock."""
    if moment is None:
        return 0.0
    return (moment.replace(tzinfo=clock) if moment.tzinfo is None and clock else moment).timestamp()
