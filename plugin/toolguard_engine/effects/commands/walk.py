"""Walks the tree of a command line in execution order and collects each program that runs, with wrappers unwrapped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase as fnmatch
from functools import lru_cache
from itertools import islice
from posixpath import normpath
from shlex import quote
from typing import cast

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import (
    code_files,
    endless_loops,
    environment_options,
    guesses,
    interpreters,
    patches,
    runner_table,
    served_folders,
)
from toolguard_engine.effects.commands.run_files import RunFiles
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, FilePlace, Flaw, ProgramRun, Redirect, StdinSource
from toolguard_engine.effects.facts.letter_case import folded
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.place_names import words as spelled
from toolguard_engine.effects.landings import landings
from toolguard_engine.effects.languages import kept_code
from toolguard_engine.effects.languages.code_deeds import INPUT, CodeReading
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import sql, sql_meta_commands, unpacking
from toolguard_engine.effects.programs.wrappers import NEVER, SHELLS, WRAPPERS, Wrapper, after_verb, options, value_of
from toolguard_engine.effects.syntax import applied_rehearsals, quoted_commands, statement_files
from toolguard_engine.effects.syntax import expand as fields
from toolguard_engine.effects.syntax.expand import ShellState
from toolguard_engine.effects.syntax.made_texts import QUERIED, literals
from toolguard_engine.effects.syntax.outputs import NOTHING, known, printed, together
from toolguard_engine.effects.syntax.parse import MAX_CHARS, parse
from toolguard_engine.effects.syntax.syntax_tree import (
    Command,
    Group,
    Literal,
    Pipeline,
    Redirection,
    Script,
    Simple,
    Substitution,
    Word,
)
from toolguard_engine.model.lazy import FAILURES
from toolguard_engine.model.work_limit import steps_to_build

MAX_RUNS = 800
MAX_NESTED = 12
MAX_WRAPPED = 24
MAX_TOTAL = 2 * MAX_CHARS
MAX_SKIPPED = 6
"""Texts that a file may have because changes before an edit have not happened."""

MAX_STORED = 8 * MAX_TOTAL
MAX_SIMILAR = 64
"""Files and words of which the name is known only in part."""
MAX_JOINED = 4 * MAX_CHARS
"""What such names may stand for, all in all."""
MAX_LOOP = 64
PROGRAM, WORD, PATTERN, GROUP, EXPANSION = 9, 0.375, 15, 20, 8
"""Steps of work for each program that runs, each of its words (again for each slash in them) and wildcard patterns, each
compound command, each command or assignment with expansions. `scripts/bench steps` measures what they cost."""

MANUAL, ROW, WRITTEN, FED = 45, 14, 20, 12
"""More steps for a program with a manual, for each row of the table of runners and each redirection, and for its input."""

OPTION, FEW_WORDS = 4, 50
"""Steps for each option of a program, which its manual reads several times, behind so many words."""

LOOKED_AT, PLACED = 0.5, 6
"""Steps for each file that the command wrote, where a program copies or moves files, and for each that it brings along."""

CHARACTERS = 16
"""Of a program's words and input, for one step of work."""

PARSED = {"python": 1.5, "javascript": 2.0}
"""Steps for each character of code in a command; the content of files has a budget of its own."""

CODE_CHARACTERS = 16
"""Of code in a file, for one step of work besides reading it: it is searched for the files that it takes in."""

CODE_FILE = 40
"""More steps for each file with code."""

STATEMENTS = 4
"""Characters of a file with statements, for one step."""

EVERY = "*"
"""The name of the special handler that is asked for every program, and as `=` for variables that are set."""

FORK_BOMB = "fork-bomb"
"""Name of a function that starts itself twice, or in the background."""

INTERPRETER = lazy_re.compile(
    rf"(?:{'|'.join(sorted(program_catalogue.programs('script_interpreter'), reverse=True))})[\d.]*+"
)
_WRITING = {">": "write", ">|": "write", "&>": "write", ">>": "append", "&>>": "append", ">&": "write", "<>": "write"}
ASSIGNMENT = lazy_re.compile(r"([A-Za-z_]\w*+)(\+?)=(.*)", re.DOTALL)
_RUN_PACKAGES = program_catalogue.programs("package_program_runner")
_COPIERS = program_catalogue.programs("copier")
_PLACERS = frozenset().union(*map(manual_catalogue.doing, ("copies", "moves", "links")))
_CODED = frozenset((*interpreters.PROGRAMS, *sql.CLIENTS))
_FINDERS = program_catalogue.programs("file_finder", "list_runner")
_REMOTE = program_catalogue.programs("remote_login")
MAX_FED = 60
"""Programs of a pipeline that are remembered as sources of a text."""
_ASSIGNMENT_TAKERS = program_catalogue.programs("assignment_taker")
_STORING = program_catalogue.programs("input_storer")
_USUAL = frozenset({"", "0", "1", "2"})
_SYSTEM_PATHS = ("/usr/", "/bin", "/sbin", "$PATH", UNKNOWN)
_OUTPUT = frozenset({"write", "append"})
_COMMANDS = spelled(
    "PAGER MANPAGER GIT_PAGER EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF"
    " GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS GIT_PROXY_COMMAND BROWSER LESSOPEN RSYNC_RSH SYSTEMD_PAGER SYSTEMD_EDITOR"
)
"""Variables whose value is a command that other programs run."""
_PATCHERS = frozenset({"git", "patch"})
_UNPACKERS = manual_catalogue.doing("unpacks")
_EDITORS = frozenset({"sed", "gsed"})
"""Change a file in its place."""
_PASSING = program_catalogue.programs("file_printer")
_SHELL_LIKE = SHELLS | program_catalogue.programs("sourcer")
_INSTANT = program_catalogue.programs("instant") | WRAPPERS.keys()
_DETACHERS = program_catalogue.programs("detacher")
MAX_SOURCES = 12
"""Programs that may have printed what another one runs."""
MAX_FED = 16
"""Files that are read from one input."""

_SAME_SHELL = frozenset({"command", "builtin"})
_LOGINS = program_catalogue.programs("login")
"""Wrappers that start a shell if no program is given."""

STDIN = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Names of the standard input."""

_FOLDERS = lazy_re.compile(r"(?<![^\s;|&()<>=:])~([+-])(?=[/\s;|&()<>:]|\Z)")
_DESCRIPTOR = lazy_re.compile(r"\d+-?|-")


_LOOPS = frozenset({"for", "select", "while", "until"})


class _Full(Exception):  # noqa: N818 - not an error: the limit of runs is reached
    pass


class Walk:
    """Collects the runs. `piped` parameters say whether the output goes to another program.

    `specials`: handlers for programs that are neither wrappers nor plain (`commands.specials`). `running`: the files of this
    machine, None if they are not known. Each `file` that is run is walked by a `Walk` of its own; `here` is the place in it.
    """

    def __init__(
        self, specials: Mapping[str, Special], running: RunFiles | None = None, file: FilePlace | None = None
    ) -> None:
        self.specials = specials
        self.running = running
        self.file = self.here = file
        self.runs: list[ProgramRun] = []
        self.flaws: set[Flaw] = set()
        self.made_flaws: set[Flaw] = set()
        """Those of files that agents made. No other file around them hides them."""
        self.nested = 0
        self.wrapped = 0
        self.total = 0
        self.pipelines = 0
        self.called: set[str] = set()
        self.calls = 0
        self.files: dict[str, str] = {}
        self.replaced: list[tuple[str, str]] = []
        """Texts that they had before others took their place."""
        self.spelled: dict[str, str] = {}
        """The names of `files` by the folded ones."""
        self.unnamed: dict[str, bool] = {}
        """Those of `files` whose names are known only in part."""
        self.appended: set[str] = set()
        """Those of `files` of which only what is added is known so far."""
        self.opaque: set[str] = set()
        """Files that the command changes in a way that is not known."""
        self.kept = 0
        self.stored = 0
        """Characters of all that was put into `files`, also what other texts have replaced since."""
        self.similar = 0
        self.set_variables: set[tuple[str, str]] = set()
        """Variables and values that were walked already."""
        self.fed_to: set[tuple[str, str, str]] = set()
        """Clients of databases, and the files with statements that they have read."""
        self.opened: dict[str, StdinSource] = {}
        self.targets: dict[str, str] = {}
        self.sinks: list[tuple[Script, ShellState]] = []

    def text(self, text: str, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int) -> StdinSource:
        """Runs a text as shell commands."""
        self.total += len(text)
        if self.nested >= MAX_NESTED or self.total > MAX_TOTAL + MAX_CHARS * (self.nested == 0):
            self.flaws.add("deep" if self.nested >= MAX_NESTED else "long")
            return StdinSource(None)
        file = self.file if not self.nested else None
        script, flaws = parse(_FOLDERS.sub(_named_folder, text) if "~+" in text or "~-" in text else text, state.work, file)
        self.flaws |= flaws
        self.nested += 1
        try:
            found = self.script(script, state, stdin, piped=piped, pipeline=pipeline)
            if state.functions and self.nested == 1 and (file is None or self._calls_unknown()):
                self._uncalled(state)
        except (_Full, *FAILURES) as limit:
            if self.nested > 1:
                raise
            self.flaws.add("long" if isinstance(limit, _Full) else "intricate")
            found = StdinSource(None)
        finally:
            self.nested -= 1
        return found

    def _uncalled(self, state: ShellState, outer: ShellState | None = None) -> None:
        """Walks functions that nothing called: code that this command does not show may still call them."""
        for name, body in list(state.functions.items()):
            if name not in self.called and (outer is None or outer.functions.get(name) is not body):
                inner = state.fork("()")
                inner.args = None
                inner.calling |= {name}
                self.script(body, inner, None, piped=False, pipeline=0)

    def script(
        self, script: Script, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        if len(script) == 1:
            return self.pipeline(script[0], state, stdin, piped=piped, pipeline=pipeline)
        feeds = [self.pipeline(each, state, stdin, piped=piped, pipeline=pipeline) for each in script]
        known_feeds = [feed for feed in feeds if feed is not NOTHING]
        return _built(together(known_feeds, exact=True), state) if known_feeds else NOTHING

    def pipeline(
        self, pipe: Pipeline, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        if not pipeline:
            self.pipelines += 1
            pipeline = self.pipelines
        if pipe.place is not None:
            self.here = pipe.place
        feed = stdin
        last = len(pipe.commands) - 1
        if last == 0 and not pipe.background:
            command = pipe.commands[0]
            if isinstance(command, Simple):
                return self.simple(command, state, feed, piped=piped, pipeline=pipeline)
            return self.group(command, state, feed, piped=piped, pipeline=pipeline)
        if pipe.background and self.running is not None:
            self.running.repeats += 1
            self.running.later.goes_on = True
        if state.calling and self._multiplies(pipe, state):
            self.add(ProgramRun((FORK_BOMB,), FORK_BOMB, state.via, pipeline=pipeline), state)
        if last and endless_loops.listed(pipe):
            self.add(endless_loops.REQUESTS, state)
        for at, command in enumerate(pipe.commands):
            feed = self.command(command, state, feed, piped=piped or at < last, pipeline=pipeline)
        if pipe.background and self.running is not None:
            self.running.repeats -= 1
        return feed or NOTHING

    def _multiplies(self, pipe: Pipeline, state: ShellState) -> bool:
        """Whether a function starts itself more than once, or continues while it runs again."""
        names = [command.words[0] for command in pipe.commands if isinstance(command, Simple) and command.words]
        own = [name for name in names if isinstance(name, str) and name in state.calling]
        return len(own) > 1 or (bool(own) and pipe.background)

    def command(
        self, command: Command, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        if isinstance(command, Simple):
            return self.simple(command, state, stdin, piped=piped, pipeline=pipeline)
        return self.group(command, state, stdin, piped=piped, pipeline=pipeline)

    def group(
        self, group: Group, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        state.work.spend(GROUP + len(group.words) / 2)
        if group.kind == "function":
            if group.name:
                state.functions[group.name] = group.bodies[0]
                state.calling -= {group.name}
            return NOTHING
        if group.redirects:
            redirects, fed = self._redirects(group, state)
            stdin = fed or stdin
            run = ProgramRun(("{",), "{", state.via, redirects=redirects, stdin=stdin, pipeline=pipeline, cwd=state.cwd)
            at = len(self.runs)
            self.add(run, state)
            if not piped and _writes(run):
                bare = Group(group.kind, group.bodies, group.name, group.words)
                self._stored(at, run, self.group(bare, state, stdin, piped=True, pipeline=pipeline), state)
                return NOTHING
        shared = pipeline if piped or stdin else 0
        if group.kind == "(":
            inner = state.fork()
            feed = self.script(group.bodies[0], inner, stdin, piped=piped, pipeline=shared)
            self._uncalled(inner, state)
            return feed
        loops = group.kind in _LOOPS
        if loops and self.running is not None:
            self.running.repeats += 1
            self.running.later.loops += 1
        try:
            return self._compound(group, state, stdin, piped=piped, pipeline=shared)
        finally:
            if loops and self.running is not None:
                self.running.repeats -= 1
                self.running.later.loops -= 1

    def _compound(
        self, group: Group, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """A loop, a condition or a group in braces."""
        if group.kind in ("for", "select"):
            return self._loop(group, state, stdin, piped=piped, pipeline=pipeline)
        for word in group.words:
            fields.text_of(word, state, self.capture)
        if group.kind in ("while", "until") and (does := endless_loops.endless(group)):
            self.add(does, state)
        conditional = group.kind != "{"
        state.maybe += conditional
        try:
            found = [self.script(body, state, stdin, piped=piped, pipeline=pipeline) for body in group.bodies]
        finally:
            state.maybe -= conditional
        return found[0] if len(found) == 1 else _built(together(found, exact=False), state)

    def _stored(self, at: int, run: ProgramRun, feed: StdinSource, state: ShellState) -> None:
        """The output of a group or function goes to files, as a program's would. `at`: where it stands among the runs."""
        state.work.spend(len(known(feed) or "") / CHARACTERS)
        if at < len(self.runs):
            self.runs[at] = replace(self.runs[at], stdin=feed)
        self._keep(run, feed)

    def _loop(
        self, group: Group, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        values: list[str] = []
        for word in group.words:
            values += fields.expand(word, state, self.capture).texts
        if len(values) > MAX_LOOP:
            self.flaws.add("long")
        if (UNKNOWN in values or not group.words) and endless_loops.counted(group, self.runs):
            self.add(endless_loops.JOBS, state)
        found: list[StdinSource] = []
        for value in dict.fromkeys(values[:MAX_LOOP] or [UNKNOWN]):
            state.variables[group.name] = value
            found += [self.script(body, state, stdin, piped=piped, pipeline=pipeline) for body in group.bodies]
        return _built(together(found, exact=True), state)

    def simple(
        self, command: Simple, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        words = command.words
        if command.plain and words and words[0] and "HOME" not in state.variables:
            argv: tuple[str, ...] = tuple(words)  # type: ignore[arg-type]  # of a plain command they are texts
            first = argv[0]
            name = _called(first) if "/" in first or first.endswith(".exe") else first
            run = ProgramRun(argv, name, state.via, (), (), stdin, (), piped, pipeline, state.cwd)
            return self.run(run, state)
        state.work.spend(EXPANSION)
        name = fields.undecided(words, state) if state.variables else ""
        if name:
            feed = NOTHING
            before = state.variables[name]
            for value in before:
                state.variables[name] = value
                feed = self.simple(command, state, stdin, piped=piped, pipeline=pipeline)
            state.variables[name] = before
            return feed
        if "HOME" in state.variables and (moved := _in_home(command, state)):
            self.simple(moved, state, stdin, piped=piped, pipeline=pipeline)
        assigns = [self._assigned(each, state) for each in command.assigns] if command.assigns else []
        for name, value, _ in assigns:
            self.variable_set(name, value, ProgramRun((":",), ":", state.via, pipeline=pipeline, cwd=state.cwd), state)
        redirects: tuple[Redirect, ...] = ()
        if command.redirects:
            redirects, fed = self._redirects(command, state)
            stdin = fed or stdin
        found, given, unset = self._expanded(words, state)
        if not found or not found[0]:
            _assign(assigns, state)
            if redirects or assigns:
                set_ = tuple((name, value) for name, value, _ in assigns)
                self.add(ProgramRun((":",), ":", state.via, set_, redirects, stdin, (), piped, pipeline, state.cwd), state)
            found = found[1:]
            if not found or not found[0]:
                return NOTHING
            given, unset = [(at - 1, feed) for at, feed in given if at], [at - 1 for at in unset if at]
        own = tuple((name, value) for name, value, _ in assigns)
        run = ProgramRun(
            tuple(found), _called(found[0]), state.via, own, redirects, stdin, tuple(given), piped, pipeline, state.cwd,
            unset=tuple(unset),
        )  # fmt: skip
        feed = self.run(run, state)
        if not found[0].strip(UNKNOWN) and found[1:] and found[1][:1] not in ("", "-"):  # may be empty: `$SUDO rm x`
            shifted = tuple((at - 1, each) for at, each in given if at)
            rest = tuple(at - 1 for at in unset if at)
            inner = self.run(replace(run, argv=tuple(found[1:]), name=_called(found[1]), given=shifted, unset=rest), state)
            feed = together([feed, inner], exact=False) if inner.text is None else inner
        return feed

    def variable_set(self, name: str, value: str, run: ProgramRun, state: ShellState) -> None:
        """An environment variable is set. Other programs may run its value, or do what it says."""
        if name in _COMMANDS and value:
            self.text(value, state.fork(name), None, piped=False, pipeline=run.pipeline)
        elif value and (every := self.specials.get(EVERY)):
            every(self, replace(run, argv=("=",), name="=", assigns=((name, value),)), state)

    def _expanded(self, words: list[Word], state: ShellState) -> tuple[list[str], list[tuple[int, StdinSource]], list[int]]:
        argv: list[str] = []
        given: list[tuple[int, StdinSource]] = []
        unset: list[int] = []
        for word in words:
            if isinstance(word, str):
                argv.append(word)
                continue
            found = fields.expand(word, state, self.capture)
            if found.cut:
                self.flaws.add("long")
            if found.feed is not None:
                given += [(len(argv) + at, found.feed) for at in range(len(found.texts))]
            if found.unset:
                unset += range(len(argv), len(argv) + len(found.texts))
            argv += found.texts
        return argv, given, unset

    def _assigned(self, assign: tuple[str, Word, bool], state: ShellState) -> tuple[str, str, bool]:
        name, word, append = assign
        state.work.spend(EXPANSION)
        value, feed = fields.text_of(word, state, self.capture)
        if feed is not None and UNKNOWN in value:
            state.feeds[name] = feed
        elif state.feeds:
            state.feeds.pop(name, None)
        self.total += len(value)
        if self.total > MAX_TOTAL + MAX_CHARS:
            raise _Full
        return name, value, append

    def _redirects(self, command: Command, state: ShellState) -> tuple[tuple[Redirect, ...], StdinSource | None]:
        """The redirections, and what they connect to the standard input."""
        found: list[Redirect] = []
        fed: StdinSource | None = None
        for each in command.redirects:
            target, feed = fields.text_of(each.target, state, self.capture)
            target = fields.rendered(target, state) if "${" in target else target
            if each.operator in ("<<", "<<-", "<<<"):
                text = None if UNKNOWN in target and not target.strip(UNKNOWN) else target
                fed = self._opened(
                    each.fd, StdinSource(text, feed.programs if feed else (), (), feed.was if feed else None), fed
                )
                found.append(Redirect("text", target, each.fd))
            elif each.operator == "<":
                shown = feed if feed and target == UNKNOWN else self._shown(target, state.cwd)
                fed = self._opened(each.fd, shown, fed)
                found.append(Redirect("read", target, each.fd))
            elif each.operator == "<&" or (each.operator == ">&" and _DESCRIPTOR.fullmatch(target)):
                if each.operator == "<&" and each.fd in ("", "0") and target not in ("-", "0"):
                    fed = self._descriptor(target)
                elif each.operator == ">&" and target in self.targets:
                    found.append(Redirect("append", self.targets[target], each.fd))
            else:
                found.append(Redirect("append" if _WRITING[each.operator] == "append" else "write", target, each.fd))
                if each.operator == "<>" and each.fd not in ("1", "2"):
                    fed = self._opened(each.fd, self._shown(target, state.cwd), fed)
                if each.fd not in _USUAL:
                    self.targets[each.fd] = target
        return tuple(found), fed

    def _opened(self, fd: str, feed: StdinSource, fed: StdinSource | None) -> StdinSource | None:
        """The standard input after `feed` is opened at a descriptor; another descriptor may become it later."""
        if fd in _USUAL:
            return feed
        self.opened[fd] = feed
        return fed

    def _descriptor(self, number: str) -> StdinSource:
        """What was opened at a descriptor; everything that was opened if its number is unknown."""
        if UNKNOWN in number and self.opened:
            return together(list(self.opened.values()), exact=False)
        return self.opened.get(number.rstrip("-")) or StdinSource()

    def _shown(self, path: str, cwd: str) -> StdinSource:
        """What is read from a path."""
        text = self.written(path, cwd)
        return StdinSource(text, (), (path,), self.scripts(path, cwd) if text is None else None)

    def capture(self, part: Substitution, state: ShellState) -> StdinSource:
        """The output of a substitution. The programs it runs are collected."""
        inner = state.fork("$()")
        sinks, self.sinks = self.sinks, []
        feed = self.script(part.script, inner, None, piped=True, pipeline=0)
        self._uncalled(inner, state)
        self.sinks = sinks
        if part.kind == ">(":
            self.sinks.append((part.script, state.fork("$()")))
            return StdinSource(None, feed.programs, feed.files)
        if _shows(part.script) and (fed := self.runs[-1].stdin):
            return StdinSource(fed.text, (*fed.programs, "cat"), fed.files, fed.was)
        return feed

    def run(self, run: ProgramRun, state: ShellState) -> StdinSource:  # noqa: PLR0912, PLR0915 - a case for each kind
        """Runs one program and everything it starts; returns its output."""
        name = run.name
        state.work.spend(PROGRAM + _steps(run))
        if state.functions and name in state.functions and name not in state.calling:
            return self._call(run, state)
        if state.aliases and name in state.aliases:
            text, inner = state.aliases[name], state.fork()
            del inner.aliases[name]
            return self.joined((text, *run.argv[1:]), inner, run)
        if self.sinks:
            return self._sunk(run, state)
        if not name.islower() and len(name) <= guesses.LONGEST and (real := guesses.spelled(name)) != name:
            run, name = replace(run, name=real), real
        run = environment_options.with_options(run, state.variables) if run.assigns or state.variables else run
        run = self._noted(run)
        if name in applied_rehearsals.CLIENTS:
            for applied in applied_rehearsals.applied(self.runs):
                self.add(applied, state)
        if name in _EDITORS and any(word.startswith(("-i", "--in-place")) for word in run.argv):
            self._edited(run)
        if self.files and name in _PLACERS:
            self._place(run, state)
        if self.running is not None and (name in _PATCHERS or name in _UNPACKERS):
            self._brought(run)
        if "/" in run.argv[0]:
            self.will_run(run.argv[0], run)
        if every := self.specials.get(EVERY):
            every(self, run, state)
        if (self.files or run.given) and (script := self._own(run, state)):
            ran = self.scripted(script, run, state.fork(name))
            if "/" in run.argv[0] and self.written(run.argv[0], run.cwd):
                return ran
        if self.running is not None and (
            "/" in run.argv[0] or "PATH" in state.variables or run.assigns or not _RUN_PACKAGES.isdisjoint(run.via)
        ):
            found = self._program_files(run) if "/" in run.argv[0] else self._on_path(run, state)
            if found:
                feeds = [
                    self.scripted(each, replace(run, argv=(each.path, *run.argv[1:])), state.fork(name)) for each in found
                ]
                return feeds[0] if len(feeds) == 1 else _built(together(feeds, exact=False), state)
        if name.startswith(UNKNOWN):
            self.will_run_input(run)
        if not name.isalnum() and guesses.is_open(name):
            return self._guessed(run, state)
        special, wrapper = self.specials.get(name), WRAPPERS.get(name)
        if special is None and wrapper is None:
            if name in _CODED or ((name[-1].isdigit() or "@" in name) and _is_interpreter(name)):
                self.code(run, state)
            if name in _COPIERS:
                self._copy(run)
            if name in _STORING or (run.redirects and _writes(run)):
                self._keep(run, _built(self._printed(run), state))
            return _built(self._printed(run), state) if run.piped else NOTHING
        if self.wrapped >= MAX_WRAPPED:
            self.flaws.add("deep")
            return StdinSource(None)
        self.wrapped += 1
        feed = special(self, run, state) if special else self.run_wrapped(run, wrapper, state) if wrapper else None
        self.wrapped -= 1
        if feed is None:
            feed = _built(printed(run), state)
            if name in _EDITORS and run.redirects and _writes(run):
                self._keep(run, feed)
            return feed
        if name in _REMOTE:  # whatever prints it there, it is from another machine
            return StdinSource(None, (*feed.programs[-MAX_FED:], name), (), feed.was or feed.text)
        return feed

    def _edited(self, run: ProgramRun) -> None:
        """A file that `sed` changes in its place: exactly, where one plain text replaces another."""
        path = run.argv[-1]
        text = self.run_from(path, run.cwd)
        if text is None and self.running is not None and (file := self.running.text(path, run.cwd, sure=False)):
            text = file.text
        script = tuple(word for word in run.argv[:-1] if not word.startswith(("-i", "--in-place")))
        changed = None if text is None else printed(replace(run, argv=script, stdin=StdinSource(text))).text
        if changed is not None:
            self._edited_before(path, replace(run, argv=script), changed)
            self._store(_located(path, run.cwd), changed[:MAX_CHARS])
        elif own := literals(run):
            self.adds(own, path, run.cwd)
            if text is not None:
                self.opaque.add(_located(path, run.cwd))

    def _edited_before(self, path: str, run: ProgramRun, changed: str) -> None:
        """What an edit makes of a file if changes before it have not happened (`false && echo > x; sed -i s/a/b/ x`)."""
        place = _located(path, run.cwd)
        if place not in self.files:
            return
        there = None if self.running is None else self.running.text(path, run.cwd, sure=False)
        before = dict.fromkeys((there.text if there else "", *(text for other, text in self.replaced if other == place)))
        for text in islice(filter(None, before), MAX_SKIPPED):
            edited = printed(replace(run, stdin=StdinSource(text))).text
            if edited is not None and edited not in (text, changed):
                self.replaced.append((place, edited[:MAX_CHARS]))
                self.stored += len(edited)

    def _place(self, run: ProgramRun, state: ShellState) -> None:
        """What this command wrote is at its new place as well when it, or a folder around it, is copied, moved or linked."""
        for each in landings(run):
            state.work.spend(PLACED)
            if not each.source or UNKNOWN in each.source or each.host:
                continue
            state.work.spend(len(self.files) * LOOKED_AT)
            source, text_at = _located(each.source, run.cwd), dict(self.files)
            for place, text in text_at.items():
                if (rest := _below(place, source)) is not None:
                    state.work.spend(PLACED + len(place) / CHARACTERS)
                    landed = each.folder if GLOB.search(each.name) else each.path
                    self._store(_located(f"{landed}{rest}", run.cwd), text)

    def _brought(self, run: ProgramRun) -> None:
        """What an archive or a patch brings along."""
        if run.name in _UNPACKERS and self.running is not None and unpacking.unpacks(run):
            self.running.unpacked(unpacking.archive_of(run), run.cwd)
        elif patches.applies(run):
            named = patches.file_of(run)
            text = (self.run_from(named, run.cwd) if named else self.fed(run)) or ""
            files = [self.file_at(named, run)] if named and not text else self.fed_files(run)
            for diff in (text, *(file.text for file in files if file is not None and file.made)):
                for path, added in patches.added(diff):
                    self.adds(added, path, run.cwd)

    def _own_code(self, run: ProgramRun, state: ShellState) -> None:
        """Of a wrapper that is also an interpreter: `bun -e`."""
        if run.name in interpreters.LANGUAGES:
            self.code(run, state)

    def _guessed(self, run: ProgramRun, state: ShellState) -> StdinSource:
        """Runs a program whose name is not spelled out as each one that it may be."""
        for name in guesses.fitting(run.name):
            self.run(replace(run, argv=(name, *run.argv[1:]), name=name), state)
        return StdinSource(None, (run.name,))

    def fed(self, run: ProgramRun) -> str | None:
        """The standard input of a program, or the text it was derived from."""
        return known(run.stdin or self.opened.get("0"))

    def _own(self, run: ProgramRun, state: ShellState) -> str | None:
        """The content of a program that this command wrote itself, or the text that its unknown name was derived from."""
        word = run.argv[0]
        if run.given and run.given[0][0] == 0 and word == UNKNOWN and (was := run.given[0][1].was):
            return " ".join((was.rstrip("\n"), *map(quote, run.argv[1:])))
        if not self.files:
            return None
        if "/" in word or UNKNOWN in word or guesses.is_open(word):
            return self.run_from(word, run.cwd)
        if "PATH" in state.variables or any(variable == "PATH" for variable, _ in run.assigns):
            return next((text for place, text in self.files.items() if _base(place) == word), None)
        return None

    def _program_files(self, run: ProgramRun) -> list[FilePlace]:
        """The scripts on this machine that are started by their path, which may have wildcards."""
        if self.running is None or is_away(run):
            return []
        name = run.name
        known_name = name in self.specials or name in WRAPPERS or name in interpreters.PROGRAMS or _is_interpreter(name)
        word = run.argv[0]
        if word.endswith(UNKNOWN) and not _FINDERS.isdisjoint(run.via):
            word = f"{word[: -len(UNKNOWN)] or './'}**.sh"
        meant = self.running.meant(word, run.cwd) if GLOB.search(word) else ()
        found = (self.running.program(each, run.cwd, known=known_name) for each in meant or (run.argv[0],))
        return [each for each in found if each is not None]

    def _on_path(self, run: ProgramRun, state: ShellState) -> list[FilePlace]:
        """The script that an agent put where the command looks for programs."""
        found = str(dict(run.assigns).get("PATH") or state.variables.get("PATH", ""))
        if self.running is None or is_away(run):
            return []
        folders = found.split(":")[:MAX_FED] if found else []
        if not _RUN_PACKAGES.isdisjoint(run.via):
            folders += [f"{folder}/node_modules/.bin" for folder in self.running.above(run.cwd)]
        for folder in folders:
            if self.running.later.loops and not folder.startswith(_SYSTEM_PATHS):
                self.will_run(f"{folder or '.'}/{run.argv[0]}", replace(run, argv=(f"{folder or '.'}/{run.argv[0]}",)))
            if self.running.is_made_at(f"{folder or '.'}/{run.argv[0]}", run.cwd):
                file = self.running.text(f"{folder or '.'}/{run.argv[0]}", run.cwd)
                return [] if file is None else [file]
        return []

    def will_run(self, word: str, run: ProgramRun) -> None:
        """A script is run by its name. In a file that no agent made, that is ordinary."""
        if self.running is not None and not is_away(run) and (self.here is None or self.here.made):
            is_own_path = word == run.argv[0]
            runner = "" if is_own_path else run.name
            self.running.will_run(word, run.cwd, runner, line_by_line=is_own_path or run.name in _SHELL_LIKE)
            self.running.may_lie_there(word, run, is_written=self.written(word, run.cwd) is not None)

    def will_run_all(self, paths: tuple[str, ...], run: ProgramRun) -> None:
        """The same for files that a program reads by itself, which this command does not write; `paths`: absolute ones."""
        if self.running is not None and (self.here is None or self.here.made):
            self.running.will_run_all(paths, run, line_by_line=run.name in _SHELL_LIKE)

    def will_run_input(self, run: ProgramRun) -> None:
        """The same of files that are run through the standard input."""
        self.will_run_made(run)
        if run.stdin is not None and _PASSING.issuperset(run.stdin.programs):
            for path in run.stdin.files[:MAX_FED]:
                self.will_run(path, run)

    def will_run_made(self, run: ProgramRun) -> None:
        """A program runs its input, or a word that other programs have printed: the files that these may have read."""
        if self.running is None or is_away(run):
            return
        feeds = [feed for feed in (run.stdin, *(each for _, each in run.given)) if feed is not None and feed.programs]
        files = [path for feed in (*feeds, run.stdin) if feed is not None for path in feed.files]
        for each in self.runs[-MAX_SOURCES:] if feeds else ():
            if (each.piped and each.pipeline == run.pipeline) or "$()" in each.via[len(run.via) :]:
                files += [word for word in each.argv[1:] if word[:1] != "-"]
        if run.name.startswith(UNKNOWN) or run.name == "eval" or UNKNOWN in run.argv:
            files += self.running.later.in_variables
        self.running.feeds(list(dict.fromkeys(files)), run.name, run.cwd)

    def file_at(self, path: str, run: ProgramRun) -> FilePlace | None:
        """A file on this machine that a program runs."""
        return None if self.running is None or is_away(run) else self.running.text(path, run.cwd)

    def files_at(self, word: str, run: ProgramRun) -> list[FilePlace]:
        """The files that a word names, which may have wildcards."""
        if self.running is None or not (UNKNOWN in word or GLOB.search(word)):
            return [file] if (file := self.file_at(word, run)) else []
        if word.endswith(UNKNOWN) and not _FINDERS.isdisjoint(run.via):  # `find . -exec sh {} +`, `ls | xargs sh`
            word = f"{word[: -len(UNKNOWN)] or './'}**.{'py' if run.name.startswith('python') else 'sh'}"
        return [file for path in self.running.meant(word, run.cwd) if (file := self.file_at(path, run))]

    def fed_files(self, run: ProgramRun) -> list[FilePlace]:
        """The files that reach a program as they are: `sh < x`, `cat x | sh`."""
        return self.passed_on(run.stdin, run)

    def given_files(self, run: ProgramRun, at: int) -> list[FilePlace]:
        """The same for a word: `sh -c "$(cat x)"`, `sh <(cat x)`."""
        return self.passed_on(next((feed for position, feed in run.given if position == at), None), run)

    def passed_on(self, feed: StdinSource | None, run: ProgramRun) -> list[FilePlace]:
        if self.running is None or feed is None or feed.text is not None or not _PASSING.issuperset(feed.programs):
            return []
        if len(feed.files) > MAX_FED and (self.here is None or self.here.made):
            self.flaws.add("long")
        return [file for path in feed.files[:MAX_FED] if (file := self.file_at(path, run))]

    def goes_on_from(self, outer: Walk) -> None:
        """What the command has written so far, and the numbers of its pipelines, are also those of a file that it runs."""
        self.set_variables = outer.set_variables
        self.files, self.spelled, self.unnamed, self.appended = outer.files, outer.spelled, outer.unnamed, outer.appended
        self.opaque, self.replaced = outer.opaque, outer.replaced
        self.pipelines = outer.pipelines

    def run_file(self, file: FilePlace, run: ProgramRun, state: ShellState, stdin: StdinSource | None = None) -> StdinSource:
        """Runs the content of a file as shell commands, within limits of its own."""
        running = self.running
        if running is None or not running.enter(file):
            return StdinSource(None, (run.name,))
        inner = type(self)(self.specials, running, file)
        inner.goes_on_from(self)
        outer, state.work = state.work, running.work
        try:
            feed = inner.text(file.text, state, stdin, piped=run.piped, pipeline=run.pipeline)
        except FAILURES:  # of `text` itself: a flaw of this file, as everything that fails in it
            inner.flaws.add("intricate")
            feed = StdinSource(None)
        state.work = outer
        running.leave(file, inner.flaws)
        self.pipelines = inner.pipelines
        self.runs += inner.runs
        self.takes_flaws(inner, inner.flaws if file.made else set())
        return feed

    def takes_flaws(self, inner: Walk, own: set[Flaw]) -> None:
        """`own`: those of a file that `inner` has read, as far as they count."""
        self.made_flaws |= inner.made_flaws | own
        self.flaws |= inner.made_flaws | own

    def run_code(self, file: FilePlace, run: ProgramRun, state: ShellState, *, taken_in: bool = False) -> None:
        """Runs the content of a file as code of an interpreter. `taken_in`: by other code."""
        words = (file.text,) if interpreters.language(run.name) == "awk" else ("-",)
        name = "node" if run.name == "deno" else run.name  # its own options are not those of a text
        code = replace(
            run,
            name=name,
            argv=(name, *words),
            stdin=StdinSource(file.text),
            redirects=(),
            given=(),
            assigns=(),
            origin=file,
        )
        found = interpreters.source(code)
        if found is None or (self.running is not None and not self._enters(file, code, taken_in=taken_in)):
            return
        before, self.here = self.here, file
        outer, state.work = state.work, self.running.work if self.running is not None else state.work
        flaws: set[Flaw] = {"long"} if len(file.text) > interpreters.MAX_FILE_CODE else set()
        try:
            state.work.spend(CODE_FILE + len(found[1]) / CODE_CHARACTERS)
            self._noted(code)
            self._commands_in(found, code, state)
            if file.made and not taken_in and not interpreters.is_parsed(run.name):
                for _, text in quoted_commands.commands(found[1]):
                    self.inner_text(text, replace(code, piped=False, stdin=None), state.fork(run.name))
            folder = file.path.rpartition("/")[0]
            for path in code_files.imported(found[1], found[0], folder):
                self._imported(path, run, state, folder)
        except (_Full, *FAILURES):
            flaws.add("intricate")
        self.here, state.work = before, outer
        if self.running is not None:
            self.running.leave(file, flaws)
        if file.made:
            self.made_flaws |= flaws
            self.flaws |= flaws

    def _enters(self, file: FilePlace, run: ProgramRun, *, taken_in: bool) -> bool:
        """Whether the code of a file is to be judged. A program reads each file once, however many take it in."""
        running = self.running
        if running is None or not running.enter(file, taken_in=taken_in):
            return running is None
        if not running.is_new_code(file, run, taken_in=taken_in):
            running.leave(file, ())
            return False
        return True

    def _commands_in(self, code: tuple[str, str], run: ProgramRun, state: ShellState) -> None:
        if self.running is not None and not is_away(run):
            later = served_folders.of_code(code[1])
            self.running.feeds(later.opened, run.name, run.cwd)
            for pattern in later.listed:
                self.running.may_load(_located(pattern, run.cwd), run.name)
            self.running.later.goes_on = self.running.later.goes_on or later.leaves_programs
        self.acts_of_code(code[1], code[0], replace(run, stdin=None if run.origin else run.stdin), state)

    def _calls_unknown(self) -> bool:
        """Whether one of the programs that run is not known, so that it may be any function."""
        return any(run.name.startswith(UNKNOWN) or run.name == "eval" for run in self.runs)

    def _noted(self, run: ProgramRun) -> ProgramRun:
        """Enters a program. Those of files are counted apart, so that they do not use up the room of the call's own."""
        running = self.running
        if running is not None:
            running.position += 1
            if run.origin is None:
                if self.here is None:
                    running.program_begins()
                running.later.passes(is_instant=run.name in _INSTANT)
                running.later.goes_on = running.later.goes_on or run.name in _DETACHERS
        if self.here is None and len(self.runs) < MAX_RUNS:
            self.runs.append(run)
            return run
        if self.here is not None:
            if run.name == "trap":  # a script that cleans up behind itself is ordinary
                if running is not None:
                    running.position -= 1
                return run
            run = run if run.origin is not None else replace(run, origin=self.here)
            if running is not None:
                running.runs += 1
        of_files = 0 if running is None else running.runs
        if (of_files > MAX_RUNS) if self.here is not None else (len(self.runs) - of_files >= MAX_RUNS):
            raise _Full
        self.runs.append(run)
        return run

    def scripted(self, script: str | FilePlace, run: ProgramRun, inner: ShellState) -> StdinSource:
        """A script that is started by its name."""
        name = _shebang(script if isinstance(script, str) else script.text)
        if not name:
            inner.args = run.argv
            if not isinstance(script, str):
                return self.run_file(script, run, inner, run.stdin)
            return self.text(script, inner, run.stdin, piped=run.piped, pipeline=run.pipeline)
        if self.wrapped >= MAX_WRAPPED:
            self.flaws.add("deep")
            return StdinSource(None)
        self.wrapped += 1
        feed = self.run(replace(run, argv=(name, *run.argv), name=name), inner)
        self.wrapped -= 1
        return feed

    def _sunk(self, run: ProgramRun, state: ShellState) -> StdinSource:
        """A program that has `>(sh)` among its words or redirections."""
        sinks, self.sinks = self.sinks, []
        feed = self.run(replace(run, piped=True), state)
        for script, inner in sinks:
            self.script(script, inner, feed, piped=run.piped, pipeline=run.pipeline)
        return feed if run.piped else NOTHING

    def unknown(self, run: ProgramRun, at: int) -> str:
        """A word that will be run as text; if it is unknown, after the text that it was derived from."""
        word = run.argv[at]
        was = next((feed.was for position, feed in run.given if position == at), None) if word == UNKNOWN else None
        return f"{was}\n{UNKNOWN}" if was else word

    def scripts(self, path: str, cwd: str) -> str | None:
        """The content of a file that this command wrote; of all that it may be if its name is not known."""
        if not self.files:
            return None
        place = _located(path, cwd)
        if UNKNOWN in place:
            return self._of_similar_names(place, self.files)
        if (text := self.written(path, cwd)) is not None:
            return text
        if not any(sign in path for sign in "*?["):
            return None
        return self._joined((text for other, text in self.files.items() if fnmatch(other, place)), "\n") or None

    def texts_before(self, path: str, cwd: str) -> list[str]:
        """What a file may contain if some of the command's changes have not happened."""
        place = _located(path, cwd)
        return list(dict.fromkeys(text for other, text in self.replaced if other == place))[-MAX_SKIPPED:]

    def as_if(self, path: str, cwd: str, text: str) -> None:
        """The file is taken to have this text."""
        self._store(_located(path, cwd), text)

    def run_from(self, path: str, cwd: str) -> str | None:
        """The same of a file that is run, in which there may also be what was written to a name known only in part."""
        text = self.scripts(path, cwd)
        if not self.unnamed:
            return text
        place = _located(path, cwd)
        if UNKNOWN in place or (text is None and self.running is not None and self.running.exists(place)):
            return text
        similar = self._of_similar_names(place, self.unnamed)
        return "\n".join(filter(None, (text, similar))) or None

    def _of_similar_names(self, place: str, among: Mapping[str, object]) -> str | None:
        """The contents of those files that may be this one, because one of the two names is known only in part."""
        found = [other for other in islice(among, MAX_SIMILAR) if other == place or _may_be(other, place)]
        text = self._joined(dict.fromkeys(self.files[other] for other in found), "\n")
        self.similar += len(text)
        if len(among) > MAX_SIMILAR or self.similar > MAX_JOINED:
            self.flaws.add("long")
        return (text if self.similar <= MAX_JOINED else "") or None

    def may_change(self, names: tuple[str, ...], cwd: str) -> bool:
        """Whether this command writes or changes any of these files."""
        places = _all_located(names, cwd)
        return places is None or not (
            places.isdisjoint(self.spelled) and (not self.opaque or places.isdisjoint(self._opaque()))
        )

    def _opaque(self) -> Iterator[str]:
        return map(folded, self.opaque)

    def is_unknown(self, path: str, cwd: str) -> bool:
        """Whether this command changes a file in a way that is not known."""
        return bool(self.opaque) and _located(path, cwd) in self.opaque

    def written(self, path: str, cwd: str) -> str | None:
        """The content of a file that this command wrote."""
        if not self.files:
            return None
        place = _located(path, cwd)
        if place in self.appended and self.running is not None:
            self.appended.discard(place)
            if before := self.running.text(place, "", sure=False):
                self.files[place] = before.text + self.files[place]
        return self.files[place] if place in self.files else self._in_other_case(place)

    def _in_other_case(self, place: str) -> str | None:
        """The same, of a file that this is where file names ignore case, and the file on disk where they do not."""
        if (other := self.spelled.get(folded(place))) is None:
            return None
        there = self.running.text(place, "", sure=False) if self.running is not None else None
        return self.files[other] if there is None else f"{self.files[other]}\n{there.text}"

    def _store(self, place: str, text: str) -> None:
        self.stored += len(text)
        if self.stored > MAX_STORED:
            self.flaws.add("long")
            text = ""
        if (before := self.files.get(place)) and not text.startswith(before):
            self.replaced.append((place, before))
        self.files[place] = text
        if UNKNOWN in place:
            self.unnamed[place] = True
        self.spelled[folded(place)] = place

    def _keep(self, run: ProgramRun, feed: StdinSource) -> None:
        """Records what a program writes to files, if known: it may be run later."""
        text = feed.text
        if text is None:
            text = f"{feed.was}\n{UNKNOWN}\n" if feed.was else None
            text = self._joined(filter(None, (*self._put_in(run, feed), text)), "\n") or None
        paths = [each.target for each in run.redirects if each.kind in _OUTPUT and each.fd in ("", "1")]
        if run.name in _STORING:
            paths += [word.removeprefix("of=") for word in run.argv[1:] if not word.startswith(("-", "if=", "bs="))]
        if text is None:
            self._changed(paths, feed, run)
            return
        for path in paths:
            self.kept += len(text)
            if self.kept > MAX_TOTAL:
                self.flaws.add("long")
                return
            place = _located(path, run.cwd)
            appends = any(each.kind == "append" for each in run.redirects)
            if feed.text is not None and not appends:
                self.opaque.discard(place)
            before = self.files.get(place, "") if appends or UNKNOWN in place else ""  # one of several of this name
            if appends and place not in self.files:
                self.appended.add(place)
            self._store(place, (before + text)[:MAX_CHARS])

    def _changed(self, paths: list[str], feed: StdinSource, run: ProgramRun) -> None:
        """A text that is not known gets into files: it is that of another file, or nobody knows it."""
        is_copy = len(feed.files) == 1 and run.name == "cat"
        kinds = {each.kind for each in run.redirects}
        is_copy = is_copy and (feed.programs == ("cat",) or "read" in kinds) and "append" not in kinds
        for path in paths:
            if is_copy and self.running is not None:
                self.running.copy(feed.files[0], path, run.cwd)
            else:
                self.opaque.add(_located(path, run.cwd))

    def _copy(self, run: ProgramRun) -> None:
        """Records copied, moved or linked content under its new name as well."""
        if self.running is not None:
            self.running.copies(run)
        words = [word for word in run.argv[1:] if not word.startswith("-")]
        for source in words[:-1]:
            text = known(run.stdin) if source in STDIN else self.scripts(source, run.cwd)
            if text is None and UNKNOWN in words[-1] and (file := self.file_at(source, run)):
                text = file.text[:MAX_CHARS]
            if _base(source) in SHELLS and text is None:
                text = f'{_base(source)} "$@"'
            if text is not None:
                self._store(_located(words[-1], run.cwd), text)
                self._store(_located(f"{words[-1]}/{_base(source)}", run.cwd), text)

    def _printed(self, run: ProgramRun) -> StdinSource:
        """The output of a program. `cat` may show what this command wrote."""
        if self.files and run.name == "cat" and len(run.argv) > 1:
            texts = [self.written(word, run.cwd) for word in run.argv[1:]]
            if None not in texts:
                return StdinSource(self._joined(text for text in texts if text is not None), ("cat",), run.argv[1:])
        feed = printed(run)
        if run.name in QUERIED and feed.text is None and (made := literals(run)):
            return StdinSource(None, feed.programs, feed.files, made)
        if self.files and feed.text is None and feed.was is None and run.name not in _LISTERS:
            text = self._joined(
                (text for word in self._looked_up(run.argv[1:]) if (text := self.scripts(word, run.cwd))), "\n"
            )
            return StdinSource(None, feed.programs, feed.files, text) if text else feed
        return feed

    def _looked_up(self, words: Iterable[str]) -> list[str]:
        """The words of which one may be a file, each once; only some of those that are not known."""
        found = list(dict.fromkeys(words))
        unknown = [word for word in found if UNKNOWN in word]
        if len(unknown) <= MAX_SIMILAR:
            return found
        self.flaws.add("long")
        return [*(word for word in found if UNKNOWN not in word), *unknown[:MAX_SIMILAR]]

    def _joined(self, texts: Iterable[str], sign: str = "") -> str:
        """As much as is read of one text."""
        room, found = MAX_CHARS, list[str]()
        for text in texts:
            if len(text) > room:
                self.flaws.add("long")
                found.append(text[:room])
                break
            found.append(text)
            room -= len(text)
        return sign.join(found)

    def _put_in(self, run: ProgramRun, feed: StdinSource) -> list[str]:
        """What the programs of a pipeline put into a text, and the files that they change, as far as they are known."""
        makers = [each for each in self.runs[-MAX_FED:] if each is run or (run.pipeline and each.pipeline == run.pipeline)]
        own = [text for each in makers if (text := literals(each))]
        return [*own, *(text for each in makers for text in self._named(each, feed))] if own else []

    def _named(self, run: ProgramRun, feed: StdinSource) -> Iterator[str]:
        """The texts of the files that a program names."""
        for path in self._looked_up((*run.argv[2:], *feed.files)):
            if (text := self.scripts(path, run.cwd)) is not None:
                yield text
            elif self.running is not None and path[:1] != "-" and (file := self.running.text(path, run.cwd, sure=False)):
                yield file.text

    def adds(self, text: str, path: str, cwd: str) -> None:
        """Records that something is put into a file."""
        place = _located(path, cwd)
        if place not in self.files:
            self.appended.add(place)
        self.kept += len(text)
        self._store(place, f"{self.files.get(place, '')}\n{text}"[:MAX_CHARS])

    def add(self, run: ProgramRun, state: ShellState) -> None:
        state.work.spend(PROGRAM + _steps(run))
        self._noted(run)

    def _call(self, run: ProgramRun, state: ShellState) -> StdinSource:
        self.called.add(run.name)
        self.calls += 1
        if self.calls > MAX_RUNS:
            raise _Full
        before, via, calling, here = state.args, state.via, state.calling, self.here
        state.args, state.via, state.calling = run.argv, (*via, "()"), calling | {run.name}
        self.nested += 1
        try:
            if self.nested > MAX_NESTED:
                self.flaws.add("deep")
                return StdinSource(None)
            body = state.functions[run.name]
            if run.piped or not run.redirects or not _writes(run):
                return self.script(body, state, run.stdin, piped=run.piped, pipeline=run.pipeline)
            at, into = len(self.runs), replace(run, argv=("{",), name="{", assigns=(), given=())
            self.add(into, state)
            self._stored(at, into, self.script(body, state, run.stdin, piped=True, pipeline=run.pipeline), state)
            return NOTHING
        finally:
            self.nested -= 1
            state.args, state.via, state.calling, self.here = before, via, calling, here

    def joined(self, words: tuple[str, ...], state: ShellState, run: ProgramRun) -> StdinSource:
        return self.inner_text(" ".join(words), run, state)

    def inner(
        self, argv: tuple[str, ...], run: ProgramRun, state: ShellState, given: tuple[tuple[int, StdinSource], ...] = ()
    ) -> StdinSource:
        """Runs the inner program of a wrapper, without its input."""
        if not argv[0]:
            return StdinSource(None)
        return self.run(
            ProgramRun(argv, _called(argv[0]), state.via, (), (), None, given, run.piped, run.pipeline, state.cwd), state
        )

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
            inner.cwd = _located(folder, inner.cwd)
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
            rest, _called(rest[0]), inner.via, run.assigns, (), run.stdin, given, run.piped, run.pipeline, inner.cwd,
            unset=unset,
        )  # fmt: skip
        return self.run(inner_run, inner)

    def inner_text(self, text: str, run: ProgramRun, state: ShellState) -> StdinSource:
        return self.text(text, state, run.stdin, piped=run.piped, pipeline=run.pipeline)

    def code(self, run: ProgramRun, state: ShellState) -> None:
        """Shell commands in the code of an interpreter, or in the input of a database client; the files that it runs."""
        if self.running is None:
            self._code(run, state)
            return
        for pattern, runner in served_folders.loaded(run):
            self.running.may_load(pattern, runner)
        again = served_folders.begins_again(run)
        self.running.later.loops += again
        try:
            self._code(run, state)
        finally:
            self.running.later.loops -= again

    def _code(self, run: ProgramRun, state: ShellState) -> None:
        if run.name in sql.CLIENTS:
            self._client(run, state)
            self._statement_files(run, state)
            return
        if found := interpreters.source(run):
            self._commands_in(found, run, state)
            if self.running is not None and not is_away(run):
                for path in code_files.imported(found[1], found[0], ""):
                    self._imported(path, run, state)
                for word in code_files.scripts(run, only_loaded=True):
                    self._imported((word,), run, state)
            return
        if (module := code_files.module(run)) and (every := self.specials.get(EVERY)):
            every(self, replace(run, argv=module, name=module[0]), state)
        for word in code_files.scripts(run):
            self.will_run(word, run)
            if (text := self.run_from(word, run.cwd)) is not None:
                self.run_code(FilePlace(word, word, text, made=True), run, state)
            else:
                for file in self._scripts_at(word, run, state):
                    self.run_code(file, run, state)
        if not interpreters.is_script(run):
            self.will_run_input(run)
            for file in self.fed_files(run):
                self.run_code(file, run, state)

    def _statement_files(self, run: ProgramRun, state: ShellState) -> None:
        """What a database client reads from files."""
        for file in self.fed_files(run):
            self._fed_with(run, file, state)
        names = [*statement_files.named(run), *statement_files.taken_in((*run.argv[1:], self.fed(run) or ""))]
        seen, found = set[str](), 0
        while names and len(seen) < statement_files.MAX_NAMES and not is_away(run):
            name = names.pop(0)
            if name in seen:
                continue
            seen.add(name)
            text = self.run_from(name, run.cwd)
            there = self.file_at(name, run) if text is None else FilePlace(name, _located(name, run.cwd), text, made=True)
            if there is None:
                continue
            found += 1
            if found > statement_files.MAX_FILES:
                break
            if self._fed_with(run, there, state):
                names += statement_files.taken_in((there.text,))
        if names and not is_away(run):
            self.flaws.add("long")

    def _fed_with(self, run: ProgramRun, file: FilePlace, state: ShellState) -> bool:
        """Once for each client: a command may name the same file a thousand times. Returns whether this was the first."""
        if (key := (run.name, file.path, file.text)) in self.fed_to:
            return False
        self.fed_to.add(key)
        state.work.spend(len(file.text) / STATEMENTS)
        self._noted(
            replace(run, argv=run.argv[:1], stdin=StdinSource(file.text), redirects=(), given=(), assigns=(), origin=file)
        )
        return True

    def _imported(self, candidates: tuple[str, ...], run: ProgramRun, state: ShellState, folder: str = "") -> None:
        """The first of these files that is there, as part of the code. `folder`: of the file with that code."""
        for path in candidates:
            if (text := self.written(path, run.cwd)) is not None:
                self.run_code(FilePlace(path, path, text, made=True), run, state, taken_in=True)
                return
            if self.running is None or (code_files.is_unlikely(path) and not self.running.is_made_at(path, run.cwd)):
                continue
            if file := self.running.text(path, run.cwd, sure=False):
                self.run_code(file, run, state, taken_in=True)
                return
        names = tuple(path.removeprefix(f"{folder}/") for path in candidates) if folder else candidates
        if file := self._searched_for(names, run, state):
            self.run_code(file, run, state, taken_in=True)

    def _scripts_at(self, word: str, run: ProgramRun, state: ShellState) -> list[FilePlace]:
        if found := self.files_at(word, run):
            return found
        file = self._searched_for((word,), run, state)
        return [file] if file else []

    def _searched_for(self, candidates: tuple[str, ...], run: ProgramRun, state: ShellState) -> FilePlace | None:
        """The module that an agent put where variables or options have the interpreter look."""
        for folder in code_files.searched(run, state.variables):
            for path in candidates:
                if self.running is not None and self.running.is_made_at(f"{folder}/{path}", run.cwd):
                    return self.running.text(f"{folder}/{path}", run.cwd)
        return None

    def acts_of_code(self, code: str, language: str, run: ProgramRun, state: ShellState) -> None:
        """What the code of an interpreter does with programs."""
        before = kept_code.steps()
        parsed = interpreters.reading(code, language)
        if self.here is not None:  # what was read when it was written costs nothing any more
            state.work.spend(kept_code.steps() - before)
        elif parsed is not None:
            state.work.spend(parsed.steps + PARSED.get(language, 0) * len(code))
        if parsed is not None:
            self._deeds(parsed, state.fork(run.name), run.stdin)
        if parsed is None or not parsed.whole:
            if len(code) > interpreters.MAX_CODE and (self.here is None or self.here.made):
                self.flaws.add("long")  # neither was it followed to its end, nor is all of it searched
            for text in interpreters.commands(code, language):
                self.inner_text(text, replace(run, piped=False), state.fork(run.name))

    def _deeds(self, parsed: CodeReading, state: ShellState, stdin: StdinSource | None) -> None:
        for deed in parsed.deeds:
            if deed.kind or not (deed.text or deed.argv):
                continue
            inner = state if deed.argv[:1] == ("cd",) else state.fork()
            inner.cwd = _located(deed.cwd, state.cwd) if deed.cwd else inner.cwd
            self.pipelines += 1
            feed = stdin if deed.feed == INPUT else deed.feed
            first = len(self.runs)
            if deed.text:
                self.text(deed.text, inner, feed, piped=False, pipeline=self.pipelines)
            else:
                name = _called(deed.argv[0])
                run = ProgramRun(deed.argv, name, inner.via, redirects=deed.redirects, stdin=feed, cwd=inner.cwd)
                self.run(replace(run, pipeline=self.pipelines), inner)
            if deed.within is not None:
                self.runs[first:] = [_filled(run, deed.within) for run in self.runs[first:]]

    def _client(self, run: ProgramRun, state: ShellState) -> None:
        for word in (*run.argv[1:], known(run.stdin) or ""):
            for text in sql_meta_commands.started(word):
                self.inner_text(text, replace(run, piped=False), state.fork(run.name))


def _built(feed: StdinSource, state: ShellState) -> StdinSource:
    """The output of programs, paid for: that of one is part of the next one's, and of files that grow."""
    if feed.text or feed.was:
        state.work.spend(steps_to_build(len(feed.text or "") + len(feed.was or "")))
    return feed


def _filled(run: ProgramRun, within: StdinSource) -> ProgramRun:
    """The same program; its words that are not known contain `within`."""
    unknown = tuple((at, within) for at, word in enumerate(run.argv) if UNKNOWN in word)
    return replace(run, given=(*run.given, *unknown)) if unknown else run


def is_away(run: ProgramRun) -> bool:
    """Whether it runs on another machine or in a container, where files are others."""
    return bool(run.via) and any(name in WRAPPERS and WRAPPERS[name].away for name in run.via)


def _steps(run: ProgramRun) -> float:
    """What the words and texts of a program cost everything that judges it."""
    text = "\n".join(run.argv)
    characters = len(text) + len(run.cwd)
    for each in run.redirects:
        characters += len(each.target) + WRITTEN * CHARACTERS
    for _, value in run.assigns:
        characters += len(value) + CHARACTERS
    if run.stdin is not None:
        characters += len(known(run.stdin) or "") + FED * CHARACTERS
    of_program, of_word = _steps_of_program(run.name)
    steps = of_program + len(run.argv) * of_word
    steps += text.count("/") * WORD + characters / CHARACTERS
    if len(run.argv) > FEW_WORDS:
        steps += OPTION * sum(1 for word in run.argv[FEW_WORDS:] if word[:1] == "-")
    if "*" in text or "?" in text or "[" in text:
        steps += PATTERN * sum(1 for word in run.argv if GLOB.search(word))
    return steps


@lru_cache(maxsize=1024)
def _steps_of_program(name: str) -> tuple[float, float]:
    """The steps of a program by its name: in all, and for each of its words."""
    has_manual = manual_catalogue.manual(name) is not None
    return MANUAL * has_manual + ROW * len(runner_table.runners(name)), WORD + has_manual


def _writes(run: ProgramRun) -> bool:
    return any(each.kind in _OUTPUT for each in run.redirects)


def _in_home(command: Simple, state: ShellState) -> Simple | None:
    """The command with `~` replaced by the home folder that this command itself set; None if there is no `~`."""
    home = state.variables["HOME"]
    targets = [each.target for each in command.redirects]
    if not isinstance(home, str) or home == "~" or not any(map(_begins_at_home, (*command.words, *targets))):
        return None
    redirects = [Redirection(each.operator, _moved(each.target, home), each.fd) for each in command.redirects]
    return Simple([_moved(word, home) for word in command.words], command.assigns, redirects)


def _begins_at_home(word: Word) -> bool:
    if isinstance(word, str):
        return word[:1] == "~" and word[1:2] in ("", "/")
    first = word[0] if word else None
    return isinstance(first, Literal) and not first.quoted and _begins_at_home(first.text)


def _moved(word: Word, home: str) -> Word:
    """The word with its tilde replaced by that folder, as a quoted part that is not expanded again."""
    if not _begins_at_home(word):
        return word
    text, more = (word, ()) if isinstance(word, str) else (cast("Literal", word[0]).text, word[1:])
    rest = (Literal(text[1:]),) if len(text) > 1 else ()
    return (Literal(home, quoted=True), *rest, *more)


def _named_folder(match: re.Match[str]) -> str:
    return "$PWD" if match[1] == "+" else "$OLDPWD"


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


def _is_interpreter(name: str) -> bool:
    """Whether a name with a version is that of an interpreter: `python3.12`, `node@22`."""
    return ("@" in name and bool(interpreters.language(name))) or (
        name[-1].isdigit() and INTERPRETER.fullmatch(name) is not None
    )


def _shebang(text: str) -> str:
    """The interpreter in the first line of a script, if it is not a shell; else empty."""
    words = text[2:200].partition("\n")[0].split() if text[:2] == "#!" else []
    name = next((base for word in words if word[:1] != "-" and (base := _base(word)) != "env"), "")
    return "" if name in SHELLS or UNKNOWN in name else name


def _shows(script: Script) -> bool:
    """Whether it is just `<file`."""
    command = script[0].commands[0] if len(script) == 1 and len(script[0].commands) == 1 else None
    if not isinstance(command, Simple) or command.words or len(command.redirects) != 1:
        return False
    return command.redirects[0].operator == "<" and not command.assigns


def _located(path: str, cwd: str) -> str:
    """The key under which a file is found again in the same command."""
    whole = path if path.startswith(("/", "~", "$", UNKNOWN)) or not cwd else f"{cwd}/{path}"
    if UNKNOWN in whole and "/../" in whole:  # what is not known may have several parts
        whole = UNKNOWN + whole[whole.rindex("/../") + 3 :]
    return normpath(whole)


@lru_cache(maxsize=1024)
def _all_located(names: tuple[str, ...], cwd: str) -> frozenset[str] | None:
    """The folded keys of several files; None if one of them is not known."""
    if UNKNOWN in cwd or any(UNKNOWN in name or GLOB.search(name) for name in names):
        return None
    return frozenset(folded(_located(name, cwd)) for name in names)


def _below(place: str, source: str) -> str | None:
    """What follows in a path after a folder, or after the folder of all that a pattern means; None if it lies elsewhere."""
    if GLOB.search(source) is None:
        return place[len(source) :] if place == source or place.startswith(f"{source}/") else None
    parts, depth = place.split("/"), source.count("/")
    return f"/{'/'.join(parts[depth:])}" if fnmatch("/".join(parts[: depth + 1]), source) else None


def _base(word: str) -> str:
    return (word.rpartition("/")[2] or word) if "/" in word else word


_LISTERS = frozenset({"ls", "du", "stat", "wc", "realpath", "readlink", "basename", "dirname"})
"""Programs that print names and figures of the files that they are named, not what is in them."""


def _may_be(name: str, other: str) -> bool:
    """Whether two paths, known only in part, may be the same: by what comes before and after the unknown parts."""
    start, _, _ = name.partition(UNKNOWN)
    begin, _, _ = other.partition(UNKNOWN)
    end, stop = name.rpartition(UNKNOWN)[2], other.rpartition(UNKNOWN)[2]
    if UNKNOWN not in name:
        return name.startswith(begin) and name.endswith(stop)
    if UNKNOWN not in other:
        return other.startswith(start) and other.endswith(end)
    return (start.startswith(begin) or begin.startswith(start)) and (end.endswith(stop) or stop.endswith(end))


def _assign(assigns: list[tuple[str, str, bool]], state: ShellState) -> None:
    """Sets variables; the elements of arrays also under the name with their index: `a=(x rm)` sets `a[0]` and `a[1]`."""
    array, at = "", 0
    for name, value, append in assigns:
        state.assign(name, value, append=append)
        is_next = append and name == array and value[:1] == " "
        array, at = name, at + 1 if is_next else 0
        if len(assigns) > 1:
            state.variables[f"{name}[{at}]"] = value[1:] if is_next else value


def _called(word: str) -> str:
    """The name of a program: without its folder and without the extension it has on Windows."""
    name = _base(word)
    return name.removesuffix(".exe") or name


Special = Callable[[Walk, ProgramRun, ShellState], StdinSource | None]
"""What else runs because of a program. Returns its output, or None if that is as for any other program."""
