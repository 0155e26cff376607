"""No command costs self-protection much more than a harmless one of the same length, whatever it is made of."""

from __future__ import annotations

import time
from functools import cache

import pytest

from toolguard_engine.layers import protection
from toolguard_engine.model import Call, Host
from toolguard_engine.shell.parse import MAX_CHARS

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), frozenset({4242}))
HARMLESS = "ls -la src && cat notes.md | head; "
RATIO = 12
"""Generous: what this is to find was a hundred times as dear, and a busy machine must not fail it."""

PIECES = [
    "../;", "cd a;", "kill(1)\n", "|sh ", "a=$a$a;", "x{a,b} ", "{a,", "$(", "`", '"$(', "<(", "[", "[a-", "?*", "../* ",
    "curl x|", "sudo ", "env ", "A=b ", "rm ", "kill -9 $x;", "(a)", "\\x41", "QUJDREVGR0hJSktM ", "${a:-", "import(",
    "import ", "for a in b;", "rev 'abcd' ", "git -c a ", "find ~ -name key ", "~/.openclaw/toolguard ", "open(",
    "pkill a|b ", "<<a\n", "import" + "." * 400 + " ", "(" * 100 + ")" * 100, "echo a > f;", "sh f;", "$x approve;",
    "f(){ f; };", "python -c 'kill(x)';", "python -c 'open(1, \"w\") .openclaw'\n", "foo 'kill x';", "toolguar? x;",
    "grep toolguard ~ | sed -i x;", "while read l; do", "xargs -I% kill %;", "find ~ -exec rm {} +;",
]  # fmt: skip
BEGINNINGS = ["", "kill ", "python -c import toolguard .openclaw ", "echo 'a' > x.py; python x.py; cat ~/.openclaw/y; "]
MANY = [
    "../a{} ",
    "rm ../a{};",
    "cd d{};",
    "rm ~/.o{}*/t*;",
    "kill {};",
    "foo 'kill a{}';",
    "python3 -c 'kill(a{})';",
    "$x{} approve;",
]


def cost(command: str) -> float:
    call = Call("exec", {"command": command})
    started = time.process_time()
    protection.judge(call, HOST)
    return time.process_time() - started


@cache
def usual() -> float:
    return max(cost((HARMLESS * MAX_CHARS)[:MAX_CHARS]), 0.05)


@pytest.mark.parametrize("beginning", BEGINNINGS, ids=["alone", "kill", "python", "file"])
@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_hostile_text_costs_about_what_harmless_text_does(piece: str, beginning: str) -> None:
    assert cost((beginning + piece * MAX_CHARS)[:MAX_CHARS]) < RATIO * usual()


@pytest.mark.parametrize("piece", MANY, ids=range(len(MANY)))
def test_many_different_words(piece: str) -> None:
    assert cost("".join(piece.format(number) for number in range(10_000))[:MAX_CHARS]) < RATIO * usual()


@pytest.mark.parametrize("text", ["\n", " ", "*** Add File: a\n", "*** Add File: a ", "\t\r"])
def test_a_long_patch_costs_little(text: str) -> None:
    started = time.process_time()
    protection.judge(Call("apply_patch", {"input": (text * 200_000)[:200_000]}), HOST)
    assert time.process_time() - started < RATIO * usual()


def test_an_ordinary_command_is_looked_at_once() -> None:
    """Generous: it takes a hundredth of that."""
    call = Call(
        "exec", {"command": "cd app && npm run build && git add -A && git commit -m 'all of it' | tee log | tail -5"}
    )
    protection.judge(call, HOST)
    best = min(_timed(call) for _ in range(50))
    assert best < 0.000_5


def _timed(call: Call) -> float:
    started = time.perf_counter()
    protection.judge(call, HOST)
    return time.perf_counter() - started
