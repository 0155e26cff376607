"""`toolguard replay`: what would have been held, out of every kind of file that keeps calls."""

from __future__ import annotations

import json
import os
import sqlite3
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_stage import envelope, picture, texts, toolguard
from judged_stage import BOOK, Story, answer, exec_, transcript

from toolguard_cli.commands import replay
from toolguard_cli.policy import transcripts
from toolguard_cli.policy.transcripts import KeptCall, TranscriptSource
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import progress
from toolguard_engine.model.call import Call
from toolguard_engine.rules import packs
from toolguard_engine.wording import approval

pytestmark = pytest.mark.usefixtures("book")


@pytest.fixture
def book(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packs, "load", lambda: BOOK)


def calls(path: Path) -> list[KeptCall]:
    return list(TranscriptSource(path).calls())


def test_nothing(places: Places) -> None:
    with pytest.raises(UserError, match="there are no transcripts below"):
        replay.run(places, [])


def test_all_sessions(places: Places) -> None:
    first = transcript(places, answer(exec_("ls"), exec_("deploy a")), answer(exec_("deploy b")))
    second = transcript(places, answer(exec_("wipe")), "{ torn", answer(exec_("ls")), name="s2", agent="ops")
    transcript(places, answer(exec_("ls")), name="s3")
    (first.parent / "s1.trajectory.jsonl").write_text(json.dumps(answer(exec_("wipe"))) + "\n")
    before = picture(places.state_dir)
    result = replay.run(places, [])
    assert picture(places.state_dir) == before
    counted = ("calls", "allow", "hold", "block", "damaged", "compressed", "incomplete")
    assert {name: result.data[name] for name in counted} == {
        "calls": 6, "allow": 3, "hold": 2, "block": 1, "damaged": 1, "compressed": 0, "incomplete": 0,
    }  # fmt: skip
    assert result.data["rules"] == [
        {
            "rule": "rule.demo.deploy", "hold": 2, "block": 0, "example": 'exec({ command: "deploy a" })',
            "where": f"{first}:2", "reason": "It publishes the site. (deploy a)",
        },
        {
            "rule": "rule.demo.wipe", "hold": 0, "block": 1, "example": 'exec({ command: "wipe" })', "where": f"{second}:2",
            "reason": "It wipes the disk. (wipe)",
        },
    ]  # fmt: skip
    assert [(Path(each["file"]).name, each["calls"], each["hold"]) for each in result.data["files"]] == [
        ("s1.jsonl", 3, 2), ("s3.jsonl", 1, 0), ("s2.jsonl", 2, 0),
    ]  # fmt: skip
    shown = texts(result)
    assert shown[0] == "6 calls in 3 files: 2 would have been held, 1 blocked (50.0%)"
    assert shown[1] == "2 questions to you: 33.3 per 100 calls, 0.7 per session, in 1 of 3 sessions"
    assert shown[2].split() == list(replay.RULES)
    assert any(str(first) in text for text in shown)
    assert f"1 damaged lines were skipped, the first in {second}" in shown


def test_nothing_to_hold(places: Places) -> None:
    path = transcript(places, answer(exec_("ls")))
    assert texts(replay.run(places, [path])) == [
        "1 call in 1 file: none would have been held or blocked",
        "(default settings; no policy.toml)",
    ]


def test_no_calls(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text('# nothing\n{"a": 1}\n[2]\n')
    result = replay.run(places, [path])
    assert (result.data["calls"], result.data["damaged"], result.exit_code) == (0, 1, 1)
    assert texts(result)[0].startswith("no calls in 1 file")


def test_files_and_folders(places: Places, tmp_path: Path) -> None:
    path = transcript(places, answer(exec_("ls")))
    assert replay.run(places, [places.state_dir, path]).data["calls"] == 1
    with pytest.raises(UserError, match="cannot read"):
        replay.run(places, [tmp_path / "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="there are no transcripts below"):
        replay.run(places, [tmp_path / "empty"])


def test_lines_right_in_a_folder(places: Places, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    (folder / "deeper").mkdir(parents=True)
    for path in (folder / "calls.jsonl", folder / "deeper" / "calls.jsonl"):
        path.write_text('{"tool": "exec", "params": {"command": "ls"}}\n')
    result = replay.run(places, [folder])
    assert (result.data["calls"], result.exit_code) == (1, 0)


def test_the_next_step_keeps_the_gateway(places: Places) -> None:
    path = transcript(places, answer(exec_("wipe")))
    named = replace(places, given=("--state-dir", str(places.state_dir)))
    assert f"toolguard tune --state-dir {places.state_dir} finds" in texts(replay.run(named, [path]))[-1]


def test_what_a_transcript_keeps(places: Places) -> None:
    inner = {"type": "toolCall", "name": "tool_call", "arguments": {"id": "openclaw:core:web_fetch", "args": {"url": "u"}}}
    as_text = {"type": "tool_use", "name": "read", "input": '{"path": "a"}'}
    bare = {"type": "toolCall", "name": "status"}
    result = {"type": "message", "message": {"role": "toolResult", "content": [exec_("not a call")]}}
    path = transcript(places, answer(inner, as_text, bare, {"type": "toolCall"}), result, agent="ops")
    assert [(kept.call, kept.line) for kept in calls(path)] == [
        (Call("web_fetch", {"url": "u"}, searched=True, agent="ops", cwd="/srv/work"), 2),
        (Call("read", {"path": "a"}, agent="ops", cwd="/srv/work"), 2),
        (Call("status", {}, agent="ops", cwd="/srv/work"), 2),
    ]


def database(
    places: Places, *rows: tuple[str, int, dict[str, Any] | str | None], packed: dict[int, Any] | None = None
) -> Path:
    folder = places.state_dir / "agents" / "main" / "agent"
    folder.mkdir(parents=True)
    path = folder / transcripts.DATABASE
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA journal_mode=WAL")
        columns = "session_id TEXT, seq INTEGER, event_json TEXT"
        made.execute(
            f"CREATE TABLE transcript_events ({columns}{', event_zstd BLOB, navigation_json TEXT' if packed else ''})"
        )
        for session, seq, event in rows:
            text = json.dumps(event) if isinstance(event, dict) else event
            made.execute(
                "INSERT INTO transcript_events (session_id, seq, event_json) VALUES (?, ?, ?)", (session, seq, text)
            )
        for seq, about in (packed or {}).items():
            values = ("z", seq, b"packed", json.dumps(about))
            made.execute(
                "INSERT INTO transcript_events (session_id, seq, event_zstd, navigation_json) VALUES (?, ?, ?, ?)", values
            )
    made.close()
    return path


def test_a_database(places: Places) -> None:
    head = {"type": "session", "cwd": "/srv/a"}
    path = database(places, ("b", 1, answer(exec_("wipe"))), ("a", 1, head), ("a", 2, answer(exec_("ls"))), ("b", 2, "{"))
    assert [(kept.call.params["command"], kept.call.cwd, kept.line) for kept in calls(path)] == [
        ("ls", "/srv/a", 2), ("wipe", "", 1),
    ]  # fmt: skip
    data = replay.run(places, []).data
    assert (data["calls"], data["block"], data["damaged"]) == (2, 1, 1)


def test_a_database_with_compressed_events(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def about(role: str) -> dict[str, Any]:
        return {"version": 1, "navigation": {"type": "message", "message": {"role": role}}}

    path = database(places, packed={1: about("toolResult"), 2: about("assistant"), 3: {}})
    monkeypatch.setattr(transcripts, "_unpacker", lambda: None)
    result = replay.run(places, [path])
    assert result.data["compressed"] == 2
    assert any("2 model replies were skipped because they are compressed" in text for text in texts(result))
    monkeypatch.setattr(transcripts, "_unpacker", lambda: lambda _: json.dumps(answer(exec_("wipe"))).encode())
    assert replay.run(places, [path]).data["block"] == 3  # also in the event that says of itself that it is a result


def test_other_databases(places: Places, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "x.db") as made:
        made.execute("CREATE TABLE t (a)")
    made.close()
    result = replay.run(places, [tmp_path / "x.db"])
    assert "it is a database, but holds no transcript" in " ".join(texts(result))
    (tmp_path / "y.db").write_bytes(b"SQLite format 3\0" + b"x" * 5_000)
    assert replay.run(places, [tmp_path / "y.db"]).data["files"][0]["error"]


def test_the_audit_log(places: Places) -> None:
    story = Story(places)
    story.asked("deploy a", then="approve")
    story.asked("deploy 'b \\ \" c'", then="deny")
    story.asked("", shown='exec({ command: "deploy --key [redacted]" })')
    story.asked("", shown='exec({ command: "deploy ...[99 characters not shown]... x" })')
    story.asked("", shown="")
    path = places.own / "audit.jsonl"
    found = calls(path)
    assert [kept.call.params["command"] for kept in found[:2]] == ["deploy a", "deploy 'b \\ \" c'"]
    assert [kept.whole for kept in found] == [True, True, False, False]
    result = replay.run(places, [path])
    assert (result.data["calls"], result.data["hold"], result.data["incomplete"]) == (4, 4, 2)
    assert "2 calls were not stored completely" in " ".join(texts(result))


@pytest.mark.parametrize(
    "params",
    [
        {"command": "a"},
        {"a b": [1, 2.5, None, True], "c": {"d": "e: f"}},
        {"command": 'x { y: "z" } \\', "env": {}},
        {"t": "ü\n\u2028\x7f"},
        {"half": "\ufffd"},
    ],
    ids=repr,
)
def test_what_is_shown_reads_back(params: dict[str, Any]) -> None:
    kept = transcripts.of_event({"shown": approval.shown(Call("some tool", params)), "agent": "main", "session": "s"})
    assert kept == KeptCall(Call("some tool", params, agent="main", session="s"))


@pytest.mark.parametrize("shown", ["", "x", "x(", "x({ a: )", 'x({ a: "'])
def test_what_does_not_read_back(shown: str) -> None:
    kept = transcripts.of_event({"shown": shown})
    assert kept is None or not kept.whole


def test_the_log_of_malformed_calls_and_lines_for_check(places: Places, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    lines = [
        {"time": "t", "tool": "exec", "arguments": {"command": "deploy"}, "agent": "a", "session": "s", "error": "x"},
        {"tool": "exec", "params": {"command": "wipe"}, "cwd": "/w"},
        {"tool": "exec", "arguments": {"command": "deploy [redacted]"}},
        {"tool": "exec"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert calls(path) == [
        KeptCall(Call("exec", {"command": "deploy"}, agent="a", session="s"), line=1),
        KeptCall(Call("exec", {"command": "wipe"}, cwd="/w"), line=2),
        KeptCall(Call("exec", {"command": "deploy [redacted]"}), whole=False, line=3),
    ]


def test_long_and_odd_lines(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcripts, "MAX_LINE", 2_000)
    odd: list[dict[str, Any] | str] = [
        "x" * 5_000,
        "\0\0",
        "null",
        '"a"',
        '{"message": 3}',
        '{"message": {"role": "assistant"}}',
    ]
    path = transcript(places, *odd, answer(exec_("wipe")))
    source = TranscriptSource(path)
    assert [kept.call.params for kept in source.calls()] == [{"command": "wipe"}]
    assert (source.damaged, source.done) == (2, source.size)


def test_memory_is_bounded(places: Places) -> None:
    path = transcript(places, *[answer(exec_(f"echo {'x' * 3_000} {number}")) for number in range(3_000)])
    tracemalloc.start()
    for kept in TranscriptSource(path).calls():
        assert kept.whole
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size > 9_000_000
    assert peak < 4_000_000


def test_progress(places: Places, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[tuple[str, float]] = []

    class Bar:
        def __call__(self, what: str, done: float, whole: float) -> None:
            seen.append((what, done / whole))

        def stop(self) -> None:
            seen.append(("", 1))

    monkeypatch.setattr(progress, "_Bar", Bar)
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    path = transcript(places, *[answer(exec_(f"echo {number}")) for number in range(5_000)])
    replay.run(places, [path])
    assert [what for what, _ in seen] == ["s1.jsonl"] * 100 + [""]
    assert seen == sorted(seen, key=lambda each: each[1])
    assert all(0 <= share <= 1 for _, share in seen)


def test_a_bar_shows_up_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "EVERY", 0)
    bar = progress._Bar()
    bar("a.jsonl", 1, 2)
    bar("b.jsonl", 2, 2)
    bar.stop()
    progress._Bar().stop()


def test_the_command(places: Places) -> None:
    transcript(places, answer(exec_("deploy site"), exec_("ls")))
    before = picture(places.state_dir)
    done = toolguard("replay", "--json", "--state-dir", places.state_dir)
    assert (done.returncode, done.stderr) == (0, "")
    data = envelope(done)["data"]
    assert (data["calls"], data["hold"]) == (2, 1)
    assert toolguard("replay", "--state-dir", os.devnull).returncode == 1
    assert picture(places.state_dir) == before
