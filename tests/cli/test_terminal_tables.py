"""Tables and durations: nothing is lost at any width, and each duration that a person may type is read."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_cli.system import time_spans
from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import MARK, Line, Result, show, wrapped

CALL = '{ command: "rm -rf /srv/photos/2021 && dropdb production && git push --force origin main" }'
HEAD = ("NONCE", "STATE", "AGE", "TOOL", "AGENT", "CALL")
ROW = ("3f9a51c2", "approved, 4m10s left", "1h02m", "message", "agent-of-the-night", CALL)
WIDTHS = (24, 40, 60, 80, 100, 200)


def shown(monkeypatch: pytest.MonkeyPatch, columns: int, *rows: tuple[str, ...]) -> list[str]:
    """In a terminal of this width; 0: in a pipe."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: bool(columns))
    monkeypatch.setenv("COLUMNS", str(columns))
    return [line.text for line in tables.table(HEAD, rows)]


@pytest.mark.parametrize("columns", [0, *WIDTHS])
def test_no_width_cuts_a_call(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    lines = shown(monkeypatch, columns, ROW, ("-", "-", "-", "-", "-", "x" * 300))
    together = "".join("".join(lines).split())
    assert ("x" * 300 in together) or columns >= 100  # beside other columns, its pieces are apart
    assert "".join(lines).count("x") == 300
    assert all(word in together for word in ("3f9a51c2", "dropdb", "--force", "production"))
    if columns:
        assert max(map(len, lines)) <= columns - MARK
    else:
        assert len(lines) == 3


@given(st.lists(st.tuples(*[st.text("ab c-/", max_size=60)] * len(HEAD)), min_size=1, max_size=3), st.sampled_from(WIDTHS))
def test_every_letter_of_every_cell_is_shown(rows: list[tuple[str, ...]], columns: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        text = "".join(shown(patch, columns, *rows))
    wanted = "".join("".join(cell for cell in row) for row in rows)
    assert [text.count(letter) for letter in "abc/"] == [wanted.count(letter) for letter in "abc/"]


SETTINGS = [
    ("loopDetection.globalCircuitBreakerThreshold", "30", "default"),
    ("neverBlock", '["memory_search", "memory_get"]', "default"),
    ("budget.agents.night-shift.initialTrust", "(not set)", "agents.night"),
]


@pytest.mark.parametrize("columns", [60, 80])
def test_a_table_keeps_its_columns(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    head, *lines = [
        line.text for line in tables.table(("SETTING", "VALUE", "NOTE", "FROM"), [(*r[:2], "-", r[2]) for r in SETTINGS])
    ]
    assert head.split() == ["SETTING", "VALUE", "FROM"], "an empty column is left out"
    assert max(map(len, [head, *lines])) <= columns - MARK
    for title in ("VALUE", "FROM"):
        at = head.index(title)
        assert all(line[at - len(tables.GAP) : at].strip() == "" for line in lines), "columns are straight"


@each_row(
    ("text", "length"),
    {
        "8h": 28_800_000, "30m": 1_800_000, "1d": 86_400_000, "1h30m": 5_400_000, "4m10s": 250_000, " 2W ": 1_209_600_000,
        "500ms": 500, "1s500ms": 1_500, "0m": 0,
        "": None, "5": None, "h": None, "-1h": None, "30m1h": None, "1.5h": None, "9" * 400 + "h": None, "999999w": None,
        "\u0661h": None,
    }.items(),
)  # fmt: skip
def test_durations(text: str, length: int | None) -> None:
    assert time_spans.milliseconds(text) == length
    if length is not None and length >= 1000:
        assert time_spans.seconds(text, "--for") == length // 1000
    else:
        with pytest.raises(UserError, match=r"--for .* is not a duration"):
            time_spans.seconds(text, "--for")


TEXT = "the guard is weaker than what was accepted: approval.answerLinks changed from false to true"


@pytest.mark.parametrize("columns", [44, 60, 80])
@pytest.mark.parametrize("text", [TEXT, f"    held     {TEXT}", f"it would  {TEXT}"], ids=["plain", "below", "label"])
def test_a_line_breaks_between_words(monkeypatch: pytest.MonkeyPatch, text: str, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = wrapped(text, MARK).split("\n")
    assert max(map(len, lines)) <= columns
    assert " ".join("".join(f"{line} " for line in lines).split()) == " ".join(text.split())
    begin = MARK + len(text) - len(TEXT)
    assert {len(line) - len(line.lstrip()) for line in lines[1:]} == {begin}, "beside the label"


@pytest.mark.parametrize(
    "text",
    ["-> toolguard config set notify.targets.phone.url ntfys://ntfy.example/topic", "one\ntwo " + "x " * 50, "short", ""],
)
def test_what_is_copied_stays_in_one_piece(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert wrapped(text, MARK) == text


def test_commands_and_paths_are_not_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    path, command = "/srv/" + "photos/" * 8, "`toolguard approve 3f9a51c2 --state-dir /srv/openclaw`"
    lines = wrapped(f"see {path} and {command} now", 6).split("\n")
    assert [line.strip() for line in lines] == ["see", path, "and", command, "now"]


@pytest.mark.parametrize("is_tty", [True, False])
def test_a_pipe_gets_whole_lines(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    is_tty: bool,  # noqa: FBT001 - of a table
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_tty)
    show(Result("status", lines=(Line("ok", TEXT), Line("next", TEXT))), as_json=False)
    lines = [len(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 2 if not is_tty else max(lines) <= 40
    assert sum(lines) >= 2 * (MARK + len(TEXT)) - len(lines)
