"""The characters that each typing action sends to a program, and the lines that result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.effects.terminal_input.key_presses import CUT, MAX_KEYS, MAX_TYPED, InputLine, Typed, arriving, lines

ARRIVES: list[tuple[dict[str, Any], str]] = [
    ({"action": "write", "data": "ls\n"}, "ls\n"),
    ({"action": "write", "data": "ls", "eof": True}, "ls\x04"),
    ({"action": "write", "text": "not this", "keys": ["Enter"]}, ""),
    ({"action": "submit", "data": "not this"}, "\r"),
    ({"action": "paste", "text": "a\nb"}, "\x1b[200~a\nb\x1b[201~"),
    ({"action": "paste", "text": "a", "bracketed": False}, "a"),
    ({"action": "send-keys", "keys": ["ls", "Space", "-l", "Enter"]}, "ls -l\r"),
    ({"action": "send-keys", "keys": ["C-c", "^U", "c-m", "M-x", "S-a", "BSpace", " ", "?"]}, "\x03\x15\r\x1bxA\x7f?"),
    ({"action": "send-keys", "hex": ["0x6c", "73", "zz", "D"]}, "ls\r"),
    ({"action": "send-keys", "literal": "a", "hex": ["62"], "keys": ["c"]}, "abc"),
    ({"action": "send-keys", "keys": "Enter"}, ""),
    ({"action": "poll", "data": "ls\n"}, ""),
    ({"action": "write", "data": 3}, ""),
    ({"action": ["write"], "data": "ls\n"}, ""),
]


@each_row(("params", "text"), ARRIVES)
def test_characters_that_reach_the_program(params: dict[str, Any], text: str) -> None:
    assert arriving(params) == text


SURE = [
    ("ls\n", "ls"),
    ("rm -r\x7f\x7fx\r", "rm x"),
    ("some old words\x17\x17things\r", "some things"),
    ("rm -rf ~\x15ls\r", "ls"),
    ("\x1b[200~ls -l\x1b[201~\r", "ls -l"),
    ("\tindented\n", "\tindented"),
    ("\xe9\udcc3\udca9\r", "\xe9\xe9"),
]


@each_row(("typed", "text"), SURE)
def test_line_editing(typed: str, text: str) -> None:
    assert lines(typed, terminal=True) == Typed((InputLine(text),), "")


UNSURE = [
    "\x1b[A", "\x1bOA", "\x10", "\x12rm", "rm\t", "ls -l\x01rm ", "ls \x05", "ls \x08", "a/b\x17", "x\x16\x15", "\x19",
    "\x1b.",
    "\x1b[200~rm x\x15\x1b[201~", "\x1b[200~\x1b[A\x1b[201~", "\x0e", "\x1f", "\x00", "\xe9\x7f", "\x1b[1;5D", "\x0f",
]  # fmt: skip


@each_row("typed", UNSURE)
def test_keys_that_are_not_emulated_make_the_line_unsure(typed: str) -> None:
    assert not lines(f"{typed}\r", terminal=True).lines[-1].sure
    assert lines(f"{typed}\r\nls\r", terminal=True).lines[-1] == InputLine("ls")
    assert lines(f"{typed}\x03ls\r", terminal=True).lines[-1] == InputLine("ls") or "200~" in typed


@each_row("typed", ["ls #\x15", "a\x7f", "a\x03", "\x1b[200~a\x1b[201~"])
def test_without_a_terminal_nothing_is_edited(typed: str) -> None:
    assert not lines(f"{typed}\n", terminal=False).lines[-1].sure


def test_text_before_ctrl_d_is_read_and_may_remain() -> None:
    found = lines("rm -rf ~\x04\n", terminal=True)
    assert [(line.text, line.ended) for line in found.lines] == [("rm -rf ~", "end"), ("", "enter")]
    assert not found.lines[1].sure
    assert lines("\x04ls\n", terminal=True).lines == (InputLine("", "end"), InputLine("ls"))


def test_an_unfinished_paste_continues_in_the_next_write() -> None:
    rest = lines("\x1b[200~one\ntwo ", terminal=True).rest
    assert not lines(f"{rest}\x15\x1b[201~\r", terminal=True).lines[-1].sure


@pytest.mark.parametrize("typed", ["x" * (MAX_TYPED + 1), "x" * (MAX_KEYS + 1)])
def test_input_that_is_too_long_is_unknown(typed: str) -> None:
    found = lines(typed, terminal=True)
    assert found == Typed((), CUT)
    assert not lines(f"{found.rest}ls\r", terminal=True).lines[0].sure


KEYS = st.text(st.sampled_from("ab \x7f\x15\x17\x03\x04\x1b[A~20O\r\n\t\xe9\udcc3\udca9\x01"), max_size=30)


@given(KEYS, KEYS)
def test_splitting_makes_no_difference(first: str, second: str) -> None:
    """Except for an incomplete escape sequence."""
    if first.endswith(("\x1b", "\x1bO")) or "\x1b[" in first[-8:]:
        return
    whole = lines(first + second, terminal=True)
    begun = lines(first, terminal=True)
    ended = lines(begun.rest + second, terminal=True)
    assert begun.lines + ended.lines == whole.lines
    assert lines(ended.rest + "\r", terminal=True).lines == lines(whole.rest + "\r", terminal=True).lines


@given(st.text(max_size=60))
def test_any_keys_are_accepted(typed: str) -> None:
    for line in lines(typed, terminal=True).lines:
        line.text.encode()
