"""Malformed calls in embedded runs (`openclaw agent --local`) of the real gateway."""

from __future__ import annotations

import pytest

from gate import sampled
from gateway_stage import (
    EMBEDDED_HOOKS,
    HOST_GIVES_UP,
    LOOP,
    NEW_HOST,
    NOTE,
    TOOL_ERROR,
    audit,
    endless_cases,
    put_in,
    read_log,
    repeating,
)
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import engine_pids, local_turn
from toolguard_cli.system import paths
from toolguard_engine.stores.files import engine_files as engines

ENDS = endless_cases()
del ENDS["ever new arguments"]
STARTING = 3
"""The engine starts beside the run. The gateway part counts on its own until it is ready, and ends a run after as many."""


@pytest.mark.thorough
@pytest.mark.parametrize("name", sampled(ENDS, {"read({})"}))
def test_an_endless_loop_ends(real, server, home: Home, wait, name: str) -> None:
    script, most = ENDS[name]
    put_in(home)
    server.play(script)
    turn = local_turn(real, home, "go")
    assert 2 <= len(server.requests) <= most + STARTING
    assert turn.output
    if most != HOST_GIVES_UP:  # there nothing of ours stands in the requests
        assert server.requests[-1].texts("tool")[0].startswith(TOOL_ERROR)
    assert [line["action"] for line in read_log(home)][:1] == ["corrected"]
    wait(lambda: engine_pids(home.state_dir) == [])
    if name == "read({})" and EMBEDDED_HOOKS:
        assert turn.ok
        last = engines.last(home.state_dir)
        assert last is not None
        seams = {name: last.seams[name] for name in ("hooks", "inPlaceText", "gracefulStop")}
        assert seams == {"hooks": "works", "inPlaceText": "works", "gracefulStop": "works"}


@pytest.mark.thorough
@pytest.mark.skipif(not NEW_HOST, reason="seen on this release only")
def test_the_same_failure_again_and_again(real, server, home: Home, wait) -> None:
    put_in(home)
    server.play(repeating(scripted_model.call("read", {"path": "nope.txt"}), closing="There is no such file."))
    turn = local_turn(real, home, "go")
    assert turn.ok
    assert "There is no such file." in turn.answer
    assert len(server.requests) == 8
    results = server.requests[-1].texts("tool")
    assert [number for number, text in enumerate(results, 1) if NOTE in text] == [3]
    assert [number for number, text in enumerate(results, 1) if LOOP in text] == [6]
    wait(lambda: engine_pids(home.state_dir) == [])
    assert [event["code"] for event in audit(home)] == ["loop.same-error"] * 2


@pytest.mark.skipif(EMBEDDED_HOOKS, reason="hooks are called in embedded runs of this release")
def test_a_host_that_calls_no_hooks_is_named(real, server, home: Home) -> None:
    put_in(home)
    server.play(ENDS["read({})"][0])
    turn = local_turn(real, home, "go")
    assert "NOT FULLY GUARDED" in turn.output
    checks = {check["id"]: check for check in doctor.run(paths.Places(home.state_dir, home.config_path)).data["checks"]}
    assert checks["hooks"]["status"] == "error"
    assert "did not call its hooks" in checks["hooks"]["detail"]


@pytest.mark.thorough
def test_a_model_that_corrects_itself_finishes(real, server, home: Home) -> None:
    put_in(home)
    (home.workspace_dir / "notes.txt").write_text("the answer is 42\n")

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if not request.last_result:
            return scripted_model.call("read", {})
        if "[TOOL ERROR]" in request.last_result:  # from the engine, or the gateway part where that still starts
            return scripted_model.call("read", {"path": "notes.txt"})
        return scripted_model.Reply(f"I read: {request.last_result.strip()}")

    server.play(script)
    turn = local_turn(real, home, "go")
    assert "I read: the answer is 42" in turn.answer
