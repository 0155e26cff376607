"""Operands that a program treats alike have their values one operand at a time: no effect is lost by it."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.commands.value_walk import ValueWalk
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints

GUARD = Guard(Config(), tool_hints.load(), Host("/home/u", "/home/u/.openclaw"), packs.load())
VALUES = [
    "a", "'b c'", "/", "~", "~/.ssh/id_rsa", "/etc/passwd", ".git", "''", "'*'", "-r", "$1", "../..",
    "~/.openclaw/toolguard",
]  # fmt: skip
WORDS = ['"$a"', '"$b"', '"$c"', "$a", "$b", '"$a/$b"', '"$c/x"', "/tmp/$a", "src", "${b:-x}", "${a:=x}", "${c%/*}", "$(ls)"]
COMMANDS = ["rm -f -- {}", "rm -rf -- {}", "rm {}", "rm -- {}; rm -rf $a", "rm -rf -- {} | sh", "cd $a; rm -rf -- {}"]


def outcome(command: str) -> tuple[str, str, frozenset[tuple[str, str, str, frozenset[str]]]]:
    reading = GUARD.read(Call("exec", {"command": command}, cwd="/home/u/work"))
    verdict = GUARD.judge_reading(reading)
    found = ((one.kind, one.target, one.place, one.flags) for effects in reading.command_effects for one in effects)
    return verdict.decision, verdict.code, frozenset(found)


@settings(max_examples=examples(120))
@given(
    st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from(VALUES), min_size=1, max_size=3), min_size=1),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
    st.sampled_from(COMMANDS),
)
def test_each_value_of_each_operand_counts(values: dict[str, list[str]], words: list[str], command: str) -> None:
    text = "".join(
        f"{name}={value}; " if not at else f"[ -f q{at} ] && {name}={value}; "
        for name, choices in values.items()
        for at, value in enumerate(choices)
    ) + command.format(" ".join(words))
    found = outcome(text)
    with patch.object(ValueWalk, "stand_alone", return_value=False):
        assert outcome(text) == found


@each_row("harm", ["/", "~", "~/.openclaw/toolguard"])
def test_harm_in_any_of_many_operands_is_found(harm: str) -> None:
    set_ = "".join(f"{name}=x{name}; [ -f q ] && {name}=y{name}; [ -f r ] && {name}={{{name}}}; " for name in "abcd")
    for name in "abcd":
        text = set_.format(**{other: harm if other == name else f"z{other}" for other in "abcd"})
        assert outcome(f'{text} rm -rf -- "$a" "$b" "$c" "$d"')[0] != "allow", name


def test_scripts_that_remove_several_files_are_read_to_their_end() -> None:
    set_ = "".join(f"{name}=x{name}; " + "".join(f"[ -f q{n} ] && {name}={n}{name}; " for n in range(3)) for name in "abcd")
    assert outcome(f'{set_} rm -f -- "$a" "$b" "$c" "$d"')[0] == "allow"
