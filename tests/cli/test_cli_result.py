"""The envelope is a contract; so is what goes where."""

from __future__ import annotations

import json

import pytest

from tables import each_row
from toolguard_cli.terminal.result import Line, Result, dated, show

LINES = (
    Line("ok", "did it"),
    Line("warn", "careful"),
    Line("error", "but not that"),
    Line("info", "more"),
    Line("next", "go on"),
)
PLAIN = "ok    did it\nwarn  careful\nerror but not that\n      more\nnext  go on\n"


@pytest.mark.parametrize(
    ("result", "envelope"),
    [
        pytest.param(
            Result("status"),
            {"schema": 1, "command": "status", "ok": True, "data": {}, "messages": [], "errors": []},
            id="empty",
        ),
        pytest.param(
            Result("install", {"changed": True}, LINES, 1),
            {
                "schema": 1,
                "command": "install",
                "ok": False,
                "data": {"changed": True},
                "messages": ["did it", "careful", "more", "go on"],
                "errors": ["but not that"],
            },
            id="all kinds of lines",
        ),
    ],
)
def test_envelope(result: Result, envelope: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    assert result.envelope() == envelope
    for failed in (False, True):
        show(result, as_json=True, failed=failed)
        reported = capsys.readouterr()
        assert reported.err == ""
        assert reported.out.count("\n") == 1
        assert list(json.loads(reported.out).items()) == list(envelope.items())


def test_lines_for_people_have_no_colour_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    show(Result("x", {}, LINES), as_json=False)
    assert capsys.readouterr() == (PLAIN, "")
    show(Result("x", {}, LINES), as_json=False, failed=True)
    assert capsys.readouterr() == ("", PLAIN)


@each_row(
    ("seconds", "text"),
    [(1_700_000_000, "2023-11-14T22:13:20Z"), (0, None), (1e300, None), (float("nan"), None), (float("inf"), None)],
)
def test_times_for_scripts(seconds: float, text: str | None) -> None:
    found = dated({"created": seconds, "other": 1}, "created")
    assert (found["createdAt"], found["created"] is seconds, found["other"]) == (text, True, 1)


def test_text_outside_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    show(Result("x", {"a": "ü\n\u2028"}), as_json=True)
    reported = capsys.readouterr().out
    assert json.loads(reported)["data"] == {"a": "ü\n\u2028"}


def test_nothing_moves_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    show(Result("x", {}, (Line("info", "a\tb\x1b[31m\x07\u202e\nc"),)), as_json=False)
    assert capsys.readouterr().out == "      a\tb<U+001B>[31m<U+0007><U+202E>\nc\n"
