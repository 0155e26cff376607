"""Malformed calls on the real gateway, through a running gateway: the four layers of the loop guard."""

from __future__ import annotations

import pytest

from gate import sampled
from gateway_stage import HOST_GIVES_UP, LOOP, NEW_HOST, TOOL_ERROR, endless_cases
from toolguard_cli.rig import scripted_model

ENDS = endless_cases()


@pytest.mark.parametrize("name", sampled(ENDS, {"read({})", "unknown tool"}))
def test_an_endless_loop_ends(stage, name: str) -> None:
    script, most = ENDS[name]
    played = stage.play(script)
    assert len(played.requests) <= most
    assert played.turn.answer
    if most == HOST_GIVES_UP:
        return  # nothing of ours stands in the requests of such a run
    assert played.kinds[0] == TOOL_ERROR
    errors, loops = [[i for i, kind in enumerate(played.kinds) if kind == wanted] for wanted in (TOOL_ERROR, LOOP)]
    assert not loops or min(errors) < min(loops)


def test_the_model_sees_the_correction_then_the_warning(stage) -> None:
    played = stage.play(scripted_model.endless(scripted_model.call("read", {}), "I could not read it."))
    correction = (
        "[TOOL ERROR] read() requires 'path'. Correct usage: read({ path: \"path/to/file\" }). "
        "You sent: read({}). Fix your call and retry."
    )
    warning = (
        "[LOOP DETECTED] Tool \"read\" failed 2 times with identical arguments ('path' is missing).\n"
        "This is a non-retryable error. Do NOT retry this call.\nTry a different approach or report the issue."
    )
    assert played.results[:2] == [correction, warning]


@pytest.mark.skipif(not NEW_HOST, reason="this release has no text-only pass; the person sees the stop text or a notice")
def test_the_run_ends_with_the_models_own_words(stage) -> None:
    played = stage.play(scripted_model.endless(scripted_model.call("read", {}), "I could not read it."))
    assert played.turn.ok
    assert played.turn.answer == "I could not read it."


def test_a_model_that_corrects_itself_finishes(stage) -> None:
    (stage.home.workspace_dir / "notes.txt").write_text("the answer is 42\n")

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if not request.last_result:
            return scripted_model.call("read", {})
        if "requires 'path'" in request.last_result:
            return scripted_model.call("read", {"path": "notes.txt"})
        return scripted_model.Reply(f"I read: {request.last_result.strip()}")

    played = stage.play(script)
    assert played.turn.answer.startswith("I read: the answer is 42")
    assert len(played.requests) == 3


def test_the_next_turn_of_the_session_works(stage) -> None:
    session = "agent:main:again"
    first = stage.play(scripted_model.endless(scripted_model.call("read", {}), "Stopped."), session)
    assert len(first.requests) <= 4
    (stage.home.workspace_dir / "again.txt").write_text("still here\n")
    second = stage.play(
        scripted_model.sequence([scripted_model.call("read", {"path": "again.txt"})], "Read it."), session, "once more"
    )
    assert second.turn.answer == "Read it."
    assert "still here" in second.results[-1]
    third = stage.play(scripted_model.endless(scripted_model.call("read", {}), "Stopped."), session, "and again")
    assert third.kinds[-2:] == [TOOL_ERROR, LOOP]


@pytest.mark.thorough
def test_good_calls_between_failures_run(stage) -> None:
    touch = scripted_model.call("exec", {"command": "touch between.txt"})
    script = scripted_model.sequence([scripted_model.call("read", {}), touch, scripted_model.call("edit", {})], "Done.")
    played = stage.play(script)
    assert played.turn.answer == "Done."
    assert (stage.home.workspace_dir / "between.txt").exists()
    assert played.kinds == [TOOL_ERROR, TOOL_ERROR]


@pytest.mark.thorough
def test_valid_calls_of_a_batch_run(stage) -> None:
    """Even in a batch with a call that is known to fail."""
    bad, file = scripted_model.ToolCall("read", {}), stage.home.workspace_dir / "batch.txt"
    mixed = scripted_model.Reply(calls=(bad, scripted_model.ToolCall("exec", {"command": "echo x >> batch.txt"})))
    played = stage.play(scripted_model.endless(mixed, "Stopped."))
    assert file.read_text() == "x\n" * 3
    assert len(played.requests) == (5 if NEW_HOST else 4)
    assert [text.partition("]")[0] for text in played.results if text.startswith("[")] == [
        "[TOOL ERROR",
        "[LOOP DETECTED",
        "[TOOL ERROR LIMIT",
    ]


def test_a_batch_of_failures_leaves_a_chance_to_mend_them(stage) -> None:
    """Five malformed calls in one message do not end the run: the model has not seen a word about them yet."""
    names = [f"batch-{n}.txt" for n in range(5)]
    bad = scripted_model.Reply(calls=tuple(scripted_model.ToolCall("write", {"path": name}) for name in names))
    mended = scripted_model.Reply(
        calls=tuple(scripted_model.ToolCall("write", {"path": name, "content": name}) for name in names)
    )
    played = stage.play(scripted_model.sequence([bad, mended], "Written."))
    assert played.turn.answer == "Written."
    assert [(stage.home.workspace_dir / name).read_text() for name in names] == names


def test_every_malformed_call_is_logged_with_its_model(stage, wait) -> None:
    before = len(stage.log())
    stage.play(scripted_model.endless(scripted_model.call("write", {"path": "a.txt", "api_key": "k" * 30}), "Stopped."))
    wait(lambda: len(stage.log()) >= before + 3)  # the engine writes after it has answered
    lines = stage.log()[before:]
    assert [line["action"] for line in lines] == ["corrected", "loop-detected", "stopped"]
    first = lines[0]
    assert {name: first[name] for name in ("provider", "model", "tool", "agent", "error", "problems", "arguments")} == {
        "provider": "scripted",
        "model": "scripted-1",
        "tool": "write",
        "agent": "main",
        "error": "validation",
        "problems": ["content: is missing"],
        "arguments": {"path": "a.txt", "api_key": "[redacted]"},
    }
    assert first["session"].startswith("agent:main:test-")
    assert first["run"]


@pytest.mark.thorough
def test_secrets_and_long_values_stay_out_of_the_text(stage) -> None:
    secret = "sk-" + "abcdef0123456789" * 2
    played = stage.play(
        scripted_model.sequence([scripted_model.call("write", {"path": secret, "junk": "x" * 5000})], "Stopped.")
    )
    assert secret not in played.results[0]
    assert "(5000 characters)" in played.results[0]
    assert len(played.results[0]) < 1500


def test_the_guard_does_not_disturb_good_work(stage) -> None:
    good = [scripted_model.call("exec", {"command": f"echo {number}"}) for number in range(12)]
    played = stage.play(scripted_model.sequence(good, "Counted."))
    assert played.turn.answer == "Counted."
    assert [text.strip() for text in played.results] == [str(number) for number in range(12)]
