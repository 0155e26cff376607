"""The engine process beside a real gateway: killed, reloaded, and not to be had."""

from __future__ import annotations

import os
import signal

import pytest

from gate import sampled
from gateway_stage import LIMIT, NEW_HOST, TOOL_ERROR, Stage, endless
from operator_client import GatewayError, Operator
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_engine.stores.files import engine_files as engines

READ = endless(scripted_model.call("read", {}))
ENDED = "the engine exited"


def kill_engines(stage: Stage) -> list[int]:
    killed = stage.engines()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    return killed


def has_one_ready(stage: Stage) -> bool:
    """A process that has not introduced itself yet is no engine for the gateway: it publishes itself when it has."""
    published = [info.pid for info in engines.running(stage.home.state_dir)]
    return len(published) == 1 and published == stage.engines()


@pytest.mark.thorough
def test_one_engine_runs_and_status_knows_it(stage, wait) -> None:
    stage.play(READ)
    assert len(stage.engines()) == 1
    wait(lambda: has_one_ready(stage))


@pytest.mark.thorough
def test_a_run_ends_although_the_engine_was_killed_before_it(stage, wait) -> None:
    stage.play(scripted_model.sequence([], "Here."))
    killed = kill_engines(stage)
    assert len(killed) == 1
    played = stage.play(READ)
    assert played.kinds[0] == TOOL_ERROR
    assert len(played.requests) <= 7
    wait(lambda: len(stage.engines()) == 1 and stage.engines() != killed)


@pytest.mark.thorough
@pytest.mark.parametrize("every", [1, 2])
def test_a_run_ends_although_the_engine_is_killed_in_the_middle_of_it(stage, wait, every: int) -> None:
    """Also when it is killed at each request anew: the gateway part counts on its own then."""
    stage.server.on_request = lambda request: kill_engines(stage) if request.index % every == every - 1 else None
    try:
        played = stage.play(READ)
    finally:
        stage.server.on_request = None
    assert played.turn.answer
    assert len(played.requests) < 12
    assert stage.gateway.process is not None
    assert stage.gateway.process.poll() is None
    wait(lambda: has_one_ready(stage))
    assert len(stage.play(READ).requests) <= 4


def reloaded(operator: Operator) -> bool:
    """Asks for what `openclaw plugins reload toolguard` asks for; while the plugin is at work, the gateway refuses."""
    try:
        operator.call("plugins.reload", {"plugins": [{"pluginId": "toolguard"}]})
    except GatewayError as error:
        assert "retry after the work finishes" in str(error)  # noqa: PT017 - any other refusal fails the test
        return False
    return True


@pytest.mark.thorough
@pytest.mark.skipif(not NEW_HOST, reason="this release has no `plugins reload`")
def test_reloads_leave_one_engine(stage, wait) -> None:
    with Operator(stage.home) as operator:
        for _ in range(3):
            wait(lambda: reloaded(operator))
    wait(lambda: has_one_ready(stage))
    assert len(stage.play(READ).requests) <= 4
    assert len(stage.engines()) == 1


LOOPS = {
    "valid call": scripted_model.call("exec", {"command": "touch no.txt"}),
    "malformed call": scripted_model.call("read", {}),
    "empty parameter": scripted_model.call("read", {"path": ""}),
}


@pytest.fixture
def engineless(either: Shared) -> Stage:
    """A gateway that finds no Python for the engine."""
    return either.under(python="/nowhere", engines=0)


@pytest.mark.thorough
@pytest.mark.parametrize("name", sampled(LOOPS, {"malformed call"}))
def test_without_an_engine_every_loop_ends(engineless: Stage, name: str) -> None:
    """What could change something is refused, and the reason names the way out."""
    before = engineless.gateway.log_text().count(ENDED)
    played = engineless.play(endless(LOOPS[name]))
    assert not (engineless.home.workspace_dir / "no.txt").exists()
    assert played.results[0].startswith(("TOOLGUARD_BLOCK|The guard is not answering", TOOL_ERROR))
    assert played.results[4].startswith(LIMIT)
    assert len(played.requests) <= 7
    assert played.turn.answer
    log = engineless.gateway.log_text()
    assert "/nowhere" in log
    assert log.count(ENDED) - before < 20
