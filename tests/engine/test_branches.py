"""A variable that is set in a branch has that value in it, and behind it that one or the one before."""

from __future__ import annotations

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints

GUARD = Guard(Config(), tool_hints.load(), Host("/home/u", "/home/u/.openclaw"), packs.load())
HARM = "'rm -rf ~'"
MAY_BE = [
    "if a; then x={}; else x=ls; fi; $x", "if a; then x=ls; elif b; then x={}; else x=ls; fi; $x",
    "case $1 in a) x={};; *) x=ls;; esac; $x", "a && b && x={}; $x", "x={}; a && b && x=ls; $x",
    "a && {{ x={}; b && x=ls; }}; $x", "a && {{ x=ls; b && x={}; }}; $x", "if a; then x={}; $x; x=ls; fi",
    "x={}; if a; then if b; then x=ls; fi; fi; $x", "x={}; if a; then if b; then x=ls; fi; x=id; fi; $x",
    "x={}; while a; do x=ls; done; $x", "while a; do x={}; [ -f c ] && break; x=ls; done; $x",
    "until a; do if b; then x={}; break; fi; x=ls; done; $x",
    "f() {{ x={}; [ -f c ] && return; x=ls; }}; test -f d && f; $x",
]  # fmt: skip
IS_NOT = [
    "x={}; if a; then x=ls; $x; fi", "x={}; x=ls; $x", "a && {{ x={}; x=ls; }}; $x", "x={}; f() {{ x=ls; $x; }}; a && f",
    "if a; then x={}; x=ls; $x; fi; $x",
]  # fmt: skip


def decision(command: str) -> str:
    return GUARD.weigh(Call("exec", {"command": command}, cwd="/home/u/work")).decision


@each_row("command", MAY_BE)
def test_each_value_that_a_variable_may_have_behind_a_branch_counts(command: str) -> None:
    assert decision(command.format(HARM)) == "block"
    assert decision(command.format("id")) == "allow"


@each_row("command", IS_NOT)
def test_a_value_that_was_replaced_does_not_count(command: str) -> None:
    assert decision(command.format(HARM)) == "allow"


def test_what_is_set_and_used_in_the_same_branch_does_not_multiply() -> None:
    """Each call of a function sets what it uses."""
    names = "abcdef"
    sets = "; ".join(f"{name}=$1.{name}" for name in names)
    body = f"f() {{ {sets}; rm -f {' '.join(f'build/${name}' for name in names)}; }}; "
    calls = "".join(f"test -f {n} && f x{n}; " for n in range(20))
    assert len(read(body + calls).runs) < 200


def test_a_list_that_grows_in_a_branch_stays_bounded() -> None:
    text = 'for i in {a..z}; do if test -f $i; then l="$l $i"; fi; done; ls $l'
    assert read(text).flaws == frozenset()
