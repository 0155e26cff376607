"""Walks one program and everything that it starts."""

from __future__ import annotations

import re

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources, environment_options, guesses, interpreters
from toolguard_engine.effects.commands.change_walk import COPIERS, EDITORS, PATCHERS, PLACERS, STORING, UNPACKERS
from toolguard_engine.effects.commands.code_walk import CodeWalk
from toolguard_engine.effects.commands.file_walk import MAX_FED, RUN_PACKAGES, is_interpreter
from toolguard_engine.effects.commands.walk_state import (
    EVERY,
    MAX_NESTED,
    MAX_RUNS,
    MAX_WRAPPED,
    RunsFull,
    built,
    program_name,
    writes_output,
)
from toolguard_engine.effects.commands.walk_steps import PROGRAM, steps_of
from toolguard_engine.effects.commands.written_files import located
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.programs import sql
from toolguard_engine.effects.programs.wrappers import NEVER, WRAPPERS, Wrapper, after_verb, options, value_of
from toolguard_engine.effects.syntax import applied_rehearsals
from toolguard_engine.effects.syntax.expand import ShellState
from toolguard_engine.effects.syntax.outputs import NOTHING, printed, together

ASSIGNMENT = lazy_re.compile(r"([A-Za-z_]\w*+)(\+?)=(.*)", re.DOTALL)
_CODED = frozenset((*interpreters.PROGRAMS, *sql.CLIENTS))
_REMOTE = program_catalogue.programs("remote_login")
_ASSIGNMENT_TAKERS = program_catalogue.programs("assignment_taker")
_COMMANDS = word_set(
    "PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF"
    " GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_PROXY_COMMAND BROWSER LESSOPEN RSYNC_RSH SYSTEMD_PAGER SYSTEMD_EDITOR"
)
"""Variables whose value is a command that other programs run."""

_SAME_SHELL = frozenset({"command", "builtin"})
_LOGINS = program_catalogue.programs("login")
"""Wrappers that start a shell if no program is given."""


def _split_string(argv: tuple[str, ...]) -> str:
    """What `env -S` runs: the text after the option, and all words after that."""
    at = 1
    while at < len(argv) and (argv[at][:1] == "-" or "=" in argv[at]):
        word = argv[at]
        at += 1
        if word[:2] == "--":
            name, sign, value = word.partition("=")
            if name[2:3] == "s" and "--split-string".startswith(name):
                return _split_words((value,) if sign else (), argv[at:])
            at += not sign and name in ("--unset", "--chdir")
            continue
        for place, letter in enumerate(word[1:] if word[:1] == "-" else "", 2):
            if letter == "S":
                return _split_words((word[place:],) if word[place:] else (), argv[at:])
            if letter in "uCa":
                at += place == len(word)
                break
    return ""


def _split_words(own: tuple[str, ...], rest: tuple[str, ...]) -> str:
    return " ".join((*own, *rest)).replace("\\_", " ")


class ProgramWalk(CodeWalk):
    """Unwraps wrappers, and runs what a program starts."""

    def variable_set(self, name: str, value: str, run: ProgramRun, state: ShellState) -> None:
        """An environment variable is set. Other programs may run its value, or do what it says."""
        if name in _COMMANDS and value:
            self.text(value, state.fork(name), None, piped=False, pipeline=run.pipeline)
        elif value and (every := self.specials.get(EVERY)):
            every(self, replace(run, argv=("=",), name="=", assigns=((name, value),)), state)

    def run(self, run: ProgramRun, state: ShellState) -> StdinSource:
        """Runs one program and everything it starts; returns its output."""
        state.work.spend(PROGRAM + steps_of(run))
        if state.functions and run.name in state.functions and run.name not in state.calling:
            return self._call(run, state)
        if state.aliases and run.name in state.aliases:
            return self._aliased(run, state)
        if self.sinks:
            return self._sunk(run, state)
        if not run.name.islower() and len(run.name) <= guesses.LONGEST and (real := guesses.spelled(run.name)) != run.name:
            run = replace(run, name=real)
        run = environment_options.with_options(run, state.variables) if run.assigns or state.variables else run
        run = self.noted(run)
        name = run.name
        self._record(run, state)
        if (feed := self._started_script(run, state)) is not None:
            return feed
        if name.startswith(UNKNOWN):
            self.will_run_input(run)
        if not name.isalnum() and guesses.is_open(name):
            return self._guessed(run, state)
        special, wrapper = self.specials.get(name), WRAPPERS.get(name)
        if special is None and wrapper is None:
            return self._plain(run, state)
        if self.wrapped >= MAX_WRAPPED:
            self.flaws.add("deep")
            return StdinSource(None)
        self.wrapped += 1
        feed = special(self, run, state) if special else self.run_wrapped(run, wrapper, state) if wrapper else None
        self.wrapped -= 1
        return self._passed_on(run, feed, state)

    def _aliased(self, run: ProgramRun, state: ShellState) -> StdinSource:
        """An alias: its text, with the words behind it. Within it, the name is that of the program again."""
        inner = state.fork()
        del inner.aliases[run.name]
        return self.joined((state.aliases[run.name], *run.argv[1:]), inner, run)

    def _record(self, run: ProgramRun, state: ShellState) -> None:
        """Remembers what a program does to files before it is known what else it starts."""
        name = run.name
        if name in applied_rehearsals.CLIENTS:
            for applied in applied_rehearsals.applied(self.runs):
                self.add(applied, state)
        if name in EDITORS and any(word.startswith(("-i", "--in-place")) for word in run.argv):
            self._edited(run)
        if name in PLACERS:
            self._moved(run, state)
        if self.running is not None and (name in PATCHERS or name in UNPACKERS):
            self._brought(run)
        if "/" in run.argv[0]:
            self.will_run(run.argv[0], run)
        if every := self.specials.get(EVERY):
            every(self, run, state)

    def _moved(self, run: ProgramRun, state: ShellState) -> None:
        if self.running is not None:
            self.running.copies(run)
        if self.written.texts:
            self._place(run, state)

    def _started_script(self, run: ProgramRun, state: ShellState) -> StdinSource | None:
        """The output of a script that is started by its name; None if the program is none, or may be another one as well."""
        by_path = "/" in run.argv[0]
        if (self.written.texts or run.given) and (script := self._own(run, state)):
            ran = self.scripted(script, run, state.fork(run.name))
            if by_path and self.written.text(run.argv[0], run.cwd):
                return ran
        if self.running is None or not (
            by_path or "PATH" in state.variables or run.assigns or not RUN_PACKAGES.isdisjoint(run.via)
        ):
            return None
        files = self._program_files(run) if by_path else self._on_path(run, state)
        feeds = [self.scripted(each, replace(run, argv=(each.path, *run.argv[1:])), state.fork(run.name)) for each in files]
        if len(feeds) > 1:
            return built(together(feeds, exact=False), state)
        return feeds[0] if feeds else None

    def _plain(self, run: ProgramRun, state: ShellState) -> StdinSource:
        """A program that starts no other one, unless it is an interpreter."""
        name = run.name
        if name in _CODED or ((name[-1].isdigit() or "@" in name) and is_interpreter(name)):
            self.code(run, state)
        if name in COPIERS:
            self._copy(run)
        if name in STORING or (run.redirects and writes_output(run)):
            self._keep(run, built(self._printed(run), state))
        return built(self._printed(run), state) if run.piped else NOTHING

    def _passed_on(self, run: ProgramRun, feed: StdinSource | None, state: ShellState) -> StdinSource:
        """The output of a program that starts others; `feed`: that of these, if it is passed on."""
        if feed is None:
            feed = built(printed(run), state)
            if run.name in EDITORS and run.redirects and writes_output(run):
                self._keep(run, feed)
            return feed
        if run.name in _REMOTE:  # whatever prints it there, it is from another machine
            return StdinSource(None, (*feed.programs[-MAX_FED:], run.name), (), feed.was or feed.text)
        return feed

    def _own_code(self, run: ProgramRun, state: ShellState) -> None:
        """Of a wrapper that is also an interpreter: `bun -e`."""
        if run.name in code_sources.LANGUAGES:
            self.code(run, state)

    def _guessed(self, run: ProgramRun, state: ShellState) -> StdinSource:
        """Runs a program whose name is not spelled out as each one that it may be."""
        for name in guesses.fitting(run.name):
            self.run(replace(run, argv=(name, *run.argv[1:]), name=name), state)
        return StdinSource(None, (run.name,))

    def _sunk(self, run: ProgramRun, state: ShellState) -> StdinSource:
        """A program that has `>(sh)` among its words or redirections."""
        sinks, self.sinks = self.sinks, []
        feed = self.run(replace(run, piped=True), state)
        for script, inner in sinks:
            self.script(script, inner, feed, piped=run.piped, pipeline=run.pipeline)
        return feed if run.piped else NOTHING

    def _call(self, run: ProgramRun, state: ShellState) -> StdinSource:
        self.called.add(run.name)
        self.calls += 1
        if self.calls > MAX_RUNS:
            raise RunsFull
        before, via, calling, here = state.args, state.via, state.calling, self.here
        state.args, state.via, state.calling = run.argv, (*via, "()"), calling | {run.name}
        self.nested += 1
        try:
            if self.nested > MAX_NESTED:
                self.flaws.add("deep")
                return StdinSource(None)
            body = state.functions[run.name]
            if run.piped or not run.redirects or not writes_output(run):
                return self.script(body, state, run.stdin, piped=run.piped, pipeline=run.pipeline)
            at, into = len(self.runs), replace(run, argv=("{",), name="{", assigns=(), given=())
            self.add(into, state)
            self._stored(at, into, self.script(body, state, run.stdin, piped=True, pipeline=run.pipeline), state)
            return NOTHING
        finally:
            self.nested -= 1
            state.args, state.via, state.calling, self.here = before, via, calling, here

    def run_wrapped(self, run: ProgramRun, wrapper: Wrapper, state: ShellState) -> StdinSource | None:  # noqa: PLR0912 - a case for each kind
        """Runs the inner program of a wrapper; None if none can be seen."""
        argv = run.argv
        at = after_verb(argv, wrapper)
        if not at or (run.name == "command" and argv[1:2] and argv[1] in ("-v", "-V")):
            self._own_code(run, state)
            return None
        inner = state.elsewhere(run.name) if wrapper.away else state.fork(run.name)
        inner.variables.update(run.assigns)
        if run.name == "env" and (split := _split_string(argv)):
            return self.inner_text(split, run, inner)
        if wrapper.skip == NEVER:
            if text := value_of(argv, wrapper.text):
                return self.inner_text(text, run, inner)
            return self._logged_in(run, inner)
        at, text = options(argv, at, wrapper)
        if text:
            return self.inner_text(text, run, inner)
        while at < len(argv) and (found := ASSIGNMENT.fullmatch(argv[at])) and run.name in _ASSIGNMENT_TAKERS:
            self.variable_set(found[1], found[3], run, inner)
            inner.variables[found[1]] = found[3]
            run = replace(run, assigns=(*run.assigns, (found[1], found[3])))
            at += 1
        if wrapper.dashes and "--" in argv:
            at = argv.index("--") + 1
        elif wrapper.skip:
            at, text = options(argv, min(at + wrapper.skip, len(argv)), wrapper)
            if text:
                return self.inner_text(text, run, inner)
        if at >= len(argv):
            return self._logged_in(run, inner)
        if wrapper.folder and (folder := value_of(argv[:at], wrapper.folder)):
            inner.cwd = located(folder, inner.cwd)
        if wrapper.joined and run.name != "trap":
            for file in (file for n in range(at, len(argv)) for file in self.given_files(run, n)) if run.given else ():
                self.run_file(file, run, inner)
            words = tuple(self.unknown(run, n) for n in range(at, len(argv))) if run.given else argv[at:]
            return self.joined(words, state if run.name == "eval" else inner, run)
        feed = self._program_at(run, at, inner)
        if run.name in _SAME_SHELL:  # `command cd x`
            state.cwd, state.variables = inner.cwd, inner.variables
        return feed

    def _logged_in(self, run: ProgramRun, inner: ShellState) -> StdinSource | None:
        """The shell that a wrapper starts if no program is given; `exec` continues with another input."""
        if run.name == "exec" and run.stdin:
            self.opened["0"] = run.stdin
        fed = self.fed(run) if run.name in _LOGINS else None
        return self.text(fed, inner, None, piped=run.piped, pipeline=run.pipeline) if fed else None

    def _program_at(self, run: ProgramRun, at: int, inner: ShellState) -> StdinSource | None:
        """The program that begins at one of a wrapper's words."""
        rest = run.argv[at:]
        if not rest[0] or (run.name == "sudo" and run.argv[at - 1] in ("-e", "--edit")):
            return None
        if run.name == "trap":
            return self.inner_text(rest[0], run, inner) if len(rest) > 1 else None
        given = tuple((position - at, feed) for position, feed in run.given if position >= at)
        unset = tuple(position - at for position in run.unset if position >= at)
        inner_run = ProgramRun(
            rest, program_name(rest[0]), inner.via, run.assigns, (), run.stdin, given, run.piped, run.pipeline, inner.cwd,
            unset=unset,
        )  # fmt: skip
        return self.run(inner_run, inner)
