"""`toolguard audit show|verify|export`."""

from __future__ import annotations

import csv
import io
import json
import re
import stat
import time
from pathlib import Path
from typing import Any

import pytest
from cli_stage import envelope, texts, toolguard
from held_stage import hold

import toolguard_cli
import toolguard_engine
from toolguard_cli.approvals import held_calls
from toolguard_cli.commands import approve, audit, deny
from toolguard_cli.commands.audit import Filter
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import held_call_lines
from toolguard_engine.stores.files.audit_log_file import AuditEvent, AuditLog, when
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.stores.undo.undo_entry import UndoCause
from toolguard_engine.stores.undo.undo_folder import UndoFolder

ALL = Filter()


def write(places: Places, *events: dict[str, Any]) -> AuditLog:
    log = AuditLog(places.state_dir)
    usual = {"time": when(time.time()), "event": "hold"}
    log.append(AuditEvent(**{"id": f"e{time.monotonic_ns()}-{at}", **usual, **event}) for at, event in enumerate(events))
    return log


def test_nothing(places: Places) -> None:
    assert texts(audit.show(places, ALL, 50)) == [held_calls.nowhere(places)]
    assert texts(audit.verify(places)) == ["the audit log is intact: 0 lines"]
    assert list(places.state_dir.iterdir()) == []


def test_nothing_matches(places: Places) -> None:
    places.own.mkdir()
    assert texts(audit.show(places, ALL, 50)) == ["no line of the audit log matches"]


def test_lines_that_repeat_are_shown_once(places: Places) -> None:
    moments = [f"2026-11-22T05:30:0{second}Z" for second in range(5)]
    block = {"event": "block", "tool": "exec", "agent": "main", "shown": "rm -rf /"}
    write(places, *({**block, "time": each} for each in moments[:3]), {**block, "agent": "b"}, {**block, "time": moments[4]})
    result = audit.show(places, ALL, 50)
    lines = texts(result)[1:]
    assert len(lines) == 3
    assert re.search(r"rm -rf / \(3 times, until 2026-11-2\d \d\d:\d\d:02\S*\)$", lines[0])
    assert [line.endswith("rm -rf /") for line in lines[1:]] == [True, True]
    assert len(result.data["events"]) == 5


def test_show(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    try:
        write(
            places,
            {"time": "2026-11-22T05:30:00.250Z", "nonce": "abcd0001", "tool": "exec", "agent": "main", "shown": "{ a: 1 }"},
            {"time": "then", "event": "deny", "by": "ana", "where": "chat", "why": "no", "reason": "r\x1b"},
        )
        result = audit.show(places, ALL, 50)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert texts(result)[0].split() == list(audit.HEAD)
    assert "2026-11-22 07:30:00+02:00  hold" in texts(result)[1]
    assert texts(result)[1].endswith("  { a: 1 }")
    assert texts(result)[2].endswith("ana (chat)  no: r<U+001B>")
    assert [event["event"] for event in result.data["events"]] == ["hold", "deny"]


def test_why(places: Places) -> None:
    codes = ["constraint.a", "budget.exhausted", "loop.repeat"]
    write(
        places, *({"event": "block", "code": code} for code in codes), {"event": "checkpoint", "code": "budget.checkpoint"}
    )
    write(places, {"event": "kill-switch", "code": "kill-switch.on"})
    shown = [text.split()[3] for text in texts(audit.show(places, ALL, 50))[1:]]
    assert shown == [*codes, "-", "kill-switch.on"]


@pytest.mark.parametrize(
    ("event", "meant"),
    [
        ("killswitch", "did you mean kill-switch? The events"),
        ("Holds", "did you mean hold? The events"),
        ("zzz", "The events"),
    ],
)
def test_an_event_that_there_is_none_of(places: Places, event: str, meant: str) -> None:
    write(places, {})
    with pytest.raises(UserError, match=f"there is no event {event.lower()}") as raised:
        audit.show(places, Filter(event=event), 50)
    assert raised.value.fix == f"{meant} are: {', '.join(audit.EVENTS)}"


def test_a_known_event_that_nothing_has(places: Places) -> None:
    write(places, {})
    assert audit.show(places, Filter(event="drift"), 50).exit_code == 0
    assert len(audit.show(places, Filter(event=" HOLD"), 50).data["events"]) == 1
    write(places, {"event": "of-a-later-version"})
    assert len(audit.show(places, Filter(event="of-a-later-version"), 50).data["events"]) == 1


def test_all_kinds_of_events_are_known_and_told() -> None:
    named = re.compile(r"""(?:\b_?event\(|_said\(|\bevent=|\bLOST = |log\(places, \w+, )"([a-z-]+)\"""")
    sources = [path for package in (toolguard_engine, toolguard_cli) for path in Path(package.__path__[0]).rglob("*.py")]
    used = {name for path in sources for name in named.findall(path.read_text())} | set(held_call_lines.EVENTS.values())
    assert used <= set(audit.EVENTS)
    assert len(used) > 15
    said = "".join(toolguard("audit", "show", "--help").stdout.split())  # a long name may be wrapped at its hyphen
    assert [event for event in audit.EVENTS if event not in said] == []


@pytest.mark.parametrize(
    ("chosen", "last", "ids"),
    [
        (ALL, 50, ["a", "b", "c"]),
        (ALL, 2, ["b", "c"]),
        (Filter(event="hold"), 50, ["a", "b"]),
        (Filter(nonce="ABCD"), 50, ["a", "c"]),
        (Filter(since="1h"), 50, ["b", "c"]),
        (Filter(since="1s", event="approve"), 50, ["c"]),
        (Filter(nonce="ffff"), 50, []),
    ],
)
def test_filters(places: Places, chosen: Filter, last: int, ids: list[str]) -> None:
    now = time.time()
    write(
        places,
        {"id": "a", "time": when(now - 7_200), "nonce": "abcd0001"},
        {"id": "b", "time": when(now - 60), "nonce": "beef0001"},
        {"id": "c", "time": when(now + 60), "nonce": "abcd0002", "event": "approve"},
    )
    assert [event["id"] for event in audit.show(places, chosen, last).data["events"]] == ids


def test_a_bad_span(places: Places) -> None:
    write(places, {})
    with pytest.raises(UserError, match="is not a duration"):
        audit.show(places, Filter(since="yesterday"), 50)


def test_what_people_did(places: Places) -> None:
    first, second = hold(places), hold(places)
    approve.run(places, first.nonce, yes=True, reason="fine", as_json=False)
    deny.run(places, second.nonce, reason="no")
    assert [event["event"] for event in audit.show(places, ALL, 50).data["events"]] == ["hold", "hold", "approve", "deny"]
    assert texts(audit.verify(places)) == ["the audit log is intact: 4 lines"]


def test_half_a_line(places: Places) -> None:
    log = write(places, {}, {})
    with log.path.open("ab") as file:
        file.write(b'{"seq":3,"pr')
    assert texts(audit.verify(places)) == [
        "the audit log is intact: 3 lines; 1 cut off by a killed process and marked as such"
    ]


def _change(data: bytes) -> bytes:
    return data.replace(b'"tool":"two"', b'"tool":"TWO"')


def _remove(data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    return b"".join([lines[0], *lines[2:]])


def _cut(data: bytes) -> bytes:
    return b"".join(data.splitlines(keepends=True)[:2])


@pytest.mark.parametrize(
    ("change", "at", "words"),
    [
        pytest.param(_change, ":2", "its content does not match its hash", id="changed"),
        pytest.param(_remove, ":2", "it does not follow the previous line", id="removed"),
        pytest.param(_cut, "", "the end is missing: there were 3 lines, and 2 are left", id="cut off"),
    ],
)
def test_a_broken_chain(places: Places, change: Any, at: str, words: str) -> None:
    log = write(places, {"tool": "one"}, {"tool": "two"}, {"tool": "three"})
    log.path.write_bytes(change(log.path.read_bytes()))
    result = audit.verify(places)
    assert result.exit_code == 1
    assert texts(result)[0].startswith(f"{log.path}{at}: {words}")
    assert result.data["error"]
    done = toolguard("audit", "verify", "--state-dir", places.state_dir, "--json")
    assert (done.returncode, envelope(done)["ok"]) == (1, False)


def test_export(places: Places, tmp_path: Path) -> None:
    log = write(places, {"tool": "exec", "shown": "ü"}, {})
    target = tmp_path / "copy.jsonl"
    result = audit.export(places, str(target), as_csv=False)
    assert result is not None
    assert (texts(result), result.data["lines"]) == ([f"2 lines written to {target}"], 2)
    assert target.read_bytes() == log.path.read_bytes()
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    with pytest.raises(UserError, match="already exists"):
        audit.export(places, str(target), as_csv=False)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "|calc", "\t=1", "%x"])
def test_no_cell_is_a_formula(places: Places, tmp_path: Path, text: str) -> None:
    write(places, {"tool": text, "shown": 'a "b", c\nd'})
    audit.export(places, str(tmp_path / "copy.csv"), as_csv=True)
    head, row = csv.reader(io.StringIO((tmp_path / "copy.csv").read_text()))
    found = dict(zip(head, row, strict=True))
    assert found["tool"] == ("'" + text if text[0] != "\t" else "<U+0009>=1")
    assert (found["shown"], found["seq"], found["event"]) == ('a "b", c<U+000A>d', "1", "hold")


def test_to_standard_output(places: Places) -> None:
    write(places, {}, {})
    done = toolguard("audit", "export", "-", "--state-dir", places.state_dir)
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == [1, 2]


def test_as_processes(places: Places) -> None:
    write(places, {"nonce": "abcd0001"}, {"event": "deny"})
    reported = envelope(
        toolguard("audit", "show", "--event", "hold", "--last", "9", "--state-dir", places.state_dir, "--json")
    )
    assert (reported["command"], [event["nonce"] for event in reported["data"]["events"]]) == ("audit show", ["abcd0001"])
    assert toolguard("audit").returncode == 2
    assert toolguard("audit", "show", "--last", "0").returncode == 2


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_columns_stay_columns_in_a_narrow_terminal(places: Places, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    facts = {"code": "rule.filesystem.delete-recursive", "nonce": "3fa9c1d2", "tool": "exec", "agent": "main"}
    held = {**facts, "shown": 'exec({ command: "rm -rf ~/photos" })'}
    write(places, held, {**facts, "event": "approve", "by": "ann", "where": "cli"}, {"event": "kill-switch"})
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    head, *lines = texts(audit.show(places, ALL, 50))
    assert head.split()[:2] == ["TIME", "EVENT"]
    at = head.index("NONCE")
    assert [line[at:].split()[0] for line in lines if line[at:].startswith("3fa9")] == ["3fa9c1d2"] * 2
    assert max(map(len, [head, *lines])) <= columns
    approved = " ".join(" ".join(lines).partition("approve")[2].split())
    assert "main" in approved
    together = " ".join(" ".join(lines).split())
    for words in ("rule.filesystem.delete-recursive", "exec", "main", "ann (cli)", "rm -rf ~/photos", "kill-switch"):
        assert words.replace(" ", "") in together.replace(" ", ""), "nothing is left out"


def test_a_call_that_can_be_undone_says_how_while_it_can(places: Places) -> None:
    notes = places.state_dir.parent / "notes.txt"
    notes.write_text("old")
    folder = UndoFolder(places.state_dir)
    entry = folder.save(UndoCause(1.0), lambda saving: saving.present(str(notes)), lambda _: False)
    for name, why in ((entry.id, ""), (entry.id, "other.txt is too large"), ("", "saving it took too long")):
        code, reason = undo_notes.recorded(name, why)
        write(places, {"event": "kept" if not why else "note", "code": code, "reason": reason, "shown": "rm notes.txt"})
    offer = f"can be undone: toolguard undo {entry.id}"
    kept, partly, skipped = texts(audit.show(places, ALL, 50))[1:]
    assert kept.endswith(f"{offer}: rm notes.txt")
    assert f"only a part of it {offer} (other.txt is too large)" in partly
    assert "cannot be undone (saving it took too long)" in skipped
    folder.remove(entry.id)
    assert not any(offer in line for line in texts(audit.show(places, ALL, 50)))
