"""What a person sees of the arguments of a held call: nothing of them can hide behind another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolguard_engine.approvals import call_source, held_text, held_view
from toolguard_engine.approvals.held_view import MAX_BLOCKS, MAX_FIELDS, HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.call import Call
from toolguard_engine.wording import approval as approval_texts

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


def held(arguments: dict[str, Any], tool: str = "write") -> HeldCall:
    shown, whole = approval_texts.disclosed(Call(tool, arguments))
    return HeldCall(
        nonce="00000001", binding="b", tool=tool, agent="main", session="s", run="r", code="c", reason="why", shown=shown,
        whole=whole, cwd="/w", created=0.0, expires=1.0,
    )  # fmt: skip


def texts(value: object) -> list[str]:
    """All texts in these arguments."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in inner for text in texts(item)]


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
