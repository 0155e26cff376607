"""Rehearses commands as the gateway's shell does, as the user that it is started as. Its arguments are JSON:

{"cases": [[form, name], ...], "folder": path, "kills": number} -> one JSON line for each case, or for each kill.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import rehearsal_deeds
from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.config.settings import Config
from toolguard_engine.containment import unknown_code
from toolguard_engine.containment.profile import profile
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.server import room_surroundings
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.rehearsal_commit import locked
from toolguard_engine.server.rehearsed_commands import RehearsedCommands


class Scene:
    """A home with an opaque program in it, as new."""

    def __init__(self, folder: Path, form: str, name: str) -> None:
        self.home = folder / "home"
        shutil.rmtree(self.home, ignore_errors=True)
        rehearsal_deeds.furnish(self.home)
        self.command = rehearsal_deeds.command(form, name, self.home, folder)
        self.workspace = self.home / ".openclaw/workspace"
        state = f"{self.home}/.openclaw"
        self.host = Host(home=str(self.home), state_dir=state, config_path=f"{state}/openclaw.json")
        self.places = room_surroundings.look(self.host, {})
        self.rehearsals = RehearsedCommands(self.places, {}, lambda _: True)
        self.call = Call("exec", {"command": self.command}, cwd=str(self.workspace), agent="main")

    def unknown(self) -> str:
        """Why its code cannot be read, if the guard lets it run."""
        guard = Guard(Config(), {}, self.host, packs.load(), files=FileReader())
        reading = CallReading(self.call, self.host, files=FileReader())
        return (
            unknown_code.why(reading, lambda _: True) if guard.judge(self.call).decision == "allow" else "held by its text"
        )

    def start(self, way: str, **options: Any) -> subprocess.Popen[str]:
        argv = [*self.rehearsals.command, "1", f"main+{way}", "/bin/bash", "-c", self.command]
        env = {**os.environ, "HOME": str(self.home)}
        return subprocess.Popen(
            argv, cwd=self.workspace, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
        )

    def way(self, *, approved: bool) -> str:
        return self.rehearsals.way(self.call, profile(ContainmentConfig(), self.places), approved=approved)

    def tree(self) -> dict[str, object]:
        return rehearsal_deeds.tree(self.home)


def play(folder: Path, form: str, name: str) -> dict[str, Any]:
    """Plainly, then rehearsed, then approved if it is held."""
    plain = Scene(folder, form, name)
    subprocess.run(
        ["/bin/bash", "-c", plain.command], cwd=plain.workspace, env={**os.environ, "HOME": str(plain.home)}, check=True
    )
    expected = plain.tree()
    scene = Scene(folder, form, name)
    before = scene.tree()
    unknown = scene.unknown()
    scene.rehearsals.begin()
    process = scene.start(scene.way(approved=False))
    output, _ = process.communicate(timeout=120)
    after, seen = scene.tree(), scene.rehearsals.rehearse(scene.call)
    found = {
        "form": form, "name": name, "unknown": unknown, "error": scene.rehearsals.error, "code": process.returncode,
        "output": output, "effects": seen.effects, "untouched": after == before, "done": after == expected,
    }  # fmt: skip
    way = scene.way(approved=True) if seen.effects else ""
    if way.startswith("commit:"):
        again = [scene.start(way) for _ in range(2)]
        found["approved"] = sorted((each.communicate(timeout=120)[0], each.returncode)[1] for each in again)
        found["done_when_approved"] = scene.tree() == expected
    return found


def kill(folder: Path, moment: float) -> dict[str, Any]:
    """An honest command of two steps, killed after so many seconds."""
    plain = Scene(folder, "script", "replaces by renaming")
    before = plain.tree()
    subprocess.run(
        ["/bin/bash", "-c", plain.command], cwd=plain.workspace, env={**os.environ, "HOME": str(plain.home)}, check=True
    )
    expected = plain.tree()
    scene = Scene(folder, "script", "replaces by renaming")
    scene.rehearsals.begin()
    process = scene.start(scene.way(approved=False), start_new_session=True)
    time.sleep(moment)  # any moment will do
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)  # its output is closed when the last process of the room has ended
    with locked(scene.rehearsals.folder):
        after = scene.tree()
    return {"outcome": "before" if after == before else "after" if after == expected else "between"}


def tell(found: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def main() -> None:
    asked = json.loads(sys.argv[1])
    folder = Path(asked["folder"])
    for form, name in asked.get("cases", ()):
        tell(play(folder, form, name))
    for number in range(asked.get("kills", 0)):
        tell(kill(folder, 0.02 * (number + 1)))


if __name__ == "__main__":
    main()
