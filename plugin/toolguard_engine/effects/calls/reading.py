"""One tool call, read once: what it runs, what that does and where. Each part is worked out on first use and kept.

Whatever judges a call is given its `CallReading` and never reads the call's commands again.
"""

from __future__ import annotations

from typing import Any

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls import (
    asked_settings,
    call_texts,
    commands_on_config,
    config_changes,
    known_config,
    path_owners,
    read_only,
)
from toolguard_engine.effects.calls.call_place import where_of
from toolguard_engine.effects.calls.kept_readings import KEPT, KeptReading
from toolguard_engine.effects.commands.asked_files import LEAST_WORK
from toolguard_engine.effects.commands.effects import effects
from toolguard_engine.effects.commands.run_files import RunFiles
from toolguard_engine.effects.commands.unwrap import read
from toolguard_engine.effects.facts.command import Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.tools import tools
from toolguard_engine.host import path_repairs
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.files import FileSource, NoFiles
from toolguard_engine.model.lazy import Lazy
from toolguard_engine.model.work_limit import WorkLimit

_NO_HOST = Host()
_NO_FILES = NoFiles()
_NO_CONFIG = Config()


PER_RUN = 60
"""Steps of work for judging each program that a file runs."""


def _as_opened(tool: str, call: Call, host: Host) -> dict[str, Any]:
    repairs = path_repairs.bundled()
    if not repairs.knows(tool):
        params: dict[str, Any] = call.params
        return params
    around = path_repairs.Surroundings(host.home, host.state_dir, call.cwd)
    return repairs.opened(tool, call.params, host.release, around)


class CallReading:
    """`tool`: the name in the form in which names are compared; `params`: with the paths that the gateway will really open,
    empty where the call has no object of them;
    `work`: what judging it may cost; `files`: the files of this machine; `made`: which of them the agents made; `config`:
    the settings of its agent."""

    def __init__(
        self,
        call: Call,
        host: Host = _NO_HOST,
        work: WorkLimit | None = None,
        files: FileSource = _NO_FILES,
        made: FileMemory | None = None,
        config: Config = _NO_CONFIG,
    ) -> None:
        self.call = call
        self.host = host
        self.work = work or WorkLimit()
        self.files = files
        self.made = made or FileMemory()
        self.config = config
        self.typed: dict[tuple[str, tuple[tuple[str, str], ...], str], CallReading] = {}
        """What the call types into programs, as it was read: by the folder and variables of the program, and the command."""
        self.tool = tool_name(call.tool)
        self.has_params = isinstance(call.params, dict)
        self.params = _as_opened(self.tool, call, host) if self.has_params else {}
        self.executes = self.tool in call_texts.EXEC_TOOLS
        self.command_where = where_of(call, self.params, host)
        """The folder of the commands."""

    @Lazy
    def commands(self) -> tuple[str, ...]:
        """The texts that the call may run in a shell."""
        return call_texts.commands(self.tool, self.params)

    @Lazy
    def paths(self) -> tuple[str, ...]:
        """The files that a file tool names."""
        return call_texts.paths(self.tool, self.params)

    @Lazy
    def command_readings(self) -> tuple[Reading, ...]:
        """One for each of `commands`."""
        self.work.admit(sum(map(len, self.commands)))
        readings = self._kept_readings() or self._read()
        self.work.reserve()
        if self.running.runs:
            self.work.extend(PER_RUN * self.running.runs)
        return readings

    def _read(self) -> tuple[Reading, ...]:
        before = self.work.spent
        readings = tuple([read(command, work=self.work, running=self.running) for command in self.commands])
        self._steps = self.work.spent - before
        return readings

    def _kept_readings(self) -> tuple[Reading, ...]:
        """What the same commands were read as before; empty if that is not known, or may not be what they mean now."""
        if (known := KEPT.recall(self.commands, self.command_where)) is None or self.work.left < known.steps:
            return ()
        if not self.running.is_as(known.files):
            self.__dict__["running"] = RunFiles(self.files, self.made, self.command_where, self.work)
            return ()
        self.work.spend(known.steps)
        self._kept = known
        return known.readings

    _kept: KeptReading | None = None
    _steps = 0.0

    @Lazy
    def running(self) -> RunFiles:
        """The files that the commands run, once `command_readings` was asked for."""
        return RunFiles(self.files, self.made, self.command_where, self.work)

    @Lazy
    def command_effects(self) -> tuple[tuple[Effect, ...], ...]:
        """What each of `commands` would do."""
        readings, where = self.command_readings, self.command_where
        if self._kept is not None:
            self.work.spend(self._kept.effect_steps)
            named = self._kept.effects
        else:
            before = self.work.spent
            named = tuple([effects(reading, where, self.work) for reading in readings])
            if readings and not self.running.has_failed and not any("intricate" in reading.flaws for reading in readings):
                asks, files = self.running.asks, self.running.kept()
                kept = KeptReading(readings, named, files, self._steps, self.work.spent - before)
                KEPT.keep(self.commands, where, kept, asks)
        acts = tuple([self._owned(owned, where, seen.runs) for seen, owned in zip(readings, named, strict=True)])
        change = commands_on_config.of_commands(
            readings, acts, self.host, where, self.files, self._is_expected, self.commands
        )
        return acts if change is None else self._with_settings(acts, change)

    @property
    def spent(self) -> float:
        """The steps that judging the call has used of its session's allowance."""
        files = self.work.files
        return self.work.spent + (0.0 if files is None else max(0.0, files.spent - LEAST_WORK))

    @Lazy
    def tool_effects(self) -> tuple[Effect, ...]:
        """What the tool does besides running commands."""
        if self.executes:
            return ()
        acts = self._owned(tools.effects(self.call.tool, self.params, self.where), self.where)
        files = (self.host, self.where, self.files, self._is_expected)
        change = config_changes.of_tool(self.tool, self.params, acts, *files)
        return acts if change is None else self._with_settings((acts,), change)[0]

    @property
    def config_change(self) -> known_config.ConfigChange | None:
        """What the call makes of the gateway's config; None if it does not change that file."""
        _ = self.tool_effects, self.command_effects if self.commands else ()
        return self._config_change

    _config_change: known_config.ConfigChange | None = None

    def _is_expected(self, path: str) -> bool:
        expected = self.made.expected(path)
        return expected is not None and expected.call != self.call.call_id

    def _with_settings(
        self, acts: tuple[tuple[Effect, ...], ...], change: known_config.ConfigChange
    ) -> tuple[tuple[Effect, ...], ...]:
        """The effects with those on single settings, in place of those on the file."""
        self._config_change = change
        if change.settings is None:
            return acts
        if change.asked:
            return asked_settings.as_settings(acts, change.asked)
        return known_config.as_settings(acts, change.settings, self.host, self.command_where, self.files)

    def _owned(self, acts: tuple[Effect, ...], where: Where, runs: tuple[ProgramRun, ...] = ()) -> tuple[Effect, ...]:
        if not path_owners.follows(acts):
            return acts
        return path_owners.Owners(where, self.files, self.made, self.work, self.call.session).effects(acts, runs)

    @Lazy
    def runs(self) -> tuple[ProgramRun, ...]:
        """All programs that the call would run."""
        readings = self.command_readings
        return readings[0].runs if len(readings) == 1 else tuple(program for reading in readings for program in reading.runs)

    @Lazy
    def where(self) -> Where:
        """The folder of the call. Only an executing tool takes it from its parameters."""
        return self.command_where if self.executes else where_of(self.call, {}, self.host)

    @Lazy
    def reads_only(self) -> bool:
        """Whether the call surely changes nothing; False if that cannot be known."""
        if self.executes and not read_only.may_be_read_only(self.runs):
            return False
        readings = self.command_readings if self.executes else ()
        return read_only.is_read_only(self.tool, self.call.params, readings[0] if len(readings) == 1 else None)
