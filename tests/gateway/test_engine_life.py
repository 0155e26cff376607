"""The engine process beside a real gateway: killed, reloaded, and not to be had."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from gateway_stage import LIMIT, NEW_HOST, TOOL_ERROR, Stage, configure, endless, put_in
from operator_client import Operator
from toolguard_cli.rig import model
from toolguard_cli.rig.gateway import Gateway, openclaw
from toolguard_cli.rig.home import Home
from toolguard_engine.stores import engines

READ = endless(model.call("read", {}))


def kill_engines(stage: Stage) -> list[int]:
    killed = stage.engines()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    return killed


def test_one_engine_runs_and_status_knows_it(stage, wait) -> None:
    stage.play(READ)
    assert len(stage.engines()) == 1
    wait(lambda: [info.pid for info in engines.running(stage.home.state_dir)] == stage.engines())


def test_a_run_ends_although_the_engine_was_killed_before_it(stage, wait) -> None:
    stage.play(model.sequence([], "Here."))
    killed = kill_engines(stage)
    assert len(killed) == 1
    played = stage.play(READ)
    assert played.kinds[0] == TOOL_ERROR
    assert len(played.requests) <= 7
    wait(lambda: len(stage.engines()) == 1 and stage.engines() != killed)


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
    wait(lambda: len(stage.engines()) == 1)
    assert len(stage.play(READ).requests) <= 4


def test_a_valid_call_is_not_lost_to_a_killed_engine_for_long(stage, wait) -> None:
    kill_engines(stage)
    wait(lambda: len(stage.engines()) == 1)
    played = stage.play(model.sequence([model.call("exec", {"command": "echo alive"})], "Done."))
    assert played.results[-1].strip() == "alive"


@pytest.mark.skipif(not NEW_HOST, reason="this release has no `plugins reload`")
def test_ten_reloads_leave_one_engine(stage, wait) -> None:
    done = openclaw(stage.gateway.runtime, stage.home, "plugins", "reload", "toolguard")
    assert done.returncode == 0, done.stdout + done.stderr
    with Operator(stage.home) as operator:  # asks for what that command asks for
        for _ in range(9):
            operator.call("plugins.reload", {"plugins": [{"pluginId": "toolguard"}]}, limit=60)
    wait(lambda: len(stage.engines()) == 1)
    assert len(stage.play(READ).requests) <= 4
    assert len(stage.engines()) == 1


@pytest.fixture(scope="module")
def engineless(real, server) -> Iterator[Stage]:
    """A gateway that finds no Python for the engine."""
    with Home(server.base_url) as home:
        put_in(home)
        configure(home, python="/nowhere")
        with Gateway(real, home) as gateway:
            yield Stage(gateway, server)


@pytest.mark.parametrize(
    "reply",
    [model.call("exec", {"command": "touch no.txt"}), model.call("read", {}), model.call("read", {"path": ""})],
    ids=["valid call", "malformed call", "empty parameter"],
)
def test_without_an_engine_every_loop_ends(engineless: Stage, reply: model.Reply) -> None:
    """What could change something is refused, and the reason names the way out."""
    played = engineless.play(endless(reply))
    assert not (engineless.home.workspace_dir / "no.txt").exists()
    assert played.results[0].startswith(("TOOLGUARD_BLOCK|The guard is not answering", TOOL_ERROR))
    assert played.results[4].startswith(LIMIT)
    assert len(played.requests) <= 7
    assert played.turn.answer
    log = engineless.gateway.log_text()
    assert "/nowhere" in log
    assert log.count("the engine ended") < 20
