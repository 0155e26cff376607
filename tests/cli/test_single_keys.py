"""Keys of a terminal: which ones were pressed, in whatever parts they arrive."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator

import pytest
from cli_stage import LIMIT

from tables import each_row
from toolguard_cli.terminal import key_sequences, single_keys

SEQUENCES = ("\x1b[A", "\x1b[D", "\x1bOB", "\x1b[6~", "\x1b[1;5D", "\x1b[15;2~", "\x1b[[A", "\x1bO5A", "\x1ba")


class Keys:
    """Both ends of a terminal, as the program that reads it sees it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._master, self._slave = os.openpty()
        self._stdin = os.fdopen(self._slave)
        monkeypatch.setattr(sys, "stdin", self._stdin)

    def type(self, keys: str) -> None:
        """Types what is there to be read when this returns."""
        os.write(self._master, keys.encode())
        assert self.is_readable(LIMIT)

    def is_readable(self, seconds: float = 0) -> bool:
        return bool(select.select([self._slave], [], [], seconds)[0])

    def close(self) -> None:
        self._stdin.close()
        os.close(self._master)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keys]:
    made = Keys(monkeypatch)
    yield made
    made.close()


@each_row(
    ("data", "found"),
    [
        ("jkA", ["j", "k", "a"]),
        ("j\n", ["j", "enter"]),
        ("\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        ("\x1b[6~ \x1b[5~", ["pagedown", " ", "pageup"]),
        ("\x1b[31~y", ["y"]),
        ("\x1b[Dd\x1b[1;5Ck", ["d", "k"]),
        ("\x1bd\x1ba", []),
        ("\x1b", ["esc"]),
        ("\x03", ["q"]),
        ("\r\n\t\x00", ["enter", "enter"]),
        ("\t\x00", []),
    ],
)
def test_keys(data: str, found: list[str]) -> None:
    assert key_sequences.keys(data) == found


@each_row(("sequence", "at"), [(sequence, at) for sequence in SEQUENCES for at in range(1, len(sequence))])
def test_a_sequence_in_two_parts_is_the_key_that_it_is(terminal: Keys, sequence: str, at: int) -> None:
    whole = key_sequences.keys(sequence)
    with single_keys.reading() as pressed:
        terminal.type(f"j{sequence[:at]}")
        assert pressed() == ["j"]
        terminal.type(f"{sequence[at:]}k")
        assert pressed() == [*whole, "k"]


@pytest.mark.parametrize("sequence", ["\x1b[A", "\x1b[D", "\x1bOA"])
def test_the_rest_of_an_arrow_key_that_comes_late_is_no_letter(terminal: Keys, sequence: str) -> None:
    with single_keys.reading() as pressed:
        terminal.type("\x1b")
        assert until_any(pressed) == ["esc"]
        assert pressed() == []
        terminal.type(sequence[1:])
        assert pressed() == key_sequences.keys(sequence)


def until_any(pressed: Callable[[], list[str]]) -> list[str]:
    return next(found for found in iter(pressed, None) if found)


def test_esc_is_a_key_and_what_follows_another(terminal: Keys) -> None:
    with single_keys.reading() as pressed:
        for _ in range(2):
            terminal.type("\x1b")
            assert until_any(pressed) == ["esc"]
        terminal.type("a")
        assert pressed() == ["a"]


def test_all_of_a_long_sequence_is_none(terminal: Keys) -> None:
    with single_keys.reading() as pressed:
        for _ in range(5):
            terminal.type("\x1b[" + "1;" * 900)
            assert pressed() == []
            terminal.type("1" * 900)
            assert pressed() == []
            terminal.type("Dk")
            assert pressed() == ["k"]


def test_what_was_typed_and_not_read_is_no_command_of_the_shell(terminal: Keys) -> None:
    with single_keys.reading():
        terminal.type("rm -rf ~\n")
    assert not terminal.is_readable()


def test_what_was_typed_is_discarded(terminal: Keys) -> None:
    terminal.type("y\n")
    single_keys.discard_typed()
    assert not terminal.is_readable()
