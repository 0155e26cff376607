"""Calls inside Tool Search on the real gateway, and the examples that the guard gives to a model."""

from __future__ import annotations

import pytest

from gateway_stage import LOOP, NEW_HOST, TOOL_ERROR, endless
from standings_seen import batch
from toolguard_cli.rig import scripted_model
from toolguard_engine.server import tool_hints

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="this release has no Tool Search")


def searched(tool: str, args: object) -> scripted_model.Reply:
    return scripted_model.call("tool_call", {"id": tool, "args": args})


def test_the_inner_call_counts(stage, wait) -> None:
    before = len(stage.log())
    played = stage.play(endless(searched("message", {})))
    assert len(played.requests) <= 4
    assert played.kinds[:2] == [TOOL_ERROR, LOOP]
    assert played.results[0].startswith(
        "[TOOL ERROR] message() requires 'action'. Correct usage: tool_call({ id: \"message\""
    )
    wait(lambda: len(stage.log()) >= before + 3)
    assert [line["tool"] for line in stage.log()[before:]] == ["message"] * 3


@pytest.mark.thorough
def test_our_examples_are_calls_that_the_gateway_takes(stage) -> None:
    """What we tell a model to write must pass the schema of the real tool; whether it succeeds is another matter."""
    examples = {tool: dict(hint.example) for tool, hint in sorted(tool_hints.load().items()) if tool != "tool_call"}

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if request.last_result or not request.tools:
            return scripted_model.Reply("Tried.")
        offered = request.tool_names
        return batch(
            *(scripted_model.call(t, given) if t in offered else searched(t, given) for t, given in examples.items())
        )

    before = len(stage.log())
    played = stage.play(script)
    assert stage.log()[before:] == []
    assert [tool for tool, text in zip(examples, played.results, strict=True) if text.startswith("[TOOL ERROR")] == []
