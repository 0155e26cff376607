"""Calls inside Tool Search on the real gateway, and the examples that the guard gives to a model."""

from __future__ import annotations

import pytest

from gateway_stage import LOOP, NEW_HOST, TOOL_ERROR, endless
from toolguard_cli.rig import model
from toolguard_engine import hints

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="this release has no Tool Search")


def searched(tool: str, args: object) -> model.Reply:
    return model.call("tool_call", {"id": tool, "args": args})


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


def test_two_spellings_are_one_call(stage) -> None:
    def script(request: model.Request) -> model.Reply:
        name = ["message", "openclaw:core:message"][request.index % 2]
        return searched(name, {}) if request.tools and request.index < 40 else model.Reply("Stopped.")

    assert len(stage.play(script).requests) <= 4


def test_an_unknown_id_ends(stage) -> None:
    played = stage.play(endless(searched("nosuchtool", {})))
    assert len(played.requests) <= 4
    assert "There is no tool 'nosuchtool'" in played.results[0]


def test_a_call_without_an_id_ends(stage) -> None:
    played = stage.play(endless(model.call("tool_call", {})))
    assert len(played.requests) <= 4
    assert played.results[0].startswith("[TOOL ERROR] tool_call() requires 'id'.")


def test_an_exempt_tool_is_still_corrected(stage) -> None:
    """memory_get is exempt by default: never blocked, but its endless malformed call ends all the same."""
    played = stage.play(endless(searched("memory_get", {})))
    assert len(played.requests) <= 4


@pytest.mark.parametrize("tool", sorted(set(hints.load()) - {"tool_call"}))
def test_our_examples_are_calls_that_the_gateway_takes(stage, tool: str) -> None:
    """What we tell a model to write must pass the schema of the real tool; whether it succeeds is another matter."""
    example = dict(hints.load()[tool].example)

    def script(request: model.Request) -> model.Reply:
        if request.last_result or not request.tools:
            return model.Reply("Tried.")
        return model.call(tool, example) if tool in request.tool_names else searched(tool, example)

    before = len(stage.log())
    played = stage.play(script)
    assert stage.log()[before:] == []
    assert not any(text.startswith("[TOOL ERROR") for text in played.results), played.results
