"""What is read, what is refused and where, and that hostile text is refused with bounded work."""

from __future__ import annotations

import json
import math
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import some
from tables import each_row
from toolguard_cli.hostconfig import json5_edit

DEEP = json5_edit.MAX_DEPTH
_ESCAPED_KEY = "this escape is not a character that a key without quotes may have here"
_OPEN_LINE = "the line ends inside a string; close it, or end the line with a backslash"
_OPEN = "line 1, column 6: expected ',' or '}' after a member, found the end of the file"
_TWICE = "this key occurs twice in the object, found"
_BACKSLASH = r"a backslash itself is written \\"
_CONTROL = "a control character (U+0007) inside a string; write it as \\u0007"


def _refusal(text: str) -> json5_edit.Json5Error | None:
    try:
        json5_edit.parse(text)
    except json5_edit.Json5Error as error:
        return error
    return None


@each_row(
    ("text", "value"),
    [
        pytest.param("0x1F", 31, id="hex"),
        pytest.param("+1", 1, id="plus"),
        pytest.param(".5", 0.5, id="leading point"),
        pytest.param("5.", 5.0, id="trailing point"),
        pytest.param("-Infinity", -math.inf, id="infinity"),
        pytest.param("9" * 5000, math.inf, id="integer beyond every range"),
        pytest.param("'a\\\r\nb\\\u2028c'", "abc", id="line continuations"),
        pytest.param('"\\ud83d\\ude00"', "\U0001f600", id="surrogate pair"),
        pytest.param('"\\x41\\0\\v\\q\\\'"', "A\0\v'".replace("\v", "\vq"), id="escapes"),
        pytest.param('"\u2028\x7f"', "\u2028\x7f", id="line separator in a string"),
        pytest.param("['a\tb', \"\t\\n\", '\\\t']", ["a\tb", "\t\n", "\t"], id="tabs in strings"),
        pytest.param("{a\\u0062: 1, \\u0063: 2, ünï: 3, $_: 4}", {"ab": 1, "c": 2, "ünï": 3, "$_": 4}, id="keys"),
        pytest.param("{null: 1, Infinity: 2, a\u200db: 3}", {"null": 1, "Infinity": 2, "a\u200db": 3}, id="words as keys"),
        pytest.param("\ufeff\u3000\xa0\v\f[1,\r2,\u2029]// end", [1, 2], id="white space"),
        pytest.param("[" * DEEP + "]" * DEEP, None, id="as deep as allowed"),
    ],
)
def test_reads(text: str, value: Any) -> None:
    assert json5_edit.loads(text) == (json.loads(text) if value is None else value)


@each_row(
    ("text", "message"),
    [
        pytest.param("", "line 1, column 1: there is no value in this file", id="empty"),
        pytest.param("// only\n", "line 2, column 1: there is no value in this file", id="only a comment"),
        pytest.param(
            '{\n  a: 1,\n  b: 2 "x": 3\n}',
            "line 3, column 8: expected ',' or '}' after a member, found '\"x\"'",
            id="missing comma",
        ),
        pytest.param("[1 2]", "line 1, column 4: expected ',' or ']' after an element, found '2'", id="in an array"),
        pytest.param("{a: 1", f"{_OPEN}; the '{{' on line 1, column 1 is still open", id="open"),
        pytest.param(
            "{\n  a: [1, 2\n}",
            "line 3, column 1: expected ',' or ']' after an element, found '}'; the '[' on line 2, column 6 is still open",
            id="wrong bracket",
        ),
        pytest.param("{a 1}", "line 1, column 4: expected ':' after a key, found '1'", id="missing colon"),
        pytest.param("{a: }", "line 1, column 5: expected a value, found '}'", id="missing value"),
        pytest.param("{a: yes}", "line 1, column 5: expected a value, found 'yes'; a string needs quotes", id="word"),
        pytest.param("[,]", "line 1, column 2: expected a value, found ','", id="hole"),
        pytest.param("{,}", "line 1, column 2: expected a key or '}', found ','", id="no key"),
        pytest.param("{1: 1}", "line 1, column 2: expected a key or '}', found '1'", id="number as a key"),
        pytest.param(
            "{a: 1,\r\n'a': 2}", f"line 2, column 1: {_TWICE} ''a''; the first one is on line 1, column 2", id="duplicate"
        ),
        pytest.param(
            "{\\u0061: 1, a: 2}", f"line 1, column 13: {_TWICE} 'a'; the first one is on line 1, column 2", id="escaped"
        ),
        pytest.param(
            "{\n  x: {a: 1},\n  a: {\n    y: 1, 'z': 2,\n    'z': 3,\n  },\n}",
            f"line 5, column 5: {_TWICE} ''z''; the first one is on line 4, column 11",
            id="duplicate, nested",
        ),
        pytest.param("{} x", "line 1, column 4: expected the end of the file, found 'x'", id="behind the value"),
        pytest.param(
            r'{a: "\x4"}',
            rf"line 1, column 6: a bad escape in a string: \x needs two hexadecimal digits, as in \x41; {_BACKSLASH}",
            id="hex escape",
        ),
        pytest.param(
            r"['a\u12G4']",
            rf"line 1, column 4: a bad escape in a string: \u needs four hexadecimal digits, as in \u00e9; {_BACKSLASH}",
            id="unicode escape",
        ),
        pytest.param(
            "{\r\n  dir: 'C:\\users\\me' }",
            rf"line 2, column 11: a bad escape in a string: \u needs four hexadecimal digits, as in \u00e9; {_BACKSLASH}",
            id="folder of another system",
        ),
        pytest.param(
            r"'\1'",
            rf"line 1, column 2: a bad escape in a string: \1 is not a valid escape; {_BACKSLASH}",
            id="octal escape",
        ),
        pytest.param(
            r"'\01'",
            rf"line 1, column 2: a bad escape in a string: \0 must not be followed by a digit, write \x00; {_BACKSLASH}",
            id="digit behind zero",
        ),
        pytest.param(
            "'a\\\x07'",
            "line 1, column 4: a control character (U+0007) inside a string; write it as \\u0007",
            id="escaped bell",
        ),
        pytest.param(
            r"['\ud83d\ude00', '\\\ud83d!']",
            r"line 1, column 21: \ud83d is only half of a character: its second half, \udc00 to \udfff, must follow",
            id="first half of a character",
        ),
        pytest.param(
            r"{a: '\ud83d\ude00\uDE00'}",
            r"line 1, column 18: \ude00 is only half of a character: its first half is missing",
            id="second half of a character",
        ),
        pytest.param(
            r"{'\ud83d': 1}",
            r"line 1, column 3: \ud83d is only half of a character: its second half, \udc00 to \udfff, must follow",
            id="half of a character in a key",
        ),
        pytest.param("{\\u0031: 1}", f"line 1, column 2: {_ESCAPED_KEY}", id="escaped digit starts a key"),
        pytest.param("{a\\x: 1}", "line 1, column 3: a bad escape in a key, found '\\'", id="escape in a key"),
        pytest.param("[\n 'abc", "line 2, column 2: this string is never closed", id="open string"),
        pytest.param("[\n 'abc\\", "line 2, column 2: this string is never closed", id="open string, backslash"),
        pytest.param("'ab\nc'", f"line 1, column 4: {_OPEN_LINE}", id="line break in a string"),
        pytest.param("'a\x07b'", f"line 1, column 3: {_CONTROL}", id="control character in a string"),
        pytest.param("1 /* x", "line 1, column 3: this comment is never closed, expected '*/'", id="open comment"),
        pytest.param(
            "\ufeff{\u2028 ü: ü}",
            "line 2, column 5: expected a value, found 'ü'; a string needs quotes",
            id="mark, separator",
        ),
        pytest.param("01", "line 1, column 1: expected a number, found '01'", id="leading zero"),
        pytest.param("[1e]", "line 1, column 2: expected a number, found '1e'", id="no exponent"),
        pytest.param("- 1", "line 1, column 1: expected a number, found '-'", id="sign alone"),
        pytest.param("1\x85", "line 1, column 2: expected the end of the file, found U+0085", id="not white space"),
        pytest.param("[" * (DEEP + 1), f"line 1, column {DEEP + 1}: nested deeper than {DEEP} levels", id="too deep"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(json5_edit.Json5Error) as caught:
        json5_edit.parse(text)
    assert caught.value.message == str(caught.value) == message
    assert f"line {caught.value.line}, column {caught.value.column}: " in message


@each_row(
    ("text", "excerpt"),
    [
        pytest.param("{\n\ta: yes,\n}", " a: yes,\n    ^", id="short"),
        pytest.param("{a: 1", "{a: 1\n     ^", id="at the end"),
        pytest.param(
            "[" + "1," * 40 + "?," + "2," * 40 + "]",
            "..." + "1," * 25 + "?," + "2," * 12 + "...\n" + " " * 53 + "^",
            id="long line",
        ),
        pytest.param("{\ta:\t'\t\\1' }", "{ a: ' \\1' }\n       ^", id="tabs"),
        pytest.param("\ufeff{a: yes}", "{a: yes}\n    ^", id="byte order mark"),
        pytest.param("{\r\n  a: yes\r\n}", "  a: yes\n     ^", id="CRLF"),
        pytest.param("{\r\n  a: 'yes\r\n}", "  a: 'yes\n         ^", id="end of a CRLF line"),
        pytest.param("{a: '日本語 \\x'}", "{a: '日本語 \\x'}\n            ^", id="wide characters"),
        pytest.param("{a: 'e\u0301 \U0001f600 \\x'}", "{a: 'e\u0301 \U0001f600 \\x'}\n          ^", id="marks and an emoji"),
        pytest.param(
            "['" + "日" * 60 + "\\x" + "語" * 60 + "']",
            "..." + "日" * 25 + "\\x" + "語" * 12 + "...\n" + " " * 53 + "^",
            id="long line of wide characters",
        ),
    ],
)
def test_excerpt(text: str, excerpt: str) -> None:
    with pytest.raises(json5_edit.Json5Error) as caught:
        json5_edit.parse(text)
    assert caught.value.excerpt == excerpt


LOCATED = "\ufeff// top\r\n{\r\n  'a b': [\r\n    1, { c: 2 },\r\n  ],\r\n  日: 1, d: null }\r\n"


@each_row(
    ("path", "place"),
    [
        pytest.param([], (2, 1), id="the document"),
        pytest.param(["a b"], (3, 3), id="key"),
        pytest.param(["a b", 0], (4, 5), id="element"),
        pytest.param(["a b", 1, "c"], (4, 10), id="key in an element"),
        pytest.param(["d"], (6, 9), id="second on its line"),
        pytest.param(["a b", 1, "x", "y"], (4, 8), id="missing: its nearest parent"),
        pytest.param(["x"], (2, 1), id="missing: the document"),
        pytest.param(["d", 0], (6, 9), id="within a scalar"),
    ],
)
def test_locate(path: list[str | int], place: tuple[int, int]) -> None:
    assert json5_edit.locate(LOCATED, path) == place


@each_row(
    ("line", "column", "shown"),
    [
        pytest.param(1, 1, "// top\n^", id="first line, behind the mark"),
        pytest.param(4, 10, "    1, { c: 2 },\n         ^", id="middle"),
        pytest.param(6, 9, "  日: 1, d: null }\n         ^", id="behind a wide character"),
        pytest.param(6, 99, "  日: 1, d: null }\n                  ^", id="behind the end of the line"),
        pytest.param(99, 1, "\n^", id="behind the last line"),
    ],
)
def test_excerpt_of_a_place(line: int, column: int, shown: str) -> None:
    assert json5_edit.excerpt(LOCATED, line, column) == shown


def test_excerpt_of_a_million_marks_is_short() -> None:
    assert len(json5_edit.excerpt("a" + "\u0301" * 1_000_000, 1, 500_000)) < 400


_hostile = st.one_of(
    st.text(),
    st.text("{}[]:,'\"/*\\u\n\r \u2028ab019.+-eExNI_$\x00\ufeff", max_size=40),
)


@settings(max_examples=500, deadline=None, database=None)
@given(_hostile)
def test_any_text_is_read_or_refused(text: str) -> None:
    error = _refusal(text)
    if error:
        assert error.line >= 1
        assert error.column >= 1
    else:
        assert json5_edit.set_value(text, [], json5_edit.loads(text)) == text


def _calls_while_reading(text: str) -> int:
    """How many functions of Python are called while `text` is read or refused."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        _refusal(text)
    finally:
        sys.setprofile(before)
    return calls


UNITS = ["[", "{", "/*", "/**", "'", '"', "//", "//\n", "\\", "'\\", "[]", "[1,", "{a:", "1", "a", "-", " ", "\\u0061", "''"]


@each_row("unit", some(UNITS))
@each_row("opening", ["", "[", "{", "'", "/*", "{a"])
def test_hostile_text_takes_linear_work(unit: str, opening: str) -> None:
    short, long = (opening + unit * (length // len(unit)) for length in (5_000, 20_000))
    assert _calls_while_reading(long) <= 5 * _calls_while_reading(short) + 1_000
    error = _refusal(opening + unit * (60_000 // len(unit)))
    assert error is None or len(error.excerpt) < 200
