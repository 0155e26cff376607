"""Without containment nothing of it is loaded; with it, all of it is loaded before the first command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import room_stage
from room_stage import RoomStage

TEXT = """
import os, sys
from pathlib import Path
from toolguard_engine.config.settings import parse
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import Call, Host
from toolguard_engine.server import composition, command_rooms
from toolguard_engine.wire.messages import Hello

profile, home = sys.argv[1:3]
state = f"{home}/.openclaw"
host = Host(home=home, state_dir=state, config_path=f"{state}/openclaw.json")
rooms = command_rooms.CommandRooms(dict(os.environ))
hello = Hello(1, 1, state, shell="/bin/bash", path="/usr/bin:/bin")
rooms.begin(hello, parse({"containment": {"profile": profile}}), host)
before = {name for name in sys.modules if name.startswith("toolguard_engine")}
call = Call("exec", {"command": "docker ps"}, cwd=f"{state}/workspace")
room = rooms.entrance(call, rooms.doors(CallReading(call, host), approved=False)).pid
rooms.close()
late = {name for name in sys.modules if name.startswith("toolguard_engine")} - before
ours = {name for name in before if ".containment." in name or ".server.room" in name}
print(room > 0, rooms.error.replace(" ", "_") or "fine", len(ours), *sorted(late))
"""


def test_off() -> None:
    done = subprocess.run([sys.executable, "-c", TEXT, "off", "/nowhere"], capture_output=True, text=True, check=True)
    assert done.stdout == "False fine 0\n"


def test_nothing_is_loaded_late() -> None:
    room_stage.needed()
    stage = RoomStage()
    try:
        done = stage.run(sys.executable, "-c", TEXT, "protect", str(stage.home), SHELL="/bin/bash")
    finally:
        stage.close()
    is_held, error, count, *late = done.out.split()
    assert (is_held, error, late) == ("True", "fine", []), done.err
    assert int(count) > 5


def test_the_keeper_imports_nothing_of_the_package() -> None:
    text = Path(room_stage.ROOT, "plugin/toolguard_engine/server/room_keeper.py").read_text("utf-8")
    assert "toolguard_engine" not in text
