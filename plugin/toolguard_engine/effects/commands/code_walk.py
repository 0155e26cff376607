"""Follows the code that interpreters and database clients run."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolguard_engine.effects.commands import code_commands, code_files, code_sources, interpreters, served_folders
from toolguard_engine.effects.commands.change_walk import ChangeWalk
from toolguard_engine.effects.commands.walk_state import EVERY, RunsFull, is_away, program_name
from toolguard_engine.effects.commands.written_files import located
from toolguard_engine.effects.facts.command import UNKNOWN, FilePlace, Flaw, ProgramRun, StdinSource
from toolguard_engine.effects.languages import kept_code, language_catalogue
from toolguard_engine.effects.languages.code_deeds import INPUT, CodeReading, Deed
from toolguard_engine.effects.programs import sql, sql_meta_commands
from toolguard_engine.effects.syntax import quoted_commands, statement_files
from toolguard_engine.effects.syntax.outputs import known_text
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.model.lazy import FAILURES
from toolguard_engine.model.work_limit import TooIntricate

CODE_CHARACTERS = 16
"""Of code in a file, for one step of work besides reading it: it is searched for the files that it takes in."""

CODE_FILE = 40
"""More steps for each file with code."""

STATEMENTS = 4
"""Characters of a file with statements, for one step."""


def _filled(program: ProgramRun, within: StdinSource) -> ProgramRun:
    """The same program; its words that are not known contain `within`."""
    unknown = tuple((at, within) for at, word in enumerate(program.argv) if UNKNOWN in word)
    return replace(program, given=(*program.given, *unknown)) if unknown else program


def _taken_in(code: tuple[str, str], folder: str) -> Iterator[tuple[str, ...]]:
    """The paths of the files that code takes in: by names that stand in it, and by those that it puts together."""
    language, text = code
    yield from code_files.imported(text, language, folder)
    parsed = interpreters.reading(text, language)
    for word, name in parsed.loads if parsed is not None else ():
        yield from code_files.named(word, name, language, folder)


class CodeWalk(ChangeWalk):
    """Walks the commands in the code of interpreters, and the files that such code takes in."""

    def run_code(self, file: FilePlace, program: ProgramRun, state: ShellState, *, taken_in: bool = False) -> None:
        """Runs the content of a file as code of an interpreter. `taken_in`: by other code."""
        words = code_sources.words_of_file(file.text, program.name)
        name = "node" if program.name == "deno" else program.name  # its own options are not those of a text
        code = replace(
            program.with_words((name, *words), name, ()),
            stdin=StdinSource(file.text),
            redirects=(),
            assigns=(),
            origin=file,
        )
        source = code_sources.source(code)
        if source is None or (self.running is not None and not self._enters(file, code, taken_in=taken_in)):
            return
        before, self.here = self.here, file
        outer, state.work = state.work, self.running.work if self.running is not None else state.work
        flaws: set[Flaw] = {"long"} if len(file.text) > code_sources.MAX_FILE_CODE else set()
        try:
            state.work.spend(CODE_FILE + len(source[1]) / CODE_CHARACTERS)
            self.noted(code)
            self._commands_in(source, code, state)
            if file.made and not taken_in and not code_sources.is_parsed(program.name):
                for _, text in quoted_commands.commands(source[1]):
                    self.inner_text(text, replace(code, piped=False, stdin=None), state.fork(program.name))
            folder = file.path.rpartition("/")[0]
            for path in _taken_in(source, folder):
                self._imported(path, program, state, folder)
        except (RunsFull, *FAILURES):
            flaws.add("intricate")
        self.here, state.work = before, outer
        if self.running is not None:
            self.running.leave(file, flaws)
        if file.made:
            self.made_flaws |= flaws
            self.flaws |= flaws

    def _enters(self, file: FilePlace, program: ProgramRun, *, taken_in: bool) -> bool:
        """Whether the code of a file is to be judged. A program reads each file once, however many take it in."""
        running = self.running
        if running is None or not running.enter(file, taken_in=taken_in):
            return running is None
        if not running.is_new_code(file, program, taken_in=taken_in):
            running.leave(file, ())
            return False
        return True

    def _commands_in(self, code: tuple[str, str], program: ProgramRun, state: ShellState) -> None:
        if self.running is not None and not is_away(program):
            later = served_folders.of_code(code[1])
            self.running.feeds(later.opened, program.name, program.cwd)
            for pattern in later.listed:
                self.running.may_load(located(pattern, program.cwd), program.name)
            self.running.later.goes_on = self.running.later.goes_on or later.leaves_programs
        try:
            self.acts_of_code(code[1], code[0], replace(program, stdin=None if program.origin else program.stdin), state)
        except TooIntricate:
            code_sources.leave_unread(program)
            raise

    def code(self, program: ProgramRun, state: ShellState) -> None:
        """Shell commands in the code of an interpreter, or in the input of a database client; the files that it runs."""
        if self.running is None:
            self._code(program, state)
            return
        for pattern, runner in served_folders.loaded(program):
            self.running.may_load(pattern, runner)
        again = served_folders.begins_again(program)
        self.running.later.loops += again
        try:
            self._code(program, state)
        finally:
            self.running.later.loops -= again

    def _code(self, program: ProgramRun, state: ShellState) -> None:
        if program.name in sql.CLIENTS:
            self._client(program, state)
            self._statement_files(program, state)
            return
        self._run_fed_code(program, state)
        if source := code_sources.source(program):
            self._commands_in(source, program, state)
            if self.running is not None and not is_away(program):
                self._taken_in(source, program, state)
            if not code_sources.may_run_script(program):
                return
        if (module := code_files.module(program)) and (every := self.specials.get(EVERY)):
            places = range(len(program.argv) - len(module), len(program.argv))
            every(self, program.with_words(module, module[0], places), state)
        for word in code_files.scripts(program):
            self.will_run(word, program)
            for file in self._scripts_at(word, program, state):
                self.run_code(file, program, state)
        if not code_sources.is_script(program):
            self.will_run_input(program)
            for file in self.fed_files(program):
                self.run_code(file, program, state)

    def _run_fed_code(self, program: ProgramRun, state: ShellState) -> None:
        """Runs the files that reach a program as its script, or as code in its words."""
        for feed in (*code_sources.fed_scripts(program), *code_sources.fed_code(program)):
            for file in self.passed_on(feed, program):
                self.run_code(file, program, state)

    def _taken_in(self, code: tuple[str, str], program: ProgramRun, state: ShellState) -> None:
        """The files that code on the command line takes in."""
        for path in _taken_in(code, ""):
            self._imported(path, program, state)
        for word in code_files.scripts(program, only_loaded=True):
            self._imported((word,), program, state)

    def _statement_files(self, program: ProgramRun, state: ShellState) -> None:
        """What a database client reads from files."""
        for file in self.fed_files(program):
            self._fed_with(program, file, state)
        names = [*statement_files.named(program), *statement_files.taken_in((*program.argv[1:], self.fed(program) or ""))]
        seen, count = set[str](), 0
        while names and len(seen) < statement_files.MAX_NAMES and not is_away(program):
            name = names.pop(0)
            if name in seen:
                continue
            seen.add(name)
            if (there := self._written_or_there(name, program)) is None:
                continue
            count += 1
            if count > statement_files.MAX_FILES:
                break
            if self._fed_with(program, there, state):
                names += statement_files.taken_in((there.text,))
        if names and not is_away(program):
            self.flaws.add("long")

    def _written_or_there(self, name: str, program: ProgramRun) -> FilePlace | None:
        """The file that this command wrote under a name, or the one on this machine."""
        text = self.written.run_text(name, program.cwd)
        return self.file_at(name, program) if text is None else FilePlace(name, located(name, program.cwd), text, made=True)

    def _fed_with(self, program: ProgramRun, file: FilePlace, state: ShellState) -> bool:
        """Once for each client: a command may name the same file a thousand times. Returns whether this was the first."""
        if (key := (program.name, file.path, file.text)) in self.fed_to:
            return False
        self.fed_to.add(key)
        state.work.spend(len(file.text) / STATEMENTS)
        self.noted(
            replace(
                program.with_words(program.argv[:1], places=()),
                stdin=StdinSource(file.text),
                redirects=(),
                assigns=(),
                origin=file,
            )
        )
        return True

    def _imported(self, candidates: tuple[str, ...], program: ProgramRun, state: ShellState, folder: str = "") -> None:
        """The first of these files that is there, as part of the code. `folder`: of the file with that code."""
        for path in candidates:
            if (text := self.written.text(path, program.cwd)) is not None:
                self.run_code(FilePlace(path, path, text, made=True), program, state, taken_in=True)
                return
            if self.running is None or (code_files.is_unlikely(path) and not self.running.is_made_at(path, program.cwd)):
                continue
            if file := self.running.text(path, program.cwd, sure=False):
                self.run_code(file, program, state, taken_in=True)
                return
        names = tuple(path.removeprefix(f"{folder}/") for path in candidates) if folder else candidates
        if file := self._searched_for(names, program, state):
            self.run_code(file, program, state, taken_in=True)

    def _scripts_at(self, word: str, program: ProgramRun, state: ShellState) -> list[FilePlace]:
        """The files with code that a word names: what this command wrote, else what lies there, else what is found."""
        if (text := self.written.run_text(word, program.cwd)) is not None:
            return [FilePlace(word, word, text, made=True)]
        if places := self.files_at(word, program):
            return places
        file = self._searched_for((word,), program, state)
        return [file] if file else []

    def _searched_for(self, candidates: tuple[str, ...], program: ProgramRun, state: ShellState) -> FilePlace | None:
        """The module that an agent put where variables or options have the interpreter look."""
        for folder in code_files.searched(program, state.variables):
            for path in candidates:
                if self.running is not None and self.running.is_made_at(f"{folder}/{path}", program.cwd):
                    return self.running.text(f"{folder}/{path}", program.cwd)
        return None

    def acts_of_code(self, code: str, language: str, program: ProgramRun, state: ShellState) -> None:
        """What the code of an interpreter does with programs."""
        before = kept_code.steps()
        is_new = (language, code) not in self.charged
        self.charged.add((language, code))
        if is_new and self.here is None and language in code_sources.READERS:
            state.work.spend_at_once(language_catalogue.known(language).steps * len(code))
        parsed = interpreters.reading(code, language)
        if self.here is not None:  # what was read when it was written costs nothing any more
            state.work.spend(kept_code.steps() - before)
        elif parsed is not None and is_new:
            state.work.spend(parsed.steps)
        if parsed is not None and parsed.deeds:
            self._deeds(parsed, state.fork(program.name), program.stdin)
        if parsed is None or not parsed.whole:
            is_left_out = len(code) > code_sources.MAX_CODE or (parsed is not None and parsed.is_cut)
            if is_left_out and (self.here is None or self.here.made):
                self.flaws.add("long")  # neither was it followed to its end, nor is all of it searched
            for text in code_commands.commands(code, language):
                self.inner_text(text, replace(program, piped=False), state.fork(program.name))

    def _deeds(self, parsed: CodeReading, state: ShellState, stdin: StdinSource | None) -> None:
        for deed in parsed.deeds:
            if deed.kind or not (deed.text or deed.argv):
                continue
            first = len(self.runs)
            self._start(deed, state, stdin)
            if deed.within is not None:
                self.runs[first:] = [_filled(program, deed.within) for program in self.runs[first:]]

    def _start(self, deed: Deed, state: ShellState, stdin: StdinSource | None) -> None:
        """Runs the command or the program that code starts."""
        inner = state if deed.argv[:1] == ("cd",) else state.fork()
        inner.cwd = located(deed.cwd, state.cwd) if deed.cwd else inner.cwd
        self.pipelines += 1
        feed = stdin if deed.feed == INPUT else deed.feed
        if deed.text:
            self.text(deed.text, inner, feed, piped=False, pipeline=self.pipelines)
        else:
            name = program_name(deed.argv[0])
            program = ProgramRun(deed.argv, name, inner.via, redirects=deed.redirects, stdin=feed, cwd=inner.cwd)
            self.run(replace(program, pipeline=self.pipelines), inner)

    def _client(self, program: ProgramRun, state: ShellState) -> None:
        for word in (*program.argv[1:], known_text(program.stdin) or ""):
            for text in sql_meta_commands.started(word):
                self.inner_text(text, replace(program, piped=False), state.fork(program.name))
