"""Beside the gateway's own loop detection: calls that it vetoes, and notes that it appends to results."""

from __future__ import annotations

from typing import Any

import pytest

from loop_play import Play, config
from tables import each_row
from toolguard_engine.config.settings import parse
from toolguard_engine.effects.calls.outcomes import MAX_HOST_NOTES, Outcome, outcome

CODE = "loop.host"
NOTE = (
    "[System note: Tool-loop warning after {} repeated calls. Change your approach or stop if you are not making progress.]"
)


class Beside(Play):
    """A run in which the gateway may stop a call before it is judged."""

    def vetoed(self, text: str) -> str:
        """One message of which no call runs; the reaction to the last call."""
        self.requests += 1
        made = [self.call(word)[0] for word in text.split("+")]
        if refused := self.guard.message("r", self.agent, made):
            self.ended = True
            return f"stop {refused[0].failure.error}"
        reactions = [self.guard.on_result(call, None) for call in made]
        self.calls += len(made)
        self.ended = any(reaction.stop for reaction in reactions)
        assert not any(reaction.note and not reaction.stop for reaction in reactions)
        return "; ".join(f"{'end' if reaction.stop else 'warn'} {reaction.code}" for reaction in reactions if reaction.code)


def test_the_second_one_ends_the_run() -> None:
    run = Beside(config())
    run.play("A1*5")
    assert [run.vetoed("A1"), run.vetoed("A1")] == [f"warn {CODE}", f"end {CODE}"]


def test_the_calls_of_one_message_are_one() -> None:
    run = Beside(config())
    run.play("A1*5")
    assert [run.vetoed("A1+A1+B1"), run.vetoed("B1+A1")] == [f"warn {CODE}", f"end {CODE}"]


def test_a_block_of_our_own_counts_with_it() -> None:
    run = Beside(config({"criticalThreshold": 5, "warningThreshold": 3}))
    assert run.vetoed("B1") == f"warn {CODE}"
    assert run.play("A1*9") == {4: "note loop.repeat", 7: "stop loop.repeat"}
    run = Beside(config({"criticalThreshold": 5, "warningThreshold": 3}))
    run.play("A1*6")
    assert run.did[6] == "block loop.repeat"
    assert run.vetoed("B1") == f"end {CODE}"


@pytest.mark.parametrize("settings", [{}, {"loopDetection": {"enabled": False}}], ids=["absent", "false"])
def test_vetoes_are_ignored_if_loop_detection_is_off(settings: dict[str, Any]) -> None:
    run = Beside(parse(settings))
    assert [run.vetoed("A1"), run.vetoed("A1")] == ["", ""]


def test_a_vetoed_call_keeps_the_pattern_alive() -> None:
    run = Beside(config({"detectors": {"genericRepeat": False}}))
    run.play("A1 B1 " * 9 + "A1")
    assert run.vetoed("B1") == f"warn {CODE}"
    assert run.vetoed("A1") == "stop not-executed"
    assert run.ended


def test_an_exempt_tool_is_never_ended_for_it() -> None:
    run = Beside(config(neverBlock=["tool_a"]))
    assert [run.vetoed("A1"), run.vetoed("A1")] == ["", ""]


def said(text: str, size: int | None = None, **facts: Any) -> Outcome:
    return outcome("read", {}, text, len(text) if size is None else size, "", None, failed=facts.pop("failed", False))


@each_row("failed", [False, True])
@each_row("text", ["queued", "", "a\nb\n", '{"status": "error", "error": "No such file: a.md"}'])
def test_the_note_is_not_part_of_a_result(text: str, *, failed: bool) -> None:
    plain = said(text, failed=failed)
    for noted in (f"{text}\n{NOTE.format(10)}", f"{text}\n{NOTE.format(9)}\n{NOTE.format(100)}"):
        assert said(noted, failed=failed) == plain
    whole = f"{text}\n{NOTE.format(10)}"
    assert said(whole, 70_000 + len(NOTE.format(10)) + 1, failed=failed) == said(text, 70_000, failed=failed)


@each_row(
    "text",
    [
        f"{NOTE.format(10)}\nqueued",
        f"queued\n{NOTE.format(10)} It says so.",
        f"queued\n[System note: Tool-loop warning] {'x' * 300} making progress.]",
        "queued\nYou are making progress.]",
    ],
)
def test_similar_texts_are_kept(text: str) -> None:
    assert said(text) != said("queued")


def test_only_a_limited_number_of_notes_is_removed() -> None:
    text = "queued" + f"\n{NOTE.format(10)}" * (MAX_HOST_NOTES + 1)
    assert said(text) != said("queued")
