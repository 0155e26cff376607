"""On macOS, what the system makes of the profile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.model.call import Host
from toolguard_engine.server.rooms import Rooms

pytestmark = pytest.mark.skipif(sys.platform != "darwin", reason="only macOS has sandbox-exec")
SECRET = "9d1c-the-key-of-the-guard"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    state = tmp_path.resolve() / "home" / ".openclaw"
    for name in ("toolguard", "workspace"):
        (state / name).mkdir(parents=True)
    (state / "toolguard" / "key").write_text(SECRET)
    (state / "openclaw.json").write_text("{}")
    (state.parent / ".zshrc").write_text("")
    return state.parent


def test_the_probe_and_what_a_command_may(home: Path) -> None:
    state = home / ".openclaw"
    host = Host(home=str(home), state_dir=str(state), config_path=f"{state}/openclaw.json")
    rules = profile(ContainmentConfig(), RoomPlaces(host, (f"{state}/workspace",)))
    rooms = Rooms(lambda _: rules, state / "toolguard" / "shell")
    assert rooms.probe() == ""
    number = rooms.entrance("main")
    assert rooms.proven("main", frozenset()) == number > 0

    def run(command: str) -> tuple[int, str]:
        argv = [*rooms.entering(number), "/bin/sh", "-c", command]
        done = subprocess.run(argv, cwd=state / "workspace", capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert run("cat ../toolguard/key")[0] != 0
    assert run("ln ../toolguard/key k && cat k")[0] != 0
    assert run("mv ../../.openclaw ../../other")[0] != 0
    assert run("echo x > ../openclaw.json")[0] != 0
    assert run("echo x >> ../../.zshrc")[0] != 0
    assert run("cat ../../.zshrc && echo a > note && cat note && pwd && ps > /dev/null") == (0, f"a\n{state}/workspace\n")
    assert run("kill -TERM $$")[0] == -15
    assert (state / "toolguard" / "key").read_text() == SECRET
