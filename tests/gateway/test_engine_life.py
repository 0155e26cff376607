"""The engine process beside a real gateway: killed, reloaded, and gone when the gateway is gone."""

from __future__ import annotations

import os
import signal

import pytest

from gateway_stage import EMBEDDED_HOOKS, LIMIT, NEW_HOST, TOOL_ERROR, Stage, endless, put_in
from toolguard_cli.rig import model
from toolguard_cli.rig.gateway import Gateway, engine_pids, local_turn, openclaw
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
    for _ in range(10):
        done = openclaw(stage.gateway.runtime, stage.home, "plugins", "reload", "toolguard")
        assert done.returncode == 0, done.stdout + done.stderr
    wait(lambda: len(stage.engines()) == 1)
    assert len(stage.play(READ).requests) <= 4
    assert len(stage.engines()) == 1


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM], ids=["killed", "ended"])
def test_no_engine_outlives_its_gateway(real, server, home: Home, wait, how: signal.Signals) -> None:
    put_in(home)
    server.play(READ)
    with Gateway(real, home) as gateway:
        gateway.turn("go")
        assert len(engine_pids(home.state_dir)) == 1
        gateway.stop(how)
    wait(lambda: engine_pids(home.state_dir) == [])


@pytest.mark.parametrize(
    "reply",
    [model.call("exec", {"command": "touch no.txt"}), model.call("read", {}), model.call("read", {"path": ""})],
    ids=["valid call", "malformed call", "empty parameter"],
)
def test_without_an_engine_every_loop_ends(real, server, home: Home, reply: model.Reply) -> None:
    """What could change something is refused, and the reason names the way out."""
    put_in(home)
    text = home.config_path.read_text().replace(
        '"enabled": true\n      }', '"enabled": true, "config": {"python": "/nowhere"}}'
    )
    assert "/nowhere" in text
    home.config_path.write_text(text)
    server.play(endless(reply))
    with Gateway(real, home) as gateway:
        turn = gateway.turn("go")
        log = gateway.log_text()
    assert not (home.workspace_dir / "no.txt").exists()
    results = server.requests[-1].texts("tool")
    assert results[0].startswith(("TOOLGUARD_BLOCK|The guard is not answering", TOOL_ERROR))
    assert results[4].startswith(LIMIT)
    assert len(server.requests) <= 7
    assert turn.answer
    assert "/nowhere" in log
    assert log.count("the engine ended") < 20


@pytest.mark.skipif(not EMBEDDED_HOOKS, reason="no hooks in embedded runs of this release")
def test_an_embedded_run_leaves_its_evidence(real, server, home: Home, wait) -> None:
    put_in(home)
    server.play(READ)
    turn = local_turn(real, home, "go")
    assert turn.ok
    wait(lambda: engine_pids(home.state_dir) == [])
    last = engines.last(home.state_dir)
    assert last is not None
    assert (last.seams["hooks"], last.seams["inPlaceText"], last.seams["gracefulStop"]) == ("works", "works", "works")
