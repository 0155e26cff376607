"""The guard after a compaction, on the real gateway: the model refuses a request as too long, the gateway shortens the
history and goes on with the same run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gateway_stage import LOOP, NEW_HOST, Played, Stage, once
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.scripted_model import call

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only")

BIG = 5
"""Files to read before the history is too long; a history of less than 20,000 tokens would not be shortened."""

ARMED = "post-compaction guard armed for 3 attempts (run "
CODE = "compaction_loop_persisted"


def shortened(stage: Stage, agent: str, after: Callable[[int], scripted_model.Reply], most: int = 8) -> Played:
    """Reads files until the history is too long; once it is shortened, plays the n-th reply of `after`."""
    for number in range(BIG):
        lines = "".join(f"{number} line {line} of many\n" for line in range(1800))
        (stage.home.workspace_dir / f"big-{number}.txt").write_text(lines)
    (stage.home.workspace_dir / "a.txt").write_text("This is a.txt.\n")
    replies = iter([*(call("read", {"path": f"big-{number}.txt"}) for number in range(BIG)), scripted_model.overflow()])
    done = 0

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        nonlocal done
        if reply := next(replies, None):
            return reply
        if not request.tools:
            is_summary = any("context summarization" in text for text in request.texts("system"))
            return scripted_model.Reply(
                "## Goal\nRead the files.\n\n## Progress\nSome were read.\n" if is_summary else "Stopped."
            )
        done += 1
        return after(done) if done <= most else scripted_model.Reply("Stopped.")

    return stage.play(script, agent=agent)


def requests_after(played: Played) -> int:
    """The model requests since the summary, the closing one included."""
    return len(played.requests) - BIG - 2


def goes_on(stage: Stage, session: str) -> None:
    after = stage.play(once(*[call("read", {"path": "a.txt"})] * 2, closing="Read it."), session, "once more")
    assert after.turn.answer == "Read it."
    assert not any(LOOP in text for text in after.results[-2:])


def reading(_: int) -> scripted_model.Reply:
    return call("read", {"path": "a.txt"})


@pytest.mark.thorough
def test_the_same_loop_after_a_compaction(stage) -> None:
    armed = stage.gateway.log_text().count(ARMED)
    played = shortened(stage, "alone", reading)
    assert stage.gateway.log_text().count(ARMED) == armed + 1
    assert requests_after(played) == 3 + 2
    assert LOOP in played.results[-1]
    assert CODE in played.results[-1]
    assert played.turn.answer == "Stopped."
    assert stage.codes(played) == [CODE]
    goes_on(stage, played.session)


@pytest.mark.thorough
def test_something_else_after_a_compaction(stage) -> None:
    played = shortened(stage, "alone", lambda n: call("read", {"path": "a.txt" if n % 2 else "big-0.txt"}))
    assert requests_after(played) == 8 + 1
    assert played.turn.answer == "Stopped."
    assert stage.codes(played) == []


@pytest.mark.thorough
def test_beside_the_gateways_own_guard(stage) -> None:
    """Which ends the run with an error, as it does without us; ours is in the audit log."""
    played = shortened(stage, "main", reading)
    assert requests_after(played) == 3
    assert not played.turn.ok
    assert stage.codes(played) == [CODE]
    goes_on(stage, played.session)


@pytest.mark.thorough
def test_a_smaller_window_is_before_the_gateways_own(stage) -> None:
    played = shortened(stage, "narrow", reading)
    assert requests_after(played) == 2 + 2
    assert played.turn.answer == "Stopped."
    assert stage.codes(played) == [CODE]
    goes_on(stage, played.session)
