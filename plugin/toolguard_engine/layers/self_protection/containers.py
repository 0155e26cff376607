"""Holds changes to a gateway's folder in a container or on another machine: it may be this gateway's own, mounted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.effects import effects
from toolguard_engine.effects.facts import places
from toolguard_engine.effects.facts.command import Reading
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.layers.self_protection.scene import FILE_CHANGES, CommandScene, ProtectionFinding, is_elsewhere

REASON = (
    "This command would change a gateway's files in a container or on another machine; "
    "they may be this gateway's own files, mounted there."
)
_STATE = lazy_re.compile(r"/\.(?:openclaw|clawdbot)(?:-[\w.-]{1,60})?(?:/|\Z)", re.IGNORECASE)


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    runs = tuple(run for run in scene.runs if is_elsewhere(run))
    if not runs or "claw" not in scene.text.lower():
        return
    where = Where("/root", "/root", "/root")
    for effect in effects(Reading(runs), where):
        if effect.kind in FILE_CHANGES:
            path = places.normal(effect.target, where, effect.program.cwd if effect.program else "")
            if _STATE.search(path):
                yield ProtectionFinding(REASON, certain=False)
                return
