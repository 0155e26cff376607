"""Whatever a command is made of, it gets a verdict, and what is kept of it is bounded. `scripts/bench judge` times them."""

from __future__ import annotations

from effort import some
from hostile_texts import texts
from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.effects.syntax.parse import MAX_CHARS
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), frozenset({4242}))
GUARD = Guard(Config(), {}, HOST, packs.load())
HOSTILE = texts(MAX_CHARS // 4)
MAX_KEPT = 8_000_000
"""Characters; a command of 64 kB that is told in more is multiplied by what it says itself."""


@each_row("name", some(list(HOSTILE)))
def test_a_hostile_text_gets_a_verdict_and_is_not_multiplied(name: str) -> None:
    text = HOSTILE[name]
    assert GUARD.weigh(Call("exec", {"command": text}, cwd="/home/u/work")).decision in ("allow", "hold", "block")
    runs = read(text).runs
    assert sum(len(word) for run in runs for word in run.argv) < MAX_KEPT


@each_row("piece", ["\n", " ", "*** Add File: a\n", "*** Add File: a ", "\t\r"])
def test_a_long_patch_gets_a_verdict(piece: str) -> None:
    call = Call("apply_patch", {"input": (piece * 200_000)[:200_000]}, cwd="/home/u/work")
    assert GUARD.weigh(call).decision in ("allow", "hold")
