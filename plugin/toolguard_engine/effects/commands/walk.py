"""Walks the tree of a command line in execution order and collects each program that runs, with wrappers unwrapped."""

from __future__ import annotations

import re
from collections.abc import Callable

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import endless_loops, home_words, loop_rounds
from toolguard_engine.effects.commands.value_walk import ValueWalk
from toolguard_engine.effects.commands.walk_state import (
    MAX_NESTED,
    RunsFull,
    built,
    program_name,
    writes_output,
)
from toolguard_engine.effects.commands.walk_steps import EXPANSION, GROUP
from toolguard_engine.effects.commands.written_files import MAX_TOTAL
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Redirect, StdinSource
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.syntax import expand as fields
from toolguard_engine.effects.syntax.outputs import NOTHING, together
from toolguard_engine.effects.syntax.parse import MAX_CHARS, parse
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.effects.syntax.syntax_tree import (
    Command,
    Group,
    Pipeline,
    Script,
    Simple,
    Substitution,
    Word,
)
from toolguard_engine.model.lazy import FAILURES

MAX_LOOP = 64
FORK_BOMB = "fork-bomb"
"""Name of a function that starts itself twice, or in the background."""

_WRITING = {">": "write", ">|": "write", "&>": "write", ">>": "append", "&>>": "append", ">&": "write", "<>": "write"}
_USUAL = frozenset({"", "0", "1", "2"})
_FOLDERS = lazy_re.compile(r"(?<![^\s;|&()<>=:])~([+-])(?=[/\s;|&()<>:]|\Z)")
_DESCRIPTOR = lazy_re.compile(r"\d+-?|-")
_LOOPS = frozenset({"for", "select", "while", "until"})


def _may_be_program(word: str) -> bool:
    """Whether a word may be the program where the one before it is empty."""
    return bool(word and option_parser.plain(("", word)).operands)


def _named_folder(match: re.Match[str]) -> str:
    return "$PWD" if match[1] == "+" else "$OLDPWD"


def _shows(script: Script) -> bool:
    """Whether it is just `<file`."""
    command = script[0].commands[0] if len(script) == 1 and len(script[0].commands) == 1 else None
    if not isinstance(command, Simple) or command.words or len(command.redirects) != 1:
        return False
    return command.redirects[0].operator == "<" and not command.assigns


def _assign(assigns: list[tuple[str, str, bool]], state: ShellState, *, alone: bool) -> None:
    """Sets variables. `alone`: these are the values that one variable may get."""
    if alone:
        name, _, append = assigns[0]
        state.assign(name, tuple([value for _, value, _ in assigns]), append=append)
    elif assigns:
        state.assign_all(assigns)


class Walk(ValueWalk):
    """Walks the tree of a command line: its lists, pipelines, groups, loops, simple commands, words and redirections.

    The classes that it builds on walk what these start: `ValueWalk` commands with each value of their variables,
    `ProgramWalk` a program, `CodeWalk` the code of interpreters, `ChangeWalk` what programs write to files,
    and `FileWalk` the files of this machine that they run.
    """

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
        self.open_texts.append((text, state.args, dict(state.variables)))
        try:
            source = self.script(script, state, stdin, piped=piped, pipeline=pipeline)
            if state.functions and self.nested == 1 and (file is None or self._calls_unknown()):
                self._uncalled(state)
            if self.traps and self.nested == 1:
                self.run_traps()
        except (RunsFull, *FAILURES) as limit:
            if self.nested > 1:
                raise
            self._stopped_by(limit)
            source = StdinSource(None)
        finally:
            self.nested -= 1
            self.open_texts.pop()
        return source

    def start(self, program: ProgramRun, state: ShellState) -> None:
        """Runs a program beside the text of the command, in its own folder and a copy of the state. A limit that it
        reaches is a flaw of the command, as in `text`."""
        try:
            inner = state.fork()
            inner.cwd = program.cwd
            self.run(program, inner)
        except (RunsFull, *FAILURES) as limit:
            self._stopped_by(limit)

    def _stopped_by(self, limit: BaseException) -> None:
        self.flaws.add("long" if isinstance(limit, RunsFull) else "intricate")

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
        feeds = [self.pipeline(inner, state, stdin, piped=piped, pipeline=pipeline) for inner in script]
        known_feeds = [feed for feed in feeds if feed is not NOTHING]
        return built(together(known_feeds, exact=True), state) if known_feeds else NOTHING

    def pipeline(
        self, pipe: Pipeline, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        if not pipeline:
            self.pipelines += 1
            at = len(self.runs)
            output = self.pipeline(pipe, state, stdin, piped=piped, pipeline=self.pipelines)
            if len(self.runs) > at:
                self.leave_out(at)
            return output
        if pipe.background or pipe.after != "&&":
            self.loose.add(pipeline)
        if pipe.place is not None:
            self.here = pipe.place
        last = len(pipe.commands) - 1
        if pipe.after and not pipe.joins:
            state.enter_branch()
        if last == 0 and not pipe.background:
            feed = self.command(pipe.commands[0], state, stdin, piped=piped, pipeline=pipeline)
        else:
            feed = self._parts(pipe, state, stdin, piped=piped, pipeline=pipeline)
        if pipe.after and not pipe.joined:
            state.leave_branch()
        return feed

    def _parts(
        self, pipe: Pipeline, state: ShellState, feed: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """What runs at once: the parts of a pipeline, or what the shell does not wait for."""
        last = len(pipe.commands) - 1
        if pipe.background and self.running is not None:
            self.running.repeats += 1
            self.running.later.goes_on = True
        if state.calling and self._multiplies(pipe, state):
            self.add(ProgramRun((FORK_BOMB,), FORK_BOMB, state.via, pipeline=pipeline), state)
        if last and endless_loops.listed(pipe):
            self.add(endless_loops.REQUESTS, state)
        may_change = bool(state.variables or state.cwd)  # a part may be a shell of its own
        if may_change:
            state.enter_branch()
        for at, command in enumerate(pipe.commands):
            feed = self.command(command, state, feed, piped=piped or at < last, pipeline=pipeline)
        if may_change:
            state.leave_branch()
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
                state.define(group.name, group.bodies[0])
            return NOTHING
        if group.redirects:
            redirects, fed = self._redirects(group, state)
            stdin = fed or stdin
            program = ProgramRun(("{",), "{", state.via, redirects=redirects, stdin=stdin, pipeline=pipeline, cwd=state.cwd)
            at = len(self.runs)
            self.add(program, state)
            if not piped and writes_output(program):
                bare = Group(group.kind, group.bodies, group.name, group.words)
                self._stored(at, program, self.group(bare, state, stdin, piped=True, pipeline=pipeline), state)
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
            if loops:
                return self._rounds(group, state, stdin, piped=piped, pipeline=shared)
            return self._compound(group, state, stdin, piped=piped, pipeline=shared)
        finally:
            if loops and self.running is not None:
                self.running.repeats -= 1
                self.running.later.loops -= 1

    def _compound(
        self, group: Group, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """A condition, a group in braces or a round of `while`."""
        for word in group.words:
            fields.text_of(word, state, self.capture)
        if group.kind in ("while", "until") and (does := endless_loops.endless(group)):
            self.add(does, state)
        sources: list[StdinSource] = []
        for body in group.bodies:
            if group.kind == "{":
                sources.append(self.script(body, state, stdin, piped=piped, pipeline=pipeline))
                continue
            state.enter_branch()
            sources.append(self.script(body, state, stdin, piped=piped, pipeline=pipeline))
            state.leave_branch()
        return sources[0] if len(sources) == 1 else built(together(sources, exact=False), state)

    def _rounds(
        self, group: Group, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """A loop, again as long as a round leaves variables that the next one uses."""
        round_of = self._loop if group.kind in ("for", "select") else self._compound
        feeds: list[StdinSource] = []
        first = self.pipelines + 1
        for _ in range(1 + loop_rounds.MOST):
            before, folders = dict(state.variables), (state.cwd, *state.others)
            state.enter_frame(is_loop=True)
            feeds.append(round_of(group, state, stdin, piped=piped, pipeline=pipeline))
            state.leave_frame()
            if loop_rounds.are_all(group) or not (
                state.leads_out(folders)
                or loop_rounds.use(group.bodies, loop_rounds.changed(before, state) - {group.name}, state)
            ):
                break
        if not loop_rounds.are_counted(group):
            self.repeated.update((pipeline, *range(first, self.pipelines + 1)))
        return feeds[0] if len(feeds) == 1 else built(together(feeds, exact=False), state)

    def _loop(
        self, group: Group, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        values: list[str] = []
        for word in group.words:
            values += fields.expand(word, state, self.capture).texts
        values = list(dict.fromkeys(values))
        if len(values) > MAX_LOOP:
            self.flaws.add("long")
        if (UNKNOWN in values or not group.words) and endless_loops.counted(group, self.runs):
            self.add(endless_loops.JOBS, state)
        sources: list[StdinSource] = []
        may_be_none = not any(value.strip(UNKNOWN) for value in values)
        if may_be_none:
            state.enter_branch()
        for value in values[:MAX_LOOP] or [UNKNOWN]:
            state.assign(group.name, value)
            sources += [self.script(body, state, stdin, piped=piped, pipeline=pipeline) for body in group.bodies]
        if may_be_none:
            state.leave_branch()
        return built(together(sources, exact=True), state)

    def simple(
        self, command: Simple, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        words = command.words
        if command.plain and words and words[0] and "HOME" not in state.variables:
            argv: tuple[str, ...] = tuple(words)  # type: ignore[arg-type]  # of a plain command they are texts
            first = argv[0]
            name = program_name(first) if "/" in first or first.endswith(".exe") else first
            program = ProgramRun(argv, name, state.via, (), (), stdin, (), piped, pipeline, state.cwd)
            return self.named(program, state)
        state.work.spend(EXPANSION)
        name = fields.undecided(words, state) if state.variables and not self.is_passive(command, state, piped=piped) else ""
        if state.other_args and fields.has_arguments(words):
            self.with_other_args(command, state, stdin, piped=piped, pipeline=pipeline)
        if name:
            run = self.print_each if self.only_prints(command, state) else self.for_each_value
            run = self.for_each_operand if self.stand_alone(command, state) else run
            return run(name, command, state, stdin, piped=piped, pipeline=pipeline)
        if "HOME" in state.variables and (moved := home_words.moved(command, state.variables["HOME"])):
            self.simple(moved, state, stdin, piped=piped, pipeline=pipeline)
        alone = not words and len(command.assigns) == 1
        assigns = [assigned for given in command.assigns for assigned in self._assigned(given, state, alone=alone)]
        for name, value, _ in assigns:
            self.variable_set(name, value, ProgramRun((":",), ":", state.via, pipeline=pipeline, cwd=state.cwd), state)
        redirects: tuple[Redirect, ...] = ()
        if command.redirects:
            redirects, fed = self._redirects(command, state)
            stdin = fed or stdin
        found, given, unset = self.expanded(words, state)
        if not found or not found[0]:
            _assign(assigns, state, alone=alone)
            if redirects or assigns:
                set_ = tuple((name, value) for name, value, _ in assigns)
                program = ProgramRun((":",), ":", state.via, set_, redirects, stdin, (), piped, pipeline, state.cwd)
                self.add(program, state)
            found = found[1:]
            if not found or not found[0]:
                return NOTHING
            given, unset = [(at - 1, feed) for at, feed in given if at], [at - 1 for at in unset if at]
        own = tuple((name, value) for name, value, _ in assigns)
        program = ProgramRun(
            tuple(found), program_name(found[0]), state.via, own, redirects, stdin, tuple(given), piped, pipeline, state.cwd,
            unset=tuple(unset),
        )  # fmt: skip
        feed = self.named(program, state)
        if " " in found[0]:
            feed = self._first_elements(words[0], program, feed, state)
        if not found[0].strip(UNKNOWN) and found[1:] and _may_be_program(found[1]):  # may be empty: `$SUDO rm x`
            inner = self.run(program.with_words(tuple(found[1:]), program_name(found[1]), range(1, len(found))), state)
            feed = together([feed, inner], exact=False) if inner.text is None else inner
        return feed

    def _first_elements(self, word: Word, program: ProgramRun, feed: StdinSource, state: ShellState) -> StdinSource:
        """Runs a program that is named by an array also by the first element of that."""
        for first in fields.first_elements(word, state):
            if first and first != program.argv[0]:
                run = program.with_words((first, *program.argv[1:]), program_name(first))
                feed = together([feed, self.named(run, state)], exact=False)
        return feed

    def _assigned(self, assign: tuple[str, Word, bool], state: ShellState, *, alone: bool) -> list[tuple[str, str, bool]]:
        """The variable that is set, with each value that it may get."""
        name, word, append = assign
        state.work.spend(EXPANSION)
        values, feed = fields.texts_of(word, state, self.capture) if alone else self._only(word, state)
        if feed is not None and any(UNKNOWN in value for value in values):
            state.feeds[name] = feed
        elif state.feeds:
            state.feeds.pop(name, None)
        self.total += sum(map(len, values))
        if self.total > MAX_TOTAL + MAX_CHARS:
            raise RunsFull
        return [(name, value, append) for value in values]

    def _only(self, word: Word, state: ShellState) -> tuple[tuple[str, ...], StdinSource | None]:
        value, feed = fields.text_of(word, state, self.capture)
        return (value,), feed

    def _redirects(self, command: Command, state: ShellState) -> tuple[tuple[Redirect, ...], StdinSource | None]:
        """The redirections, and what they connect to the standard input."""
        redirects: list[Redirect] = []
        fed: StdinSource | None = None
        for redirect in command.redirects:
            target, feed = fields.text_of(redirect.target, state, self.capture)
            target = fields.rendered(target, state) if "${" in target else target
            if redirect.operator in ("<<", "<<-", "<<<"):
                text = None if UNKNOWN in target and not target.strip(UNKNOWN) else target
                fed = self._opened(
                    redirect.fd, StdinSource(text, feed.programs if feed else (), (), feed.was if feed else None), fed
                )
                redirects.append(Redirect("text", target, redirect.fd))
            elif redirect.operator == "<":
                shown = feed if feed and target == UNKNOWN else self._shown(target, state.cwd)
                fed = self._opened(redirect.fd, shown, fed)
                redirects.append(Redirect("read", target, redirect.fd))
            elif redirect.operator == "<&" or (redirect.operator == ">&" and _DESCRIPTOR.fullmatch(target)):
                if redirect.operator == "<&" and redirect.fd in ("", "0") and target not in ("-", "0"):
                    fed = self.descriptor(target)
                elif redirect.operator == ">&" and target in self.targets:
                    redirects.append(Redirect("append", self.targets[target], redirect.fd))
            else:
                redirects.append(
                    Redirect("append" if _WRITING[redirect.operator] == "append" else "write", target, redirect.fd)
                )
                if redirect.operator == "<>" and redirect.fd not in ("1", "2"):
                    fed = self._opened(redirect.fd, self._shown(target, state.cwd), fed)
                if redirect.fd not in _USUAL:
                    self.targets[redirect.fd] = target
        return tuple(redirects), fed

    def _opened(self, fd: str, feed: StdinSource, fed: StdinSource | None) -> StdinSource | None:
        """The standard input after `feed` is opened at a descriptor; another descriptor may become it later."""
        if fd in _USUAL:
            return feed
        self.opened[fd] = feed
        return fed

    def _shown(self, path: str, cwd: str) -> StdinSource:
        """What is read from a path."""
        text = self.written.text(path, cwd)
        return StdinSource(text, (), (path,), self.written.possible_text(path, cwd) if text is None else None)

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


Special = Callable[[Walk, ProgramRun, ShellState], StdinSource | None]
"""What else runs because of a program. Returns its output, or None if that is as for any other program."""
