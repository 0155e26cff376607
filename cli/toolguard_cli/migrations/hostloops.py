"""Migrates removed settings of the gateway's loop detection, for all agents and per agent; its switch stays.

The gateway rejects a config with these settings, and at its next start removes them together with all comments of the file.
So all of them are removed here; those that cannot be migrated are reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.migrations import allowed
from toolguard_cli.migrations.moving import OURS, Holder, Move, drop_empty
from toolguard_cli.migrations.old_plugins import Migration
from toolguard_cli.migrations.report import Left, Moved, named
from toolguard_cli.migrations.work import Work

BLOCK = ("tools", "loopDetection")
OUR_BLOCK = "loopDetection"
MAX_AGENTS = 1000
KNOWN = frozenset({"enabled"})
"""What the gateway still accepts in its block."""
NOBODYS = "neither OpenClaw nor toolguard has such a setting"

_VALID_AGENT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """A block of the gateway, and the target of its settings below toolguard's."""

    steps: Steps
    target: Steps
    fields: tuple[str, ...]


def run(work: Work) -> None:
    for block in blocks(work.draft.tree, work.migration):
        _take_over(work, block)
    for steps, _ in _places(work.draft.tree):
        block_now = work.draft.tree.get(*steps)
        strange = [key for key in block_now if key not in KNOWN] if isinstance(block_now, dict) else []
        work.report.left += [Left(named(path_name((*steps, key))), NOBODYS) for key in strange]


def blocks(tree: ConfigTree, migration: Migration) -> Iterator[Block]:
    """The blocks that the gateway rejects."""
    for steps, target in _places(tree):
        value = tree.get(*steps)
        fields = tuple(key for key in value if key in migration.settings) if isinstance(value, dict) else ()
        if fields:
            yield Block(steps, target, fields)


def _places(tree: ConfigTree) -> Iterator[tuple[Steps, Steps]]:
    yield BLOCK, (OUR_BLOCK,)
    listed = tree.get("agents", "list")
    for at, agent in enumerate(listed[:MAX_AGENTS] if isinstance(listed, list) else ()):
        name = agent_id(agent.get("id")) if isinstance(agent, dict) else ""
        if name:
            yield ("agents", "list", at, *BLOCK), ("agents", name, OUR_BLOCK)
    keyed = tree.get("agents", "entries")
    for key in list(keyed)[:MAX_AGENTS] if isinstance(keyed, dict) else ():
        if name := agent_id(key):
            yield ("agents", "entries", key, *BLOCK), ("agents", name, OUR_BLOCK)


def agent_id(written: object) -> str:
    """The id under which the gateway runs this agent; empty if it does not run it."""
    if not isinstance(written, str):
        return ""
    name = written.strip().lower()
    if _VALID_AGENT.fullmatch(name):
        return name
    return re.sub(r"-+$", "", re.sub(r"^-+", "", re.sub(r"[^a-z0-9_-]+", "-", name)))[:64]


def _take_over(work: Work, block: Block) -> None:
    draft, report = work.draft, work.report
    work.refuse_odd_shapes()
    report.touched.append(path_name(block.steps))
    _copy_switch(work, block)
    holder = Holder(draft.tree, block.steps, "", report)
    for act in [act for key in block.fields for act in holder.setting((key,), (*block.target, key))]:
        if isinstance(act, Move):
            draft.move(act.source, act.target)
            report.moved += act.moved
        else:
            report.left.append(Left(act.source, f"{act.reason}; removed anyway, because the gateway does not know it"))
    for key in block.fields:
        draft.delete((*block.steps, key))
    drop_empty(draft, block.steps)


def _copy_switch(work: Work, block: Block) -> None:
    """Copies `enabled`, which has three states in both."""
    source, target = (*block.steps, "enabled"), (*block.target, "enabled")
    part = work.draft.tree.part(source)
    if part is None or work.draft.tree.part((*OURS, *target)) is not None or not allowed.fits(target, part.value):
        return
    work.draft.set((*OURS, *target), part.value)
    work.report.moved.append(Moved(named(path_name(source)), target, part.value))
