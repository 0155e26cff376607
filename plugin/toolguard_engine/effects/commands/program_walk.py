"""Walks one program and everything that it starts."""

from __future__ import annotations

import re
from shlex import quote

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources, environment_options, guesses, interpreters, screen_keys
from toolguard_engine.effects.commands.change_walk import COPIERS, EDITORS, PATCHERS, PLACERS, STORING, UNPACKERS
from toolguard_engine.effects.commands.code_walk import CodeWalk
from toolguard_engine.effects.commands.file_walk import MAX_FED, RUN_PACKAGES, is_interpreter
from toolguard_engine.effects.commands.walk_state import (
    EVERY,
    FOLDER_CHANGERS,
    JUMPS,
    MAX_NESTED,
    MAX_RUNS,
    MAX_WRAPPED,
    PASSIVE,
    RunsFull,
    built,
    program_name,
    writes_output,
)
from toolguard_engine.effects.commands.walk_steps import AGAIN
from toolguard_engine.effects.commands.written_files import located
from toolguard_engine.effects.facts import descriptors, program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.manuals import wrapper_catalogue
from toolguard_engine.effects.manuals.command_words import GivenOption
from toolguard_engine.effects.manuals.wrapper_catalogue import WrapperWords
from toolguard_engine.effects.programs import sql
from toolguard_engine.effects.programs.wrappers import WRAPPERS
from toolguard_engine.effects.syntax import applied_rehearsals
from toolguard_engine.effects.syntax.outputs import NOTHING, printed, together
from toolguard_engine.effects.syntax.shell_state import ShellState

ASSIGNMENT = lazy_re.compile(r"([A-Za-z_]\w*+)(\+?)=(.*)", re.DOTALL)
_CODED = frozenset((*interpreters.PROGRAMS, *sql.CLIENTS))
_REMOTE = program_catalogue.programs("remote_login")
_ASSIGNMENT_TAKERS = program_catalogue.programs("assignment_taker")
_COMMANDS = word_set(
    "PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF"
    " GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_PROXY_COMMAND BROWSER LESSOPEN RSYNC_RSH SYSTEMD_PAGER SYSTEMD_EDITOR"
)
"""Variables whose value is a command that other programs run."""

_IN_ANY_FOLDER = PASSIVE | FOLDER_CHANGERS
_FILTERS = program_catalogue.programs("typed_filter")
_INTO_VARIABLES = program_catalogue.programs("variable_printer")
_SAME_SHELL = frozenset({"command", "builtin"})
_LOGINS = program_catalogue.programs("login")
"""Wrappers that start a shell if no program is given."""


def _split_string(program: ProgramRun, reading: WrapperWords) -> str:
    """What `env -S` runs: the text after the option, and all words after that."""
    text, *_ = reading.texts
    return " ".join((text.text, *program.argv[text.at + 1 :])).replace("\\_", " ")


def _only_filters(program: ProgramRun) -> bool:
    """Whether a program does nothing but pass its input on: it is given no file."""
    if program.name not in _FILTERS or program.argv[0] != program.name:
        return False
    if program.redirects or program.assigns or program.given or not program.readings:
        return False
    return not any(words.operands or words.unknown or any(map(_does_more, words.given)) for words in program.readings)


def _does_more(option: GivenOption) -> bool:
    return bool(option.entry.role or option.entry.traits)


_DIVIDED = lazy_re.compile(r"[\s'\"`$;&|<>()\\#]")
"""What a shell would not leave in one word as it is."""


class ProgramWalk(CodeWalk):
    """Unwraps wrappers, and runs what a program starts."""

    def variable_set(self, name: str, value: str, program: ProgramRun, state: ShellState) -> None:
        """An environment variable is set. Other programs may run its value, or do what it says."""
        if name in _COMMANDS and value:
            self.text(value, state.fork(name), None, piped=False, pipeline=program.pipeline)
        elif value and (every := self.specials.get(EVERY)):
            every(self, replace(program.with_words(("=",), "="), assigns=((name, value),)), state)

    def named(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """Runs a program that a text of the shell names, so that a builtin of this name comes before files."""
        if state.frames and program.name in JUMPS:
            state.jump(program.argv)
        if state.others and program.name not in _IN_ANY_FOLDER:
            self._elsewhere_as_well(program, state)
        if program.name in _INTO_VARIABLES and "-v" in program.argv:
            self._printed_into(program, state)
        if program.name in PASSIVE and not self._is_other(program.name, state) and self.is_again(program):
            return self._again(program, state)
        return self.run(program, state)

    def _with_descriptors(self, program: ProgramRun) -> ProgramRun:
        """The same program, whose words that name what is opened at a descriptor are given that: `sh /dev/fd/3`, `make
        --file=/dev/fd/3`. Those of programs that run what they are named have one spelling then."""
        if program.name in interpreters.PROGRAMS or code_sources.language(program.name):
            plain = tuple([descriptors.plain(word, program.cwd) for word in program.argv])
            program = program.with_words(plain) if plain != program.argv else program
        feeds = {
            at: self.descriptor(number)
            for at, word in enumerate(program.argv if self.opened else ())
            if "/fd/" in word and ((number := word.rpartition("/")[2]) in self.opened or UNKNOWN in number)
        }
        return replace(program, given=(*program.given, *feeds.items())) if feeds else program

    def descriptor(self, number: str) -> StdinSource:
        """What was opened at a descriptor; everything that was opened if its number is unknown."""
        if UNKNOWN in number and self.opened:
            return together(list(self.opened.values()), exact=False)
        return self.opened.get(number.rstrip("-")) or StdinSource()

    def _printed_into(self, program: ProgramRun, state: ShellState) -> None:
        """`printf -v x`: sets a variable to what it would print."""
        at = program.argv.index("-v")
        if len(program.argv) > at + 1:
            rest = (program.argv[0], *program.argv[at + 2 :])
            state.assign(program.argv[at + 1], printed(replace(program.with_words(rest), piped=True)).text or UNKNOWN)

    def _elsewhere_as_well(self, program: ProgramRun, state: ShellState) -> None:
        """Runs a program in the other folders that the shell may be in, unless it does the same in each."""
        if _only_filters(program) and not self._is_other(program.name, state):
            return
        for folder in state.others:
            inner = state.fork()
            inner.cwd, inner.others = folder, ()
            self.run(replace(program, cwd=folder), inner)

    def run(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """Runs one program and everything it starts; returns its output."""
        program = self._with_descriptors(program)
        self.pay(program, state)
        if state.functions and program.name in state.functions and program.name not in state.calling:
            return self._call(program, state)
        if state.aliases and program.name in state.aliases:
            return self._aliased(program, state)
        if self.sinks:
            return self._sunk(program, state)
        if (
            not program.name.islower()
            and len(program.name) <= guesses.LONGEST
            and (real := guesses.spelled(program.name)) != program.name
        ):
            program = replace(program, name=real)
        program = (
            environment_options.with_options(program, state.variables) if program.assigns or state.variables else program
        )
        program = self.noted(program)
        name = program.name
        self._record(program, state)
        if (feed := self._started_script(program, state)) is not None:
            return feed
        if name.startswith(UNKNOWN):
            self.will_run_input(program)
        if not name.isalnum() and guesses.is_open(name):
            return self._guessed(program, state)
        special = self.specials.get(name)
        if special is None and name not in WRAPPERS:
            return self._plain(program, state)
        if self.wrapped >= MAX_WRAPPED:
            self.flaws.add("deep")
            return StdinSource(None)
        self.wrapped += 1
        feed = special(self, program, state) if special else self.run_wrapped(program, state)
        self.wrapped -= 1
        return self._passed_on(program, feed, state)

    def _is_other(self, name: str, state: ShellState) -> bool:
        """Whether this may not be the builtin of that name here, or its output goes elsewhere."""
        return name in state.functions or name in state.aliases or "PATH" in state.variables or bool(self.sinks)

    def _again(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """A passive program that is like one before: only the state of the shell may change."""
        state.work.spend(AGAIN)
        self.passes(program)
        special = self.specials.get(program.name)
        feed = special(self, program, state) if special else None
        return feed or (printed(program) if program.piped else NOTHING)

    def _aliased(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """An alias: its text, with the words behind it. Within it, the name is that of the program again."""
        inner = state.fork()
        del inner.aliases[program.name]
        words = (quote(word) if _DIVIDED.search(word) else word for word in program.argv[1:])
        return self.joined((state.aliases[program.name], *words), inner, program)

    def _record(self, program: ProgramRun, state: ShellState) -> None:
        """Remembers what a program does to files before it is known what else it starts."""
        name = program.name
        if name in applied_rehearsals.CLIENTS:
            for applied in applied_rehearsals.applied(self.runs):
                self.add(applied, state)
        if name in EDITORS and any(word.startswith(("-i", "--in-place")) for word in program.argv):
            self._edited(program)
        if name in PLACERS:
            self._moved(program, state)
        if self.running is not None and (name in PATCHERS or name in UNPACKERS):
            self._brought(program)
        if "/" in program.argv[0]:
            self.will_run(program.argv[0], program)
        if every := self.specials.get(EVERY):
            every(self, program, state)

    def _moved(self, program: ProgramRun, state: ShellState) -> None:
        if self.running is not None:
            self.running.copies(program)
        if self.written.texts:
            self._place(program, state)

    def _started_script(self, program: ProgramRun, state: ShellState) -> StdinSource | None:
        """The output of a script that is started by its name; None if the program is none, or may be another one as well."""
        by_path = "/" in program.argv[0] or program.argv[0] == UNKNOWN
        if (self.written.texts or program.given) and (script := self._own(program, state)):
            ran = self.scripted(script, program, state.fork(program.name))
            if by_path and self.written.text(program.argv[0], program.cwd):
                return ran
        if self.running is None or not (
            by_path or "PATH" in state.variables or program.assigns or not RUN_PACKAGES.isdisjoint(program.via)
        ):
            return None
        files = self._program_files(program) if by_path else self._on_path(program, state)
        feeds = [
            self.scripted(file, program.with_words((file.path, *program.argv[1:])), state.fork(program.name))
            for file in files
        ]
        if len(feeds) > 1:
            return built(together(feeds, exact=False), state)
        return feeds[0] if feeds else None

    def _plain(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """A program that starts no other one, unless it is an interpreter."""
        name = program.name
        if name in _CODED or ((name[-1].isdigit() or "@" in name) and is_interpreter(name)):
            self.code(program, state)
        if name in COPIERS:
            self._copy(program)
        if name in STORING or (program.redirects and writes_output(program)):
            self._keep(program, built(self._printed(program), state), state)
        return built(self._printed(program), state) if program.piped else NOTHING

    def _passed_on(self, program: ProgramRun, feed: StdinSource | None, state: ShellState) -> StdinSource:
        """The output of a program that starts others; `feed`: that of these, if it is passed on."""
        if feed is None:
            feed = built(printed(program), state)
            if program.name in EDITORS and program.redirects and writes_output(program):
                self._keep(program, feed, state)
            return feed
        if program.name in _REMOTE:  # whatever prints it there, it is from another machine
            return StdinSource(None, (*feed.programs[-MAX_FED:], program.name), (), feed.was or feed.text)
        return feed

    def _own_code(self, program: ProgramRun, state: ShellState) -> None:
        """The code of a wrapper that is also an interpreter: `bun -e`."""
        if program.name in code_sources.LANGUAGES:
            self.code(program, state)

    def _guessed(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """Runs a program whose name is not spelled out as each one that it may be."""
        for name in guesses.fitting(program.name):
            self.run(program.with_words((name, *program.argv[1:]), name), state)
        return StdinSource(None, (program.name,))

    def _sunk(self, program: ProgramRun, state: ShellState) -> StdinSource:
        """A program that has `>(sh)` among its words or redirections."""
        sinks, self.sinks = self.sinks, []
        feed = self.run(replace(program, piped=True), state)
        for script, inner in sinks:
            self.script(script, inner, feed, piped=program.piped, pipeline=program.pipeline)
        return feed if program.piped else NOTHING

    def _call(self, program: ProgramRun, state: ShellState) -> StdinSource:
        self.called.add(program.name)
        self.calls += 1
        if self.calls > MAX_RUNS:
            raise RunsFull
        before, via, calling, here = (state.args, state.other_args), state.via, state.calling, self.here
        state.args, state.other_args = program.argv, ()
        state.via, state.calling = (*via, "()"), calling | {program.name}
        self.nested += 1
        state.enter_frame()
        try:
            if self.nested > MAX_NESTED:
                self.flaws.add("deep")
                return StdinSource(None)
            body = state.functions[program.name]
            if program.piped or not program.redirects or not writes_output(program):
                return self.script(body, state, program.stdin, piped=program.piped, pipeline=program.pipeline)
            at, into = len(self.runs), replace(program.with_words(("{",), "{", (-1,)), assigns=())
            self.add(into, state)
            self._stored(at, into, self.script(body, state, program.stdin, piped=True, pipeline=program.pipeline), state)
            return NOTHING
        finally:
            self.nested -= 1
            state.leave_frame()
            (state.args, state.other_args), state.via, state.calling, self.here = before, via, calling, here

    def run_wrapped(self, program: ProgramRun, state: ShellState) -> StdinSource | None:
        """Runs the inner program of a wrapper; None if none can be seen."""
        reading = wrapper_catalogue.read(program.name, program.argv)
        if not reading.runs:
            self._own_code(program, state)
            return None
        inner = state.elsewhere(program.name) if reading.wrapper.away else state.fork(program.name)
        inner.variables.update(program.assigns)
        if reading.texts:
            of_env = program.name == "env"
            text = _split_string(program, reading) if of_env else "\n".join(word.text for word in reading.texts)
            return self.inner_text(text, program, inner)
        if program.name == "screen" and (typed := screen_keys.typed(reading, program.argv)):
            return self.inner_text(typed, program, inner)
        program, at = self._with_assignments(program, reading.at, inner)
        if at >= len(program.argv):
            return self._logged_in(program, inner)
        if reading.folder:
            inner.cwd = located(reading.folder, inner.cwd)
        if reading.wrapper.joined and program.name != "trap":
            return self._joined_words(program, at, state, inner)
        feed = self._program_at(program, at, inner, state, edits=reading.options.has("--edit"))
        if program.name in _SAME_SHELL:  # `command cd x`
            state.cwd, state.variables = inner.cwd, inner.variables
        return feed

    def _with_assignments(self, program: ProgramRun, at: int, inner: ShellState) -> tuple[ProgramRun, int]:
        """The program with the variables that it sets before its command, and the position of the command."""
        argv = program.argv
        while at < len(argv) and program.name in _ASSIGNMENT_TAKERS and (match := ASSIGNMENT.fullmatch(argv[at])):
            self.variable_set(match[1], match[3], program, inner)
            inner.variables[match[1]] = match[3]
            program = replace(program, assigns=(*program.assigns, (match[1], match[3])))
            at += 1
        return program, at

    def _trapped(self, text: str, program: ProgramRun, state: ShellState) -> StdinSource:
        """What runs when the shell ends: once as everything is now, and with variables again at its end."""
        if "$" in text:
            self.traps.append((text, program, state, state.watch()))
        return self.inner_text(text, program, state.fork(program.name))

    def run_traps(self) -> None:
        """Runs what was to run at the end, with all values that its variables have had since."""
        traps, self.traps = self.traps, []
        for text, program, state, seen in traps:
            if seen.values:
                inner = state.fork(program.name)
                inner.may_be(seen.values)
                self.inner_text(text, program, inner)

    def _joined_words(self, program: ProgramRun, at: int, state: ShellState, inner: ShellState) -> StdinSource:
        """Runs the words from a position on as one text for a shell."""
        words = program.argv[at:]
        if program.given:
            for place in range(at, len(program.argv)):
                for file in self.given_files(program, place):
                    self.run_file(file, program, inner)
            words = tuple(self.unknown(program, place) for place in range(at, len(program.argv)))
        return self.joined(words, state if program.name == "eval" else inner, program)

    def _logged_in(self, program: ProgramRun, inner: ShellState) -> StdinSource | None:
        """The shell that a wrapper starts if no program is given; `exec` continues with another input."""
        if program.name == "exec" and program.stdin:
            self.opened["0"] = program.stdin
        fed = self.fed(program) if program.name in _LOGINS else None
        return self.text(fed, inner, None, piped=program.piped, pipeline=program.pipeline) if fed else None

    def _program_at(
        self, program: ProgramRun, at: int, inner: ShellState, state: ShellState, *, edits: bool
    ) -> StdinSource | None:
        """The program that begins at one of a wrapper's words."""
        rest = program.argv[at:]
        if not rest[0] or edits:
            return None
        if program.name == "trap":
            return self._trapped(rest[0], program, state) if len(rest) > 1 else None
        given = tuple((position - at, feed) for position, feed in program.given if position >= at)
        unset = tuple(position - at for position in program.unset if position >= at)
        inner_run = ProgramRun(
            rest, program_name(rest[0]), inner.via, program.assigns, (), program.stdin, given, program.piped,
            program.pipeline, inner.cwd, unset=unset,
        )  # fmt: skip
        return self.run(inner_run, inner)
