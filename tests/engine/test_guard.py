"""The guard as a whole: Tool Search, modes, exemptions, agents, runs that end or are forgotten."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tables import each_row
from toolguard_engine import guard as module
from toolguard_engine.config.settings import AgentConfig, Config, Mode
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Correction, Failure, MalformedCall, ParameterProblem, Run, Stop, Verdict
from toolguard_engine.server import tool_hints

TEXT = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}'
CALL = Call("read", {}, agent="main", session="s", run="r", call_id="c")
HINTS = tool_hints.load()
LIMIT_TEXT = (
    '[TOOL ERROR LIMIT] Tool "read" was called again after it had failed 2 times with identical arguments.\n'
    "Stopping tool execution. Say what could not be done and why, and what you need to continue."
)
CAUSE = Failure("validation", (ParameterProblem("path", missing=True, detail="is required"),))


def guard(**settings: Any) -> Guard:
    return Guard(Config(**settings), HINTS)


def fail(owner: Guard, call: Call = CALL, times: int = 1) -> list[str]:
    refusals = [owner.failed(call, TEXT, judged=False) for _ in range(times)]
    return [refusal.correction.action if refusal else "-" for refusal in refusals]


def test_a_refusal_is_told_whole() -> None:
    assert guard().failed(CALL, TEXT, judged=False) == MalformedCall(
        CALL,
        CAUSE,
        Correction(
            "corrected",
            "[TOOL ERROR] read() requires 'path'. Correct usage: read({ path: \"path/to/file\" }). "
            "You sent: read({}). Fix your call and retry.",
        ),
    )


def test_the_next_message_is_stopped_whole() -> None:
    owner = guard()
    fail(owner, times=2)
    again = [replace(CALL, call_id="d"), replace(CALL, call_id="e")]
    correction = Correction("stopped", LIMIT_TEXT, Stop("loop.identical", LIMIT_TEXT))
    assert owner.message("r", "main", again) == [
        MalformedCall(again[0], CAUSE, correction),
        MalformedCall(again[1], CAUSE, correction),
    ]


def test_after_the_end_other_calls_are_not_executed() -> None:
    owner = guard()
    fail(owner, times=3)
    other = replace(CALL, params={"path": "a"})
    correction = Correction("stopped", LIMIT_TEXT, Stop("loop.identical", LIMIT_TEXT))
    assert owner.message("r", "main", [other]) == [MalformedCall(other, Failure("not-executed"), correction)]
    assert owner.judge(other) == Verdict("block", "loop.identical", LIMIT_TEXT)


def test_what_was_executed_is_no_refusal() -> None:
    assert guard().failed(CALL, "File not found: a", judged=True) is None


def test_tool_search_counts_as_the_inner_tool() -> None:
    owner = guard()
    outer = replace(CALL, tool="tool_call", params={"id": "openclaw:core:read", "args": {}})
    error = json.dumps(
        {
            "status": "error",
            "tool": "tool_call",
            "error": "Invalid arguments for tool \"read\": path: must have required property 'path'.",
        }
    )
    first = owner.failed(outer, error, judged=True)
    assert first is not None
    assert first.call == replace(CALL, searched=True)
    assert owner.judge(CALL) == Verdict("allow", "allow")
    second = owner.failed(replace(outer, params={"id": "read"}), error, judged=True)
    assert second is not None
    assert second.correction.action == "loop-detected"
    assert owner.judge(outer) == Verdict("allow", "allow.tool-search")
    assert owner.judge(CALL) == Verdict("block", "loop.identical", LIMIT_TEXT)


def test_a_success_through_tool_search_is_the_inner_success() -> None:
    owner = guard()
    fail(owner)
    owner.succeeded(replace(CALL, tool="tool_call", params={"id": "read", "args": {}}))
    assert fail(owner) == ["corrected"]


@each_row("spelling", ["read", "Read", " READ ", "openclaw:core:read"])
def test_one_tool_in_any_spelling(spelling: str) -> None:
    owner = guard()
    fail(owner, replace(CALL, tool=spelling), 2)
    assert owner.judge(CALL).code == "loop.identical"
    assert owner.judge(replace(CALL, tool=spelling)).code == "loop.identical"


@each_row("entry", ["read", "Read", "openclaw:core:read"])
@each_row("tool", ["read", "READ"])
def test_never_block(entry: str, tool: str) -> None:
    owner = guard(never_block=[entry])
    call = replace(CALL, tool=tool)
    assert owner.judge(call) == Verdict("allow", "allow.exempt")
    assert fail(owner, call, 3) == ["corrected", "loop-detected", "limit"]
    assert owner.judge(call) == Verdict("allow", "allow.exempt")
    assert owner.judge(replace(CALL, tool="write")).code == "loop.identical"


ACTS: list[tuple[str, dict[str, Any], list[str], str, bool]] = [
    ("enforce", {"mode": "enforce"}, ["corrected", "loop-detected", "limit"], "loop.identical", True),
    ("soft", {"mode": "soft"}, ["corrected", "loop-detected", "limit"], "loop.identical", True),
    ("shadow", {"mode": "shadow"}, ["corrected", "loop-detected", "limit"], "shadow.loop.identical", True),
    ("disabled", {"mode": "disabled"}, ["-", "-", "-"], "allow.disabled", False),
    ("off", {"enabled": False}, ["-", "-", "-"], "allow.disabled", False),
    ("off-shadow", {"enabled": False, "mode": "shadow"}, ["-", "-", "-"], "allow.disabled", False),
    ("agent-off", {"agents": {"main": AgentConfig(mode="disabled")}}, ["-", "-", "-"], "allow.disabled", False),
    (
        "agent-on",
        {"mode": "disabled", "agents": {"main": AgentConfig(mode="enforce")}},
        ["corrected", "loop-detected", "limit"],
        "loop.identical",
        True,
    ),
    (
        "agent-but-off",
        {"enabled": False, "agents": {"main": AgentConfig(mode="enforce")}},
        ["-", "-", "-"],
        "allow.disabled",
        False,
    ),
    (
        "other-agent",
        {"agents": {"other": AgentConfig(mode="disabled")}},
        ["corrected", "loop-detected", "limit"],
        "loop.identical",
        True,
    ),
    (
        "agent-limits",
        {"agents": {"main": AgentConfig(max_identical_failures=1, max_failures_per_turn=3)}},
        ["loop-detected", "limit", "limit"],
        "loop.identical",
        True,
    ),
    (
        "agent-total",
        {"max_identical_failures": 9, "agents": {"main": AgentConfig(max_failures_per_turn=2)}},
        ["corrected", "limit", "limit"],
        "loop.limit",
        True,
    ),
]


@each_row(("settings", "expected", "code", "stopped"), [row[1:] for row in ACTS], ids=[row[0] for row in ACTS])
def test_modes(settings: dict[str, Any], expected: list[str], code: str, *, stopped: bool) -> None:
    owner = guard(**settings)
    assert fail(owner, times=3) == expected
    assert owner.judge(CALL).code == code
    assert bool(owner.message("r", "main", [CALL])) == stopped


@pytest.mark.parametrize("mode", ["shadow", "disabled"])
def test_modes_that_only_look_let_everything_run(mode: Mode) -> None:
    owner = guard(mode=mode)
    fail(owner, times=5)
    assert owner.judge(CALL).decision == "allow"


def test_the_end_of_a_run_forgets_it() -> None:
    owner = guard()
    fail(owner, times=3)
    owner.ended("r")
    assert owner.judge(CALL) == Verdict("allow", "allow")
    assert owner.message("r", "main", [CALL]) == []
    assert fail(owner) == ["corrected"]


def test_runs_do_not_mix() -> None:
    owner = guard()
    fail(owner, times=3)
    other = replace(CALL, run="q")
    assert owner.judge(other) == Verdict("allow", "allow")
    assert fail(owner, other) == ["corrected"]


def test_an_unknown_run_is_no_matter() -> None:
    owner = guard()
    owner.ended("never")
    owner.succeeded(CALL)
    assert owner.message("never", "main", [CALL]) == []
    assert owner.judge(CALL) == Verdict("allow", "allow")


def test_the_least_recently_failing_run_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_RUNS", 3)
    owner = guard()
    for run in ("a", "b", "c", "a", "d"):
        fail(owner, replace(CALL, run=run))
    assert list(owner._runs) == ["c", "a", "d"]
    assert fail(owner, replace(CALL, run="a")) == ["limit"]
    assert fail(owner, replace(CALL, run="b")) == ["corrected"]


def test_runs_that_cannot_be_saved_are_bounded() -> None:
    guard = Guard(Config(), {})
    for start in range(0, 3 * module.MAX_RUNS, module.MAX_RUNS):
        guard.keep_touched({f"r{number}": Run() for number in range(start, start + module.MAX_RUNS)})
    assert len(guard.take_touched()) == module.MAX_RUNS
