"""Repetition without progress on the real gateway: what the model is told, and in how many requests a run ends."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from gate import sampled
from gateway_stage import LOOP, NEW_HOST, NOTE, Stage, counting, once, repeating
from loop_agents import FAST
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.scripted_model import call

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only: texts and batches differ before")

SAME_ERROR = 3, 6
"""The defaults of identicalErrors: the note and the end."""

SESSION = re.compile(r"\(session ([\w-]+), pid")


def command(text: str, **more: Any) -> scripted_model.Reply:
    return call("exec", {"command": text, **more})


def searched(tool: str, args: object) -> scripted_model.Reply:
    return call("tool_call", {"id": tool, "args": args})


def read(path: str) -> scripted_model.Reply:
    return call("read", {"path": path})


def files(stage: Stage, *names: str) -> None:
    for name in names:
        (stage.home.workspace_dir / name).write_text(f"This is {name}.\n")


def goes_on(stage: Stage, session: str) -> None:
    """The session takes another message, and the guard starts from scratch in it."""
    files(stage, "later.txt")
    after = stage.play(once(read("later.txt"), read("later.txt"), closing="Read it."), session, "once more")
    assert after.turn.answer == "Read it."
    assert after.results[-1].strip() == "This is later.txt."


Calls = Callable[[int], scripted_model.Reply]
FAILING: dict[str, Calls] = {
    "a missing file": lambda _: read("nope.txt"),
    "a counter behind the command": lambda n: command(f"cat /nope/log # try {n}"),
    "a number in an option": lambda n: command(f"head -n {n + 5} /nope/log"),
    "a number in an option, others beside it": lambda n: command(f"head -n {n + 5} /nope/2026/log-7.txt", timeoutSeconds=30),
    "text to replace that is not there": lambda _: call(
        "edit", {"path": "here.txt", "edits": [{"oldText": "never", "newText": "ever"}]}
    ),
    "a session that does not exist, through Tool Search": lambda _: searched(
        "sessions_history", {"sessionKey": "agent:main:nope"}
    ),
}


@pytest.mark.parametrize("name", sampled(FAILING, {"a missing file"}))
def test_the_same_failure_again_and_again(stage, name: str) -> None:
    files(stage, "here.txt")
    played = stage.play(counting(FAILING[name]))
    assert played.noted == [SAME_ERROR[0]]
    assert "failed 3 times in the same way" in played.results[2].partition(NOTE)[2]
    assert len(played.results) == SAME_ERROR[1]
    assert LOOP in played.results[-1]
    assert len(played.requests) == 8
    assert played.turn.answer == "Stopped."
    assert stage.codes(played) == ["loop.same-error"] * 2
    goes_on(stage, played.session)


@pytest.mark.thorough
def test_a_model_that_heeds_the_note_is_left_alone(stage) -> None:
    files(stage, "here.txt")

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if request.last_result.startswith("This is"):
            return scripted_model.Reply("Found it.")
        return read("here.txt" if NOTE in request.last_result else "nope.txt")

    played = stage.play(script)
    assert played.turn.answer == "Found it."
    assert len(played.requests) == 5


@pytest.mark.thorough
def test_a_batch_is_one_attempt(stage) -> None:
    """No run ends before its model could see a note: six identical calls in one message are one attempt."""
    files(stage, "here.txt")
    batch = scripted_model.Reply(calls=(scripted_model.ToolCall("read", {"path": "nope.txt"}),) * 6)
    mended = stage.play(once(batch, read("here.txt")))
    assert mended.turn.answer == "Done."
    assert len(mended.results) == 7
    assert mended.noted == []
    played = stage.play(repeating(batch))
    assert len(played.requests) == 8
    assert 13 <= played.noted[0] <= 18  # with the third message
    assert len(played.results) == 36
    assert played.turn.answer == "Stopped."


def ran(stage: Stage) -> int:
    """How often the command that counts itself was executed."""
    return len((stage.home.workspace_dir / "ran.txt").read_text())


def itself_counting(stage: Stage) -> scripted_model.Reply:
    (stage.home.workspace_dir / "ran.txt").unlink(missing_ok=True)
    return command("printf x >> ran.txt; echo hi")


@pytest.mark.thorough
def test_the_same_success_again_and_again(stage) -> None:
    played = stage.play(repeating(itself_counting(stage)), agent="fast")
    assert ran(stage) == FAST["criticalThreshold"]
    assert played.results[:2] == ["hi", "hi"]
    assert played.noted == [3]
    assert played.results[2].startswith(f"hi\n\n{NOTE} exec(")
    assert played.results[6].startswith(LOOP)
    assert len(played.requests) == 9
    assert played.turn.answer == "Stopped."
    assert set(stage.codes(played)) == {"loop.repeat"}
    goes_on(stage, played.session)


@pytest.mark.thorough
def test_a_loop_of_successes_ends_by_default_and_a_poll_goes_on(stage) -> None:
    files(stage, "state.txt")
    played = stage.play(repeating(command("cat state.txt"), read("state.txt")))
    assert played.noted == [10]
    assert len(played.results) == 30
    assert LOOP in played.results[-1]
    assert len(played.requests) == 32
    assert played.turn.answer == "Stopped."
    assert stage.codes(played) == ["loop.breaker"] * 2
    goes_on(stage, played.session)
    polled = stage.play(once(*[command("sleep 0.01; cat state.txt")] * 35))
    assert [text.strip() for text in polled.results] == ["This is state.txt."] * 35
    assert polled.turn.answer == "Done."


@pytest.mark.thorough
def test_three_calls_in_turn(stage) -> None:
    """A longer cycle is the breaker's: nine calls that bring nothing new, after three that did."""
    files(stage, "a.txt", "b.txt", "c.txt")
    played = stage.play(repeating(read("a.txt"), read("b.txt"), read("c.txt")), agent="fast")
    assert played.noted[0] == 7  # the third time that the first of them is called
    assert len(played.results) == 3 + FAST["globalCircuitBreakerThreshold"]
    assert len(played.requests) == 14
    assert played.turn.answer == "Stopped."
    assert stage.codes(played)[-1] == "loop.breaker"
    goes_on(stage, played.session)


def polling(
    stage: Stage, before: Callable[[], None] = lambda: None, *, times: int = 50, **params: Any
) -> scripted_model.Script:
    """Starts `tail` in the background and asks what it has printed, `before` each time."""
    ticks = stage.home.workspace_dir / "ticks.txt"
    ticks.write_text("tick\n")
    session = ""

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        nonlocal session
        if request.index == 0:
            return command("tail -n +1 -f ticks.txt", background=True, timeoutSeconds=60)
        session = session or SESSION.findall(request.last_result)[0]
        if not request.tools:
            return scripted_model.Reply("Stopped.")
        if request.index > times:
            killed = request.last_result.startswith("Termination")
            return scripted_model.Reply("Done.") if killed else call("process", {"action": "kill", "sessionId": session})
        before()
        return call("process", {"sessionId": session, **params})

    return script


@pytest.mark.thorough
def test_a_poll_without_progress(stage) -> None:
    played = stage.play(polling(stage, action="log"), agent="fast")
    assert played.noted == [4]
    assert played.results[7].startswith(LOOP)
    assert len(played.requests) == 10
    assert played.turn.answer == "Stopped."
    assert set(stage.codes(played)) == {"loop.poll"}
    session = SESSION.findall(played.results[0])[0]
    killed = stage.play(once(call("process", {"action": "kill", "sessionId": session})), played.session, "end it")
    assert killed.results[-1].startswith("Termination requested")


@pytest.mark.thorough
def test_through_tool_search(stage) -> None:
    """The note stands behind what the model sees: the result of the outer call."""
    played = stage.play(repeating(searched("agents_list", {})), agent="fast")
    assert played.noted == [3]
    outer, _, note = played.results[2].partition(f"\n\n{NOTE}")
    assert outer == played.results[0]
    assert "agents_list" in note
    assert LOOP in played.results[6]
    assert len(played.requests) == 9
    assert played.turn.answer == "Stopped."
    assert set(stage.codes(played)) == {"loop.repeat"}


@pytest.mark.thorough
def test_the_default_thresholds(stage) -> None:
    played = stage.play(repeating(itself_counting(stage)), agent="on")
    assert ran(stage) == 20
    assert played.noted == [10, 15, 20]
    assert played.results[20].startswith(LOOP)
    assert len(played.requests) == 23
    assert played.turn.answer == "Stopped."


def untouched(stage: Stage, script: scripted_model.Script, results: int) -> list[str]:
    """Plays it; the guard says nothing, neither to the model nor to the audit log."""
    played = stage.play(script, agent="on")
    assert played.turn.answer == "Done."
    assert len(played.results) == results
    assert not any(word in text for text in played.results for word in (NOTE, LOOP))
    assert stage.codes(played) == []
    return played.results


def ticking(stage: Stage) -> Callable[[], None]:
    """Each time there is a line more to see."""
    numbers = count(1)

    def tick() -> None:
        with (stage.home.workspace_dir / "ticks.txt").open("a") as file:
            file.write(f"tick {next(numbers)}\n")

    return tick


@pytest.mark.thorough
@pytest.mark.parametrize("params", [{"action": "poll", "timeout": 10_000}, {"action": "log"}], ids=["poll", "log"])
def test_a_poll_that_makes_progress(stage, params: dict[str, Any]) -> None:
    results = untouched(stage, polling(stage, ticking(stage), times=15, **params), 17)
    assert all("tick" in text for text in results[1:16])


@pytest.mark.thorough
def test_different_calls(stage) -> None:
    names = [f"{number}.txt" for number in range(50)]
    for name in names:
        (stage.home.workspace_dir / name).write_text("the same in each\n")
    writes = [call("write", {"path": name, "content": "the same"}) for name in names[:10]]
    untouched(stage, once(*map(read, names), *writes), 60)


@pytest.mark.thorough
def test_the_same_test_between_edits(stage) -> None:
    """A command that fails in the same way each time, for a lasting reason, with something changed in between."""
    (stage.home.workspace_dir / "code.txt").write_text("v0\n")
    edits = [call("edit", {"path": "code.txt", "edits": [{"oldText": f"v{n}", "newText": f"v{n + 1}"}]}) for n in range(8)]
    test = command("cat missing.txt && grep -q v9 code.txt")
    results = untouched(stage, once(*(reply for edit in edits for reply in (edit, test))), 16)
    assert all("No such file" in text for text in results[1::2])


@pytest.mark.thorough
def test_a_tool_that_does_not_exist(stage, wait) -> None:
    """Where malformed calls may be many, its own threshold ends the run. The gateway shows no hook the message with such a
    call, so one more request leaves."""
    before = len(stage.log())
    played = stage.play(counting(lambda n: call("nosuchtool", {"try": n})), agent="patient")
    assert len(played.requests) == 5
    wait(lambda: len(stage.log()) == before + 5)
    assert [line["action"] for line in stage.log()[before:]] == ["corrected"] * 3 + ["limit"] * 2
    goes_on(stage, played.session)
