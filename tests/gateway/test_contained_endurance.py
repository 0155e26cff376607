"""Contained commands of a real gateway under time limits, in great number, and when the gateway itself is killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

import unprivileged
from effort import examples
from gateway_stage import NEW_HOST, Stage, counting, once, put_in
from shared_gateway import QUIET
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home, over
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_engine.stores import open as stores

MISSING = unprivileged.missing()
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not NEW_HOST, reason="older releases have no way in"),
    pytest.mark.skipif(bool(MISSING), reason=f"no gateway can be contained here: {MISSING}"),
]

WHERE = "readlink /proc/self/ns/user"
ALLOWED = {"tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "off", "safeBins": ["wc"]}}}
"""OpenClaw itself runs only a few programs that read their input."""


class OfPerson(Home):
    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SHELL": "/bin/bash"}


@pytest.fixture
def contained(
    real: downloads.Runtime, server: scripted_model.ScriptedModel, request: pytest.FixtureRequest
) -> Iterator[Stage]:
    """A gateway with what the test lays over its config."""
    with OfPerson(server.base_url, extra=over(QUIET, getattr(request, "param", {}))) as home:
        put_in(home)
        runtime = unprivileged.Unprivileged(real, home)
        runtime.own()
        with Gateway(runtime, home) as gateway:
            yield Stage(gateway, server)
        runtime.tidy()


def ran(stage: Stage, command: str) -> str:
    return stage.play(once(scripted_model.call("exec", {"command": command}))).results[-1]


def outside(stage: Stage) -> str:
    (info,) = stores.engines(stage.home.state_dir).running()
    return str(Path(f"/proc/{info.pid}/ns/user").readlink())


def of_agents(stage: Stage) -> set[int]:
    """The processes whose home is this gateway's."""
    home, found = f"HOME={stage.home.root}".encode(), set()
    for path in Path("/proc").iterdir():
        with suppress(OSError):
            if path.name.isdigit() and home in (path / "environ").read_bytes().split(b"\0"):
                found.add(int(path.name))
    return found


def test_time_limits_leave_nothing_behind(contained: Stage, wait) -> None:
    ran(contained, WHERE)
    before = of_agents(contained)
    limited = {"timeoutSeconds": 1}
    played = contained.play(
        counting(
            lambda number: scripted_model.call("exec", {"command": f"echo {number}; sleep 3{number:03}", **limited}),
            most=examples(50),
        )
    )
    assert len(played.results) == examples(50)
    assert all("timed out" in text.lower() or "timeout" in text.lower() for text in played.results), played.results
    wait(lambda: not [pid for pid in of_agents(contained) - before if is_sleep(pid)])


def is_sleep(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
    except OSError:
        return False


def test_many_calls_leave_no_file_mount_or_process(contained: Stage, wait) -> None:
    ran(contained, WHERE)
    files, mounts, before = names(contained), mounts_of(contained), of_agents(contained)
    for start in range(0, examples(1000), 50):
        played = contained.play(
            counting(lambda number, start=start: scripted_model.call("exec", {"command": f"echo {start + number}"}), most=50)
        )
        assert [text.split()[0] for text in played.results] == [str(start + number) for number in range(50)]
    assert names(contained) == files
    assert mounts_of(contained) == mounts
    wait(lambda: len(of_agents(contained)) <= len(before))


def names(stage: Stage) -> set[str]:
    """What lies in the workspace and beside the program in front of commands."""
    tops = (stage.home.workspace_dir, stage.home.state_dir / "toolguard" / "shell")
    return {str(path) for top in tops for path in top.rglob("*")}


def mounts_of(stage: Stage) -> str:
    (info,) = stores.engines(stage.home.state_dir).running()
    return Path(f"/proc/{info.pid}/mountinfo").read_text()


@pytest.mark.parametrize("contained", [ALLOWED], indirect=True)
def test_an_allowlist_of_the_gateway_matches_the_command(contained: Stage) -> None:
    """The program in front of the shell is not what it sees."""
    refused, allowed = ran(contained, WHERE), ran(contained, "wc -c < /dev/null")
    assert "user:[" not in refused, refused
    assert "allowlist" in refused.lower(), refused
    assert "0" in allowed.split() or "allowlist" in allowed.lower(), allowed


BESIDE = 5
"""Commands that enter while the gateway is killed."""


def test_a_gateway_that_is_killed_leaves_no_command_outside(contained: Stage, wait) -> None:
    """Whatever was entering is in its room, or does not run; the next gateway is contained again, and nothing is left of the
    one before. A start takes 40 s of a processor; `test_rooms` kills who holds the rooms more often."""
    ran(contained, WHERE)
    seen = contained.home.workspace_dir / "seen"
    apart = outside(contained)
    for moment in range(examples(100) // BESIDE):
        before = of_agents(contained)
        timer = threading.Timer(moment % 20 / 40, kill, [contained])
        contained.server.on_request = lambda request, timer=timer: timer.start() if request.index == 0 else None
        with suppress(OSError):
            contained.play(counting(beside, most=3))
        contained.server.on_request = None
        timer.join()
        contained.gateway.end_group()
        contained.gateway.process = None
        wait(lambda before=before: not of_agents(contained) & before)
        contained.gateway.start()
    assert ran(contained, WHERE).startswith("user:[")
    assert apart not in ran(contained, WHERE)
    lines = seen.read_text().splitlines() if seen.exists() else []
    assert apart not in lines


def beside(number: int) -> scripted_model.Reply:
    texts = [f": {number} {each}; {WHERE} >> seen" for each in range(BESIDE)]
    return scripted_model.Reply(calls=tuple(scripted_model.ToolCall("exec", {"command": text}) for text in texts))


def kill(stage: Stage) -> None:
    os.killpg(stage.gateway.pid, signal.SIGKILL)
