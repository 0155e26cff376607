"""A question that cannot be read and a bug in answering are no silence: the call is blocked, the audit log says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from engine_talk import Talk
from tables import each_row
from toolguard_engine.guard import Guard
from toolguard_engine.server.held_calls_step import HeldCalls
from toolguard_engine.server.session import Session
from toolguard_engine.stores.files.audit_log_file import AuditEvent, AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.wire import leading_members, messages
from toolguard_engine.wire.leading_members import Leading, leading
from toolguard_engine.wording import approval

ACTING = [
    {},
    {"failMode": "open"},
    {"mode": "soft", "failMode": "open"},
    {"mode": "shadow"},
    {"mode": "shadow", "failMode": "open"},
]
BLOCKED = [("block", "guard.unreadable"), ("block", "call.too-deep")]
OFF = [{"mode": "disabled"}, {"enabled": False}, {"agents": {"main": {"mode": "disabled"}}}]


class Conversation(Talk):
    """An engine after its introduction, line by line: nothing is written meanwhile."""

    def __init__(self, state: Path, config: Any = None) -> None:
        super().__init__()
        self.state = state
        assert self.hello(state, config)["type"] == "ready"
        self.events()

    def line(self, data: bytes, *, too_long: bool = False) -> Any:
        answer = self.engine.decide(data, too_long=too_long)
        return json.loads(messages.encode(answer)) if answer else None

    def events(self) -> list[AuditEvent]:
        """The lines for the audit log since the last time."""
        return self.engine.session.outbox.take_events()

    @property
    def session(self) -> Session:
        return self.engine.session

    def close(self) -> None:
        self.kill()


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Conversation]:
    with closing(Conversation(tmp_path / "state")) as made:
        yield made


def judge(rest: bytes, *, agent: str = "main") -> bytes:
    head = b'{"id":7,"type":"judge","tool":"read","run":"r","agent":"%s","session":"s","params":' % agent.encode()
    return head + rest + b',"call":"c"}'


def nested(depth: int, left: bytes = b"[", right: bytes = b"]") -> bytes:
    return b'{"path":"key","x":%s1%s}' % (left * depth, right * depth)


UNREADABLE = [
    ("cut", judge(b'{"path":"a'), "malformed"),
    ("no text", judge(b'{"path":"\xff\xfe"}'), ""),
    ("a NUL", judge(b'{"path":"a\0"}'), "invalid character"),
    ("a number without end", judge(b'{"n":1' + b"0" * 5_000 + b"}"), ""),
    ("no JSON", judge(b"undefined"), ""),
    ("deep", judge(nested(2_000)), ""),
    ("deep in objects", judge(nested(2_000, b'{"a":', b"}")), ""),
    (
        "a wrong type",
        b'{"id":7,"type":"judge","tool":"read","run":"r","agent":"main","session":"s","native":"yes"}',
        "Expected `bool`",
    ),
    ("no tool", b'{"id":7,"type":"judge","run":"r","agent":"main","session":"s"}', "`tool`"),
    (
        "a name too long",
        b'{"id":7,"type":"judge","tool":"read","run":"r","agent":"main","session":"s","call":"%s"}' % (b"x" * 100_001),
        "",
    ),
]


@pytest.mark.parametrize(("line", "reason"), [row[1:] for row in UNREADABLE], ids=[row[0] for row in UNREADABLE])
def test_a_call_that_cannot_be_read_is_blocked_with_a_line(talk: Conversation, line: bytes, reason: str) -> None:
    answer = talk.line(line)
    assert (answer["id"], answer["decision"], answer["code"]) == (7, "block", "guard.unreadable")
    assert answer["text"] == approval.undecided("TOOLGUARD", "guard.unreadable")
    [event] = talk.events()
    assert (event.event, event.code, event.agent, event.session, event.run) == (
        "error",
        "guard.unreadable",
        "main",
        "s",
        "r",
    )
    assert reason in event.reason


def test_a_line_that_is_too_long_is_blocked(talk: Conversation) -> None:
    answer = talk.line(judge(b'{"path":"')[: leading_members.LEADING], too_long=True)
    assert (answer["id"], answer["decision"], answer["code"]) == (7, "block", "guard.unreadable")
    assert [event.tool for event in talk.events()] == ["read"]


@pytest.mark.parametrize("config", ACTING, ids=str)
def test_at_every_depth_it_is_judged_or_blocked(tmp_path: Path, config: dict[str, Any]) -> None:
    """What can be read and looked at is judged, in shadow mode as well; all else is blocked."""
    key = f"{tmp_path}/toolguard/key".encode()
    with closing(Conversation(tmp_path, config)) as engine:
        for depth in range(900, 2_001, 100):
            for left, right in ((b"[", b"]"), (b'{"a":', b"}")):
                line = judge(nested(depth, left, right).replace(b"key", key))
                answer = engine.line(line.replace(b'"run":"r"', b'"run":"%d%c"' % (depth, left[0])))
                judged = answer["code"].removeprefix("shadow.") == "rule.self-protection"
                assert judged or (answer["decision"], answer["code"]) in BLOCKED, depth
                assert answer["decision"] == "block" or answer["code"].startswith("shadow."), depth
                assert {event.event for event in engine.events()} & {"error", "block", "would-refuse"}, depth


@pytest.mark.parametrize("config", OFF, ids=str)
def test_where_the_guard_is_off_it_passes(tmp_path: Path, config: dict[str, Any]) -> None:
    with closing(Conversation(tmp_path, config)) as engine:
        assert engine.line(judge(b'{"path":"a'))["decision"] == "allow"


def test_the_kill_switch_counts_in_every_mode(tmp_path: Path) -> None:
    with closing(Conversation(tmp_path, {"mode": "disabled"})) as engine:
        KillSwitchFile(tmp_path).set(on=True, by="test", why="stop")
        engine.later(1)
        engine.assert_alive()
        answer = engine.line(judge(b'{"path":"a'))
        assert answer["decision"] == "block"
        assert "kill switch" in answer["text"]


def test_an_endless_one_ends_the_run(talk: Conversation) -> None:
    answers = [talk.line(judge(b'{"path":"a')) for _ in range(8)]
    assert {answer["decision"] for answer in answers} == {"block"}
    assert answers[-1]["stop"]


@pytest.mark.parametrize("kind", ["ran", "failed", "message", "decide", "resolved", "came", "unjudged", "no-such-thing"])
def test_any_other_question_gets_an_error_and_a_line(talk: Conversation, kind: str) -> None:
    answer = talk.line(b'{"id":8,"type":"%s","tool":"read","calls":[[' % kind.encode())
    assert (answer["type"], answer["id"]) == ("error", 8)
    [event] = talk.events()
    assert (event.event, event.code) == ("error", "guard.unreadable")
    assert kind in event.reason


def test_what_has_no_id_gets_no_line(talk: Conversation) -> None:
    assert talk.line(b'{"type":"heard","text":[[')["id"] is None
    assert talk.events() == []


@pytest.mark.parametrize("config", ACTING, ids=str)
@pytest.mark.parametrize(
    "error",
    [RuntimeError("x"), RecursionError(), MemoryError(), KeyError("a"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "x")],
)
def test_a_bug_while_judging_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], error: Exception
) -> None:
    def broken(*_: object) -> None:
        raise error

    with closing(Conversation(tmp_path, config)) as engine:
        monkeypatch.setattr(Guard, "judge_reading", broken)
        monkeypatch.setattr(Guard, "refused", broken)  # counting it may be where the bug is
        answer = engine.line(judge(b'{"path":"a"}'))
        assert (answer["decision"], answer["code"]) == ("block", "guard.error")
        [event] = engine.events()
        assert (event.event, event.code, event.tool) == ("error", "guard.error", "read")
        assert engine.line(b'{"id":1,"type":"ping"}') == {"type": "pong", "id": 1}


def test_a_bug_outside_of_judging_blocks(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(Session, "_judge", broken)
    answer = talk.line(judge(b'{"path":"a"}'))
    assert (answer["decision"], answer["code"]) == ("block", "guard.error")
    monkeypatch.setattr(Session, "_ran", broken)
    assert talk.line(b'{"id":8,"type":"ran","tool":"read"}')["type"] == "error"
    assert [event.code for event in talk.events()] == ["guard.error", "guard.error"]


def test_a_bug_in_what_follows_an_answer_takes_nothing_with_it(talk: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(HeldCalls, "follow", broken)
    assert talk.line(judge(b'{"path":"a"}'))["decision"] == "allow"
    monkeypatch.setattr(approval, "shown", broken)
    talk.line(judge(b'{"path":"%s/toolguard/key"}' % str(talk.state).encode()))
    [event] = talk.events()
    assert event.event == "block"
    assert event.shown == "read(cannot be shown: RuntimeError)"


def test_the_gateway_part_has_a_line_written(talk: Conversation) -> None:
    talk.session.tally.blocked = 0
    report = {
        "id": 3, "type": "unjudged", "tool": "read", "run": "r", "agent": "main", "session": "s", "code": "call.too-deep",
        "reason": "its arguments are nested more than 64 levels deep",
        "shown": "path: \x1b[2Jkey, token: sk-ant-api03-abcdefghijklmnopqrstuvwxyz012345",
    }  # fmt: skip
    assert talk.line(json.dumps(report).encode()) == {"type": "pong", "id": 3}
    [event] = talk.events()
    assert (event.event, event.code, event.tool, event.run) == ("block", "call.too-deep", "read", "r")
    assert event.shown.startswith("path: <U+001B>[2Jkey")
    assert "abcdefghijklmnop" not in event.shown
    assert talk.session.tally.blocked == 1
    assert talk.line(json.dumps({**report, "code": "rule.made-up"}).encode())["type"] == "error"


def test_the_lines_reach_the_audit_log_and_the_gateways_log(tmp_path: Path) -> None:
    talk = Conversation(tmp_path, {"failMode": "open"})
    deep = [judge(nested(depth)) for depth in range(1_100, 2_001, 100)]
    long = judge(b'{"path":"%s"}' % (b"x" * messages.MAX_LINE))
    talk.raw(b"\n".join([*deep, long, b'{"id":9,"type":"ping"}', b""]))
    answers = talk.end()
    verdicts = [answer for answer in answers if answer["type"] == "verdict"]
    assert [(verdict["id"], verdict["decision"]) for verdict in verdicts] == [(7, "block")] * (len(deep) + 1)
    assert {"type": "pong", "id": 9} in answers
    codes = [event["code"] for event in AuditLog(tmp_path).events() if event["event"] in ("error", "block")]
    assert len(codes) >= len(deep) + 1
    assert any(answer["type"] == "log" and "SECURITY" in answer["text"] for answer in answers)


bodies = st.binary(max_size=200) | st.text(alphabet='{}[]":,\\ 01e-.truefalsn', max_size=200).map(str.encode)
kinds = st.sampled_from(["judge", "ran", "failed", "message", "came", "decide", "resolved", "ping", "unjudged", "hallo"])


@settings(max_examples=examples(400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kind=kinds, number=st.integers(1, 2**53), body=bodies)
def test_every_line_with_an_id_gets_an_answer_and_no_call_runs_unjudged(
    talk: Conversation, kind: str, number: int, body: bytes
) -> None:
    line = (b'{"id":%d,"type":"%s",' % (number, kind.encode())) + body.replace(b"\n", b"") + b"}"
    talk.events()
    answer = talk.line(line)
    try:
        messages.decode(line)
    except leading_members.ProtocolError:
        readable = False
    else:
        readable = True
    assert answer is not None
    assert answer["id"] == number
    if kind == "judge" and not readable:
        assert (answer["type"], answer["decision"], answer["code"]) == ("verdict", "block", "guard.unreadable")
    if not readable:
        assert [event.code for event in talk.events()][:1] == ["guard.unreadable"]


LEADING = [
    (b'{"id":5,"type":"judge","tool":"read","agent":"a","params":[[', Leading(5, "judge", "read", "a")),
    (b'{"id":5,"type":"judge","params":{"type":"ping","tool":"x"}', Leading(5, "judge")),
    (b'{"id":5,"type":"judge","type":"ping","tool":"a","tool":"b",', Leading(5, "judge", "a")),
    (rb'{"id":5,"type":"judge","tool":"a\"b\u00e9","run":"r"', Leading(5, "judge", 'a"b\xe9', run="r")),
    (b'{"id":5,"type":"judge","tool":"\xff"', Leading(5, "judge", "\ufffd")),
    (b'{"id":5,"type":"judge","tool":"' + b"x" * 600 + b'","agent":"a"', Leading(5, "judge")),
    (b'{"id":"5","type":"judge",', Leading(None, "judge")),
    (b'{"id":5,"type":7,', Leading(5)),
    (rb'{"id":5,"type":"ju\ud83dge",', Leading(5, "ju\ufffdge")),
]


@each_row(("line", "expected"), LEADING, ids=[str(row[0])[:60] for row in LEADING])
def test_leading_members(line: bytes, expected: Leading) -> None:
    assert leading(line) == expected


@given(st.binary(max_size=3_000))
def test_leading_members_of_anything(line: bytes) -> None:
    found = leading(line)
    assert found.id is None or 0 <= found.id <= 2**53
    assert all(len(text) <= 512 for text in (found.type, found.tool, found.agent, found.session, found.run))


def test_a_silence_is_one_line_and_no_blocked_call(talk: Conversation) -> None:
    reason = "the guard was not answering from 2026-01-01T00:00:00.000Z: 2 calls ran unjudged, 0 were refused (exec)"
    report = {"id": 3, "type": "unjudged", "tool": "", "code": "guard.silent", "reason": reason, "summed": True}
    assert talk.line(json.dumps(report).encode()) == {"type": "pong", "id": 3}
    [event] = talk.events()
    assert (event.event, event.code, event.reason) == ("error", "guard.silent", reason)
    assert talk.session.tally.blocked == 0
