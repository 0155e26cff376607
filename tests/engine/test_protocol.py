"""The wire: what is read, what is refused, and what an answer looks like, byte for byte."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.wire import messages
from toolguard_engine.wire.leading_members import ProtocolError, leading
from toolguard_engine.wire.messages import decode, encode

DECODED: list[tuple[bytes, messages.Incoming]] = [
    (b'{"id":1,"type":"ping"}', messages.Ping(1)),
    (b'{"type":"ping","id":1,"new":"member"}', messages.Ping(1)),
    (b' {"id":0,"type":"ping"}\r', messages.Ping(0)),
    (b'{"id":9007199254740992,"type":"ping"}', messages.Ping(2**53)),
    (
        b'{"id":2,"type":"hello","v":1,"stateDir":"/s","config":{"mode":"soft"},"gatewayPid":7}',
        messages.Hello(2, 1, "/s", {"mode": "soft"}, gateway_pid=7),
    ),
    (
        b'{"id":3,"type":"judge","tool":"read","params":{"path":"a"},"agent":"m","session":"s","run":"r","call":"c"}',
        messages.Judge(3, "read", {"path": "a"}, agent="m", session="s", run="r", call="c"),
    ),
    (
        b'{"id":4,"type":"failed","tool":"read","text":"t","judged":true,"provider":"p","model":"m"}',
        messages.Failed(4, "read", "t", judged=True, provider="p", model="m"),
    ),
    (
        b'{"id":5,"type":"message","run":"r","calls":[{"tool":"read","params":{},"call":"c"}]}',
        messages.Message(5, [messages.MessageCall("read", {}, "c")], run="r"),
    ),
    (b'{"type":"came","tool":"read","params":[1]}', messages.ToolResult("read", [1])),
    (
        b'{"id":7,"type":"came","tool":"exec","text":"no","size":9,"failed":true,"status":"failed","exitCode":2,"request":3}',
        messages.ToolResult("exec", None, "no", 9, failed=True, status="failed", exit_code=2, id=7, request=3),
    ),
    (b'{"type":"compacted","run":"r"}', messages.Compacted(run="r")),
    (b'{"type":"run-end","run":"r"}', messages.RunEnd("r")),
    (b'{"type":"seams","seams":{"inPlace":"works"},"notes":["n"]}', messages.Seams({"inPlace": "works"})),
    (
        b'{"id":6,"type":"judge","tool":"exec","params":{},"request":3,"cwd":"/w","native":true}',
        messages.Judge(6, "exec", {}, request=3, cwd="/w", native=True),
    ),
    (
        b'{"id":7,"type":"ran","tool":"exec","params":{"command":"ls"},"cwd":"/w","others":"x (priority 0)","run":"r"}',
        messages.ParamsChanged(7, "exec", {"command": "ls"}, cwd="/w", others="x (priority 0)", run="r"),
    ),
    (b'{"id":7,"type":"ran","tool":"exec"}', messages.ParamsChanged(7, "exec")),
    (
        b'{"id":8,"type":"decide","action":"approve","where":"chat","nonce":"a3f8","by":"u","why":"w"}',
        messages.PersonDecision(8, "approve", "chat", "a3f8", "u", "w"),
    ),
    (b'{"id":8,"type":"decide","action":"pending","where":"tool"}', messages.PersonDecision(8, "pending", "tool")),
    (
        b'{"id":9,"type":"resolved","nonce":"a3f8c1d2","outcome":"unavailable","by":"u"}',
        messages.Resolved(9, "a3f8c1d2", "unavailable", "u"),
    ),
    (b'{"type":"warned","text":"x runs after the guard"}', messages.Warned("x runs after the guard")),
    (b'{"type":"run-end","run":"r","session":"s"}', messages.RunEnd("r", "s")),
    (
        b'{"type":"model-ended","run":"r","session":"s","agent":"a","provider":"p","model":"m","durationMs":1.5,"channel":"x"}',
        messages.ModelEnded(run="r", session="s", agent="a", provider="p", model="m", duration_ms=1.5, channel="x"),
    ),
    (b'{"type":"model-ended","durationMs":"long"}', messages.ModelEnded(duration_ms="long")),
    (
        b'{"type":"answered","run":"r","usage":{"input":1,"cacheRead":2,"totalTokens":-3,"cost":1e-3},"stop":"stop"}',
        messages.ModelAnswer(run="r", usage=messages.Used(1, cache_read=2, total_tokens=-3, cost=1e-3), stop="stop"),
    ),
    (
        b'{"type":"answered","usage":{"input":null,"output":[],"cost":{}}}',
        messages.ModelAnswer(usage=messages.Used(input=None, output=[], cost={})),
    ),
]


def test_decode() -> None:
    assert [(line, expected, found) for line, expected in DECODED if (found := decode(line)) != expected] == []


REFUSED: list[tuple[bytes, int | None, str]] = [
    (b"", None, "Input data was truncated"),
    (b"hello", None, "JSON is malformed: invalid character (byte 0)"),
    (b"[]", None, "Expected `object`, got `array`"),
    (b"null", None, "Expected `object`, got `null`"),
    (b'{"id":7}', 7, "Object missing required field `type`"),
    (b'{"id":7,"type":"ping"', 7, "Input data was truncated"),
    (b'{"id":7,"type":"dance"}', 7, "Invalid value 'dance' - at `$.type`"),
    (b'{"id":7,"type":5}', 7, "Expected `str` - at `$.type`"),
    (b'{"id":-1,"type":"ping"}', None, "Expected `int` >= 0 - at `$.id`"),
    (b'{"id":"7","type":"ping"}', None, "Expected `int`, got `str` - at `$.id`"),
    (b'{"id":7,"type":"judge"}', 7, "Object missing required field `tool`"),
    (b'{"id":7,"type":"judge","tool":{}}', 7, "Expected `str`, got `object` - at `$.tool`"),
    (b'{"id":7,"type":"judge","tool":"' + b"x" * 100_001 + b'"}', 7, "Expected `str` of length <= 100000 - at `$.tool`"),
    (b'{"id":7,"type":"message","calls":[{}]}', 7, "Object missing required field `tool` - at `$.calls[0]`"),
    (b'{"id":7,"type":"judge","tool":"\xff"}', 7, "UTF-8"),
    (b'{"id":7,"type":"judge","tool":"a\0"}', 7, "JSON is malformed: invalid character"),
    (b'{"id":7,"type":"judge","tool":"a","native":"yes"}', 7, "Expected `bool`, got `str` - at `$.native`"),
    (b'{"id":7,"type":"judge","tool":"a","request":1.5}', 7, "Expected `int`, got `float` - at `$.request`"),
    (b'{"id":7,"type":"decide","action":"grant","where":"chat"}', 7, "Invalid enum value 'grant' - at `$.action`"),
    (b'{"id":7,"type":"decide","action":"approve","where":"cli"}', 7, "Invalid enum value 'cli' - at `$.where`"),
    (b'{"id":7,"type":"decide","action":"approve"}', 7, "Object missing required field `where`"),
    (b'{"id":7,"type":"resolved","nonce":"a","outcome":"approved"}', 7, "Invalid enum value 'approved' - at `$.outcome`"),
    (b'{"type":"warned"}', None, "Object missing required field `text`"),
]


@each_row(("line", "question", "reason"), REFUSED, ids=[row[0].decode("latin-1")[:50] for row in REFUSED])
def test_refused(line: bytes, question: int | None, reason: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(line)
    assert caught.value.leading.id == question
    assert reason.lower() in str(caught.value).lower()  # msgspec 0.22 writes utf-8


def test_deep_nesting_is_refused_with_its_id() -> None:
    with pytest.raises(ProtocolError) as caught:
        decode(b'{"id":7,"type":"judge","tool":"x","params":' + b"[" * 100_000)
    assert caught.value.leading.id == 7
    assert len(str(caught.value)) <= 300


HALVES = [
    (rb"\ud83d", "\ufffd"),
    (rb"a\ud83d b", "a\ufffd b"),
    (rb"\ude00", "\ufffd"),
    (rb"\ud83d\ude00", "\U0001f600"),
    (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
    (rb"\\ud83d \ud83d", "\\ud83d \ufffd"),
    (rb"\\\ud83d", "\\\ufffd"),
    (rb"\"\ud83d\"", '"\ufffd"'),
]


@each_row(("escaped", "expected"), HALVES, ids=[row[0].decode() for row in HALVES])
def test_half_a_surrogate_pair_is_mended(escaped: bytes, expected: str) -> None:
    """JavaScript strings may hold one (an emoji cut in two), and `JSON.stringify` writes it as an escape."""
    line = b'{"id":1,"type":"judge","tool":"write","params":{"content":"' + escaped + b'"}}'
    assert decode(line) == messages.Judge(1, "write", {"content": expected})


LEADING = [
    (b'{"id":5,', 5),
    (b' { "id" : 5 }', 5),
    (b'{"id":5', None),
    (b'{"id":5.5,', None),
    (b'{"id":-5,', None),
    (b'{"id":"5",', None),
    (b'{"type":"ping","id":5}', 5),
    (b'{"params":[],"id":5}', None),
    (b'{"id":12345678901234567,', None),
    (b" " * 5_000 + b'{"id":5,', None),
    (b'{"id":9007199254740993,', None),
    (b"", None),
    (b"\xff\xfe", None),
]


@each_row(("line", "expected"), LEADING, ids=[str(row[0])[:30] for row in LEADING])
def test_leading_id(line: bytes, expected: int | None) -> None:
    assert leading(line).id == expected


ENCODED: list[tuple[messages.Wire, bytes]] = [
    (
        messages.Ready(1, 1, 7, "0.1.0"),
        b'{"type":"ready","id":1,"v":1,"pid":7,"version":"0.1.0","configError":"","shell":""}\n',
    ),
    (
        messages.VerdictAnswer(1, "allow", "allow"),
        b'{"type":"verdict","id":1,"decision":"allow","code":"allow"}\n',
    ),
    (
        messages.VerdictAnswer(1, "allow", "approval.consumed", pin=True),
        b'{"type":"verdict","id":1,"decision":"allow","code":"approval.consumed","pin":true}\n',
    ),
    (
        messages.VerdictAnswer(1, "hold", "approval.pending", "a\nb", stop="s"),
        b'{"type":"verdict","id":1,"decision":"hold","code":"approval.pending","text":"a\\nb","stop":"s"}\n',
    ),
    (
        messages.VerdictAnswer(1, "hold", "approval.pending", "t", prompt=messages.Prompt("a3f8c1d2", "T", "D", 300_000)),
        (
            b'{"type":"verdict","id":1,"decision":"hold","code":"approval.pending","text":"t","prompt":'
            b'{"nonce":"a3f8c1d2","title":"T","description":"D","timeoutMs":300000,"severity":"warning"}}\n'
        ),
    ),
    (
        messages.DecisionReply(1, ok=False, text="no"),
        b'{"type":"told","id":1,"ok":false,"text":"no","nonce":"","waking":{}}\n',
    ),
    (
        messages.Wake("a3f8c1d2", "main", "s", "go"),
        b'{"type":"wake","nonce":"a3f8c1d2","agent":"main","session":"s","text":"go"}\n',
    ),
    (messages.Corrected(1), b'{"type":"corrected","id":1}\n'),
    (messages.Corrected(1, "t", watch=True, stop="s"), b'{"type":"corrected","id":1,"text":"t","watch":true,"stop":"s"}\n'),
    (messages.Stopped(1), b'{"type":"stopped","id":1}\n'),
    (messages.Stopped(1, "a\nb"), b'{"type":"stopped","id":1,"stop":"a\\nb"}\n'),
    (messages.Pong(1), b'{"type":"pong","id":1}\n'),
    (messages.Error(None, "e"), b'{"type":"error","id":null,"error":"e"}\n'),
    (messages.Log("warn", "w"), b'{"type":"log","level":"warn","text":"w"}\n'),
]


@each_row(("message", "expected"), ENCODED, ids=[row[1].decode()[:40] for row in ENCODED])
def test_encode(message: messages.Wire, expected: bytes) -> None:
    assert encode(message) == expected


names = st.text(max_size=20)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(st.builds(messages.Judge, id=st.integers(0, 2**53), tool=names, params=json_values, agent=names, run=names))
def test_round_trip_as_javascript_writes_it(message: messages.Judge) -> None:
    line = json.dumps(msgspec.to_builtins(message), ensure_ascii=False).encode()
    assert decode(line) == message
    assert b"\n" not in line


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(line: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        decode(line)
