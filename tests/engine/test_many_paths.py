"""A command that names more paths than are looked at one by one hides none among them."""

from __future__ import annotations

import pytest

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ())


@pytest.mark.parametrize(
    "folder", ["~/.openclaw/workspace", "/home/u/.openclaw/workspace/deep", "../../.openclaw/workspace"]
)
@pytest.mark.parametrize("number", [10, 1_000])
@pytest.mark.parametrize("act", ["cat {} {}", "cp {} {} /tmp/out", "rm -f {} {}"])
def test_a_protected_file_among_many(folder: str, number: int, act: str) -> None:
    others = " ".join(f"{folder}/file{each}" for each in range(number))
    command = act.format(others, "~/.openclaw/toolguard/key")
    guard = Guard(Config(), {}, HOST, packs.load())
    assert guard.judge(Call("exec", {"command": command}, cwd="/home/u/work/a")).decision == "block"
