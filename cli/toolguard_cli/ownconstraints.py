"""The person's constraints in `policy.toml`, in words, and tried on their examples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import msgspec

from toolguard_cli import stores
from toolguard_cli.paths import Places
from toolguard_engine import answers
from toolguard_engine.constraintform import Constraint
from toolguard_engine.stores import tomlfile
from toolguard_engine.stores.lastgood import LastGood
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.tomlfile import NoToml
from toolguard_engine.stores.userconstraints import Placed, UserConstraints

DOES = {"mandatory": "blocks", "required": "asks before", "advisory": "notes"}


def placed(places: Places) -> list[Placed]:
    """In the order of the file. Raises `UserError`."""
    with stores.told():
        return UserConstraints(places.state_dir).placed()


def good(places: Places) -> list[Constraint]:
    """Of a faulty file those that can be understood, in its order."""
    own = UserConstraints(places.state_dir)
    try:
        tables = tomlfile.load(tomlfile.text_of(own.path)).get("constraint")
    except (NoToml, StoreError):
        return []
    found: list[Constraint] = []
    for table in tables if isinstance(tables, list) else ():
        with suppress(StoreError):
            found += own.made([table], own.path)
    return found


def last_good(places: Places) -> tuple[Constraint, ...] | None:
    """Those that count while the file is faulty; None where no good version is known."""
    kept = LastGood(places.state_dir)
    tables = kept.tables("constraint")
    try:
        return None if tables is None else UserConstraints(places.state_dir).made(tables, kept.path)
    except StoreError:
        return None


def known(places: Places) -> tuple[Constraint, ...]:
    """Raises `UserError`."""
    with stores.told():
        return UserConstraints(places.state_dir).constraints()


def words(constraint: Constraint) -> str:
    """What it asks for, for a person: `blocks write, delete to ~/prod/** by main`."""
    return answers.plain(f"{DOES[constraint.severity]} {' '.join(_parts(constraint))}")


def _parts(said: Constraint) -> Iterator[str]:
    yield "/".join(said.tool) if said.tool and "*" not in said.tool else "every call"
    if said.effect:
        yield f"that does {'/'.join(said.effect)}"
    if said.params:
        yield "with " + " and ".join(f"{name} ~ {pattern}" for name, pattern in said.params)
    if said.path:
        yield f"on {', '.join(said.path)}"
    if said.not_path:
        yield f"{'but' if said.path else 'on anything but'} {', '.join(said.not_path)}"
    for name, value in (("by", said.agent), ("in", said.channel), ("for", said.requester)):
        if value:
            yield f"{name} {', '.join(_negated(each) for each in value)}"
    if said.hours:
        yield f"from {said.hours.replace('-', ' to ')}"
    if said.days:
        yield f"on {', '.join(said.days)}"
    if said.timezone:
        yield f"({said.timezone})"


def _negated(name: str) -> str:
    return f"anybody but {name[1:]}" if name.startswith("!") else name


def public(constraint: Constraint) -> dict[str, Any]:
    """Its keys, without the examples."""
    bare = msgspec.structs.replace(constraint, matches=(), passes=())
    said: dict[str, Any] = msgspec.to_builtins(bare)
    return {**said, **({"params": dict(constraint.params)} if constraint.params else {})}
