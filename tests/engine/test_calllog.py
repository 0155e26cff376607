"""The log of malformed calls: where it is, what a line says, when the file is turned over."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from tables import each_row
from toolguard_engine.model.call import Call, Correction, Failure, MalformedCall, ParameterProblem
from toolguard_engine.stores.call_log import record, resolve
from toolguard_engine.stores.files import call_log_file as call_log
from toolguard_engine.stores.files.call_log_file import CallLog

NOW = datetime(2026, 9, 6, 14, 0, 0, 1_999, timezone(timedelta(hours=2)))
STATE = Path("/state")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


RESOLVED = [
    ("~/.openclaw/tool-guard.log", "/state/tool-guard.log"),
    ("~/.openclaw/logs/a.log", "/state/logs/a.log"),
    ("/var/log/a.log", "/var/log/a.log"),
    ("a.log", "/state/a.log"),
    ("logs/a.log", "/state/logs/a.log"),
    ("~nosuchuser/a.log", "/state/~nosuchuser/a.log"),
]


@pytest.mark.parametrize(("log_path", "expected"), RESOLVED, ids=[row[0] for row in RESOLVED])
def test_resolve(home: Path, log_path: str, expected: str) -> None:
    assert resolve(log_path, STATE) == Path(expected)


def test_resolve_home(home: Path) -> None:
    assert resolve("~/a.log", STATE) == home / "a.log"
    assert resolve("~/.openclaw2/a.log", STATE) == home / ".openclaw2" / "a.log"


def refusal(params: Any = None, **call: Any) -> MalformedCall:
    problems = (
        ParameterProblem("path", missing=True, detail="is required"),
        ParameterProblem("edits", missing=False, detail="must be array"),
    )
    return MalformedCall(
        Call("edit", params, agent="main", session="s", run="r", **call),
        Failure("validation", problems),
        Correction("corrected", "text"),
    )


def test_record() -> None:
    line = record(refusal({"edits": 1, "password": "x"}, call_id="toolu_1"), NOW, "gw", "anthropic", "claude", shadow=False)
    assert line == {
        "time": "2026-09-06T12:00:00.001Z",
        "gateway": "gw",
        "agent": "main",
        "session": "s",
        "run": "r",
        "provider": "anthropic",
        "model": "claude",
        "tool": "edit",
        "callId": "toolu_1",
        "arguments": {"edits": 1, "password": "[redacted]"},
        "error": "validation",
        "problems": ["path: is missing", "edits: must be array"],
        "action": "corrected",
    }


INFERRED = [
    ("call_1", "", "openai-compatible"),
    ("toolu_1", "", "anthropic"),
    ("x", "", "unknown"),
    ("toolu_1", "mine", "mine"),
]


@each_row(("call_id", "provider", "expected"), INFERRED)
def test_the_provider_is_inferred_where_it_is_missing(call_id: str, provider: str, expected: str) -> None:
    line = record(refusal(call_id=call_id), NOW, "", provider, "", shadow=True)
    assert (line["provider"], line["model"], line["action"]) == (expected, "unknown", "would-be-corrected")


def test_a_record_is_bounded() -> None:
    long = "x" * 100_000
    wide: Any = long
    for _ in range(5):
        wide = [wide] * 30
    line = record(refusal(wide, call_id=long), NOW, long, long, long, shadow=False)
    assert len(json.dumps(line)) <= 100_000


def test_lines_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "a.log"
    log = CallLog(path)
    assert [log.append({"n": 1}), log.append({"n": "zwei\n"})] == ["", ""]
    assert path.read_text() == '{"n":1}\n{"n":"zwei\\n"}\n'
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_two_logs_share_a_file(tmp_path: Path) -> None:
    one, other = CallLog(tmp_path / "a.log"), CallLog(tmp_path / "a.log")
    one.append({"n": 1})
    other.append({"n": 2})
    one.append({"n": 3})
    assert (tmp_path / "a.log").read_text() == '{"n":1}\n{"n":2}\n{"n":3}\n'


def test_a_full_file_is_turned_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_log, "MAX_BYTES", 16)
    log = CallLog(tmp_path / "a.log")
    seen = []
    for number in range(1, 6):
        assert log.append({"n": number}) == ""
        seen.append(sorted((path.name, path.read_text()) for path in tmp_path.iterdir() if path.suffix != ".lock"))
    assert seen == [
        [("a.log", '{"n":1}\n')],
        [("a.log", '{"n":1}\n{"n":2}\n')],
        [("a.log", '{"n":3}\n'), ("a.log.1", '{"n":1}\n{"n":2}\n')],
        [("a.log", '{"n":3}\n{"n":4}\n'), ("a.log.1", '{"n":1}\n{"n":2}\n')],
        [("a.log", '{"n":5}\n'), ("a.log.1", '{"n":3}\n{"n":4}\n')],
    ]


def test_two_gateways_that_find_the_file_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_log, "MAX_BYTES", 16)
    one, other = CallLog(tmp_path / "a.log"), CallLog(tmp_path / "a.log")
    for number in (1, 2):
        one.append({"n": number})
    opened = call_log._open

    def and_then_the_other(path: Path) -> int:
        """The other writes right after the first has opened the file."""
        monkeypatch.setattr(call_log, "_open", opened)
        handle = opened(path)
        assert other.append({"n": 3}) == ""
        return handle

    monkeypatch.setattr(call_log, "_open", and_then_the_other)
    assert one.append({"n": 4}) == ""
    assert (tmp_path / "a.log.1").read_text() == '{"n":1}\n{"n":2}\n'
    assert (tmp_path / "a.log").read_text() == '{"n":3}\n{"n":4}\n'


def test_what_cannot_be_written_is_news_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = CallLog(tmp_path / "file" / "a.log")
    assert log.append({}) == f"cannot write {tmp_path}/file/a.log: File exists"
    assert log.append({}) == ""
    (tmp_path / "file").unlink()
    assert log.append({"n": 1}) == ""
    assert (tmp_path / "file" / "a.log").read_text() == '{"n":1}\n'
    (tmp_path / "file" / "a.log").unlink()
    (tmp_path / "file" / "a.log").mkdir()
    assert log.append({}) == f"cannot write {tmp_path}/file/a.log: Is a directory"


def test_a_path_that_is_no_path_is_news(tmp_path: Path) -> None:
    assert "null byte" in CallLog(tmp_path / "a\0b").append({})


def test_a_full_disk_is_news() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    assert CallLog(Path("/dev/full")).append({}) == "cannot write /dev/full: No space left on device"


def test_now_is_written_in_utc() -> None:
    assert (
        record(refusal(), datetime(2026, 1, 2, tzinfo=UTC), "", "", "", shadow=False)["time"] == "2026-01-02T00:00:00.000Z"
    )
