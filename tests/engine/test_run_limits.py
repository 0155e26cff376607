"""Limits on one run: what counts, the note at 80%, the end at 100%, and a new run that begins anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from engine_talk import Talk, talks
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.outcomes import outcome
from toolguard_engine.guard import Guard
from toolguard_engine.layers import run_limits
from toolguard_engine.model.call import Call
from toolguard_engine.stores.files import counters

AT = 1_000_000.0


class Runs:
    """Calls of runs, one after the other, each with a result of its own."""

    def __init__(self, **settings: Any) -> None:
        self.guard = Guard(msgspec.convert(settings, Config), {})
        self.number = 0
        self.takes = 0.0
        """Seconds for which each call runs."""

    def call(
        self, *, run: str = "r", request: int = 0, minutes: float = 0.0, tool: str = "read", agent: str = "main"
    ) -> Call:
        self.number += 1
        params = {"path": f"/home/u/a{self.number}"}
        return Call(tool, params, agent=agent, session="s", run=run, request=request or self.number, at=AT + 60 * minutes)

    def ran(self, **of: Any) -> str:
        """The code of the verdict; the call runs if it may. The note behind its result follows."""
        call = self.call(**of)
        verdict = self.guard.judge(call)
        if verdict.decision != "allow":
            self.guard.refused(call, verdict)
            return verdict.code
        asked = self.guard.wanted(call, self.guard.config_for(call.agent)) == "ask"
        call = replace(call, at=call.at + self.takes)
        reaction = self.guard.on_result(
            call, outcome(call.tool, call.params, f"text {self.number}", 0, "", None, failed=False), asked=asked
        )
        return f"noted {asked}" if reaction.note else ""


def test_without_a_limit_nothing_is_counted() -> None:
    runs = Runs()
    assert {runs.ran() for _ in range(500)} == {""}
    assert not runs.guard._run("r").counters.matters


def test_what_a_run_has_used_is_kept_for_the_next_engine() -> None:
    runs = Runs(runLimits={"calls": 10})
    assert runs.ran() == ""
    assert counters.from_plain(counters.to_plain(runs.guard._run("r"))).counters.matters


def test_calls() -> None:
    runs = Runs(runLimits={"calls": 10})
    assert [runs.ran() for _ in range(11)] == [*[""] * 7, "noted True", "", "", run_limits.CODE]


def test_requests_not_the_calls_of_one_message() -> None:
    runs = Runs(runLimits={"requests": 5})
    codes = [[runs.ran(request=request) for _ in range(3)] for request in range(7, 13)]
    assert codes == [[""] * 3] * 4 + [["noted True", "", ""], [run_limits.CODE] * 3]


def test_minutes() -> None:
    runs = Runs(runLimits={"minutes": 10})
    assert [runs.ran(minutes=minutes) for minutes in (0, 7.9, 8, 9.9, 10)] == ["", "", "noted True", "", run_limits.CODE]


def test_the_time_begins_with_the_first_call_and_not_with_its_result() -> None:
    runs = Runs(runLimits={"minutes": 10})
    runs.takes = 3_600.0
    assert [runs.ran(minutes=minutes) for minutes in (0, 60)] == ["", run_limits.CODE]


@pytest.mark.parametrize(("limits", "most"), [({"requests": 3}, 3), ({"minutes": 5}, 5)])
def test_calls_that_wait_use_up_requests_and_time(limits: dict[str, int], most: int) -> None:
    runs = Runs(runLimits=limits, alwaysBlock=["exec"])
    codes = [runs.ran(tool="exec", minutes=minute, request=minute + 7) for minute in range(most + 1)]
    assert codes[-1] == run_limits.CODE
    assert run_limits.CODE not in codes[:-1]


def test_a_run_does_not_count_another_one() -> None:
    runs = Runs(runLimits={"calls": 2})
    assert [runs.ran(run=run) for run in "aababb"] == ["", "noted True", "", run_limits.CODE, "noted True", run_limits.CODE]


def test_the_run_ends_with_an_answer_that_names_the_command() -> None:
    runs = Runs(runLimits={"calls": 1})
    runs.ran()
    call = runs.call()
    verdict, stop = runs.guard.refused(call, runs.guard.judge(call))
    assert stop is not None
    assert "toolguard config set runLimits.calls 2" in verdict.text
    assert stop.waiting == ("toolguard limits",)


@pytest.mark.parametrize("tool", ["memory_search", "exec"])
def test_no_tool_is_exempt(tool: str) -> None:
    runs = Runs(runLimits={"calls": 1})
    runs.ran()
    assert runs.ran(tool=tool) == run_limits.CODE


def test_an_agent_may_have_limits_of_its_own() -> None:
    runs = Runs(runLimits={"calls": 1}, agents={"writer": {"runLimits": {"calls": 3}}})
    assert [runs.ran(run="a", agent="writer") for _ in range(4)][-1] == run_limits.CODE
    assert [runs.ran(run="b") for _ in range(2)][-1] == run_limits.CODE
    texts = [runs.guard.judge(runs.call(run=run, agent=agent)).reason for run, agent in (("a", "writer"), ("b", "main"))]
    assert ["agents.writer.runLimits.calls 6" in texts[0], " runLimits.calls 2" in texts[1]] == [True, True]


def test_in_shadow_mode_it_is_only_told() -> None:
    runs = Runs(runLimits={"calls": 1}, mode="shadow")
    runs.ran()
    assert runs.guard.judge(runs.call()).code == f"shadow.{run_limits.CODE}"


def test_an_engine_after_this_one_goes_on_counting(tmp_path: Path) -> None:
    settings = {"runLimits": {"calls": 3}}
    call = {"tool": "read", "agent": "main", "session": "s", "run": "r"}
    decisions = []
    for number in range(4):
        with talks(Talk) as start:
            talk = start()
            talk.hello(tmp_path, settings)
            params = {"path": f"/home/u/{number}"}
            answer = talk.answer([], id=1, type="judge", params=params, **call)
            decisions.append(answer["decision"])
            if answer["decision"] == "allow":
                talk.send(id=2, type="came", params=params, text=f"{number}", **call)
                talk.said()
            talk.end()
    assert decisions == ["allow"] * 3 + ["block"]
