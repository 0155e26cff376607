"""Reads the code that agents have written while the engine has nothing else to do, so that no answer waits for it when a
program runs it. Nothing is decided here: `effects.languages.kept_code` keeps what the code was read as."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress

from toolguard_engine.effects.commands import code_files, code_sources, interpreters, served_folders
from toolguard_engine.effects.commands.handed_code import program_of
from toolguard_engine.effects.facts.command import ProgramRun, StdinSource
from toolguard_engine.layers.self_protection import interpreter_code
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.files import FileSource, FileText
from toolguard_engine.model.work_limit import TooIntricate, WorkLimit
from toolguard_engine.model.work_timer import WorkTimer

MAX_WAITING = 1_000
MAX_LOOKED_AT = 2_000
"""Files that an engine before this one knew, the latest first. To look at all takes longer than to load them."""

MAX_TAKEN_IN, MAX_SEEN = 32, 2_000
"""Files that one file takes in and that are read as well, whoever made them; and so many of them are not read again."""

MAX_TEXT = 65_536
"""Characters of one file; longer ones are read when they run. Python's own parser, which cannot be interrupted, takes 70 ms
for so many. Anything else gives way to a message within 20 ms of processor time (`work_ticks`)."""

REST = 9
"""Times as long as reading a file has taken, until the next one is: it takes a tenth of the processor at most."""


class CodeAhead:
    """`files`: where they are read; `spent`: the seconds of processor time used so far."""

    def __init__(self, files: FileSource | None, timer: WorkTimer, spent: Callable[[], float] = time.thread_time) -> None:
        self._files = files
        self._timer = timer
        self._spent = spent
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._begun: str = ""
        """The file that gave way to a message; it is tried once more."""
        self._rests_until = -math.inf

    def add(self, paths: Iterable[str]) -> None:
        """Files that agents have written, the last ones last; they are read first."""
        if self._files is None:
            return
        for path in paths:
            if _language(path):
                self._waiting[path] = None
                self._waiting.move_to_end(path)
        while len(self._waiting) > MAX_WAITING:
            self._waiting.popitem(last=False)

    def restore(self, memory: FileMemory) -> None:
        """Those that an engine before this one knew."""
        paths = [path for path in memory.below([""], MAX_LOOKED_AT) if _language(path)]
        self.add(reversed(paths))

    @property
    def due(self) -> float:
        """When the next one is to be read, by the monotonic clock; infinity where none waits."""
        return self._rests_until if self._waiting else math.inf

    def read_one(self, now: float) -> None:
        """Reads one text if one is due."""
        if self._files is None or self.due > now:
            return
        path, _ = self._waiting.popitem()
        begun = self._spent()
        file = self._files.read(path)
        if isinstance(file, FileText) and len(file.text) <= MAX_TEXT:
            work = WorkLimit()
            with suppress(TooIntricate, MemoryError, RecursionError):
                self._timer.in_spare_time(work, lambda: self._read(path, file.text))
            if work.is_stopped and self._begun != path:
                self._begun = path
                self._waiting[path] = None
        self._rests_until = now + REST * (self._spent() - begun)

    def _read(self, path: str, code: str) -> None:
        language = _language(path)
        interpreters.reading(code, language)
        served_folders.of_code(code)
        argv = (language, *code_sources.words_of_file(code, language))
        interpreter_code.look_ahead(ProgramRun(argv, language, stdin=StdinSource(code)))
        taken_in = code_files.imported(code, language, path.rpartition("/")[0])[:MAX_TAKEN_IN]
        for name in dict.fromkeys(name for names in taken_in for name in names):
            if name[:1] == "/" and name not in self._seen and len(self._waiting) < MAX_WAITING and _language(name):
                self._waiting[name] = self._seen[name] = None
                self._waiting.move_to_end(name, last=False)  # after all that agents have written
        while len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)


def _language(path: str) -> str:
    return code_sources.language(program_of(path))
