"""Whether the commands of a gateway are contained, and which room each of them enters. Without containment nothing of it is
imported."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.model.call import NOTHING_KEPT, Call, Host, Kept
from toolguard_engine.model.lazy import FAILURES
from toolguard_engine.wire import messages

if TYPE_CHECKING:
    from toolguard_engine.containment.room_places import RoomPlaces
    from toolguard_engine.containment.rules import RoomRule
    from toolguard_engine.server.rehearsed_commands import RehearsedCommands
    from toolguard_engine.server.room_causes import RoomCause
    from toolguard_engine.server.rooms import Rooms

PROFILES = ("toolguard", "shell")
"""Where the profiles of rooms lie in the state directory, on macOS."""
OTHER_SHELL = "OpenClaw does not run commands with the shell that SHELL names"
SHELL_FIX = "use OpenClaw 2026.8 or later; if you do, please report its release"
NOT_WANTED = -1
NO_ROOM = 0
MAX_NAME = 200
_ODD = lazy_re.compile(r"[^\w.+:-]", re.ASCII)
"""In the name of a room, which stands in a variable of the gateway."""


class CommandRoom(msgspec.Struct, frozen=True):
    """`pid`: the process that holds it; 0 if there is none although there should be, -1 if the command runs in none.
    `name`: the same for the commands of this agent with these doors, also after a restart."""

    pid: int
    name: str = ""


class RoomsLost(msgspec.Struct, frozen=True):
    """Commands are not contained any more, and why; with an empty `why` they are again."""

    why: str


class CommandRooms:
    """The rooms of one gateway. `error`: why commands are not contained although they should be; empty if they are, or if
    no agent's should be. `fix`: what a person can do about it. `environment`: the gateway's."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = environment or {}
        self._rooms: Rooms | None = None
        self._rules: dict[str, tuple[RoomRule, ...]] = {}
        self._places: RoomPlaces | None = None
        self._news: RoomsLost | None = None
        self.rehearsals: RehearsedCommands | None = None
        """Runs of commands on a copy of the files; None if no agent has any."""
        self._config = Config()
        self._path = ""
        self.error = self.fix = ""
        self.is_entered = False
        """Whether it is known that OpenClaw runs commands with `program`."""
        self.program = ""
        """What OpenClaw runs commands with, empty if with its own shell."""

    @property
    def is_contained(self) -> bool:
        return bool(self.program) and not self.error

    @property
    def has_rooms(self) -> bool:
        """Whether commands of some agent run in rooms."""
        return self._rooms is not None

    def begin(self, hello: messages.Hello, config: Config, host: Host) -> None:
        """Makes the rooms, proves that they hold, and puts the program in place that OpenClaw shall run commands with."""
        self.close()
        self.error = self.fix = self.program = ""
        self.rehearsals = None
        self.is_entered = False
        agents = wanting(config)
        if not agents:
            return
        self._config, self._path = config, hello.path
        try:
            self.error, self.fix = self._prove(host, agents)
            if not self.error:
                self._begin_rehearsals(hello, host, agents)
                self._put_program(hello)
            self._compare(Path(hello.state_dir))
        except (OSError, ValueError) as error:  # ValueError: a NUL in a path
            self.error, self.program = f"its files cannot be read or written: {error}", ""
        if self.error:
            self.close()

    def _prove(self, host: Host, agents: list[str]) -> tuple[str, str]:
        """Why commands cannot be contained, and what to do about it."""
        from toolguard_engine.server import room_causes, room_surroundings, rooms  # noqa: PLC0415 - see above

        if cause := room_causes.standing():
            return cause.text, cause.fix
        from toolguard_engine.containment import doors, hidden_paths, profile  # noqa: F401, PLC0415 - gone later, perhaps

        self._rules.clear()
        self._places = room_surroundings.look(host, self._environment)
        self._rooms = rooms.Rooms(self._rules_of, Path(host.state_dir, *PROFILES))
        for agent in agents:
            probed = self._rooms.probe(agent)
            if cause := self._rooms.cause:
                return cause.text, cause.fix
            if probed:
                return f"the probe failed: {probed}", "please report this"
        return "", ""

    def _begin_rehearsals(self, hello: messages.Hello, host: Host, agents: list[str]) -> None:
        wanted = {self._config.for_agent(agent).containment.unknown for agent in agents}
        if self._places is None or "rehearse" not in wanted:
            return
        from toolguard_engine.containment import unknown_code  # noqa: F401, PLC0415 - as above
        from toolguard_engine.server import rehearsed_commands  # noqa: PLC0415

        self.rehearsals = rehearsed_commands.RehearsedCommands(self._places, hello.config, self._is_trusted(host))
        self.rehearsals.begin()

    @property
    def unrehearsed(self) -> str:
        """Why commands cannot be rehearsed although they should be."""
        return self.rehearsals.error if self.rehearsals else ""

    def _is_trusted(self, host: Host) -> Callable[[str], bool]:
        from toolguard_engine.server import room_surroundings  # noqa: PLC0415 - see above

        return partial(room_surroundings.is_trusted, host=host, path=self._path or None)

    def _put_program(self, hello: messages.Hello) -> None:
        from toolguard_engine.server import command_shell  # noqa: PLC0415 - see above

        rehearsing = self.rehearsals.command if self.rehearsals else ()
        self.program = str(command_shell.put(Path(hello.state_dir), hello.shell, hello.path, hello.host, rehearsing))

    def _rules_of(self, agent: str) -> tuple[RoomRule, ...]:
        from toolguard_engine.containment.profile import profile  # noqa: PLC0415 - see above

        if agent not in self._rules:
            settings = self._config.for_agent(agent)
            is_known = self._places is not None and is_wanted(settings)
            self._rules[agent] = profile(settings.containment, self._places, agent) if self._places and is_known else ()
        return self._rules[agent]

    def _compare(self, state_dir: Path) -> None:
        """Whether it was otherwise when an engine last began. A machine that never had rooms has lost none."""
        from toolguard_engine.server import command_shell  # noqa: PLC0415 - see above

        before = command_shell.known_loss(state_dir)
        if before == self.error or (before is None and self.error):
            return
        self._news = None if before is None else RoomsLost(self.error)
        command_shell.keep_loss(state_dir, self.error)

    def take_news(self) -> RoomsLost | None:
        """What changed, once."""
        news, self._news = self._news, None
        return news

    def why_not(self, agent: str) -> str:
        """Why the commands of this agent cannot be contained; empty if they can, or need not."""
        if not is_wanted(self._config.for_agent(agent)):
            return ""
        if self._rooms is not None and self._rooms.entrance(agent) == NO_ROOM:
            self._note_cause(self._rooms.cause)
        return self.error

    def entrance(self, call: Call, doors: frozenset[str]) -> CommandRoom:
        """The room that a command with these doors enters."""
        if not is_wanted(self._config.for_agent(call.agent)):
            return CommandRoom(NOT_WANTED)
        if self._rooms is None:
            return CommandRoom(NO_ROOM if self.error else NOT_WANTED)
        self._know(call.cwd)
        pid = self._rooms.entrance(call.agent, doors)
        if pid == NO_ROOM or pid > 0:
            self._note_cause(self._rooms.cause)
        return CommandRoom(pid, _ODD.sub("_", "+".join([call.agent or "-", *sorted(doors)]))[:MAX_NAME])

    def _note_cause(self, cause: RoomCause | None) -> None:
        error, self.fix = (cause.text, cause.fix) if cause else ("", "")
        if error != self.error:
            self.error, self._news = error, RoomsLost(error)

    def _know(self, workspace: str) -> None:
        """The workspace of an agent, which may be new."""
        if self._places is not None and workspace and workspace not in self._places.workspaces:
            self._places = msgspec.structs.replace(self._places, workspaces=(*self._places.workspaces, workspace))
            self._rules.clear()

    def doors(self, reading: CallReading, *, approved: bool, granted: Callable[[], bool] = lambda: False) -> frozenset[str]:
        """What a command needs of its room. `approved`: a person let it run; `granted`: a person lets it run outside."""
        if self._rooms is None:
            return frozenset()
        from toolguard_engine.containment.doors import doors  # noqa: PLC0415 - see above
        from toolguard_engine.containment.rules import OUTSIDE  # noqa: PLC0415 - see above

        if granted():
            return frozenset((OUTSIDE,))
        return doors(reading, self._is_trusted(reading.host), approved=approved)

    def waits(self, call: Call) -> bool:
        """Whether the changes of a rehearsal of this command wait for a person, or were just approved."""
        return self.rehearsals is not None and bool(self.rehearsals.rehearse(call).effects)

    def rehearsal(self, reading: CallReading, room: CommandRoom, *, approved: bool) -> CommandRoom:
        """The room under the name by which the command is rehearsed, if its code cannot be read. `approved`: a person saw
        what its rehearsal did, or let it run. Raises `OSError` and `ValueError`; then it must not run."""
        settings = self._config.for_agent(reading.call.agent).containment
        if self.rehearsals is None or self.rehearsals.error or room.pid <= 0 or settings.unknown != "rehearse":
            return room
        from toolguard_engine.containment import unknown_code  # noqa: PLC0415 - see above

        try:
            why = unknown_code.why(reading, self.rehearsals.is_trusted)
        except FAILURES:
            why = "it is too complex"
        if not why:
            return room
        way = self.rehearsals.way(reading.call, self._rules_of(reading.call.agent), approved=approved)
        return CommandRoom(room.pid, f"{room.name[: MAX_NAME - len(way) - 1]}+{way}") if way else room

    def kept_from(self, reading: CallReading) -> Kept:
        """What is kept from a command in its room, if it is sure that it enters one, and a probe has shown it of that."""
        call = reading.call
        if self._rooms is None or not (self.is_contained and self.is_entered) or not runs_here(reading):
            return NOTHING_KEPT
        config = self._config.for_agent(call.agent)
        if not is_wanted(config) or config.containment.unknown == "rehearse" or self._places is None:
            return NOTHING_KEPT
        if self._places.runs_elsewhere:
            return NOTHING_KEPT
        from toolguard_engine.containment import doors, kept_places  # noqa: PLC0415 - see above

        self._know(call.cwd)
        kept = kept_places.kept(reading, self._rules_of(call.agent), os.path.exists)
        return kept if kept and self._rooms.proven(call.agent, doors.inner_doors(reading)) > 0 else NOTHING_KEPT

    def sure_entrance(self, reading: CallReading) -> CommandRoom:
        """The room of a command that runs only because of what is kept from it there."""
        if not self.kept_from(reading):
            return CommandRoom(NO_ROOM)
        from toolguard_engine.containment.doors import inner_doors  # noqa: PLC0415 - see above

        return self.entrance(reading.call, inner_doors(reading))

    def note(self, agent: str, text: str) -> str:
        """What the model is told about a result that shows that a command failed on a path which is kept from it."""
        if self._rooms is None or self._places is None or not text:
            return ""
        from toolguard_engine.containment import hidden_paths  # noqa: PLC0415 - see above
        from toolguard_engine.wording import room_notes  # noqa: PLC0415

        rules = self._rules_of(agent)
        if rules and hidden_paths.lacks_rights(text):
            return room_notes.rights()
        path = hidden_paths.failed_on(text, rules, self._places.host.home)
        return room_notes.hidden(path) if path else ""

    def shell_unused(self) -> None:
        """The gateway runs commands with another shell, so none of them enters its room."""
        if self.program:
            self.program, self.error, self.fix = "", OTHER_SHELL, SHELL_FIX
            self._news = RoomsLost(self.error)
            self.close()

    def close(self) -> None:
        rooms, self._rooms = self._rooms, None
        if rooms is not None:
            rooms.close()


def runs_here(reading: CallReading) -> bool:
    """Whether it is a command that the gateway itself runs, as it was judged."""
    named = {name: value for name in ("env", "host", "elevated", "node") if (value := reading.params.get(name))}
    return reading.executes and not reading.call.searched and named in ({}, {"host": "auto"}, {"host": "gateway"})


def wanting(config: Config) -> list[str]:
    """The agents whose commands are to be contained, each with rules of its own; empty stands for all others."""
    agents = ["", *(agent for agent, own in config.agents.items() if own.containment or own.mode)]
    return [agent for agent in agents if is_wanted(config.for_agent(agent))]


def is_wanted(config: Config) -> bool:
    """Whether an agent with these settings is contained: a guard that only watches changes nothing."""
    return config.containment.profile != "off" and config.active_mode in ("enforce", "soft")
