"""Finds the files of this machine that programs run."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import islice
from shlex import quote

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources, guesses, interpreters
from toolguard_engine.effects.commands.walk_state import MAX_WRAPPED, WalkState, is_away
from toolguard_engine.effects.commands.written_files import last_part
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, FilePlace, ProgramRun, StdinSource
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.programs.wrappers import SHELLS, WRAPPERS
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.model.lazy import FAILURES

RUN_PACKAGES = program_catalogue.programs("package_program_runner")
_FINDERS = program_catalogue.programs("file_finder", "list_runner")
_SYSTEM_PATHS = ("/usr/", "/bin", "/sbin", "$PATH", UNKNOWN)
_PASSING = program_catalogue.programs("file_printer")
_SAYING = program_catalogue.programs("output_passer")
_NAMES_NOTHING = frozenset({"echo", "printf"}) | program_catalogue.programs("list_runner")
"""Print their own words, which are known, or hand on those of others."""

_PRINTS_NAMES = program_catalogue.programs("file_finder") | {"ls", "tree", "du"}
"""Print the names of files, and nothing that stands in them."""

_BETWEEN_NAMES = lazy_re.compile(r"[\s\"'`,:;|=<>()\[\]{}]+")
_SHELL_LIKE = SHELLS | program_catalogue.programs("sourcer")
MAX_SOURCES = 12
"""Programs that may have printed what another one runs."""

MAX_LISTED = 200
"""Lines of a file that are taken for names of files."""

MAX_NAMES = 2_000
"""Words of a file of which it is asked whether they name files of agents."""

MAX_FED = 16
"""Files that are read from one input."""


def is_interpreter(name: str) -> bool:
    """Whether a name with a version is that of an interpreter: `python3.12`, `node@22`."""
    return ("@" in name and bool(code_sources.language(name))) or (
        name[-1].isdigit() and INTERPRETER.fullmatch(name) is not None
    )


def _shebang(text: str) -> str:
    """The interpreter in the first line of a script, if it is not a shell; else empty."""
    words = text[2:200].partition("\n")[0].split() if text[:2] == "#!" else []
    named = option_parser.plain(("#!", *words)).texts
    name = next((base for word in named if (base := last_part(word)) != "env"), "")
    return "" if name in SHELLS or UNKNOWN in name else name


def _may_be_path(word: str) -> bool:
    return word.strip("./") not in ("", UNKNOWN)


class FileWalk(WalkState):
    """Walks the shell scripts that programs run from files."""

    def _own(self, program: ProgramRun, state: ShellState) -> str | None:
        """The content of a program that this command wrote itself, or the text that its unknown name was derived from."""
        word = program.argv[0]
        if program.given and program.given[0][0] == 0 and word == UNKNOWN and (was := program.given[0][1].was):
            return " ".join((was.rstrip("\n"), *map(quote, program.argv[1:])))
        if not self.written.texts:
            return None
        if "/" in word or UNKNOWN in word or guesses.is_open(word):
            return self.written.run_text(word, program.cwd)
        if "PATH" in state.variables or any(variable == "PATH" for variable, _ in program.assigns):
            return next((text for place, text in self.written.texts.items() if last_part(place) == word), None)
        return None

    def _program_files(self, program: ProgramRun) -> list[FilePlace]:
        """The scripts on this machine that are started by their path, which may have wildcards."""
        if self.running is None or is_away(program):
            return []
        if not program.argv[0].replace(UNKNOWN, "").strip("./") and _FINDERS.isdisjoint(program.via):
            return self._files_listed(self._lists_of_name(program), program.cwd)
        name = program.name
        known_name = name in self.specials or name in WRAPPERS or name in interpreters.PROGRAMS or is_interpreter(name)
        word = program.argv[0]
        if word.endswith(UNKNOWN) and not _FINDERS.isdisjoint(program.via):
            word = f"{word[: -len(UNKNOWN)] or './'}**"
        meant = self.running.meant(word, program.cwd) if GLOB.search(word) else ()
        places = (self.running.program(operand, program.cwd, known=known_name) for operand in meant or (program.argv[0],))
        return [place for place in places if place is not None]

    def _lists_of_name(self, program: ProgramRun) -> list[str]:
        """The files that the unknown name of a program may come from: `read f < list; $f`, `./$(cat list)`."""
        if self.running is None or 0 in program.unset:
            return []
        feeds = (feed for at, feed in program.given if at == 0)
        return list(dict.fromkeys((*self.running.later.in_variables, *(path for feed in feeds for path in feed.files))))

    def _on_path(self, program: ProgramRun, state: ShellState) -> list[FilePlace]:
        """The script that an agent put where the command looks for programs."""
        variable = str(dict(program.assigns).get("PATH") or state.variables.get("PATH", ""))
        if self.running is None or is_away(program):
            return []
        folders = variable.split(":")[:MAX_FED] if variable else []
        if not RUN_PACKAGES.isdisjoint(program.via):
            folders += [f"{folder}/node_modules/.bin" for folder in self.running.above(program.cwd)]
        for folder in folders:
            path = f"{folder or '.'}/{program.argv[0]}"
            if self.running.later.loops and not folder.startswith(_SYSTEM_PATHS):
                self.will_run(path, program.with_words((path,)))
            if self.running.is_made_at(path, program.cwd):
                return list(filter(None, (self.running.text(path, program.cwd),)))
        return []

    def will_run(self, word: str, program: ProgramRun) -> None:
        """A script is run by its name. In a file that no agent made, that is ordinary."""
        if self.running is not None and not is_away(program) and (self.here is None or self.here.made):
            is_own_path = word == program.argv[0]
            runner = "" if is_own_path else program.name
            self.running.will_run(word, program.cwd, runner, line_by_line=is_own_path or program.name in _SHELL_LIKE)
            is_written = bool(self.written.texts) and self.written.text(word, program.cwd) is not None
            if is_written or self.running.has_copied:
                self.running.may_lie_there(word, program, is_written=is_written)

    def will_run_all(self, paths: tuple[str, ...], program: ProgramRun) -> None:
        """The same for files that a program reads by itself, which this command does not write; `paths`: absolute ones."""
        if self.running is not None and (self.here is None or self.here.made):
            self.running.will_run_all(paths, program, line_by_line=program.name in _SHELL_LIKE)

    def will_run_input(self, program: ProgramRun) -> None:
        """The same of files that are run through the standard input."""
        self.will_run_made(program)
        if program.stdin is not None and _PASSING.issuperset(program.stdin.programs):
            for path in program.stdin.files[:MAX_FED]:
                self.will_run(path, program)

    def will_run_made(self, program: ProgramRun) -> None:
        """A program runs its input, or a word that other programs have printed: the files that these may have read."""
        if self.running is None or is_away(program):
            return
        feeds = [
            feed for feed in (program.stdin, *(source for _, source in program.given)) if feed is not None and feed.programs
        ]
        files = [path for feed in (*feeds, program.stdin) if feed is not None for path in feed.files]
        for run in self.runs[-MAX_SOURCES:] if feeds else ():
            if (run.piped and run.pipeline == program.pipeline) or "$()" in run.via[len(program.via) :]:
                files += run.words.arguments
        if program.name.startswith(UNKNOWN) or program.name == "eval" or UNKNOWN in program.argv:
            files += self.running.later.in_variables
        self.running.feeds(list(dict.fromkeys(files)), program.name, program.cwd)

    def file_at(self, path: str, program: ProgramRun) -> FilePlace | None:
        """A file on this machine that a program runs."""
        return None if self.running is None or is_away(program) else self.running.text(path, program.cwd)

    def files_at(self, word: str, program: ProgramRun) -> list[FilePlace]:
        """The files that a word names, which may have wildcards."""
        if self.running is None or not (UNKNOWN in word or GLOB.search(word)):
            return [file] if (file := self.file_at(word, program)) else []
        if is_away(program):
            return []
        if not word.replace(UNKNOWN, "").strip("./"):
            return self._files_named_by_others(program)
        if word.endswith(UNKNOWN) and not _FINDERS.isdisjoint(program.via):  # `find x -exec sh {} +`
            word = f"{word[: -len(UNKNOWN)]}**"
        return self._files_meant(word, program.cwd)

    def _files_meant(self, pattern: str, cwd: str) -> list[FilePlace]:
        """The files that agents made and that a pattern means."""
        running = self.running
        paths = running.meant(pattern, cwd) if running is not None else []
        return [file for path in paths if running is not None and (file := running.text(path, cwd))]

    def _files_named_by_others(self, program: ProgramRun) -> list[FilePlace]:
        """The files of agents that a word may name which other programs print, as in `find x -type f | xargs sh`: those that
        the words of these programs mean, and those below the folders that they name, or below the folder where they run."""
        if self.running is None or self.running.was_empty or is_away(program):
            return []
        named: dict[str, FilePlace] = {}
        for file in self._files_listed(list(self.running.later.in_variables), program.cwd):
            named[file.path] = file
        for printer in self._printers(program):
            names = [value.text for value in printer.words.values("-name", "-iname")]
            words = [word for word in printer.words.arguments if word not in names and _may_be_path(word)]
            meant = [file for word in words for file in self._files_below(word, printer.cwd)]
            if printer.name in _PASSING:  # a list of names
                meant = self._files_listed([file.path for file in meant], printer.cwd)
            elif meant and printer.name not in _PRINTS_NAMES:
                meant += self._files_listed(words, printer.cwd)
            elif not meant and not any("/" in word or GLOB.search(word) for word in words):
                meant = self._files_meant("./**", printer.cwd)
            for file in meant:
                if not names or any(fnmatchcase(last_part(file.path), name) for name in names):
                    named[file.path] = file
        return list(named.values())

    def _files_listed(self, lists: list[str], cwd: str) -> list[FilePlace]:
        """The files whose names stand in lists that agents made: in lines of their own, or as words in any notation."""
        running, places = self.running, list[FilePlace]()
        for list_file in lists:
            path = running.path(list_file, cwd) if running is not None else ""
            if (
                running is None
                or not path
                or not running.is_made(path)
                or (file := running.text(path, cwd, sure=False)) is None
            ):
                continue
            lines = [line.strip() for line in file.text.splitlines()[:MAX_LISTED]]
            words = dict.fromkeys(filter(None, _BETWEEN_NAMES.split(file.text)))
            running.work.spend(len(words))
            if len(words) > MAX_NAMES:
                self.flaws.add("long")
            made = [word for word in islice(words, MAX_NAMES) if (at := running.path(word, cwd)) and running.is_made(at)]
            places += [file for name in dict.fromkeys((*lines, *made)) if (file := running.text(name, cwd, sure=False))]
        return places

    def _files_shown_by_others(self, program: ProgramRun) -> list[FilePlace]:
        """The files that the words of programs mean whose output runs, as in `grep . x | sh`."""
        words = dict.fromkeys((word, printer.cwd) for printer in self._printers(program) for word in printer.words.arguments)
        return [file for word, cwd in words for file in self._files_below(word, cwd, deep=False)]

    def _printers(self, program: ProgramRun) -> Iterator[ProgramRun]:
        """The programs that may have printed what another one runs, or that find it."""
        for run in self.runs[-MAX_SOURCES:]:
            is_around = run.name in program.via
            is_printer = run.name in _FINDERS if is_around else run.piped or "$()" in run.via
            if is_printer and run.name not in _NAMES_NOTHING:
                yield run

    def _files_below(self, word: str, cwd: str, *, deep: bool = True) -> list[FilePlace]:
        """The files of agents that a word means, and those in a folder that it means if `deep`."""
        if self.running is None:
            return []
        if GLOB.search(word):
            places = self._files_meant(word, cwd)
        else:
            file = self.running.text(word, cwd) if self.running.is_made_at(word, cwd) else None
            places = [] if file is None else [file]
        return places or (self._files_meant(f"{word}/**", cwd) if deep else [])

    def fed_files(self, program: ProgramRun) -> list[FilePlace]:
        """The files that reach a program as they are: `sh < x`, `cat x | sh`."""
        return self.passed_on(program.stdin, program)

    def given_files(self, program: ProgramRun, at: int) -> list[FilePlace]:
        """The same for a word: `sh -c "$(cat x)"`, `sh <(cat x)`."""
        return self.passed_on(next((feed for position, feed in program.given if position == at), None), program)

    def passed_on(self, feed: StdinSource | None, program: ProgramRun) -> list[FilePlace]:
        if self.running is None or feed is None or feed.text is not None:
            return []
        if not _PASSING.issuperset(feed.programs):
            is_shown = _SAYING.issuperset(feed.programs) and not self.running.was_empty
            return self._files_shown_by_others(program) if is_shown else []
        if len(feed.files) > MAX_FED and (self.here is None or self.here.made):
            self.flaws.add("long")
        return [file for path in feed.files[:MAX_FED] for file in self.files_at(path, program)]

    def run_file(
        self,
        file: FilePlace,
        program: ProgramRun,
        state: ShellState,
        stdin: StdinSource | None = None,
        *,
        sourced: bool = False,
    ) -> StdinSource:
        """Runs the content of a file as shell commands, within limits of its own. `sourced`: in the shell that runs it."""
        running = self.running
        if running is None or not running.enter(file, sourced=sourced):
            return StdinSource(None, (program.name,))
        inner = type(self)(self.specials, running, file)
        inner.goes_on_from(self)
        outer, state.work = state.work, running.work
        try:
            feed = inner.text(file.text, state, stdin, piped=program.piped, pipeline=program.pipeline)
        except FAILURES:  # of `text` itself: a flaw of this file, as everything that fails in it
            inner.flaws.add("intricate")
            feed = StdinSource(None)
        state.work = outer
        running.leave(file, inner.flaws)
        self.pipelines = inner.pipelines
        self.runs += inner.runs
        self.takes_flaws(inner, inner.flaws if file.made else set())
        return feed

    def scripted(self, script: str | FilePlace, program: ProgramRun, inner: ShellState) -> StdinSource:
        """A script that is started by its name."""
        name = _shebang(script if isinstance(script, str) else script.text)
        if not name:
            inner.args = program.argv
            if not isinstance(script, str):
                return self.run_file(script, program, inner, program.stdin)
            if (UNKNOWN in program.argv[0] or guesses.is_open(program.argv[0])) and self._runs_already(script, inner):
                return StdinSource(None)
            return self.text(script, inner, program.stdin, piped=program.piped, pipeline=program.pipeline)
        if self.wrapped >= MAX_WRAPPED:
            self.flaws.add("deep")
            return StdinSource(None)
        self.wrapped += 1
        feed = self.run(program.with_words((name, *program.argv), name, range(-1, len(program.argv))), inner)
        self.wrapped -= 1
        return feed

    def _runs_already(self, text: str, state: ShellState) -> bool:
        """Whether this text is just being walked, and began with the same state. A program of which the name is not known
        may be any text that the command writes, the one that starts it as well: walking it again tells nothing new."""
        state.work.spend(1 + len(state.variables) / 32)
        return any(
            text == open_text and state.args == args and state.variables == variables
            for open_text, args, variables in self.open_texts
        )

    def unknown(self, program: ProgramRun, at: int) -> str:
        """A word that will be run as text; if it is unknown, after the text that it was derived from."""
        word = program.argv[at]
        was = next((feed.was for position, feed in program.given if position == at), None) if word == UNKNOWN else None
        return f"{was}\n{UNKNOWN}" if was else word
