"""Literal texts before and after `delete` and `remove_element`."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.system.errors import UserError

SECTIONS = """\
{
  // first section
  a: 1, // about a

  // second section
  b: {
    x: 1, // about x
  }, /* about
        b */
  // third section
  c: [1, 2] // about c
  // the end
}
"""


@each_row(
    ("path", "after"),
    [
        pytest.param(["a"], SECTIONS.replace("  a: 1, // about a\n", ""), id="first"),
        pytest.param(["b"], SECTIONS[: SECTIONS.index("  b:")] + SECTIONS[SECTIONS.index("  // third") :], id="block"),
        pytest.param(["c"], SECTIONS.replace("  c: [1, 2] // about c\n", "").replace("}, /*", "} /*"), id="last"),
        pytest.param(["b", "x"], SECTIONS.replace("    x: 1, // about x\n", ""), id="only, with trailing comma"),
        pytest.param(["c", 0], SECTIONS.replace("[1, 2]", "[2]"), id="first element"),
        pytest.param(["c", 1], SECTIONS.replace("[1, 2]", "[1]"), id="last element"),
        pytest.param(["d"], SECTIONS, id="no such key"),
        pytest.param(["c", 2], SECTIONS, id="no such index"),
        pytest.param(["a", "x"], SECTIONS, id="not in a scalar"),
    ],
)
def test_sections(path: list[str | int], after: str) -> None:
    assert json5_edit.delete(SECTIONS, path) == after


@each_row(
    ("before", "path", "after"),
    [
        pytest.param("{ a: 1, b: 2, c: 3 }", ["a"], "{ b: 2, c: 3 }", id="one line, first"),
        pytest.param("{ a: 1, b: 2, c: 3 }", ["b"], "{ a: 1, c: 3 }", id="one line, middle"),
        pytest.param("{ a: 1, b: 2, c: 3 }", ["c"], "{ a: 1, b: 2 }", id="one line, last"),
        pytest.param("{ a: 1, b: 2, }", ["b"], "{ a: 1, }", id="one line, trailing comma"),
        pytest.param("{ a: 1 }", ["a"], "{}", id="one line, only"),
        pytest.param("{ a: 1, /* b */ b: 2 /* c */ }", ["b"], "{ a: 1 /* b */ }", id="one line, comments"),
        pytest.param("{ a: 1, /* b */ b: 2 }", ["a"], "{ /* b */ b: 2 }", id="one line, comment of the next"),
        pytest.param("{\n  a: 1,\n  b: 2 }", ["b"], "{\n  a: 1 }", id="bracket behind the last"),
        pytest.param("{\n  a: 1, // a\n  b: 2 }", ["b"], "{\n  a: 1 // a\n }", id="line comment before the bracket"),
        pytest.param("{\n  a: 1, b: 2,\n}", ["a"], "{\n  b: 2,\n}", id="neighbour on the line, first"),
        pytest.param("{\n  a: 1, b: 2,\n}", ["b"], "{\n  a: 1,\n}", id="neighbour on the line, last"),
        pytest.param("{\r\n\ta: 1, // a\r\n\tb: 2\r\n}", ["a"], "{\r\n\tb: 2\r\n}", id="CRLF and tabs"),
        pytest.param("\ufeff{ a: 1,\n  b: 2 }", ["a"], "\ufeff{\n  b: 2 }", id="behind the opening bracket"),
        pytest.param("{\n  a: 1 // a\n  // own\n  , b: 2\n}", ["a"], "{\n   // a\n  // own\n   b: 2\n}", id="comma far off"),
        pytest.param("{\n  a: 1,\n\n}", ["a"], "{\n\n}", id="blank line stays"),
        pytest.param("{\n  // c\n  a: 1\n}", ["a"], "{\n  // c\n}", id="comment stays"),
    ],
)
def test_forms(before: str, path: list[str | int], after: str) -> None:
    assert json5_edit.delete(before, path) == after


def test_the_document_itself_stays() -> None:
    with pytest.raises(UserError, match="whole document"):
        json5_edit.delete("{}", [])


@each_row(
    ("before", "after"),
    [
        pytest.param("{a: ['x', 'y']}", "{a: ['y']}", id="there"),
        pytest.param("{a: ['x', 'y', \"x\", 1]}", "{a: ['y', 1]}", id="twice"),
        pytest.param("{a: ['x']}", "{a: []}", id="only"),
        pytest.param("{a: ['y']}", "{a: ['y']}", id="not there"),
        pytest.param("{b: 1}", "{b: 1}", id="no array"),
    ],
)
def test_remove_element(before: str, after: str) -> None:
    assert json5_edit.remove_element(before, ["a"], "x") == after


def test_remove_element_needs_an_array() -> None:
    with pytest.raises(UserError, match="a is not an array: there is an object"):
        json5_edit.remove_element("{a: {}}", ["a"], 1)
