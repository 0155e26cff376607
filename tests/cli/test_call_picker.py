"""Which call `toolguard approve` and `deny` mean, chosen with keys from a list on a terminal."""

from __future__ import annotations

import re
import termios
from pathlib import Path

import pytest
from cli_stage import SCRIPT
from held_stage import Terminal, hold, status_of, terminal

from toolguard_cli.approvals import call_picker
from toolguard_cli.approvals.chosen_call import Choice, Command
from toolguard_cli.approvals.watch_screen import ScreenView
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import HeldCall

READY = "Esc: none"
UP, DOWN = "\x1b[A", "\x1b[B"


@pytest.fixture
def two(places: Places) -> tuple[HeldCall, HeldCall]:
    return hold(places), hold(places, shown='{ command: "make clean" }')


@pytest.mark.parametrize("keys", [(DOWN, "\r"), ("j", "a"), (DOWN, "k", DOWN, UP, "a"), ("j", "k", "j", "a")])
def test_keys_choose_a_call_that_is_then_shown_and_asked_about(
    places: Places, two: tuple[HeldCall, HeldCall], keys: tuple[str, ...]
) -> None:
    *moves, choosing = keys
    chosen = two[0]
    with terminal(places, "approve") as shown:
        shown.until(READY)
        for key in moves:
            chosen = two[key in ("j", DOWN)]
            shown.type(key)
            shown.until(f"> {chosen.nonce}")
        shown.type(choosing)
        asked = shown.until("Approve? [y/N] ")
        shown.type("y\n")
        assert shown.end() == 0
    assert f"{chosen.nonce} is waiting for approval" in asked
    assert {entry.nonce: status_of(places, entry.nonce) for entry in two} == {
        entry.nonce: "approved" if entry is chosen else "pending" for entry in two
    }


def test_no_key_approves_without_a_question(places: Places, two: tuple[HeldCall, HeldCall]) -> None:
    with terminal(places, "approve", "--yes") as shown:
        shown.until(READY)
        shown.type("a")
        shown.until("Approve? [y/N] ")
        shown.type("\n")
        assert shown.end() == 1
    assert [status_of(places, entry.nonce) for entry in two] == ["pending", "pending"]


def test_what_is_pasted_into_the_list_answers_nothing(places: Places, two: tuple[HeldCall, HeldCall]) -> None:
    with terminal(places, "approve") as shown:
        shown.until(READY)
        shown.type("ja" + "x" * 62 + "y\n" * 40)
        shown.until(f"> {two[1].nonce}")
        shown.type("\r")
        shown.until("Approve? [y/N")
        shown.type("\n")
        assert shown.end() == 1
    assert [status_of(places, entry.nonce) for entry in two] == ["pending", "pending"]


@pytest.mark.parametrize(("command", "question"), [("approve", "Approve? [y/N"), ("deny", "Deny? [y/N")])
def test_what_was_typed_before_the_question_does_not_answer_it(places: Places, command: str, question: str) -> None:
    held = hold(places)
    with terminal(places, command) as shown:
        shown.type("y\ny\n")  # the program has not started yet
        shown.until(question)
        shown.type("\n")
        assert shown.end() == 1
    assert status_of(places, held.nonce) == "pending"


@pytest.mark.parametrize("key", ["a", "d", "enter"])
@pytest.mark.parametrize("command", ["approve", "deny"])
def test_a_key_counts_for_no_other_call_than_the_marked_one(
    places: Places, two: tuple[HeldCall, HeldCall], command: Command, key: str
) -> None:
    """The marked call has expired since the list was drawn; the next one is marked, and the next key counts for it."""
    gone, left = two
    view, choice = call_picker.press(ScreenView(gone.nonce), key, [left], command)
    assert (view.selected, choice) == (left.nonce, None)
    assert call_picker.press(ScreenView(), key, two, command)[1] is None  # before anything was drawn


def test_a_call_can_be_denied_from_the_list(places: Places, two: tuple[HeldCall, HeldCall]) -> None:
    with terminal(places, "approve", "--reason", "not today") as shown:
        shown.until(READY)
        shown.type("j")
        shown.until(f"> {two[1].nonce}")
        shown.type("d")
        shown.until("Deny? [y/N")
        shown.type("y\n")
        assert shown.end() == 0
    assert [status_of(places, entry.nonce) for entry in two] == ["pending", "denied"]


@pytest.mark.parametrize("key", ["\x1b", "q"])
@pytest.mark.parametrize("command", ["approve", "deny"])
def test_nothing_is_chosen_and_the_terminal_is_as_before(
    places: Places, two: tuple[HeldCall, HeldCall], command: str, key: str
) -> None:
    with terminal(places, command) as shown:
        shown.until(READY)
        shown.type(key)
        assert shown.end() != 0
        assert termios.tcgetattr(shown.slave) == shown.before
    assert [status_of(places, entry.nonce) for entry in two] == ["pending", "pending"]


def test_a_terminal_that_shows_no_list_is_asked_for_a_number(places: Places, two: tuple[HeldCall, HeldCall]) -> None:
    words = ["TERM=dumb", str(SCRIPT), "approve", "--state-dir", str(places.state_dir)]
    shown = Terminal(words, Path("/usr/bin/env"))
    try:
        shown.until("Which call? [1-2, Enter for none]")
        shown.type("2\n")
        shown.until("Approve? [y/N] ")
        shown.type("y\n")
        assert shown.end() == 0
    finally:
        shown.close()
    assert [status_of(places, entry.nonce) for entry in two] == ["pending", "approved"]


@pytest.mark.parametrize(
    ("command", "key", "verb"),
    [("approve", "enter", "approve"), ("approve", "a", "approve"), ("approve", "d", "deny"), ("deny", "enter", "deny"),
     ("deny", "d", "deny"), ("deny", "a", None), ("deny", "y", None), ("approve", "y", None), ("approve", " ", None)],
)  # fmt: skip
def test_what_a_key_means(places: Places, command: Command, key: str, verb: Command | None) -> None:
    held = hold(places)
    _, choice = call_picker.press(ScreenView(held.nonce), key, [held], command)
    assert choice == (Choice(verb, held.nonce) if verb else None)


@pytest.mark.parametrize("command", sorted(call_picker.ANSWERS))
def test_the_keys_stand_in_the_documents(command: Command) -> None:
    text = (Path(__file__).parents[2] / "docs" / "approving.md").read_text()
    rows = [line.lower() for line in text.splitlines() if line.startswith("| ") and "`" in line.split("|")[1]]
    keys = {word for row in rows for word in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert {*call_picker.ANSWERS[command], *call_picker.NONE, "j", "k"} <= keys


@pytest.mark.parametrize("key", ["a", "d", "enter"])
def test_nothing_is_chosen_from_an_empty_list(key: str) -> None:
    assert call_picker.press(ScreenView(), key, [], "approve")[1] is None
