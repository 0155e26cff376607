"""Long commands and scripts that do no harm are judged, not held because they are long."""

from __future__ import annotations

from effort import ALL
from honest_scripts import scripts
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json")
TOO_MUCH = ("rule.too-intricate", "rule.too-long")
PER_SECOND = 1_000
"""Characters: no model writes faster."""

SHARE = 0.01


def test_one_in_a_hundred_at_most_is_too_complex() -> None:
    """All of one session, one after the other."""
    guard, at, held = Guard(Config(), {}, HOST, packs.load()), 1_000.0, list[str]()
    written = list(scripts())[:: 1 if ALL else 17]
    for name, text in written:
        at += len(text) / PER_SECOND
        call = Call("exec", {"command": text}, agent="main", session="s", run=name, cwd="/home/u/work", at=at)
        held += [name] if guard.judge(call).code in TOO_MUCH else []
    assert len(held) <= SHARE * len(written), held
