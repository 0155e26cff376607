"""What calls that may run do to files: entered into the memory of files when they may run, and looked at when they have run.

What they write is `expected` until they have run. A file that was judged because a call runs it, and that is another one
afterwards, is reported: somebody may have exchanged it in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, partial
from itertools import chain, groupby, islice
from math import inf
from posixpath import basename
from typing import NamedTuple

from msgspec import Struct, field, structs

from toolguard_engine.effects.calls import living_readings, made_folders
from toolguard_engine.effects.calls.arrivals import arrivals as arrivals_of
from toolguard_engine.effects.calls.made_files import MadeFile, changes
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.model.file_memory import MAX_EXPECTED_TEXT, ExpectedText, FileMemory, is_movable
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import FileText
from toolguard_engine.model.living_programs import LivingPrograms
from toolguard_engine.model.work_limit import TooIntricate
from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.server.code_ahead import CodeAhead
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.outbox import Outbox

CODE_CHANGED = "file.changed-after-judging"
MAX_RUNNING = 500
MAX_STEPS = 16_000
"""Of the memory for moves of one call."""

MAX_LOOKED_AT = 1_000
"""Files in folders that a call has not deleted, though it would, for which it is looked whether they are gone."""

MAX_GROWING = 32
"""Programs that are looked at again when their files change."""
_SELF_CHANGING = ("package.json", "package-lock.json")
"""Files that package managers change while they run their scripts."""


_OVER = frozenset({"completed", "failed", "killed", "exited"})
_TELLING = frozenset({"poll", "log", "kill", "remove"})
"""Actions on a process whose result says whether it runs; others may fail though it does."""


class _Result(NamedTuple):
    call: Call
    process: str
    status: str
    has_run: bool


class _Running(Struct, dict=True):
    """`there`: which of the person's own files that it writes were there before; `folders`: which of the targets of moves
    and copies were folders; `leaving`: the paths that it deletes, and those with records that it moves away;
    `staying`: the folders among them of which it deletes only a part; `new_folders`: those that it makes where nothing was;
    `is_seen`: whether it was looked what is there, otherwise anything may be; `takes`: whether it deletes what a person had,
    so that what it writes may be the only copy;
    `most_steps`: of the memory, after which moves are only known by their sources: they are counted before the answer
    (`RunFiles.copies`), and what was not foreseen there may not stop other sessions."""

    reading: CallReading
    there: frozenset[str]
    judged: dict[str, FileText]
    folders: frozenset[str] = frozenset()
    leaving: set[str] = field(default_factory=set)
    staying: list[str] = field(default_factory=list)
    new_folders: list[str] = field(default_factory=list)
    process: str = ""
    most_steps: float = inf
    is_seen: bool = True
    was_asked: bool = False
    takes: bool = False

    @cached_property
    def files(self) -> list[MadeFile]:
        return changes(self.reading)


class FileWatch:
    """`is_outside`: whether a text that a call writes was read from outside in its run."""

    def __init__(
        self,
        outbox: Outbox,
        reader: FileReader | None,
        memory: Callable[[], FileMemory],
        living: Callable[[], LivingPrograms],
        is_outside: Callable[[Call, str], bool],
        timer: WorkTimer | None = None,
    ) -> None:
        self._outbox = outbox
        self._reader = reader
        self._memory = memory
        self._living = living
        self._is_outside = is_outside
        self._timer = timer or WorkTimer()
        self._begun: list[_Running] = []
        self._running: OrderedDict[str, _Running] = OrderedDict()
        self._asked: list[_Running] = []
        self._ended: list[_Result] = []
        self.code_ahead = CodeAhead(reader, self._timer)

    def begins(self, reading: CallReading, process: str = "", *, was_asked: bool = False) -> frozenset[str]:
        """A call may run. `process`: where it is typed into one of the gateway's; `was_asked`: a person has been asked.

        Looks whether there is something where it will write, and returns the paths at which there is nothing; the rest is
        done by `settle`.
        """
        runs = bool(reading.commands and reading.command_readings)
        judged, starts = (reading.running.judged, reading.running.may_run_files) if runs else ({}, False)
        running = _Running(reading, frozenset(), judged, process=process, was_asked=was_asked)
        is_begun = bool(judged or starts or reading.tool_effects or any(reading.command_effects) or was_asked)
        is_begun = is_begun or (runs and bool(made_folders.filled(reading)))
        if is_begun:  # whatever comes of the rest, what it does is remembered
            self._begun.append(running)
        if self._reader is None:
            return frozenset()
        running.is_seen = False
        effects = (*reading.tool_effects, *chain(*reading.command_effects))
        replaces = any(map(_may_replace, effects))
        missing = self._look(running, self._reader) if replaces else frozenset[str]()
        if made := made_folders.folders(reading) if runs else []:
            running.new_folders = self._reader.missing(made)
            if not is_begun:
                self._begun.append(running)
            if not replaces:
                missing = self._look(running, self._reader)
        running.is_seen = True
        return missing

    def _look(self, running: _Running, reader: FileReader) -> frozenset[str]:
        """What is there before the call runs, and what it writes where nothing is. What an agent is known to have created
        stays so, whatever is there."""
        puts = [each for each in running.files if each.kind != "removed"]
        paths = frozenset(each.path for each in puts)
        unknown = [path for path in paths if not self._is_created(path)]
        missing = frozenset(reader.missing(unknown) if unknown else ())
        running.there = paths - missing
        if landing := [each.path for each in puts if each.kind in _LANDS and each.path in running.there]:
            running.folders = frozenset(reader.folders(landing))
        running.is_seen = True
        return missing

    def _is_created(self, path: str) -> bool:
        record = self._memory().exactly(path)
        return record is not None and record.created

    def is_made_in_session(self, path: str, session: str) -> bool:
        """Whether an agent made a file in this session, where nothing was before."""
        record = self._memory().exactly(path)
        return record is not None and record.created and record.session == session

    def may_begin(self, reading: CallReading) -> None:
        """A person is asked whether a call may run, and the gateway runs it without asking again."""
        if reading.commands and reading.command_readings:
            self._asked.append(_Running(reading, frozenset(), {}))

    def ended(self, call: Call, process: str = "", status: str = "", *, has_run: bool = True) -> None:
        """A call has a result. `process`: its command runs on under this id; `has_run`: it was not refused."""
        if call.call_id in self._running or self._living():
            self._ended.append(_Result(call, process, status, has_run))

    def settle(self) -> None:
        """Does what no answer waited for; to be called before the next call is judged."""
        if not (self._begun or self._ended or self._asked):
            return
        asked, self._asked = self._asked, []
        for running in asked:
            self._memory().forget_folders(["/"])
            with suppress(TooIntricate, MemoryError, RecursionError):
                self._remember(running)
        begun, self._begun = self._begun, []
        for running in begun:
            self._begin(running)
        ended, self._ended = self._ended, []
        for result in ended:
            self._end_program(result)
            if (run := self._running.pop(result.call.call_id, None)) is not None:
                if not (result.process or (run.reading.commands and run.reading.running.later.goes_on)):
                    self._forget(result.call.call_id)
                    self._doubt_absent(run)
                self._compare(run)

    def _end_program(self, result: _Result) -> None:
        call, living = result.call, self._living()
        living.expire(call.at)
        living.ended(call.call_id, result.process, has_run=result.has_run)
        if tool_name(call.tool) == "process" and isinstance(call.params, dict) and call.params.get("action") in _TELLING:
            name = call.params.get("sessionId")
            if isinstance(name, str) and result.status in _OVER:
                living.process_ended(name, call.session)
            elif isinstance(name, str) and result.status == "running":
                living.process_runs(name, call.session, call.at)

    def _remember(self, running: _Running) -> None:
        """What the call starts, and what programs that run on may run because of what it writes."""
        living, reading = self._living(), running.reading
        if living and (arrivals := arrivals_of(reading)):
            made = living_readings.MadeByAgents(reading.made)
            changed = ((each, arrivals.collect(each)) for each in arrivals.concerned(living))
            for program, found in islice(((each, texts) for each, texts in changed if texts), MAX_GROWING):
                texts = {name: text for name, text in found.items() if text is not None}
                read = partial(living_readings.again, program, reading, texts, made.also(texts))
                again = self._timer.limited(reading.work, read)
                living.grew(program, living_readings.program_of(again) or program)
        started = self._timer.limited(reading.work, partial(living_readings.program_of, reading))
        if started is not None:
            living.started(structs.replace(started, call="", process=running.process) if running.process else started)

    def _begin(self, running: _Running) -> None:
        with suppress(TooIntricate, MemoryError, RecursionError):
            self._remember(running)
        reading = running.reading
        effects = chain(reading.tool_effects, *(reading.command_effects if reading.commands else ()))
        running.takes = any(map(_takes_persons, effects))
        if running.was_asked or running.takes:
            self._memory().forget_folders(["/"])
            running.new_folders = []
        for path in running.new_folders:
            self._memory().made_folder(path, running.reading.call.session)
        for path in made_folders.filled(reading):
            self._memory().doubt_folders_around(path)
        # The call is answered already, but other sessions wait for this thread: what is looked up has a limit of its own.
        running.most_steps = self._memory().steps + MAX_STEPS
        with suppress(TooIntricate, MemoryError, RecursionError):
            known = self._timer.limited(running.reading.work, lambda: running.files)
            for removes, found in groupby(known, lambda change: change.kind == "removed"):
                if removes:
                    for change in found:
                        if is_movable(change.path):
                            running.leaving.add(change.path)
                            running.staying += [change.path] if change.many else []
                    continue
                for change in found:
                    # In the order of the command: what is written again behind its removal does not leave.
                    running.leaving.discard(change.path)
                    self._enter(change, running)
            writes = any(each.kind != "removed" for each in running.files)
            if running.judged or running.leaving or writes or running.new_folders:
                self._running[running.reading.call.call_id] = running
                if len(self._running) > MAX_RUNNING:
                    self._forget(self._running.popitem(last=False)[0])

    def _forget(self, call_id: str) -> None:
        self._memory().happened(call_id)

    def _enter(self, change: MadeFile, running: _Running) -> None:
        memory, call = self._memory(), running.reading.call
        change = _landed(change, running.folders)
        before = memory.exactly(change.path)
        is_new = running.is_seen and not running.takes and change.path not in running.there
        created = is_new or (before is not None and before.created)
        if change.kind in _LANDS and not change.many:
            self._expect_copy(change, call)
        if change.kind == "moved":
            self._moved(change, running, created=created)
        elif change.kind == "copied":
            source = memory.recall(change.source) or FileRecord("agent", change.source, call.session)
            memory.wrote(change.path, structs.replace(source, created=created))
        elif change.kind == "linked":
            memory.wrote(change.path, FileRecord("agent", call.tool, call.session, created=created, link=change.source))
        else:
            outside = change.origin == "outside" or bool(change.text and self._is_outside(call, change.text))
            record = FileRecord("outside" if outside else "agent", change.source, call.session, created=created)
            memory.wrote(change.path, record)
            if change.text is not None and call.call_id:
                memory.expect(change.path, ExpectedText(call.call_id, change.text, change.whole, change.old))

    def _expect_copy(self, change: MadeFile, call: Call) -> None:
        """What arrives at a path once the call has run, which may be after another one is judged."""
        known = self._memory().expected(change.source)
        found = self._reader.read(change.source) if self._reader is not None and known is None and call.call_id else None
        text = known.text if known is not None else found.text if isinstance(found, FileText) else ""
        if text and call.call_id and len(text) <= MAX_EXPECTED_TEXT:
            self._memory().expect(change.path, ExpectedText(call.call_id, text, whole=False))

    def _moved(self, change: MadeFile, running: _Running, *, created: bool) -> None:
        """The content keeps its identity; but if it replaces a file of the person, no agent has made the file there."""
        memory, call = self._memory(), running.reading.call
        unknown = FileRecord("agent", call.tool, call.session, was=change.source)
        if memory.steps > running.most_steps:
            memory.wrote(change.path, unknown)
            running.leaving.add(change.source)
        elif change.many:
            running.leaving.update(memory.moved_matching(change.source, change.path))
            if change.path not in running.folders:  # it is moved to this name if the pattern means one file
                memory.wrote(change.path, unknown)
        elif memory.exactly(change.source) is not None or memory.has_below(change.source):
            memory.moved(change.source, change.path)
            running.leaving.add(change.source)
            record = memory.exactly(change.path)
            if record is not None and not created:
                memory.wrote(change.path, structs.replace(record, created=False))
        else:  # of an unknown source it is only known that an agent has put it there
            memory.wrote(change.path, unknown)

    def _compare(self, run: _Running) -> None:
        """What was judged with what lies there now."""
        self._memory().forget_folders(run.leaving.difference(run.staying))
        self._forget_gone(run.leaving)
        own = {change.path for change in run.files}
        self.code_ahead.add(change.path for change in run.files if change.kind != "removed")
        for path, judged in run.judged.items() if self._reader is not None else ():
            if path in own or path.endswith(_SELF_CHANGING) or not judged.digest or self._reader is None:
                continue
            now = self._reader.read(path)
            if isinstance(now, FileText) and now.digest != judged.digest:
                reason = f"{path} is no longer the file that was judged before the call ran"
                self._outbox.event("security", run.reading.call, Verdict("allow", CODE_CHANGED, reason=reason))

    def _doubt_absent(self, run: _Running) -> None:
        """What a call has not made, since it or a part of it failed, is not the agent's if it is there later."""
        memory, made = self._memory(), dict[str, FileRecord]()
        if run.new_folders and self._reader is not None:
            memory.forget_folders(self._reader.missing(run.new_folders))
        for change in run.files if self._reader is not None else ():
            path = _landed(change, run.folders).path
            if (record := memory.exactly(path)) is not None and record.created:
                made[path] = record
        for path in self._reader.missing(list(made)) if self._reader is not None and made else ():
            memory.wrote(path, structs.replace(made[path], created=False))

    def _forget_gone(self, paths: set[str]) -> None:
        """A call that would delete or move files may have failed, or done it to some of them: only what is gone has no
        record any more. What lies there again need not be what an agent has made."""
        memory = self._memory()
        if self._reader is None or not paths or memory.is_empty:
            return
        gone = set(self._reader.missing(list(paths)))
        still = sorted(paths - gone)
        inside = memory.below(still, MAX_LOOKED_AT) if still else []
        gone.update(self._reader.missing(inside))
        if gone:
            memory.removed(gone)
        for path in still:
            record = memory.exactly(path)
            if len(inside) == MAX_LOOKED_AT:  # there may be more
                memory.doubts(path)
            elif record is not None and record.created:
                memory.wrote(path, structs.replace(record, created=False))


_LANDS = ("moved", "copied", "linked")
_PUTS = frozenset({"write", "mcp-write", "empty", "move", "link", "copy-in", "disguise"})
_NOBODYS = frozenset({"temp", "artefact", "null", "remote"})
"""Places where agents may delete anything."""


def _landed(change: MadeFile, folders: frozenset[str]) -> MadeFile:
    """The same in the folder that was at its target, if there was one."""
    name = basename(change.source)
    lands = change.kind in _LANDS and not (change.many or change.merged)
    if not lands or change.path not in folders or basename(change.path) == name:
        return change
    return structs.replace(change, path=f"{change.path}/{name}")


def _takes_persons(effect: Effect) -> bool:
    """Whether it deletes what no agent has made. The only copy may be in a folder that one has made, earlier or with this
    call. What a person is asked about may delete anything: in a database, in a store of objects, on another machine."""
    if effect.kind in _DISCARDS or "destroys" in effect.flags:
        return "unchanged" not in effect.flags
    taken = effect.kind == "delete" and effect.place not in _NOBODYS and "agent-made" not in effect.flags
    return taken and not effect.flags.isdisjoint(_MISSED)


_DISCARDS = frozenset({"discard", "sql", "nosql"})


_MISSED = frozenset({"recursive", "personal-file", "bulk", "glob"})


def _may_replace(effect: Effect) -> bool:
    """Whether it matters if something of the person is at the target: only what the agent made may it delete unasked."""
    return effect.kind in _PUTS and effect.place not in _NOBODYS
