"""The state of a walk over a command line: the programs found so far, and where the walk is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from toolguard_engine.effects.commands.run_files import RunFiles
from toolguard_engine.effects.commands.walk_steps import LIKE, PROGRAM, steps_of
from toolguard_engine.effects.commands.written_files import WrittenFiles, last_part
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, FilePlace, Flaw, ProgramRun, StdinSource
from toolguard_engine.effects.programs.wrappers import AWAY, WRAPPERS
from toolguard_engine.effects.syntax.outputs import known_text
from toolguard_engine.effects.syntax.shell_state import Frame, ShellState
from toolguard_engine.effects.syntax.syntax_tree import Script
from toolguard_engine.effects.syntax.variable_values import Value
from toolguard_engine.model.work_limit import steps_to_build

MAX_RUNS = 800
MAX_NESTED = 12
MAX_WRAPPED = 24
EVERY = "*"
"""The name of the special handler that is asked for every program, and as `=` for variables that are set."""

OUTPUT = frozenset({"write", "append"})
_INSTANT = program_catalogue.programs("instant") | WRAPPERS
_DETACHERS = program_catalogue.programs("detacher")
PASSIVE = program_catalogue.programs("passive")
FOLDER_CHANGERS = program_catalogue.programs("folder_changer")
JUMPS = program_catalogue.programs("loop_jump", "jump")
PRINTERS = PASSIVE & program_catalogue.programs("text_printer")
SILENT = PASSIVE - PRINTERS - program_catalogue.programs("variable_lister")
"""Those that print nothing, but for what is wrong."""

_OBSERVERS = program_catalogue.programs("observer")
_DUMPS = frozenset((name,) for name in program_catalogue.programs("variable_lister"))
"""Print all variables, whatever these are by then."""

_TELLING = program_catalogue.programs("text_printer") | program_catalogue.programs("variable_lister")
"""Print words that they are given, or variables: others may use what they print."""


class RunsFull(Exception):  # noqa: N818 - not an error: the limit of runs is reached
    pass


def built(feed: StdinSource, state: ShellState) -> StdinSource:
    """The output of programs, paid for: that of one is part of the next one's, and of files that grow."""
    if feed.text or feed.was:
        state.work.spend(steps_to_build(len(feed.text or "") + len(feed.was or "")))
    return feed


def is_away(program: ProgramRun) -> bool:
    """Whether it runs on another machine or in a container, where files are others."""
    return bool(program.via) and not AWAY.isdisjoint(program.via)


def writes_output(program: ProgramRun) -> bool:
    return any(redirect.kind in OUTPUT for redirect in program.redirects)


def program_name(word: str) -> str:
    """The name of a program: without its folder and without the extension it has on Windows."""
    name = last_part(word)
    return name.removesuffix(".exe") or name


def _feeds_others(program: ProgramRun) -> bool:
    """Whether others may use what it prints, or read what it writes."""
    if program.argv in _DUMPS:
        return True
    return any(redirect.target != "/dev/null" for redirect in program.redirects) or (
        program.piped and program.name in _TELLING
    )


def _observes(program: ProgramRun) -> bool:
    return program.name in _OBSERVERS and program.origin is None and not _feeds_others(program)


class WalkState(ABC):
    """The programs that a walk has found, and what it remembers from one to the next.

    `specials`: handlers for programs that are neither wrappers nor plain (`commands.specials`). `running`: the files of this
    machine, None if they are not known. Each `file` that is run is walked by a walk of its own; `here` is the place in it.

    The classes that build on this one each follow one kind of thing and may meet any other kind on the way: a program runs
    a file, whose text is a script, which runs programs. So `run`, `text`, `script` and `code` are declared here and defined
    where they belong. `piped` parameters say whether the output goes to another program.
    """

    def __init__(
        self,
        specials: Mapping[str, Callable[..., StdinSource | None]],
        running: RunFiles | None = None,
        file: FilePlace | None = None,
    ) -> None:
        self.specials = specials
        self.running = running
        self.file = self.here = file
        self.runs: list[ProgramRun] = []
        self.flaws: set[Flaw] = set()
        self.made_flaws: set[Flaw] = set()
        """Those of files that agents made. No other file around them hides them."""
        self.written = WrittenFiles(running, self.flaws)
        self.nested = 0
        self.open_texts: list[tuple[str, tuple[str, ...] | None, dict[str, Value]]] = []
        """The texts that are just being run, one in the other, and the arguments and variables with which each began."""
        self.wrapped = 0
        self.pipelines = 0
        self.loose: set[int] = set()
        """The pipelines that run whatever became of the one before."""
        self.repeated: set[int] = set()
        """The pipelines in loops whose rounds are not known."""
        self.charged: set[tuple[str, str]] = set()
        """Code, with its language, that was paid for: what is walked again in a loop or with other values is read once."""
        self.total = 0
        """Characters of all texts that were run, and of all values that were assigned."""
        self.called: set[str] = set()
        """The functions that were called."""
        self.calls = 0
        """How often functions were called."""
        self.set_variables: set[tuple[str, str]] = set()
        """Variables and values that were walked already."""
        self.opened: dict[str, StdinSource] = {}
        """What was opened for reading, by the number of the descriptor."""
        self.targets: dict[str, str] = {}
        """What was opened for writing, in the same way."""
        self.fed_to: set[tuple[str, str, str]] = set()
        """Clients of databases, and the files with statements that they have read."""
        self._passive: set[tuple[object, ...]] = set()
        """What tells passive programs apart that were entered."""
        self._paid: set[tuple[object, ...]] = set()
        """What tells programs apart that were paid for."""
        self._observed: dict[tuple[tuple[object, ...], ...], int] = {}
        """The same of whole pipelines of observers, and where the first of them begins."""
        self.traps: list[tuple[str, ProgramRun, ShellState, Frame]] = []
        """Texts that run when the shell ends or gets a signal, with the variables of then."""
        self.sinks: list[tuple[Script, ShellState]] = []
        """The scripts of `>(...)` that the next program writes to."""

    @abstractmethod
    def run(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """Runs one program and everything it starts; returns its output."""

    @abstractmethod
    def text(self, text: str, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int) -> StdinSource:
        """Runs a text as shell commands."""

    @abstractmethod
    def script(
        self, script: Script, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """Runs commands that were parsed already."""

    @abstractmethod
    def variable_set(self, name: str, value: str, program: ProgramRun, state: ShellState) -> None:
        """An environment variable is set. Other programs may run its value, or do what it says."""

    def fed(self, program: ProgramRun) -> str | None:
        """The standard input of a program, or the text it was derived from."""
        return known_text(program.stdin or self.opened.get("0"))

    def goes_on_from(self, outer: WalkState) -> None:
        """What the command has written so far, and the numbers of its pipelines, are also those of a file that it runs."""
        self.set_variables = outer.set_variables
        self.written = outer.written.shared(self.flaws)
        self.pipelines = outer.pipelines

    def takes_flaws(self, inner: WalkState, own: set[Flaw]) -> None:
        """`own`: those of a file that `inner` has read, as far as they count."""
        self.made_flaws |= inner.made_flaws | own
        self.flaws |= inner.made_flaws | own

    def _calls_unknown(self) -> bool:
        """Whether one of the programs that run is not known, so that it may be any function."""
        return any(program.name.startswith(UNKNOWN) or program.name == "eval" for program in self.runs)

    def is_again(self, program: ProgramRun) -> bool:
        """Whether a passive program is like one before that was entered, so that nothing new is known by it."""
        if program.assigns or program.argv[0] != program.name or _feeds_others(program):
            return False
        own = program.likeness
        if own in self._passive:
            return True
        self._passive.add(own)
        return False

    def leave_out(self, at: int) -> None:
        """Takes out what a pipeline has entered since `at` if it only observes and one before it was the same."""
        added = self.runs[at:]
        if self.here is not None or not all(map(_observes, added)):
            return
        own = tuple([program.likeness for program in added])
        if self._observed.setdefault(own, at) != at:
            del self.runs[at:]
            if self.running is not None:
                self.running.position -= len(added)

    def passes(self, program: ProgramRun) -> None:
        """One more program begins, which may be entered."""
        if self.running is not None and program.origin is None:
            self._pass(self.running, program.name)

    def noted(self, program: ProgramRun) -> ProgramRun:
        """Enters a program. Those of files are counted apart, so that they do not use up the room of the call's own."""
        self.passes(program)
        running = self.running
        if running is not None:
            running.position += 1
        if self.here is None and len(self.runs) < MAX_RUNS:
            self.runs.append(program)
            return program
        if self.here is not None:
            return self._note_in_file(program, self.here)
        if len(self.runs) - (0 if running is None else running.runs) >= MAX_RUNS:
            raise RunsFull
        self.runs.append(program)
        return program

    def _note_in_file(self, program: ProgramRun, place: FilePlace) -> ProgramRun:
        """Enters a program of a file that is run."""
        running = self.running
        if program.name == "trap":  # a script that cleans up behind itself is ordinary
            if running is not None:
                running.position -= 1
            return program
        program = program if program.origin is not None else replace(program, origin=place)
        if running is not None:
            running.runs += 1
            if running.runs > MAX_RUNS:
                raise RunsFull
        self.runs.append(program)
        return program

    def _pass(self, running: RunFiles, name: str) -> None:
        """Tells the files of the command that one more program runs."""
        if self.here is None:
            running.program_begins()
        running.later.passes(is_instant=name in _INSTANT)
        running.later.goes_on = running.later.goes_on or name in _DETACHERS

    def pay(self, program: ProgramRun, state: ShellState) -> None:
        """Spends what a program takes. All that judges programs does so once for those that are alike."""
        steps, own = steps_of(program), program.likeness
        state.work.spend(PROGRAM + (steps * LIKE if own in self._paid else steps))
        self._paid.add(own)

    def add(self, program: ProgramRun, state: ShellState) -> None:
        self.pay(program, state)
        self.noted(program)

    def joined(self, words: tuple[str, ...], state: ShellState, program: ProgramRun) -> StdinSource:
        return self.inner_text(" ".join(words), program, state)

    def inner(
        self, argv: tuple[str, ...], program: ProgramRun, state: ShellState, given: tuple[tuple[int, StdinSource], ...] = ()
    ) -> StdinSource:
        """Runs the inner program of a wrapper, without its input."""
        if not argv[0]:
            return StdinSource(None)
        return self.run(
            ProgramRun(
                argv, program_name(argv[0]), state.via, (), (), None, given, program.piped, program.pipeline, state.cwd
            ),
            state,
        )

    def inner_text(self, text: str, program: ProgramRun, state: ShellState) -> StdinSource:
        return self.text(text, state, program.stdin, piped=program.piped, pipeline=program.pipeline)
