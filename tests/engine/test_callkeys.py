"""Which calls count as the same call, and which as one family."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.effects.calls.call_digest import END, LONG, call_digest, digests, kind_digest

ONE = "123e4567-e89b-12d3-a456-426614174000"
OTHER = "9b2e4567-e89b-12d3-a456-426614174abc"

SAME_CALL = [
    ({"path": "a", "requestId": "x"}, {"path": "a", "requestId": "y"}),
    ({"path": "a", "idempotency_key": "x"}, {"path": "a"}),
    ({"path": "a", "explanation": "I look"}, {"path": "a", "explanation": "once more"}),
    ({"command": "ls", "timeoutMs": 1_000}, {"command": "ls", "timeoutMs": 2_000}),
    ({"command": "ls", "yield_time_ms": 10}, {"command": "ls", "yield_time_ms": 20}),
    ({"command": "ls", "description": "List"}, {"command": "ls", "description": "List again"}),
    ({"b": 1, "a": 2}, {"a": 2, "b": 1}),
    ({"command": "make # attempt 9"}, {"command": "make # attempt 10"}),
    ({"command": "RETRY=1 make"}, {"command": "RETRY=2 make"}),
    ({"command": "echo a\nattempt 1"}, {"command": "echo a\nattempt 2"}),
    ({"command": f"run --request-id {ONE} x"}, {"command": f"run --request-id {OTHER} x"}),
    ({"command": "curl -H 'X-Request-Id: 7f3a' x"}, {"command": "curl -H 'X-Request-Id: 99bc-1' x"}),
    ({"command": 'post \'{"idempotencyKey": "a1"}\''}, {"command": 'post \'{"idempotencyKey": "b22"}\''}),
    ({"command": "curl 'x/?nonce=8f3a&q=1'"}, {"command": "curl 'x/?nonce=771b&q=1'"}),
    ({"command": "curl 'x/?_=1795360415123'"}, {"command": "curl 'x/?_=1795360499123'"}),
    ({"command": "x --ts=2026-11-22T15:13:35Z"}, {"command": "x --ts=2026-11-22T15:14:01Z"}),
    ({"command": "x ts=1795360415"}, {"command": "x ts=1795360499"}),
    ({"command": "cat /tmp/tmp.AbC123xyz0"}, {"command": "cat /tmp/tmp.zZ9zzzzzzz"}),
    ({"path": "/tmp/tmpab12cd34/x"}, {"path": "/tmp/tmp9q_qqqqq/x"}),
    ({"path": "/var/folders/zz/zyx_1/T/tmpab12cd34.log"}, {"path": "/var/folders/zz/zyx_1/T/tmp12ab_d3x.log"}),
    ({"path": "C:\\Users\\u\\Temp\\tmpab12cd34"}, {"path": "C:\\Users\\u\\Temp\\tmp12ab_d3x"}),
    ({"command": "cat /nope/log # try 7"}, {"command": "cat /nope/log # try 18"}),
]
OTHER_CALL = [
    ({"path": "a"}, {"path": "b"}),
    ({"id": ONE}, {"id": OTHER}),
    ({"path": f"/pages/{ONE}.md"}, {"path": f"/pages/{OTHER}.md"}),
    ({"sessionId": "a"}, {"sessionId": "b"}),
    ({"since": "2026-11-22T15:00:00Z"}, {"since": "2026-11-23T15:00:00Z"}),
    ({"path": "memory/2026-11-21.md"}, {"path": "memory/2026-11-22.md"}),
    ({"to": "1795360415"}, {"to": "1795360416"}),
    ({"title": "A", "description": "x"}, {"title": "A", "description": "y"}),
    ({"command": f"./cancel-job {ONE}"}, {"command": f"./cancel-job {OTHER}"}),
    ({"command": f"run --name job-{ONE}"}, {"command": f"run --name job-{OTHER}"}),
    ({"command": "run --at 2026-11-22T15:13:35Z x"}, {"command": "run --at 2026-11-22T15:14:01Z x"}),
    ({"command": "curl 'x/?from=1795360415'"}, {"command": "curl 'x/?from=1795364015'"}),
    ({"command": "curl 'x/?ts=1795360415.001200'"}, {"command": "curl 'x/?ts=1795360415.001300'"}),
    ({"command": "curl 'x/?client=a1'"}, {"command": "curl 'x/?client=a2'"}),
    ({"command": "./log --attempt 3"}, {"command": "./log --attempt 4"}),
    ({"path": "runs/attempt-3.log"}, {"path": "runs/attempt-4.log"}),
    ({"path": "/tmp/page01.png"}, {"path": "/tmp/page02.png"}),
    ({"path": "/tmp/log-20261101"}, {"path": "/tmp/log-20261102"}),
    ({"path": "/tmp/job-1a2b3c"}, {"path": "/tmp/job-1a2b3d"}),
    ({"path": "/tmp/tmpreport01"}, {"path": "/tmp/tmpreport02"}),
    ({"path": "/tmp/tmp.documents1"}, {"path": "/tmp/tmp.documents2"}),
    ({"path": "/tmp/report-one"}, {"path": "/tmp/report-two"}),
    ({"command": "head -n 10 a"}, {"command": "head -n 20 a"}),
    ({"command": "echo country 3"}, {"command": "echo country 4"}),
    ({"path": "a", "offset": 0}, {"path": "a", "offset": 200}),
    ({"page": 1}, {"page": 2}),
    ({"limit": 10}, {"limit": 20}),
]
ONE_FAMILY = [
    ({"path": "part-9.txt"}, {"path": "part-10.txt"}),
    ({"path": "a", "offset": 0}, {"path": "a", "offset": 2_000}),
    ({"command": "cat /nope/1"}, {"command": "cat /nope/22"}),
]


@each_row(("one", "other"), SAME_CALL)
def test_the_same_call(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert digests("exec", one) == digests("exec", other)


def test_different_calls() -> None:
    assert [(one, other) for one, other in OTHER_CALL if digests("exec", one)[0] == digests("exec", other)[0]] == []


@pytest.mark.parametrize(("one", "other"), ONE_FAMILY)
def test_the_same_family(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert digests("exec", one)[0] != digests("exec", other)[0]
    assert digests("exec", one)[1] == digests("exec", other)[1]


NAMING = [
    (ONE, OTHER),
    ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"),
    ("--from 2026-11-01T00:00:00Z", "--from 2026-11-02T00:00:00Z"),
    ("--from '2026-11-01 10:00'", "--from '2026-11-01 11:00'"),
    ("log-2026-11-01", "log-2026-11-02"),
    ("from=1795360415", "from=1795364015"),
    ("from=1795360415000", "from=1795364015000"),
]


@each_row(("one", "other"), NAMING)
def test_what_names_one_thing_counts_in_the_family(one: str, other: str) -> None:
    assert digests("exec", {"command": f"show 1 {one}"})[1] != digests("exec", {"command": f"show 1 {other}"})[1]
    assert digests("exec", {"command": f"show 1 {one}"})[1] == digests("exec", {"command": f"show 22 {one}"})[1]


def test_the_tool_counts_by_its_short_name() -> None:
    assert digests("openclaw:core:Read", {"path": "a"}) == digests("read", {"path": "a"})
    assert digests("read", {"path": "a"})[1] != digests("write", {"path": "a"})[1]


@each_row("at", [0, LONG, 10_000, 20_000 - 1])
def test_each_character_of_a_long_text_counts(at: int) -> None:
    text = "All of it is written. " * 1_000
    other = text[:at] + "#" + text[at + 1 :]
    assert digests("write", {"content": text})[0] != digests("write", {"content": other})[0]


def test_both_ends_of_a_long_text_are_searched() -> None:
    middle = "x" * 10 * END
    one, other = (f"run {name} ts=2026-11-22T15:13:{name}Z {middle} attempt {name}" for name in ("11", "12"))
    assert (
        digests("exec", {"command": one.replace("run 11", "")})[0]
        == digests("exec", {"command": other.replace("run 12", "")})[0]
    )
    assert digests("exec", {"command": one})[0] != digests("exec", {"command": other})[0]
    assert digests("exec", {"command": one})[1] == digests("exec", {"command": other})[1]


def test_numbers_of_any_length_leave_a_long_call_in_its_family() -> None:
    one, other = (f"file {name} " * 3 + "y" * 10_000 for name in (1, 1_000_000))
    assert digests("exec", {"command": one})[1] == digests("exec", {"command": other})[1]


def _nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@each_row(
    "params",
    [
        None,
        3,
        "text",
        [],
        {},
        {"a": float("nan")},
        {"a": object},
        {"a": 1 << 200},
        {"a": "\ud800"},
        {3: 4},
        _nested(100_000),
    ],
)
def test_whatever_the_params_are_there_is_a_digest_of_63_bits(params: Any) -> None:
    assert all(0 <= found < 1 << 63 for found in digests("x", params))


KINDS = [
    ("edit", {"path": "a.md", "edits": []}, "openclaw:core:Edit", {"path": "b.md"}, True),
    ("edit", {}, "read", {}, False),
    ("exec", {"command": "git log"}, "exec", {"command": " git\tstatus", "cwd": "/x"}, True),
    ("exec", {"command": "git log"}, "exec", {"command": "ls"}, False),
    ("exec", {"cmd": "git log"}, "exec", {"command": "git"}, True),
    ("exec", {"command": ""}, "exec", {"command": ["git"]}, True),
    ("exec", {"command": 3}, "exec", [], True),
]


@each_row(("one", "params", "other", "its", "same"), KINDS)
def test_the_kind_of_a_call(one: str, params: Any, other: str, its: Any, *, same: bool) -> None:
    assert (kind_digest(one, params) == kind_digest(other, its)) is same


@given(
    params=st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_one_of_both_digests_alone_is_the_same(params: Any) -> None:
    assert call_digest("exec", params) == digests("exec", params)[0]
