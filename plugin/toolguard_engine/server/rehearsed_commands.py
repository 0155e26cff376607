"""The rehearsals of a gateway's commands, as the engine sees them: what waits for a person, how the next one is run, and
whether there can be any. `rehearsal_run` runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.approvals.binding import bind
from toolguard_engine.containment import credential_doors, room_tables
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.containment.rules import RoomRule
from toolguard_engine.model.call import Call
from toolguard_engine.model.rehearsals import Rehearsed
from toolguard_engine.server import linked_files, rehearsal_commit, rehearsal_files
from toolguard_engine.server.rehearsal_files import HELD, PLAN, RECORD, SETTINGS, HeldRehearsal, RehearsalPlan
from toolguard_engine.stores import atomic

PACKAGE = Path(__file__).parents[2]
BOOT = "import sys; sys.path[:0] = {path!r}; from toolguard_engine.server.{module} import main; main()"
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what programs write to
PROBE_SECONDS = 20.0
KEY_LENGTH = 24
ELSEWHERE = ("node", "sandbox")
"""Values of `host` with which a command does not run beside the gateway."""


def interpreter(module: str) -> list[str]:
    """A Python with the package, whatever the variables of the command say."""
    path = [str(PACKAGE), *(folder for folder in sys.path if folder)]
    return [sys.executable, "-I", "-c", BOOT.format(path=path, module=module)]


class RehearsedCommands:
    """`error`: why there can be no rehearsal; empty if there can. `is_trusted`: see `model.rehearsals`; `name`: of
    the folder that they work in."""

    def __init__(
        self, places: RoomPlaces, config: Any, is_trusted: Callable[[str], bool], name: str = rehearsal_files.FOLDER
    ) -> None:
        self.folder = atomic.own_folder(Path(places.host.state_dir)) / name
        self._places = places
        self._settings = rehearsal_files.RehearsalSettings(config, places.host)
        self.is_trusted = is_trusted
        self.error = ""

    @property
    def command(self) -> list[str]:
        """What runs a command that is rehearsed, with the folder that it works in."""
        return [*interpreter("rehearsal_run"), str(self.folder)]

    def begin(self) -> None:
        """Finishes what a killed process has begun to make, and tries a rehearsal."""
        try:
            rehearsal_files.write(self.folder / SETTINGS, self._settings)
            with rehearsal_commit.locked(self.folder):
                rehearsal_files.sweep(self.folder)
            self.error = self._trial()
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            self.error = f"what an earlier command changes cannot be finished: {error}"

    def _trial(self) -> str:
        """Why it does not work here; empty if it does."""
        tried = [*interpreter("rehearsal_probe"), str(self.folder), *self._folders]
        try:
            done = subprocess.run(tried, cwd="/", env={}, capture_output=True, timeout=PROBE_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return "a trial did not end"
        return (done.stderr or done.stdout).decode(errors="replace").strip()[-300:] if done.returncode else ""

    def rehearse(self, call: Call) -> Rehearsed:
        if call.searched or (isinstance(call.params, dict) and call.params.get("host") in ELSEWHERE):
            return Rehearsed(unavailable="it does not run as a command beside the gateway")
        if self.error:
            return Rehearsed(unavailable=self.error)
        try:
            held = self._held(call)
        except (OSError, ValueError, msgspec.MsgspecError):
            return Rehearsed()
        return Rehearsed(tuple(held.effects), str(self._at(call) / HELD / RECORD), done=tuple(held.done))

    def _at(self, call: Call) -> Path:
        """Raises `ValueError`."""
        return self.folder / bind(call)[:KEY_LENGTH]

    def _held(self, call: Call) -> HeldRehearsal:
        """What waits for a person, unless it is overtaken: then it is forgotten. Raises `OSError` and `ValueError`."""
        at = self._at(call) / HELD
        held = rehearsal_files.RECORDS.decode(atomic.read_bounded(at / RECORD, rehearsal_files.MAX_FILE))
        if not rehearsal_commit.is_current(rehearsal_commit.read(at)):
            shutil.rmtree(at, ignore_errors=True)
            raise FileNotFoundError(at)
        return held

    def way(self, call: Call, rules: tuple[RoomRule, ...], *, approved: bool) -> str:
        """What the name of the command's room says behind the agent; empty if it runs as any command. Raises `OSError` and
        `ValueError`."""
        at = self._at(call)
        if approved:
            try:
                held = self._held(call)
            except (OSError, msgspec.MsgspecError):
                return ""
            if not held.is_whole:
                return f"{rehearsal_files.RUN}:{at.name}"
            return f"{rehearsal_files.COMMIT}:{at.name}:{rehearsal_files.serial(at / HELD / RECORD)}"
        rehearsal_files.write(at / PLAN, self._plan(call, rules))
        return f"{rehearsal_files.REHEARSE}:{at.name}"

    def _plan(self, call: Call, rules: tuple[RoomRule, ...]) -> RehearsalPlan:
        """Start-up files can be written: nothing comes of it without a person, who then sees what was to come of it."""
        home = self._places.host.home
        started = {Path(home, name) for name in room_tables.load().home.startup}
        kept: list[tuple[str, str]] = [
            (rule.kind, os.fspath(rule.path)) for rule in rules if rule.kind != "offline" and rule.path not in started
        ]
        revealed = [rule.path for rule in rules if rule.path in started]
        return RehearsalPlan(
            agent=call.agent,
            folders=[*self._folders, *([call.cwd] if call.cwd else [])],
            private=[folder for folder in ("/dev/shm", self._runtime) if os.path.isdir(folder)],  # noqa: S108, PTH112
            rules=kept,
            watched=[path for _, path in credential_doors.places(home) if os.path.exists(path)],  # noqa: PTH110
            revealed=list(dict.fromkeys(chain.from_iterable(map(linked_files.on_the_way, map(str, revealed))))),
            workspace=call.cwd,
        )

    @property
    def _runtime(self) -> str:
        return self._places.runtime or f"/run/user/{self._places.uid}"

    @cached_property
    def _folders(self) -> list[str]:
        return [self._places.host.home, *TEMPORARY, *self._places.workspaces]
