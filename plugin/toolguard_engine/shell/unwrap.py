"""All programs that a command line runs: the tree of `parse` walked in the order of execution, wrappers looked through.

`read` is the way in. Texts that become commands themselves (`sh -c`, `eval`, here-documents and pipes to a shell, literals
in an interpreter's code) are read by the same grammar, to a limit of depth and of size; where a limit is reached the
reading says so in its flaws. Loops over known words are unrolled, functions and aliases are followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec.structs import replace

from toolguard_engine.shell import expand as fields
from toolguard_engine.shell.acts import code
from toolguard_engine.shell.expand import State
from toolguard_engine.shell.model import UNKNOWN, Feed, Flaw, Reading, Redirect, Run
from toolguard_engine.shell.outputs import NOTHING, printed
from toolguard_engine.shell.parse import MAX_CHARS, parse
from toolguard_engine.shell.tree import Command, Group, Pipeline, Script, Simple, Substitution, Word
from toolguard_engine.shell.wrappers import LONG, NEVER, SHELLS, WRAPPERS, Wrapper

MAX_RUNS = 2_000
MAX_NESTED = 12
MAX_WRAPPED = 24
MAX_TOTAL = 2 * MAX_CHARS
MAX_LOOP = 64
MAX_GIVEN = 50
FORK_BOMB = "fork-bomb"
"""The name of what a function is that starts itself twice, or in the background."""

_INTERPRETER = re.compile(
    r"(?:python|pypy|node|nodejs|deno|bun|perl|ruby|php|lua|tclsh|osascript|awk|gawk|mawk|nawk)[\d.]*+"
)
_DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_WRITING = {">": "write", ">|": "write", "&>": "write", ">>": "append", "&>>": "append", ">&": "write", "<>": "write"}
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*+)(\+?)=(.*)", re.DOTALL)
_DESCRIPTOR = re.compile(r"\d+-?|-")


def read(command: str, variables: tuple[tuple[str, str], ...] = ()) -> Reading:
    """What `command` would run. `variables`: those that its environment is given by the call itself."""
    return _read(command, variables)


@lru_cache(maxsize=8)
def _read(command: str, variables: tuple[tuple[str, str], ...]) -> Reading:
    walk = _Walk()
    state = State(variables=dict(variables))
    walk.text(command.replace(UNKNOWN, "?"), state, None, piped=False, pipeline=0)
    return Reading(tuple(walk.runs), frozenset(walk.flaws))


class _Full(Exception):  # noqa: N818 - no error: more runs than will be looked at
    pass


class _Walk:
    """Collects the runs. Each `piped` says whether what is printed goes to another program."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self.flaws: set[Flaw] = set()
        self.nested = 0
        self.wrapped = 0
        self.total = 0
        self.pipelines = 0

    def text(self, text: str, state: State, stdin: Feed | None, *, piped: bool, pipeline: int) -> Feed:
        """A text that a shell runs."""
        self.total += len(text)
        if self.nested >= MAX_NESTED or self.total > MAX_TOTAL + MAX_CHARS * (self.nested == 0):
            self.flaws.add("deep" if self.nested >= MAX_NESTED else "long")
            return Feed(None)
        script, flaws = parse(text)
        self.flaws |= flaws
        self.nested += 1
        try:
            found = self.script(script, state, stdin, piped=piped, pipeline=pipeline)
            if self.nested == 1:
                self._uncalled(state)
        except _Full:
            if self.nested > 1:
                raise
            self.flaws.add("long")
            found = Feed(None)
        finally:
            self.nested -= 1
        return found

    def _uncalled(self, state: State) -> None:
        """Functions that nothing called may still be called by what this command does not show."""
        for name, body in list(state.functions.items()):
            if name not in state.calling:
                inner = state.fork("()")
                inner.args = None
                inner.calling |= {name}
                self.script(body, inner, None, piped=False, pipeline=0)

    def script(self, script: Script, state: State, stdin: Feed | None, *, piped: bool, pipeline: int) -> Feed:
        feeds = [self.pipeline(each, state, stdin, piped=piped, pipeline=pipeline) for each in script]
        if len(feeds) == 1:
            return feeds[0]
        texts = [feed.text for feed in feeds]
        known = "".join(text for text in texts if text is not None) if None not in texts else None
        programs = tuple(dict.fromkeys(name for feed in feeds for name in feed.programs))
        return Feed(known, programs, tuple(file for feed in feeds for file in feed.files))

    def pipeline(self, pipe: Pipeline, state: State, stdin: Feed | None, *, piped: bool, pipeline: int) -> Feed:
        if not pipeline:
            self.pipelines += 1
            pipeline = self.pipelines
        feed = stdin
        last = len(pipe.commands) - 1
        if last == 0 and not pipe.background:
            return self.command(pipe.commands[0], state, feed, piped=piped, pipeline=pipeline)
        if state.calling and self._multiplies(pipe, state):
            self._add(Run((FORK_BOMB,), FORK_BOMB, state.via, pipeline=pipeline))
        for at, command in enumerate(pipe.commands):
            feed = self.command(command, state, feed, piped=piped or at < last, pipeline=pipeline)
        return feed or NOTHING

    def _multiplies(self, pipe: Pipeline, state: State) -> bool:
        """Whether a function, inside itself, starts itself more than once or goes on while it runs again."""
        names = [command.words[0] for command in pipe.commands if isinstance(command, Simple) and command.words]
        own = [name for name in names if name in state.calling]
        return len(own) > 1 or (bool(own) and pipe.background)

    def command(self, command: Command, state: State, stdin: Feed | None, *, piped: bool, pipeline: int) -> Feed:
        if isinstance(command, Simple):
            return self.simple(command, state, stdin, piped=piped, pipeline=pipeline)
        return self.group(command, state, stdin, piped=piped, pipeline=pipeline)

    def group(self, group: Group, state: State, stdin: Feed | None, *, piped: bool, pipeline: int) -> Feed:
        if group.kind == "function":
            if group.name:
                state.functions[group.name] = group.bodies[0]
            return NOTHING
        if group.redirects:
            redirects, fed = self._redirects(group, state)
            stdin = fed or stdin
            self._add(Run(("{",), "{", state.via, redirects=redirects, stdin=stdin, pipeline=pipeline, cwd=state.cwd))
        shared = pipeline if piped or stdin else 0
        if group.kind == "(":
            return self.script(group.bodies[0], state.fork(), stdin, piped=piped, pipeline=shared)
        if group.kind in ("for", "select"):
            return self._loop(group, state, stdin, piped=piped, pipeline=shared)
        for word in group.words:
            fields.text_of(word, state, self.capture)
        conditional = group.kind != "{"
        state.maybe += conditional
        try:
            found = [self.script(body, state, stdin, piped=piped, pipeline=shared) for body in group.bodies]
        finally:
            state.maybe -= conditional
        return found[0] if len(found) == 1 else Feed(None, tuple(name for feed in found for name in feed.programs))

    def _loop(self, group: Group, state: State, stdin: Feed | None, *, piped: bool, pipeline: int) -> Feed:
        values: list[str] = []
        for word in group.words:
            values += fields.expand(word, state, self.capture).texts
        if len(values) > MAX_LOOP:
            self.flaws.add("long")
        found: list[Feed] = []
        for value in dict.fromkeys(values[:MAX_LOOP] or [UNKNOWN]):
            state.variables[group.name] = value
            found += [self.script(body, state, stdin, piped=piped, pipeline=pipeline) for body in group.bodies]
        texts = [feed.text for feed in found]
        known = "".join(text for text in texts if text is not None) if None not in texts else None
        return Feed(known, tuple(dict.fromkeys(name for feed in found for name in feed.programs)))

    def simple(self, command: Simple, state: State, stdin: Feed | None, *, piped: bool, pipeline: int) -> Feed:
        words = command.words
        if command.plain and words and words[0]:
            argv = tuple([word for word in words if isinstance(word, str)])
            return self.run(Run(argv, _base(argv[0]), state.via, (), (), stdin, (), piped, pipeline, state.cwd), state)
        name = fields.undecided(words, state) if state.variables else ""
        if name:
            feed = NOTHING
            before = state.variables[name]
            for value in before:
                state.variables[name] = value
                feed = self.simple(command, state, stdin, piped=piped, pipeline=pipeline)
            state.variables[name] = before
            return feed
        assigns = [self._assigned(each, state) for each in command.assigns] if command.assigns else []
        redirects: tuple[Redirect, ...] = ()
        if command.redirects:
            redirects, fed = self._redirects(command, state)
            stdin = fed or stdin
        found, given = self._expanded(words, state)
        if not found or not found[0]:
            for name, value, append in assigns:
                state.assign(name, value, append=append)
            if redirects:
                self._add(Run((":",), ":", state.via, (), redirects, stdin, (), piped, pipeline, state.cwd))
            found = found[1:]
            if not found or not found[0]:
                return NOTHING
            given = [(at - 1, feed) for at, feed in given if at]
        own = tuple((name, value) for name, value, _ in assigns)
        run = Run(tuple(found), _base(found[0]), state.via, own, redirects, stdin, tuple(given), piped, pipeline, state.cwd)
        return self.run(run, state)

    def _expanded(self, words: list[Word], state: State) -> tuple[list[str], list[tuple[int, Feed]]]:
        argv: list[str] = []
        given: list[tuple[int, Feed]] = []
        for word in words:
            if isinstance(word, str):
                argv.append(word)
                continue
            found = fields.expand(word, state, self.capture)
            if found.feed is not None:
                given += [(len(argv) + at, found.feed) for at in range(len(found.texts))]
            argv += found.texts
        return argv, given

    def _assigned(self, assign: tuple[str, Word, bool], state: State) -> tuple[str, str, bool]:
        name, word, append = assign
        return name, word if isinstance(word, str) else fields.text_of(word, state, self.capture)[0], append

    def _redirects(self, command: Command, state: State) -> tuple[tuple[Redirect, ...], Feed | None]:
        """The redirections, and what they bring to the standard input."""
        found: list[Redirect] = []
        fed: Feed | None = None
        for each in command.redirects:
            target, feed = fields.text_of(each.target, state, self.capture)
            if each.operator in ("<<", "<<-", "<<<"):
                fed = Feed(
                    None if UNKNOWN in target and not target.strip(UNKNOWN) else target, feed.programs if feed else ()
                )
                found.append(Redirect("text", target, each.fd))
            elif each.operator == "<":
                fed = feed if feed and target == UNKNOWN else Feed(None, (), (target,))
                found.append(Redirect("read", target, each.fd))
            elif each.operator == "<&" or (each.operator == ">&" and _DESCRIPTOR.fullmatch(target)):
                continue
            else:
                found.append(Redirect("append" if _WRITING[each.operator] == "append" else "write", target, each.fd))
        return tuple(found), fed

    def capture(self, part: Substitution, state: State) -> Feed:
        """What a substitution prints; what it runs is collected."""
        inner = state.fork("$()")
        feed = self.script(part.script, inner, None, piped=True, pipeline=0)
        return Feed(feed.text if part.kind == "$(" else None, feed.programs, feed.files)

    def run(self, run: Run, state: State) -> Feed:
        """One program and all that it runs; what it prints."""
        name = run.name
        if name in state.functions and name not in state.calling:
            return self._call(run, state)
        if name in state.aliases:
            text, inner = state.aliases[name], state.fork()
            del inner.aliases[name]
            return self._joined((text, *run.argv[1:]), inner, run)
        self._add(run)
        special, wrapper = _SPECIAL.get(name), WRAPPERS.get(name)
        if special is None and wrapper is None:
            if name[0] in _INITIALS and _INTERPRETER.fullmatch(name):
                self._code(run, state)
            return printed(run) if run.piped else NOTHING
        if self.wrapped >= MAX_WRAPPED:
            self.flaws.add("deep")
            return Feed(None)
        self.wrapped += 1
        feed = special(self, run, state) if special else self._wrapped(run, wrapper, state) if wrapper else None
        self.wrapped -= 1
        return printed(run) if feed is None else feed

    def _add(self, run: Run) -> None:
        if len(self.runs) >= MAX_RUNS:
            raise _Full
        self.runs.append(run)

    def _call(self, run: Run, state: State) -> Feed:
        before, via, calling = state.args, state.via, state.calling
        state.args, state.via, state.calling = run.argv, (*via, "()"), calling | {run.name}
        self.nested += 1
        try:
            if self.nested > MAX_NESTED:
                self.flaws.add("deep")
                return Feed(None)
            return self.script(state.functions[run.name], state, run.stdin, piped=run.piped, pipeline=run.pipeline)
        finally:
            self.nested -= 1
            state.args, state.via, state.calling = before, via, calling | {run.name}

    def _joined(self, words: tuple[str, ...], state: State, run: Run) -> Feed:
        return self._inner_text(" ".join(words), run, state)

    def _inner(self, argv: tuple[str, ...], run: Run, state: State, given: tuple[tuple[int, Feed], ...] = ()) -> Feed:
        """What a wrapper runs, without its input."""
        if not argv[0]:
            return Feed(None)
        return self.run(Run(argv, _base(argv[0]), state.via, (), (), None, given, run.piped, run.pipeline, state.cwd), state)

    def _wrapped(self, run: Run, wrapper: Wrapper, state: State) -> Feed | None:
        """What a wrapper runs; None where it runs nothing that can be seen."""
        argv = run.argv
        at = _behind_verb(argv, wrapper)
        if not at or (run.name == "command" and argv[1:2] and argv[1] in ("-v", "-V")):
            return None
        inner = state.elsewhere(run.name) if wrapper.away else state.fork(run.name)
        inner.variables.update(run.assigns)
        if wrapper.skip == NEVER:
            text = _text_option(argv, wrapper)
            return self._inner_text(text, run, inner) if text else None
        at, text = _options(argv, at, wrapper)
        if text:
            return self._inner_text(text, run, inner)
        while at < len(argv) and (found := _ASSIGNMENT.fullmatch(argv[at])) and run.name in ("env", "sudo", "doas"):
            inner.variables[found[1]] = found[3]
            run = replace(run, assigns=(*run.assigns, (found[1], found[3])))
            at += 1
        if wrapper.dashes:
            at = argv.index("--") + 1 if "--" in argv else at + wrapper.skip
        elif wrapper.skip:
            if at + wrapper.skip >= len(argv):
                return None
            at += wrapper.skip
            at, text = _options(argv, at, wrapper)
            if text:
                return self._inner_text(text, run, inner)
        if at >= len(argv):
            return None
        if run.name == "sudo" and run.argv[at - 1] in ("-e", "--edit"):
            return None
        rest = argv[at:]
        if run.name == "trap":
            return self._inner_text(rest[0], run, inner) if len(rest) > 1 else None
        if wrapper.joined:
            return self._joined(rest, state if run.name == "eval" else inner, run)
        given = tuple((position - at, feed) for position, feed in run.given if position >= at)
        if not rest[0]:
            return None
        inner_run = Run(
            rest, _base(rest[0]), inner.via, run.assigns, (), run.stdin, given, run.piped, run.pipeline, inner.cwd
        )
        return self.run(inner_run, inner)

    def _inner_text(self, text: str, run: Run, state: State) -> Feed:
        return self.text(text, state, run.stdin, piped=run.piped, pipeline=run.pipeline)

    def _code(self, run: Run, state: State) -> None:
        """The shell commands that stand in the code of an interpreter."""
        found = code.source(run)
        for text in code.commands(found[1], found[0]) if found else ():
            self._inner_text(text, replace(run, piped=False), state.fork(run.name))

    def _shell(self, run: Run, state: State) -> Feed:
        """`sh`: what stands behind `-c`, or what arrives at its standard input."""
        argv, at, text = run.argv, 1, None
        while at < len(argv) and argv[at][:1] in "-+" and len(argv[at]) > 1:
            option = argv[at]
            at += 1
            if option == "--":
                break
            if not option.startswith("--") and "c" in option:
                while at < len(argv) and argv[at][:1] == "-" and len(argv[at]) > 1:
                    at += 1
                text = argv[at] if at < len(argv) else None
                break
            if option in ("-o", "-O", "+o", "+O", "--rcfile", "--init-file"):
                at += 1
        inner = state.fork(run.name)
        inner.variables.update(run.assigns)
        if text is not None:
            inner.args = argv[at + 1 :] or ("sh",)
            return self._inner_text(text, run, inner)
        scripted = at < len(argv) and argv[at] not in ("-", "/dev/stdin", "-s")
        if not scripted and run.stdin and run.stdin.text:
            inner.args = ("sh", *argv[at + 1 :])
            return self.text(run.stdin.text, inner, None, piped=run.piped, pipeline=run.pipeline)
        return Feed(None, (run.name,))

    def _source(self, run: Run, state: State) -> Feed:
        if run.argv[1:2] in (("/dev/stdin",), ("-",)) and run.stdin and run.stdin.text:
            return self.text(run.stdin.text, state, None, piped=run.piped, pipeline=run.pipeline)
        return Feed(None, (run.name,))

    def _scheduled(self, run: Run, state: State) -> Feed:
        if run.stdin and run.stdin.text:
            self.text(run.stdin.text, state.fork(run.name), None, piped=False, pipeline=run.pipeline)
        return NOTHING

    def _xargs(self, run: Run, state: State) -> Feed | None:
        argv = run.argv
        at, _ = _options(argv, 1, _XARGS)
        marks = [argv[n + 1] if option == "-I" else option[2:] for n, option in enumerate(argv[1:at], 1) if option[:2] == "-I"
                 and (len(option) > 2 or n + 1 < at)]  # fmt: skip
        marks += ["{}" for option in argv[1:at] if option in ("-i", "--replace")]
        marks += [option[2:] for option in argv[1:at] if option[:2] == "-i" and len(option) > 2]
        marks += [option.partition("=")[2] for option in argv[1:at] if option.startswith("--replace=")]
        rest = argv[at:]
        if not rest:
            return None
        known = run.stdin.text if run.stdin else None
        words = known.replace("'", "").replace('"', "").split()[:MAX_GIVEN] if known else []
        inner = state.fork("xargs")
        if marks and marks[0]:
            lines = [line.strip() for line in known.splitlines()[:MAX_GIVEN] if line.strip()] if known else []
            feed = NOTHING
            for line in lines or [UNKNOWN]:
                filled = tuple(word.replace(marks[0], line) for word in rest)
                feed = self._inner(filled, run, inner.fork())
            return feed
        feeds = run.stdin and Feed(None, run.stdin.programs, run.stdin.files)
        given = ((len(rest), feeds),) if feeds else ()
        return self._inner((*rest, *(words or [UNKNOWN])), run, inner, given)

    def _parallel(self, run: Run, state: State) -> Feed | None:
        argv = run.argv
        at, _ = _options(argv, 1, _PARALLEL)
        end = next((n for n in range(at, len(argv)) if argv[n] in (":::", "::::", ":::+", "::::+")), len(argv))
        rest = argv[at:end]
        known = list(argv[end + 1 :]) if end < len(argv) and argv[end].startswith(":::") and argv[end] != "::::" else []
        if not known and run.stdin and run.stdin.text:
            known = run.stdin.text.splitlines()
        inner = state.fork("parallel")
        for value in known[:MAX_GIVEN] or [UNKNOWN]:
            if not rest:
                self.text(value, inner, None, piped=run.piped, pipeline=run.pipeline)
                continue
            filled = tuple(word.replace("{}", value) for word in rest)
            filled = filled if any("{}" in word for word in rest) else (*filled, value)
            if len(rest) == 1 or " " in filled[0]:
                self._joined(filled, inner, run)
            else:
                self._inner(filled, run, inner)
        return None

    def _find(self, run: Run, state: State) -> Feed | None:
        argv = run.argv
        starts = []
        for word in argv[1:]:
            if word.startswith(("-", "(", "!", ")")) and word not in ("-L", "-P", "-H"):
                break
            starts += [] if word.startswith("-") else [word]
        at = 1
        while at < len(argv):
            if argv[at] not in _EXECUTING:
                at += 1
                continue
            end = next((n for n in range(at + 1, len(argv)) if argv[n] in (";", "+")), len(argv))
            for start in starts[:MAX_GIVEN] or ["."]:
                found = f"{start.rstrip('/')}/{UNKNOWN}"
                filled = tuple(word.replace("{}", found) for word in argv[at + 1 : end])
                if filled:
                    self._inner(filled, run, state.fork("find"))
            at = end + 1
        return None

    def _fd(self, run: Run, state: State) -> Feed | None:
        argv = run.argv
        at = next((n for n, word in enumerate(argv) if word in ("-x", "-X", "--exec", "--exec-batch")), 0)
        if at and argv[at + 1 :]:
            filled = tuple(word.replace("{}", f"./{UNKNOWN}") for word in argv[at + 1 :])
            filled = filled if any("{}" in word for word in argv[at + 1 :]) else (*filled, f"./{UNKNOWN}")
            self._inner(filled, run, state.fork("fd"))
        return None

    def _git(self, run: Run, state: State) -> Feed | None:
        for text in _git_texts(run.argv):
            self._inner_text(text, replace(run, piped=False, stdin=None), state.fork("git"))
        return None

    def _options_with_commands(self, run: Run, state: State) -> Feed | None:
        prefixes = _COMMAND_OPTIONS[run.name]
        for at, word in enumerate(run.argv):
            for prefix in prefixes:
                if word == prefix.rstrip("=") and at + 1 < len(run.argv) and not prefix.endswith("exec="):
                    self._inner_text(run.argv[at + 1].removeprefix(":").removeprefix("!"), run, state.fork(run.name))
                elif word.startswith(prefix) and len(word) > len(prefix) and prefix.endswith(("=", "!")):
                    self._inner_text(word[len(prefix) :], run, state.fork(run.name))
        return None

    def _cd(self, run: Run, state: State) -> Feed | None:
        words = [word for word in run.argv[1:] if not (word.startswith("-") and len(word) > 1)]
        target = words[0] if words else "~"
        if target == "-" or target.startswith(UNKNOWN):
            state.cwd = UNKNOWN
        elif target.startswith(("/", "~", "$")) or not state.cwd or state.cwd == UNKNOWN:
            state.cwd = target if state.cwd != UNKNOWN or target.startswith(("/", "~")) else UNKNOWN
        else:
            state.cwd = f"{state.cwd}/{target}"[:4096]
        return NOTHING

    def _declare(self, run: Run, state: State) -> Feed | None:
        for word in run.argv[1:]:
            if found := _ASSIGNMENT.fullmatch(word):
                state.assign(found[1], found[3], append=bool(found[2]))
        return NOTHING

    def _unset(self, run: Run, state: State) -> Feed | None:
        for word in run.argv[1:]:
            state.variables.pop(word, None)
        return NOTHING

    def _read(self, run: Run, state: State) -> Feed | None:
        text = run.stdin.text if run.stdin else None
        for word in run.argv[1:]:
            if word.isidentifier():
                state.variables[word] = UNKNOWN if text is None else text.split("\n", 1)[0]
        return NOTHING

    def _alias(self, run: Run, state: State) -> Feed | None:
        for word in run.argv[1:]:
            name, sign, text = word.partition("=")
            if sign and name:
                state.aliases[name] = text
                self._inner_text(text, replace(run, piped=False), state.fork("alias"))
        return NOTHING

    def _set(self, run: Run, state: State) -> Feed | None:
        if "--" in run.argv:
            state.args = ("sh", *run.argv[run.argv.index("--") + 1 :])
        elif run.argv[1:2] and not run.argv[1].startswith(("-", "+")):
            state.args = ("sh", *run.argv[1:])
        return NOTHING

    def _shift(self, run: Run, state: State) -> Feed | None:  # noqa: ARG002 - one of a table
        if state.args is not None:
            state.args = (*state.args[:1], *state.args[2:])
        return NOTHING


def _base(word: str) -> str:
    return (word.rpartition("/")[2] or word) if "/" in word else word


def _behind_verb(argv: tuple[str, ...], wrapper: Wrapper) -> int:
    """The position behind the sub-command that makes this program a wrapper; 0 where it is none."""
    if not wrapper.verb:
        return 1
    at, _ = _options(argv, 1, wrapper)
    for verb in wrapper.verb:
        if argv[at : at + len(verb)] == verb:
            return at + len(verb)
    return 0


def _options(argv: tuple[str, ...], at: int, wrapper: Wrapper) -> tuple[int, str]:
    """The position behind the options, and the text that one of them says is to be run."""
    text = ""
    while at < len(argv) and argv[at].startswith("-") and len(argv[at]) > 1:
        option = argv[at]
        at += 1
        if option == "--":
            break
        name, sign, value = option.partition("=")
        if name in wrapper.text:
            text = value if sign else "".join(argv[at : at + 1])
            at += not sign
        elif option.startswith("--"):
            at += not sign and name in LONG
        elif option[0:2] in wrapper.text and len(option) > 2:  # noqa: PLR2004 - `-c` with its text
            text = option[2:]
        elif option[-1] in wrapper.short and not any(letter in wrapper.short for letter in option[1:-1]):
            if "-" + option[-1] in wrapper.text:
                text = "".join(argv[at : at + 1])
            at += 1
    return at, text


def _text_option(argv: tuple[str, ...], wrapper: Wrapper) -> str:
    """The text behind the option that says what is to be run, wherever it stands."""
    for at, word in enumerate(argv[1:], 1):
        name, sign, value = word.partition("=")
        if name in wrapper.text:
            return value if sign else "".join(argv[at + 1 : at + 2])
        if word[:2] in wrapper.text and not word.startswith("--"):
            return word[2:]
    return ""


def _git_texts(argv: tuple[str, ...]) -> Iterator[str]:
    """Commands that git itself runs."""
    for at, word in enumerate(argv):
        value = argv[at + 1] if at + 1 < len(argv) else ""
        if word == "-c" and re.match(r"alias\.[\w.-]{1,80}=!", value):
            yield value.partition("=!")[2]
        elif word == "-c" and (
            found := re.match(
                r"(?:core\.(?:pager|editor|sshcommand|fsmonitor)|diff\.external|"
                r"sequence\.editor|pager\.\w{1,40})=(.*)",
                value,
                re.IGNORECASE,
            )
        ):
            yield found[1]
        elif word in ("-x", "--exec") and "rebase" in argv[:at]:
            yield value
        elif word.startswith("--exec=") and "rebase" in argv[:at]:
            yield word[7:]
        elif word == "foreach" and "submodule" in argv[:at]:
            yield " ".join(each for each in argv[at + 1 :] if not each.startswith("--"))
        elif word == "run" and "bisect" in argv[:at]:
            yield " ".join(_quoted(each) for each in argv[at + 1 :])
        elif re.fullmatch(r"--(?:env|tree|index|parent|msg|commit|tag-name)-filter", word):
            yield value


def _quoted(word: str) -> str:
    return (
        word if word.replace("-", "").replace("/", "").replace(".", "").isalnum() else "'" + word.replace("'", "'\\''") + "'"
    )


_XARGS = Wrapper("nPIdLsaE")
_PARALLEL = Wrapper("jNSnLaI")
_EXECUTING = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_INITIALS = frozenset("pndrbltoagm")
"""First letters of interpreters: the pattern need not be tried for the others."""
_COMMAND_OPTIONS = {
    "tar": ("--checkpoint-action=exec=", "--to-command=", "--use-compress-program=", "-I="),
    "gtar": ("--checkpoint-action=exec=", "--to-command=", "--use-compress-program=", "-I="),
    "vim": (":!", "-c=", "+!"), "vi": ("-c=", "+!"), "nvim": ("-c=", "+!"), "ex": ("-c=",),
    "man": ("-P=", "--pager="), "rsync": ("-e=", "--rsh="), "sed": (), "less": ("+!",), "split": ("--filter=",),
    "zip": ("-TT=", "--unzip-command="), "sort": ("--compress-program=",), "expect": ("-c=",),
}  # fmt: skip
_SPECIAL = {
    **dict.fromkeys(SHELLS, _Walk._shell),
    **dict.fromkeys(_DECLARING, _Walk._declare),
    **dict.fromkeys(("source", "."), _Walk._source),
    **dict.fromkeys(("at", "batch"), _Walk._scheduled),
    **dict.fromkeys(("find", "gfind", "bfs"), _Walk._find),
    **dict.fromkeys(("fd", "fdfind"), _Walk._fd),
    **dict.fromkeys(("cd", "pushd"), _Walk._cd),
    **dict.fromkeys(_COMMAND_OPTIONS, _Walk._options_with_commands),
    "xargs": _Walk._xargs,
    "parallel": _Walk._parallel,
    "git": _Walk._git,
    "unset": _Walk._unset,
    "read": _Walk._read,
    "alias": _Walk._alias,
    "set": _Walk._set,
    "shift": _Walk._shift,
}
