"""No command costs much more than a harmless one of the same length, whatever it is made of."""

from __future__ import annotations

import time
from functools import cache

import pytest

from toolguard_engine import rules
from toolguard_engine.layers import protection, risky
from toolguard_engine.model import Call, Host
from toolguard_engine.shelltext import MAX_CHARS

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), frozenset({4242}))
RULES = rules.load()
HARMLESS = "ls -la src && cat notes.md | head; "
RATIO = 12
"""Generous: what this is to find was a hundred times as dear, and a busy machine must not fail it."""

PIECES = [
    "../;", "cd a;", "kill(1)\n", "|sh ", "a=$a$a;", "x{a,b} ", "{a,", "$(", "`", '"$(', "<(", "[", "[a-", "?*", "../* ",
    "curl x|", "sudo ", "env ", "A=b ", "rm ", "kill -9 $x;", "(a)", "\\x41", "QUJDREVGR0hJSktM ", "${a:-", "import(",
    "import ", "for a in b;", "rev 'abcd' ", "git -c a ", "find ~ -name key ", "~/.openclaw/toolguard ", "open(",
    "pkill a|b ", "<<a\n",
]  # fmt: skip
BEGINNINGS = ["", "kill ", "python -c import toolguard .openclaw "]


def cost(command: str) -> float:
    call = Call("exec", {"command": command})
    started = time.process_time()
    protection.judge(call, HOST)
    risky.judge(call, RULES)
    return time.process_time() - started


@cache
def usual() -> float:
    return cost((HARMLESS * MAX_CHARS)[:MAX_CHARS])


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("piece", [*PIECES, "import" + "." * 400 + " ", "(" * 100 + ")" * 100])
def test_hostile_text_costs_about_what_harmless_text_does(piece: str, beginning: str) -> None:
    assert cost((beginning + piece * MAX_CHARS)[:MAX_CHARS]) < RATIO * max(usual(), 0.02)


@pytest.mark.parametrize("text", ["\n", " ", "*** Add File: a\n", "*** Add File: a ", "\t\r"])
def test_a_long_patch_costs_little(text: str) -> None:
    started = time.process_time()
    protection.judge(Call("apply_patch", {"input": (text * 200_000)[:200_000]}), HOST)
    assert time.process_time() - started < RATIO * max(usual(), 0.02)
