"""What a person sees of the arguments of a held call: nothing of them can hide behind another."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs

from toolguard_engine.approvals import call_source, chat_view, held_text, held_view
from toolguard_engine.approvals.held_view import MAX_BLOCKS, MAX_FIELDS, HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.held_details import HeldDetails, HeldEffect
from toolguard_engine.server.held_call_decisions import MAX_DESCRIPTION, prompt_for
from unread_calls import UNREAD_CALLS, held, lines_of, texts

KEYS = st.sampled_from(["", "a", "a.a", "a[0]", '["a"]', "command", "other: a", "n" * 70])
TEXTS = st.one_of(
    st.text("xyz ;", max_size=80), st.sampled_from(["ok", "# ok\nPAYLOAD\nmore", "x" * 300 + "\n" + "y" * 300, "\n\nz"])
)
VALUES = st.recursive(
    TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
NAMESAKES: list[dict[str, Any]] = [
    {"path": "/home/u/.bashrc", "content": "# ok\nalias ll='PAYLOAD'", "": {"content": "ok"}},
    {"command": "ls", "env": {"X": "# ok\nPAYLOAD"}, "env.X": "ok"},
    {"command": "ls", "a": ["one\nPAYLOAD"], "a[0]": "ok"},
]
"""Calls in which two arguments would have one name, if names were only joined with points."""
ARGUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=9)


def shown_lines(view: HeldView) -> list[str]:
    """All lines that may be read, those of short and of folded arguments behind a name or indented."""
    lines = [line for block in view.blocks for line in block.whole.split("\n")]
    return [*view.fields, *lines]


@given(ARGUMENTS)
@example(NAMESAKES[0])
@example(NAMESAKES[1])
def test_every_line_of_every_argument_can_be_read(arguments: dict[str, Any]) -> None:
    left = shown_lines(held_view.view(held(arguments)))
    lines = [line for text in texts(arguments) for line in text.split("\n") if line]
    for line in sorted(lines, key=len, reverse=True):
        places = [at for at, shown in enumerate(left) if shown.endswith(line)]
        assert places, (line, left)
        left.pop(places[0])


@given(ARGUMENTS)
def test_no_two_arguments_have_one_name(arguments: dict[str, Any]) -> None:
    names = [name for name, _ in call_source.arguments(json.dumps(arguments), "write")]
    assert len(set(names)) == len(names)


@given(ARGUMENTS)
def test_a_call_is_complete_only_if_all_its_lines_are_shown(arguments: dict[str, Any]) -> None:
    entry = held(arguments)
    view = held_view.view(entry)
    lines = [line for block in view.blocks for line in block.whole.split("\n")]
    in_sight = [row.text for block in view.blocks for row in block.rows]
    assert view.complete == (entry.whole and in_sight == lines)


@pytest.mark.parametrize("arguments", NAMESAKES)
def test_an_argument_cannot_be_hidden_behind_a_namesake(arguments: dict[str, Any]) -> None:
    view = held_view.view(held(arguments))
    assert any("PAYLOAD" in block.whole for block in view.blocks)
    assert "PAYLOAD" in "\n".join(held_text.lines(view, whole=True))


def test_a_line_that_looks_like_a_shortened_one_hides_nothing() -> None:
    long = "A" * 146 + "; PAYLOAD ;" + "B" * 976 + "C" * 36
    (row,) = held_view.view(held({"content": long})).blocks[0].rows
    view = held_view.view(held({"path": "/home/u/.bashrc", "content": f"{long}\n{row.text}"}))
    assert "PAYLOAD" not in row.text
    assert (view.complete, view.enough) == (False, False)


@pytest.mark.parametrize("text", ["x", "x" * 70, "x" * 150 + "\n" + "y" * 150])
def test_many_arguments_are_counted_and_the_command_comes_first(text: str) -> None:
    arguments = {"env": {f"A{at}": text for at in range(40)}, "command": "rm -rf ~/photos"}
    view = held_view.view(held(arguments, "exec"))
    assert len(view.fields) <= MAX_FIELDS
    assert len(view.blocks) <= MAX_BLOCKS
    assert (view.blocks[0].name, view.blocks[0].rows[0].text) == ("command", "rm -rf ~/photos")
    shown = 40 - len(view.fields) - (len(view.blocks) - 2)
    assert view.blocks[-1].name == f"{shown} other arguments"
    assert not view.complete
    assert len(held_text.lines(view)) <= held_text.HEIGHT


@pytest.mark.parametrize("name", UNREAD_CALLS)
def test_chat_shows_all_of_a_call_that_the_guard_has_not_read(name: str) -> None:
    tool, arguments = UNREAD_CALLS[name]
    entry = held(arguments, tool)
    view = chat_view.view(entry, held_view.view(entry), 0.0)
    text = held_text.squeezed(list(view.lines))
    assert view.enough
    assert [line for line in lines_of(arguments) if line not in text] == []


def with_dangers(targets: Sequence[str], nonce: str = "00000001") -> HeldCall:
    """A call that deletes these."""
    effects = tuple(HeldEffect("delete", target, flags=("recursive",)) for target in targets)
    entry = held({"command": "; ".join(f"rm -rf {target}" for target in targets)}, "exec")
    return structs.replace(entry, nonce=nonce, details=HeldDetails(effects=effects))


@pytest.mark.parametrize("many", [1, 2, 6, 15, 20])
@pytest.mark.parametrize("length", [0, 30, 90])
@pytest.mark.parametrize("sign", ["x", "写", "\U0001d400"])
def test_the_prompt_names_or_counts_every_danger(many: int, length: int, sign: str) -> None:
    targets = [f"~/{at}/{sign * length}end" for at in range(many)]
    text = prompt_for(with_dangers(targets), 0.0).description
    assert len(text.encode("utf-16-le")) // 2 <= MAX_DESCRIPTION
    left = re.search(r"; and (\d+) more\. ", text)
    named = many - (int(left[1]) if left else 0)
    assert (left is None) is (named == many)
    assert many == 1 or [f" {at}) " in text for at in range(1, many + 1)] == [at <= named for at in range(1, many + 1)]
    assert named >= min(many, 4)


def test_where_there_is_little_room_the_verb_goes_before_the_target() -> None:
    view = held_view.view(with_dangers([f"~/photos/{at}/summer-of-last-year" for at in range(7)]))
    text = held_text.in_short(view, 270)
    assert all(f"~/photos/{at}/summer-of-last-year" in text for at in range(7))
    assert "delete" not in text


@pytest.mark.parametrize("calls", [1, 2, 5, 20])
def test_calls_in_chat_fit_into_one_message(calls: int) -> None:
    targets = [f"~/photos/{at}-{'x' * 90}" for at in range(30)]
    entries = [with_dangers(targets, f"{at:08d}") for at in range(calls)]
    views = chat_view.several([(entry, held_view.view(entry)) for entry in entries], 0.0)
    assert sum(len(line) + 1 for view in views for line in view.lines) <= chat_view.MAX_TEXT
    for entry, view in zip(entries, views, strict=True):
        text = "\n".join(view.lines)
        left = re.search(r"and (\d+) more dangers?$", text)
        listed = sum(target[:20] in text for target in targets)
        assert entry.nonce in text
        assert left is None or int(left[1]) < 30
        assert left or "30 " in text or listed == 30


def test_a_line_is_measured_a_few_times_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = 0

    def counting(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return columns(text)

    columns = held_text.columns
    monkeypatch.setattr(held_text, "columns", counting)
    for text in ("写 " * 2_000, "写" * 4_000, "a " * 2_000):
        for width in (80, held_text.UNWRAPPED):
            measured = 0
            held_text._some(text, width, 8, 2)
            held_text.clipped(text, width)
            assert measured <= 8 * len(text), (text[:4], width)


@given(st.lists(st.sampled_from(["", " ", "x", "y" * 220]), min_size=2, max_size=held_view.MAX_ROWS))
def test_lines_that_are_short_stand_as_they_are(lines: list[str]) -> None:
    """So does an empty one."""
    view = held_view.view(held({"content": "\n".join(lines)}))
    assert [row.text for row in view.blocks[0].rows] == lines
    assert view.complete


LITERALS = {
    "duplicate keys": ('{ command: "ls", command: "PAYLOAD" }', (("command", "ls"), ("command", "PAYLOAD"))),
    "numbers as written": (
        "{ a: 1e3, b: -0, c: 10000000000000000000000000000001 }",
        (("a", "1e3"), ("b", "-0"), ("c", "1" + "0" * 30 + "1")),
    ),
    "words as names": ("{ null: true, true: null, NaN: 1 }", (("null", "true"), ("true", "null"), ("NaN", "1"))),
}
"""What is shown, and its arguments. No call is shown with the first, but an entry may have been written by somebody else."""


@pytest.mark.parametrize("name", LITERALS)
def test_a_literal_is_read_with_every_character(name: str) -> None:
    shown, arguments = LITERALS[name]
    assert call_source.arguments(f"exec({shown})", "exec") == arguments


@pytest.mark.parametrize(
    "shown", ['{ a: "x" /* PAYLOAD */ }', '{ a: "x" // PAYLOAD\n }', '{ a: "x" } PAYLOAD', '{ a: "x" } { b: "PAYLOAD" }']
)
def test_what_is_no_literal_hides_nothing(shown: str) -> None:
    assert "PAYLOAD" in "".join(text for _, text in call_source.arguments(shown, "exec"))


@pytest.mark.parametrize("width", [30, 40, 80])
def test_a_line_that_is_cut_begins_as_the_whole_one_does(width: int) -> None:
    first = "echo " + "abcdefghij" * 30
    line = held_text.first_line(held_view.view(held({"content": f"{first}\nsecond\nthird"})), width)
    shown, cut, more = line.partition("...")
    assert (cut, first.startswith(shown)) == ("...", True)
    assert len(shown) > 4
    assert more == " (2 more lines)"
    assert held_text.columns(line) <= width


def test_a_line_that_is_the_whole_text_stands_as_it_is() -> None:
    assert held_text.first_line(held_view.view(held({"content": "echo abc"})), 40) == "echo abc"
