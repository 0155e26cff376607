"""What a command may stand for: hidden texts come out, and no text costs much."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine import shelltext, shellwords

HIDDEN = [
    'tool"guard" approve x',
    "t\\oolguard approve x",
    "'toolguard' approve x",
    "$'\\x74oolguard' approve x",
    "$'\\164oolguard' approve x",
    "$'\\u0074oolguard' approve x",
    "toolguard$IFS approve x",
    "toolguard${IFS}approve${IFS}x",
    "tool\\\nguard approve x",
    "a=tool; b=guard; $a$b approve x",
    "a=tool;b=guard;${a}${b} approve x",
    "{toolguard,approve,x}",
    "echo dG9vbGd1YXJkIGFwcHJvdmUgeA== | base64 -d | sh",
    "echo 746f6f6c677561726420617070726f76652078 | xxd -r -p | sh",
    "printf '\\164oolguard approve x' | sh",
    "echo -e '\\x74oolguard approve x' | sh",
    "echo 'x evorppa draugloot' | rev | sh",
    "x=${y:-toolguard}; $x approve x",
]


@pytest.mark.parametrize("command", HIDDEN)
def test_hidden_text_comes_out(command: str) -> None:
    found = shelltext.readings(command)
    assert found[0] == command
    assert any("toolguard approve x" in " ".join(text.split()) for text in found)


def test_an_ordinary_command_has_one_reading() -> None:
    assert shelltext.readings("ls -la src") == ("ls -la src",)


@given(st.text() | st.text(alphabet="a=$b{},\\'\"x4`()<>|; \n#\x00é", max_size=300))
def test_any_text_is_read_and_bounded(text: str) -> None:
    found = shelltext.readings(text)
    assert found[0] == text[: shelltext.MAX_CHARS]
    assert len(found) <= shelltext.MAX_READINGS
    assert len(shellwords.lines(text)) <= shellwords.MAX_LINES


@pytest.mark.parametrize(
    "piece", ["a", "{a,", "a=$a$a;", "$(", "`", "'", '"$(', "\\x41", "QUJDREVGR0hJSktM ", "<<a\n", "${a:-", "()", "x{a,b}"]
)
def test_a_megabyte_costs_little(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    started = time.perf_counter()
    found = shelltext.readings(text)
    assert sum(map(len, found)) <= 2 * shelltext.MAX_TOTAL
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b 'c d'", [["a", "b", "c d"]]),
        ("a; b && c | d", [["a"], ["b"], ["c"], ["d"]]),
        ("a $(b c) d", [["b", "c"], ["a", "$()", "d"]]),
        ("a `b c` d", [["b", "c"], ["a", "$()", "d"]]),
        ('a "x $(b c)"', [["b", "c"], ["a", "x $(b c)"]]),
        ("a # b", [["a"]]),
        ("(a; b)", [["a"], ["b"]]),
        ("a > f 2>&1", [["a"]]),
        ("cat <<E\nb c\nE\nd", [["cat"], ["d"]]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_simple_commands(text: str, words: list[list[str]]) -> None:
    assert [simple.words for simple in shellwords.parse(text)] == words
