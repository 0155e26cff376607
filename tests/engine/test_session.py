"""One conversation: questions in, answers out, records put aside. No process, no file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from tables import each_row
from toolguard_engine import __version__, guard
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import MAX_REPORTED
from toolguard_engine.metrics.row_writer import VerdictRecord
from toolguard_engine.model.call import Call
from toolguard_engine.server import tool_hints
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import SessionTally, Setup
from toolguard_engine.wire import messages as protocol

NOW = datetime(2026, 9, 6, 12, 0, 0, 250_000, UTC)
TEXT = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}'
CORRECTED = (
    "[TOOL ERROR] read() requires 'path'. Correct usage: read({ path: \"path/to/file\" }). "
    "You sent: read({}). Fix your call and retry."
)
LOOP = (
    "[LOOP DETECTED] Tool \"read\" failed 2 times with identical arguments ('path' is missing).\n"
    "This is a non-retryable error. Do NOT retry this call.\nTry a different approach or report the issue."
)
LIMIT = (
    '[TOOL ERROR LIMIT] Tool "read" was called again after it had failed 2 times with identical arguments.\n'
    "Stopping tool execution. Say what could not be done and why, and what you need to continue."
)


def session(config: Any = None, *, hello: bool = True) -> Session:
    made = Session(Setup(tool_hints.load(), lambda: NOW, 42))
    if hello:
        made.answer(protocol.Hello(0, protocol.VERSION, "/state", config, gateway="gw"))
    return made


def failed(question: int = 1, **more: Any) -> protocol.Failed:
    return protocol.Failed(question, "read", TEXT, {}, run="r", agent="main", session="s", call="call_1", **more)


def message(question: int = 1) -> protocol.Message:
    return protocol.Message(
        question, [protocol.MessageCall("read", {}, "call_9")], agent="main", session="s", run="r", model="m"
    )


JUDGE = protocol.Judge(5, "read", {}, agent="main", run="r")


def test_hello() -> None:
    talk = session(hello=False)
    answer = talk.answer(protocol.Hello(3, 1, "/state", {"mode": "soft"}))
    assert answer == protocol.Ready(3, 1, 42, __version__)
    assert talk.config == Config(mode="soft")


BAD_CONFIGS = [
    ({"maxIdenticalFailure": 3}, "plugins.entries.toolguard.config: Object contains unknown field `maxIdenticalFailure`"),
    ({"mode": "strict"}, "plugins.entries.toolguard.config: Invalid enum value 'strict' - at `$.mode`"),
    (
        {"maxFailuresPerTurn": 0, "mode": "disabled"},
        "plugins.entries.toolguard.config: Expected `int` >= 1 - at `$.maxFailuresPerTurn`",
    ),
    ("text", "plugins.entries.toolguard.config: Expected `object`, got `str`"),
]


@each_row(("config", "error"), BAD_CONFIGS, ids=[row[1][35:70] for row in BAD_CONFIGS])
def test_a_bad_config_is_named_and_the_defaults_are_in_force(config: Any, error: str) -> None:
    talk = session(hello=False)
    assert talk.answer(protocol.Hello(3, 1, "/state", config)) == protocol.Ready(3, 1, 42, __version__, error)
    assert talk.config == Config()
    assert talk.answer(failed()) == protocol.Corrected(1, CORRECTED, watch=True)


def test_a_later_good_config_mends_it() -> None:
    talk = session({"mode": "strict"})
    assert talk.answer(protocol.Hello(4, 1, "/state", {})) == protocol.Ready(4, 1, 42, __version__)
    assert talk.config_error == ""


@each_row("version", [0, 2, -1, 2**62])
def test_another_protocol_is_refused(version: int) -> None:
    talk = session(hello=False)
    assert talk.answer(protocol.Hello(3, version, "/state")) == protocol.Error(
        3,
        f"the gateway part speaks protocol {version}, but this engine speaks 1; "
        "run `toolguard install` and restart the gateway",
    )
    assert talk.hello is None


def test_questions_before_hello_are_answered() -> None:
    talk = session(hello=False)
    assert talk.answer(JUDGE) == protocol.VerdictAnswer(5, "allow", "allow", outcome="tell")
    assert talk.answer(failed()) == protocol.Corrected(1, CORRECTED, watch=True)
    assert talk.answer(message()) == protocol.Stopped(1)
    assert talk.answer(protocol.Ping(9)) == protocol.Pong(9)
    assert [line["gateway"] for line in talk.outbox.records] == [""]


def test_an_endless_call() -> None:
    talk = session()
    assert [talk.answer(question) for question in (message(1), failed(2), message(3), failed(4), message(5), JUDGE)] == [
        protocol.Stopped(1),
        protocol.Corrected(2, CORRECTED, watch=True),
        protocol.Stopped(3),
        protocol.Corrected(4, LOOP, watch=True),
        protocol.Stopped(5, LIMIT),
        protocol.VerdictAnswer(5, "block", "loop.identical", LIMIT, stop=LIMIT),
    ]
    assert [line["action"] for line in talk.outbox.records] == ["corrected", "loop-detected", "stopped"]
    assert talk.tally == SessionTally(judged=1, corrected=2, loops=1, stopped=1, blocked=1)


def test_a_failure_over_the_limit_stops() -> None:
    talk = session({"maxFailuresPerTurn": 1})
    limit = (
        "[TOOL ERROR LIMIT] 1 tool failures in this turn.\nStopping tool execution. Review your approach before continuing: "
        "say what could not be done and why, and what you need to continue."
    )
    assert talk.answer(failed()) == protocol.Corrected(1, limit, watch=True, stop=limit)
    assert talk.tally == SessionTally(corrected=1, stopped=1)


def test_shadow_answers_nothing_but_records() -> None:
    talk = session({"mode": "shadow"})
    questions = (failed(1), failed(2), message(3), JUDGE, failed(4))
    assert [talk.answer(question) for question in questions] == [
        protocol.Corrected(1),
        protocol.Corrected(2),
        protocol.Stopped(3),
        protocol.VerdictAnswer(5, "allow", "shadow.loop.identical", outcome="tell"),
        protocol.Corrected(4),
    ]
    assert [line["action"] for line in talk.outbox.records] == [
        "would-be-corrected",
        "would-be-loop-detected",
        "would-be-stopped",
        "would-be-limit",
    ]
    assert talk.tally == SessionTally(judged=1)


def test_disabled_does_nothing() -> None:
    talk = session({"enabled": False})
    assert [talk.answer(question) for question in (failed(1), failed(2), failed(3), message(4), JUDGE)] == [
        protocol.Corrected(1),
        protocol.Corrected(2),
        protocol.Corrected(3),
        protocol.Stopped(4),
        protocol.VerdictAnswer(5, "allow", "allow.disabled"),
    ]
    assert talk.outbox.records == []


def test_what_was_executed_is_left_alone() -> None:
    talk = session()
    note = protocol.Failed(1, "read", "File not found: a", {"path": "a"}, judged=True, run="r")
    assert talk.answer(note) == protocol.Corrected(1)
    assert talk.outbox.records == []


def test_notes_have_no_answer() -> None:
    talk = session()
    talk.answer(failed())
    assert talk.answer(protocol.ToolResult("read", {}, run="r")) is None
    assert talk.answer(failed()) == protocol.Corrected(1, CORRECTED, watch=True)
    assert talk.answer(protocol.RunEnd("r")) is None
    assert talk.answer(protocol.Seams({"inPlace": "works"})) is None
    assert talk.answer(protocol.Seams({"transforms": "fails"})) is None
    assert talk.seams == {"inPlace": "works", "transforms": "fails"}


def test_the_record_of_a_refusal() -> None:
    talk = session()
    talk.answer(failed(provider="fireworks", model="minimax"))
    assert talk.outbox.records == [
        {
            "time": "2026-09-06T12:00:00.250Z",
            "gateway": "gw",
            "agent": "main",
            "session": "s",
            "run": "r",
            "provider": "fireworks",
            "model": "minimax",
            "tool": "read",
            "callId": "call_1",
            "arguments": {},
            "error": "validation",
            "problems": ["path: is missing"],
            "action": "corrected",
        }
    ]


def test_every_stopped_call_of_a_message_is_recorded() -> None:
    talk = session()
    for _ in range(3):
        talk.answer(failed())
    talk.outbox.records.clear()
    calls = [protocol.MessageCall("read", {}, "c1"), protocol.MessageCall("write", {"path": "a"}, "c2")]
    assert talk.answer(protocol.Message(8, calls, run="r")) == protocol.Stopped(8, LIMIT)
    assert [(line["tool"], line["callId"], line["error"], line["action"]) for line in talk.outbox.records] == [
        ("read", "c1", "validation", "stopped"),
        ("write", "c2", "not-executed", "stopped"),
    ]


def test_of_a_message_with_thousands_of_stopped_calls_the_first_are_recorded() -> None:
    talk = session()
    for _ in range(3):
        talk.answer(failed())
    talk.outbox.records.clear()
    calls = [protocol.MessageCall("write", {"path": f"{number}"}, f"c{number}") for number in range(10_000)]
    assert talk.answer(protocol.Message(8, calls, run="r")) == protocol.Stopped(8, LIMIT)
    assert [line["callId"] for line in talk.outbox.records] == [f"c{number}" for number in range(MAX_REPORTED)]


def test_the_calls_of_a_stopped_message_are_read_as_far_as_they_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sessions wait for the answer."""
    talk, read = session(), list[Call]()
    monkeypatch.setattr(guard, "inner_call", lambda call: (read.append(call), call)[1])
    calls = [protocol.MessageCall("write", {"path": "a"}, f"c{number}") for number in range(10_000)]
    assert talk.answer(protocol.Message(8, calls, run="r")) == protocol.Stopped(8)
    assert read == []
    for _ in range(3):
        talk.answer(failed())
    read.clear()
    assert talk.answer(protocol.Message(9, calls, run="r")) == protocol.Stopped(9, LIMIT)
    assert len(read) == MAX_REPORTED


@pytest.mark.parametrize(
    "fault", [{"mode": "strict"}, {"metrics": {"retention": "long"}}, {"metrics": {"dashboard": {"colour": "red"}}}]
)
def test_a_fault_in_the_settings_leaves_the_metrics_file_protected(fault: dict[str, Any]) -> None:
    """And the dashboard, which the gateway starts nevertheless."""
    metrics = {"dbPath": "/srv/m.db", **fault.get("metrics", {})}
    metrics["dashboard"] = {"enabled": True, "port": 9, **metrics.get("dashboard", {})}
    talk = session({**fault, "metrics": metrics})
    assert talk.config_error
    for command in ("cat /srv/m.db.token", "rm /srv/m.db", "curl -X POST http://127.0.0.1:9/api/approve"):
        answer = talk.answer(protocol.Judge(1, "exec", {"command": command}, run="r"))
        assert isinstance(answer, protocol.VerdictAnswer)
        assert (answer.decision, answer.code) == ("block", "rule.self-protection"), command


def logged(answering: Session, event: str) -> list[str]:
    return [line.code for line in answering.outbox.take_events() if line.event == event]


def test_the_end_of_a_malformed_loop_is_in_the_audit_log_once() -> None:
    answering = session()
    for question in range(1, 7):
        answering.answer(failed(question, request=question))
    assert logged(answering, "stop") == ["loop.identical"]


READ = {"path": "a"}
PLACED = {"agent": "main", "session": "s", "run": "r"}


def by_failures(talk: Session) -> Iterator[protocol.Wire | None]:
    for question in range(1, 9):
        yield talk.answer(failed(question, request=question))


def by_its_next_message(talk: Session) -> Iterator[protocol.Wire | None]:
    """As the gateway plays it: after a refusal it asks about each message before its calls run."""
    for question in range(1, 9):
        yield talk.answer(failed(question, request=question))
        yield talk.answer(protocol.Message(question, [protocol.MessageCall("read", {})], run="r"))


def by_a_result(talk: Session) -> Iterator[protocol.Wire | None]:
    for n in range(1, 12):
        yield talk.answer(
            protocol.ToolResult("read", READ, "ENOENT: no such file", 20, failed=True, id=n, request=n, **PLACED)
        )


def by_a_verdict(talk: Session) -> Iterator[protocol.Wire | None]:
    for n in range(1, 60):
        yield (answer := talk.answer(protocol.Judge(n, "read", READ, request=n, **PLACED)))
        if isinstance(answer, protocol.VerdictAnswer) and answer.decision == "allow":
            yield talk.answer(protocol.ToolResult("read", READ, "text", 4, id=n, request=n, **PLACED))


@each_row("loop", [by_failures, by_its_next_message, by_a_result, by_a_verdict])
def test_the_end_of_a_loop_is_in_the_audit_log_once(loop: Callable[[Session], Iterator[protocol.Wire | None]]) -> None:
    """As soon as an answer ends the run; however often later ones say so again."""
    talk = session({"loopDetection": {"enabled": True}})
    ends, lines = 0, []
    for answer in loop(talk):
        ends += bool(getattr(answer, "stop", ""))
        lines += logged(talk, "stop")
        assert len(lines) == min(ends, 1)
    assert ends
    assert [line.startswith("loop.") for line in lines] == [True]
    assert talk.tally.stopped == 1


def test_what_an_engine_before_this_one_ended_is_not_told_again() -> None:
    first, second = session(), session()
    for _ in by_failures(first):
        pass
    runs = {name: run for name, run in first.take_touched().items() if run}
    second.remember(runs)
    assert [bool(getattr(answer, "stop", "")) for answer in by_failures(second)] == [True] * 8
    assert logged(second, "stop") == []


@pytest.mark.parametrize("broken", ["allowed", "malformed", "note", "run_ended"])
def test_a_fault_of_the_metrics_changes_no_answer(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    def answers() -> list[protocol.Wire | None]:
        talk = session({"metrics": {"enabled": True}})
        messages = (
            protocol.Judge(1, "read", READ, **PLACED),
            failed(2),
            protocol.ModelEnded(**PLACED),
            protocol.RunEnd("r", "s"),
            protocol.Judge(3, "read", READ, **PLACED),
        )
        found = [talk.answer(message) for message in messages]
        said.extend(line.text for line in talk.outbox.take_log())
        return found

    said: list[str] = []
    sound = answers()
    assert said == []
    monkeypatch.setattr(f"toolguard_engine.metrics.measure.Measure.{broken}", fail)
    assert answers() == sound
    assert [text.startswith("metrics: MemoryError in test_session.py:") for text in said] == [True]


def test_a_run_that_only_would_have_ended_says_so_once() -> None:
    answering = session({"mode": "shadow"})
    for question in range(1, 5):
        answering.answer(failed(question, request=question))
    for question in range(5, 20):
        answer = answering.answer(
            protocol.Judge(question, "read", {"path": f"{question}"}, agent="main", run="r", session="s")
        )
        assert isinstance(answer, protocol.VerdictAnswer)
        assert answer.decision == "allow"
    assert logged(answering, "would-refuse") == ["shadow.loop.identical"]


# ---- for the metrics

METRICS = {"metrics": {"enabled": True}}
MS = round(NOW.timestamp() * 1000)
ALLOWED = VerdictRecord(MS, agent="main", session="s", run="r", tool="read", decision="allow", code="allow", kind="allow")
ENDED = protocol.ModelEnded(run="r", session="s", agent="main", model="m", duration_ms=7, outcome="completed")
ANSWERED = protocol.ModelAnswer(
    run="r", session="s", agent="main", model="m", usage=protocol.Used(5, 2, total_tokens=7, cost=0.5)
)


def judged(tool: str = "read", params: Any = None, question: int = 5) -> protocol.Judge:
    return protocol.Judge(question, tool, params or {"path": "a"}, agent="main", session="s", run="r", call="c")


def test_without_metrics_nothing_is_kept_for_them() -> None:
    talk = session()
    for logged in (judged(), failed(), ENDED, ANSWERED):
        talk.answer(logged)
    assert (talk.outbox.take_calls(), talk.outbox.take_verdicts()) == ([], [])


def test_model_calls_are_for_the_metrics_each_once() -> None:
    talk = session(METRICS)
    assert talk.answer(ENDED) is None
    assert talk.outbox.take_calls() == []
    assert talk.answer(ANSWERED) is None
    (call,) = talk.outbox.take_calls()
    assert (call.at, call.session, call.total, call.cost_usd, call.duration_ms) == (MS, "s", 7, 0.5, 7)
    assert talk.outbox.take_calls() == []


def test_the_end_of_a_run_is_the_end_of_its_calls() -> None:
    talk = session(METRICS)
    talk.answer(ENDED)
    talk.answer(protocol.RunEnd("r", "s"))
    assert [call.outcome for call in talk.outbox.take_calls()] == ["completed"]


LET_RUN: list[tuple[str, dict[str, Any], protocol.Judge, list[tuple[str, str]]]] = [
    ("a harmless call", {}, judged(), [("read", "allow")]),
    ("a tool that is exempt", {"neverBlock": ["exec"]}, judged("exec", {"command": "rm -rf /"}), [("exec", "allow.exempt")]),
    ("what would be held", {"mode": "shadow", "alwaysBlock": ["exec"]}, judged("exec", {"command": "ls"}),
     [("exec", "shadow.approval.always-block")]),
    ("the envelope of Tool Search", {}, judged("tool_call", {"id": "read", "args": {"path": "a"}}), []),
    ("a held call", {"alwaysBlock": ["exec"]}, judged("exec", {"command": "ls"}), []),
]  # fmt: skip


@each_row(("config", "asked", "rows"), [row[1:] for row in LET_RUN], ids=[row[0] for row in LET_RUN])
def test_what_is_let_run_is_for_the_metrics(config: Any, asked: protocol.Judge, rows: list[tuple[str, str]]) -> None:
    talk = session({**METRICS, **config})
    talk.answer(asked)
    assert [(each.tool, each.code) for each in talk.outbox.take_verdicts()] == rows
    assert talk.outbox.take_verdicts() == []


def test_the_row_of_a_call_that_is_let_run() -> None:
    talk = session(METRICS)
    talk.answer(judged())
    assert talk.outbox.take_verdicts() == [ALLOWED]


def test_the_rows_of_malformed_calls() -> None:
    talk = session(METRICS)
    for question in (1, 2):
        talk.answer(failed(question))
    first, second = talk.outbox.take_verdicts()
    assert first == ALLOWED._replace(
        decision="block", code="malformed.validation", reason="path: is missing", kind="malformed", shown="read({})"
    )
    assert second == first._replace(kind="loop")


def test_the_metrics_count_the_malformed_calls_of_the_log() -> None:
    """Also the one with which the run ends, which is never executed; what was only not executed was not malformed."""
    talk = session(METRICS)
    for question in (1, 2):
        talk.answer(failed(question, request=question))
    for params in ({}, READ):
        talk.answer(protocol.Message(3, [protocol.MessageCall("read", params)], **PLACED))
    assert [line["error"] for line in talk.outbox.take_records()] == ["validation"] * 3 + ["not-executed"]
    assert [each.kind for each in talk.outbox.take_verdicts()] == ["malformed", "loop", "malformed"]


def test_what_is_only_watched_has_no_end_that_counts() -> None:
    talk = session({**METRICS, "mode": "shadow"})
    for question in (1, 2):
        talk.answer(failed(question, request=question))
    talk.answer(protocol.Message(3, [protocol.MessageCall("read", {})], **PLACED))
    assert len(talk.outbox.take_records()) == 3
    assert talk.outbox.take_verdicts() == []


def test_what_is_only_watched_is_not_corrected() -> None:
    talk = session({**METRICS, "mode": "shadow"})
    talk.answer(failed())
    assert talk.outbox.take_verdicts() == []
