"""A gateway on a machine that has no rooms: everything runs as before, and it is said, with the way out."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import unprivileged
from gateway_stage import NEW_HOST, Stage, audit, once, put_in, toolguard
from shared_gateway import QUIET
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_engine.server import room_causes
from toolguard_engine.stores import open as stores

pytestmark = [pytest.mark.thorough, pytest.mark.skipif(not NEW_HOST, reason="the commands are those of this release")]
TESTS = Path(__file__).parents[1]
FORBIDDING = """
import os, sys, room_driver
room_driver.forbid({"what": sys.argv[1]})
os.execvp(sys.argv[2], sys.argv[2:])
"""
WHERE = "readlink /proc/self/ns/user"


def runs_as_before(stage: Stage, cause: str) -> None:
    replies = ({"command": "echo ran; exit 3"}, {"command": WHERE}, {"command": "tty", "pty": True})
    failed, where, terminal = stage.play(once(*(scripted_model.call("exec", each) for each in replies))).results
    (info,) = stores.engines(stage.home.state_dir).running()
    assert (info.contained, cause in info.uncontained) == (False, True), info
    assert info.way_out
    assert "ran" in failed
    assert "code 3" in failed
    assert where.strip() == str(Path(f"/proc/{info.pid}/ns/user").readlink())
    assert "/dev/" in terminal
    said = [line for line in toolguard(stage.home, "status").stdout.splitlines() if "contained" in line]
    assert len(said) == 1, said
    assert info.uncontained in said[0]
    checks = json.loads(toolguard(stage.home, "doctor", "--json").stdout)["data"]["checks"]
    (check,) = [each for each in checks if each["id"] == "containment"]
    assert (check["status"], info.uncontained in check["detail"], check["fix"]) == ("warn", True, info.way_out)
    assert "security.uncontained" not in {event["code"] for event in audit(stage.home)}


@pytest.mark.skipif(os.geteuid() != 0, reason="only where the gateway runs as root")
def test_as_root(stage: Stage) -> None:
    runs_as_before(stage, room_causes.ROOT.text)


@dataclass(frozen=True)
class Forbidden(unprivileged.Unprivileged):
    """An OpenClaw that may make no namespaces: by the kernel's `limit`, or by a `filter` like that of a container."""

    what: str = ""

    def command(self, *arguments: str) -> list[str]:
        path = os.pathsep.join(str(each) for each in (TESTS / "engine", TESTS.parent / "plugin"))
        forbid = ["env", f"PYTHONPATH={path}", sys.executable, "-c", FORBIDDING, self.what, "env", "-u", "PYTHONPATH"]
        return self.wrapped(*forbid, *self.real.command(*arguments))


@pytest.mark.skipif(bool(unprivileged.missing()), reason="no namespaces here")
@pytest.mark.parametrize(("what", "cause"), [("limit", room_causes.NO_NAMESPACES), ("filter", room_causes.SECCOMP)])
def test_without_namespaces(
    real: downloads.Runtime, server: scripted_model.ScriptedModel, what: str, cause: room_causes.RoomCause
) -> None:
    with Home(server.base_url, extra=QUIET) as home:
        put_in(home)
        runtime = Forbidden(real, home, what)
        runtime.own()
        with Gateway(runtime, home) as gateway:
            runs_as_before(Stage(gateway, server), cause.text)
        runtime.tidy()
