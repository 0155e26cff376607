"""The made-up runs of `scripts/bench loops` are what they are called, and recorded ones are read as they were."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parents[2] / "scripts" / "benches"
sys.path.insert(0, str(BENCHES))

import loopplay  # noqa: E402
import looprecords  # noqa: E402
from loopkinds import CAP, KINDS, PROCESS, Act, Kind, Result, with_process  # noqa: E402

LOOPS = [kind for kind in KINDS if not kind.honest]
HONEST = [kind for kind in KINDS if kind.honest]
WATCHED = {"loopDetection": {"enabled": True}}


def named(word: str) -> Kind:
    (found,) = [kind for kind in KINDS if word in kind.name]
    return found


def calls(kind: Kind) -> list[str]:
    return [json.dumps([act.tool, act.params]) for act in kind.acts]


def results(kind: Kind) -> set[str]:
    return {act.result.text for act in kind.acts if act.result}


@pytest.mark.parametrize("kind", LOOPS, ids=lambda kind: kind.name)
def test_a_loop_goes_on_until_it_is_given_up(kind: Kind) -> None:
    assert len(kind.acts) == CAP - 1
    assert kind.watched is not None


@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.name)
def test_honest_work_is_done_before_the_cap(kind: Kind) -> None:
    assert len(kind.acts) == kind.calls
    assert len(kind.acts) + 1 < CAP
    assert kind.by_default is kind.watched is None


@pytest.mark.parametrize(
    ("word", "different"),
    [
        ("missing file", 1), ("counter", CAP - 1), ("text that is not there", CAP - 1), ("malformed", 1),
        ("does not exist", 1), ("same answer", 1), ("time of day", 1), ("ping-pong", 2), ("cycle of three", 3),
        ("without progress", 2), ("with progress", 2), ("fifty", 50), ("edit and test", 26), ("unreliable", 1),
    ],
)  # fmt: skip
def test_so_many_calls_of_a_kind_differ(word: str, different: int) -> None:
    assert len(set(calls(named(word)))) == different


@pytest.mark.parametrize(
    ("word", "different"),
    [
        ("missing file", 1), ("counter", 1), ("text that is not there", 1), ("same answer", 1), ("time of day", CAP - 1),
        ("without progress", 2), ("with progress", 45), ("unreliable", 13),
    ],
)  # fmt: skip
def test_so_many_answers_of_a_kind_differ(word: str, different: int) -> None:
    assert len(results(named(word))) == different


def test_two_in_turn_and_three_in_turn() -> None:
    for word, length in (("ping-pong", 2), ("cycle of three", 3)):
        made = calls(named(word))
        assert made[length:] == made[:-length]


def test_only_the_command_in_the_background_is_looked_at() -> None:
    first, *looks = named("without progress").acts
    assert first.params["background"] is True
    assert {look.params["sessionId"] for look in looks} == {PROCESS}
    assert first.result is not None
    assert with_process(looks[0].params, first.result.text) == {"action": "poll", "sessionId": "swift-lobster"}


def test_calls_that_never_got_as_far_are_known_by_their_answer() -> None:
    refused = {kind.name for kind in KINDS if loopplay.is_refused(kind.act(0))}
    assert refused == {"malformed call, read({})", "tool that does not exist"}


@pytest.mark.parametrize("settings", [{}, WATCHED], ids=["default", "watched"])
@pytest.mark.parametrize("kind", HONEST, ids=lambda kind: kind.name)
def test_the_guard_lets_honest_work_be_done(kind: Kind, settings: dict[str, object]) -> None:
    played = loopplay.play_kind(loopplay.session(settings), kind)
    assert (played.requests, played.code) == ((kind.calls or 0) + 1, "")


def test_the_guard_ends_the_read_of_a_missing_file() -> None:
    played = loopplay.play_kind(loopplay.session({}), named("missing file"))
    assert (played.requests, played.warned, played.code) == (8, 3, "loop.same-error")


def test_a_recorded_run_is_read_with_its_results(tmp_path: Path) -> None:
    def message(role: str, **fields: object) -> str:
        return json.dumps({"type": "message", "message": {"role": role, **fields}})

    call = {"type": "toolCall", "id": "c1", "name": "exec", "arguments": {"command": "ls"}}
    text = [{"type": "text", "text": "a.txt"}]
    unknown = [{"type": "text", "text": "Tool nope not found"}]
    lines = [
        json.dumps({"type": "session", "cwd": "/w"}),
        message("user", content="list them"),
        message("assistant", content=[call], usage={"totalTokens": 900}),
        message(
            "toolResult", toolCallId="c1", toolName="exec", content=text, details={"status": "completed", "exitCode": 0}
        ),
        message("toolResult", toolCallId="c2", toolName="nope", content=unknown, isError=True),
        message("assistant", content=[{"type": "text", "text": "Done."}], usage={"totalTokens": 950}),
        message("user", content="thanks"),
        message("assistant", content=[{"type": "text", "text": "Gladly."}]),
        "{broken",
    ]
    (tmp_path / "one.jsonl").write_text("\n".join(lines))
    told: list[str] = []
    (run,) = looprecords.within(tmp_path, told.append)
    assert run.asked == "list them"
    assert run.requests == [
        [Act("exec", {"command": "ls"}, Result("a.txt", status="completed", exit_code=0))],
        [Act("nope", {}, Result("Tool nope not found", failed=True))],
        [],
    ]
    assert run.tokens == [900, 900, 950]
    assert told == [f"{tmp_path / 'one.jsonl'}: 1 damaged lines left out"]
