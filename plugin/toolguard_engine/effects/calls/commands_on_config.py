"""What the programs of a command make of the gateway's config file, one after the other."""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import asked_settings
from toolguard_engine.effects.calls.known_config import (
    CHANGING,
    NOT_KNOWN,
    NOT_WORKED_OUT,
    ConfigChange,
    ConfigContent,
    Expected,
    KnownConfig,
    may_be,
)
from toolguard_engine.effects.commands import code_sources, in_place_edits, scripted_edits
from toolguard_engine.effects.control_plane import evaluated_script, jq_programs, python_settings, setting_changes
from toolguard_engine.effects.control_plane.setting_changes import ChangedSetting
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs.wrappers import AWAY
from toolguard_engine.host import json5_text
from toolguard_engine.model.call import Host
from toolguard_engine.model.files import FileSource

MAX_PROGRAMS = 300
"""Programs of a command; what one with more of them makes of the config is not worked out."""

_COPIERS = frozenset().union(*map(manual_catalogue.aliases, ("cp", "mv", "install")))
_FEEDERS = frozenset({"cat", "tee", "sponge"})
_REWRITERS = jq_programs.PROGRAMS | program_catalogue.programs("sed", "awk")
"""Programs that print a file in other words: the text that is known of it is only what may be in it."""

_OUTPUT = frozenset({"", "1"})
_QUIET = (
    program_catalogue.programs("path_reader")
    | jq_programs.PROGRAMS
    | _COPIERS
    | frozenset(
        {
            "sponge",
            "tee",
            "mkdir",
            "chmod",
            "rm",
            "mktemp",
            "printf",
            "sed",
            "gsed",
            "set",
            "export",
            "exit",
            "openclaw",
            ":",
        }
    )
)
"""Programs that change no files but those that their effects name."""


def of_commands(
    readings: tuple[Reading, ...],
    effects: tuple[tuple[Effect, ...], ...],
    host: Host,
    where: Where,
    files: FileSource,
    expected: Expected,
    commands: tuple[str, ...],
) -> ConfigChange | None:
    """What `commands` make of the config. None if they do not change the config."""
    may_change, may_ask = _may_change_file(effects, host), asked_settings.may_ask(commands)
    if not may_change and not may_ask:
        return None
    config = KnownConfig(host, where, files, expected)
    asked = asked_settings.of_commands(readings, config) if may_ask else None
    of_files = _of_files(readings, effects, config, where, commands) if may_change else None
    if asked is None or of_files is None or of_files.settings is None or of_files.broken:
        return asked if of_files is None else of_files
    guards = setting_changes.guards((*of_files.settings, *(asked.settings or ())))
    return ConfigChange(tuple(guards)) if guards else NOT_WORKED_OUT


def _may_change_file(effects: tuple[tuple[Effect, ...], ...], host: Host) -> bool:
    """A quick look whether it is the config's file."""
    for acts in effects:
        for effect in acts:
            if effect.kind in CHANGING and may_be(effect.target, host):
                return True
    return False


def _of_files(
    readings: tuple[Reading, ...],
    effects: tuple[tuple[Effect, ...], ...],
    config: KnownConfig,
    where: Where,
    commands: tuple[str, ...],
) -> ConfigChange | None:
    """What programs make of the file, besides what they ask the gateway for."""
    if sum(len(reading.runs) for reading in readings) > MAX_PROGRAMS:
        return NOT_WORKED_OUT
    asked: list[ConfigChange] = []
    evaluated: set[int] = set()
    for reading, done in zip(readings, effects, strict=True):
        trace = _Trace(reading, done, config, where)
        asked += trace.results()
        evaluated |= trace.evaluated
    if not asked:
        return None
    if broken := next((change for change in asked if change.broken), None):
        return broken
    if any(change.settings is None for change in asked) or not _is_plain(readings, commands, evaluated, config):
        guards = [
            change for setting_change in asked for change in setting_change.settings or () if change.effect.effect == "guard"
        ]
        return ConfigChange(tuple(guards)) if guards else NOT_WORKED_OUT
    changes = (change for setting_change in asked for change in setting_change.settings or ())
    return ConfigChange(tuple({(change.path, change.shown): change for change in changes}.values()))


_STEPS = frozenset({"jq", "mv", "cp", "cat", "sponge", "mktemp", "cd"})
_SYSTEM = lazy_re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew)?/bin/)?[\w.-]+")
_QUOTED = lazy_re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_REDEFINED = lazy_re.compile(r"\bPATH\b|\balias\b|\bhash\b|\(\s*\)|\bfunction\b|\benable\b|\bLD_|\bset\b|\btrap\b")
"""What may have a name of a program, or the end of a command, mean something else."""


def _is_plain(readings: tuple[Reading, ...], commands: tuple[str, ...], evaluated: set[int], config: KnownConfig) -> bool:
    """Whether nothing but the programs that are listed can have come between a text that is known and the config.

    One program that writes the text itself; or a few that hand it on, each only if the one before it has not failed. What a
    script makes of the config is certain only if it was followed to the end: it may fail when it has emptied the file.
    """
    runs = [program for reading in readings for program in _own_runs(reading, evaluated) if not _only_assigns(program)]
    if len(readings) != 1 or any(
        program.origin is not None or (_is_python(program) and id(program) not in evaluated) for program in runs
    ):
        return False
    if not all(_SYSTEM.fullmatch(program.argv[0]) for program in runs) or _REDEFINED.search(_unquoted(commands[0], runs)):
        return False
    names = [program.name for program in runs if id(program) not in evaluated and not _copies_to_file(program, config)]
    return len(runs) == 1 or (
        _STEPS.issuperset(names)
        and sum(name in _COPIERS for name in names) <= 1
        and not any(program.assigns for program in runs)
        and _is_chained(readings[0])
    )


def _copies_to_file(program: ProgramRun, config: KnownConfig) -> bool:
    """Whether it copies one file to a name that is no folder's, and does nothing else."""
    if program.name != "cp" or program.argv[1:] != tuple(program.words.texts) or UNKNOWN in program.argv[-1]:
        return False
    target = config.whole(program.argv[-1], program.cwd)
    is_file = config.is_absent(target) or config.text_of(target) is not None
    return is_file and len(program.argv) == 3  # noqa: PLR2004 - cp FROM TO


def _unquoted(text: str, runs: list[ProgramRun]) -> str:
    """A command without its quoted texts, and without its here-documents, which are whole lines."""
    texts = (redirect.target for program in runs for redirect in program.redirects if redirect.kind == "text")
    for given in (piece for piece in texts if piece.endswith("\n")):
        text = text.replace(f"\n{given}", "\n", 1)
    return _QUOTED.sub("", text)


def _is_python(program: ProgramRun) -> bool:
    return code_sources.language(program.name) == "python"


def _own_runs(reading: Reading, evaluated: set[int]) -> list[ProgramRun]:
    """The programs without those that stand for what a script does that is followed to the end."""
    programs: list[ProgramRun] = []
    is_followed = False
    for program in reading.runs:
        if not (is_followed and program.via and _is_python_name(program.via[-1])):
            programs.append(program)
            is_followed = id(program) in evaluated if _is_python(program) else is_followed
    return programs


def _is_python_name(name: str) -> bool:
    return code_sources.language(name) == "python"


def _is_chained(reading: Reading) -> bool:
    """Whether, behind the first program that writes a file, each runs only if the one before it has not failed."""
    first = next((program.pipeline for program in reading.runs if _redirected(program)), None)
    return first is None or reading.loose.isdisjoint(range(first + 1, max(program.pipeline for program in reading.runs) + 1))


def _only_assigns(program: ProgramRun) -> bool:
    """Whether it is no program, but `T=$(mktemp)`."""
    return (
        program.argv == (":",)
        and bool(program.assigns)
        and not program.redirects
        and all(name != "PATH" for name, *_ in program.assigns)
    )


def _redirected(program: ProgramRun) -> list[str]:
    """The files that its output and its errors go to."""
    return [
        redirect.target
        for redirect in program.redirects
        if redirect.kind in ("write", "append") and not _NOWHERE.fullmatch(redirect.target)
    ]


def _read(program: ProgramRun) -> list[str]:
    return [redirect.target for redirect in program.redirects if redirect.kind == "read" and redirect.fd in ("", "0")]


_NOWHERE = lazy_re.compile(r"/dev/(?:null|stderr|stdout)|&?[12]|")


class _Trace:
    """What a command puts into files, program by program."""

    def __init__(self, reading: Reading, effects: tuple[Effect, ...], config: KnownConfig, where: Where) -> None:
        self._reading = reading
        self._config = config
        self._where = where
        self._written = {normal(path, where): text for path, text in reading.written}
        self._times = [normal(path, where) for path, _ in reading.written]
        self._of_run: dict[int, list[Effect]] = {}
        for effect in effects:
            if effect.program is not None and effect.kind in CHANGING and AWAY.isdisjoint(effect.program.via):
                self._of_run.setdefault(id(effect.program), []).append(effect)
        self._contents: dict[str, ConfigContent] = {}
        self._piped: dict[int, ConfigContent] = {}
        """What goes through a pipe, by pipeline."""
        self.evaluated: set[int] = set()
        """The ids of programs whose scripts are followed to the end, and of those that stand for what they do."""

        self._scripts: dict[int, dict[str, str] | None] = {}
        self._is_spoiled = False
        """Whether a program has run that may have changed any file."""

    def results(self) -> list[ConfigChange]:
        changes: list[ConfigChange] = []
        for program in self._reading.runs:
            code = self._script(program)
            output = self._output(program)
            contents: list[ConfigContent] = []
            for effect in self._of_run.get(id(program), ()):
                content = self._content(program, effect, self._path(effect.target, program), output, code)
                contents.append(content)
                changes += self._take(program, effect, content)
            self._piped[program.pipeline] = output if not _redirected(program) else NOT_KNOWN
            is_quiet = program.name in _QUIET or program.argv == ("cat",) or code is not None
            is_known = bool(contents) and NOT_KNOWN not in contents and code_sources.source(program) is not None
            self._is_spoiled = self._is_spoiled or not (is_quiet or is_known)
        return changes

    def _take(self, program: ProgramRun, effect: Effect, content: ConfigContent) -> list[ConfigChange]:
        """Remembers what a program writes to another file; the change if the file is the config."""
        if self._config.is_it(effect.target, program.cwd):
            return [self._config.judged(content) if program.origin is None else NOT_WORKED_OUT]
        if effect.kind == "write":
            path = self._path(effect.target, program)
            self._contents[path] = NOT_KNOWN if path in self._contents else content
        return []

    def _path(self, target: str, program: ProgramRun) -> str:
        return normal(target, self._where, program.cwd)

    def _script(self, program: ProgramRun) -> python_settings.Script | None:
        """What the Python script does that this program is, or that runs it."""
        source = code_sources.source(self._script_around(program))
        if source is None or source[0] != "python" or UNKNOWN in source[1]:
            return None
        return python_settings.read(source[1])

    def _evaluated(self, program: ProgramRun) -> dict[str, str] | None:
        """The files that the Python script writes that this program is, or that runs it; None if that is not known."""
        around = self._script_around(program)
        if program.via and _is_python_name(program.via[-1]):
            around = next((other for other in reversed(self._before(program)) if other.name == program.via[-1]), program)
        if id(around) not in self._scripts:
            self._scripts[id(around)] = self._evaluate(around)
        variables = self._scripts[id(around)]
        if variables is not None:
            self.evaluated |= {id(around), id(program)}
        return variables

    def _evaluate(self, program: ProgramRun) -> dict[str, str] | None:
        source = code_sources.source(program)
        if source is None or source[0] != "python" or UNKNOWN in source[1] or program.assigns or self._is_spoiled:
            return None
        beside = (self._path(f"{name}{end}", program) for name in evaluated_script.MODULES for end in ("", ".py"))
        if not all(map(self._config.is_absent, beside)):
            return None
        return evaluated_script.results(
            source[1],
            self._config.home,
            lambda path: self._config.whole(path, program.cwd),
            lambda path: self._lying_at(path, program).text,
        )

    def _script_around(self, program: ProgramRun) -> ProgramRun:
        """The program that changes a file: what code writes is shown as a `cat` that the interpreter starts."""
        if program.argv != ("cat",) or not program.via:
            return program
        return next((other for other in reversed(self._before(program)) if other.name == program.via[-1]), program)

    def _before(self, program: ProgramRun) -> tuple[ProgramRun, ...]:
        at = next(at for at, other in enumerate(self._reading.runs) if other is program)
        return self._reading.runs[:at]

    def _output(self, program: ProgramRun) -> ConfigContent:
        """What a program prints."""
        if program.name in jq_programs.PROGRAMS and (output := jq_programs.changes(program)) is not None:
            changes, files = output
            return self._with(changes, self._inputs(program, files))
        if program.name in ("cat", "tee", "sponge") or (program.argv[1:3] == ("-m", "json.tool")):
            words = program.words if program.name == "cat" else option_parser.read_words("json.tool", program.argv[2:])
            return self._inputs(program, words.texts if program.name not in ("tee", "sponge") else ())
        return NOT_KNOWN

    def _inputs(self, program: ProgramRun, files: tuple[str, ...]) -> ConfigContent:
        """What a program reads: a file, or its input."""
        if len(files) > 1:
            return NOT_KNOWN
        read = _read(program)
        if files or read:
            return self._lying_at((files or tuple(read))[0], program)
        return self._piped.get(program.pipeline, NOT_KNOWN) if program.stdin is not None else NOT_KNOWN

    def _lying_at(self, path: str, program: ProgramRun) -> ConfigContent:
        full = self._path(path, program)
        if self._is_spoiled:
            return NOT_KNOWN
        if full in self._contents:
            return self._contents[full]
        if self._config.is_it(path, program.cwd):
            return ConfigContent(changes=(), text=self._config.text())
        return ConfigContent(text=self._config.text_of(full)) if UNKNOWN not in full else NOT_KNOWN

    @staticmethod
    def _with(changes: tuple[ChangedSetting, ...], content: ConfigContent) -> ConfigContent:
        return ConfigContent(changes=(*content.changes, *changes)) if content.changes is not None else NOT_KNOWN

    def _content(
        self, program: ProgramRun, effect: Effect, path: str, output: ConfigContent, code: python_settings.Script | None
    ) -> ConfigContent:
        """What a file contains when this program has written it."""
        if effect.kind != "write" or "append" in effect.flags or program.via[-1:] in (("xargs",), ("find",), ("parallel",)):
            return NOT_KNOWN
        if (evaluated := self._evaluated(program)) is not None:
            return ConfigContent(text=evaluated.get(self._config.whole(path)))
        if code is not None:
            return self._of_script(code, path)
        if (program.name in _COPIERS) and (source := self._copied(program)) is not None:
            return source
        is_shell = program.argv != ("cat",) or not program.via
        if is_shell and ("truncates" in effect.flags or program.name in _FEEDERS):
            redirects = _redirected(program)
            if redirects and (len(redirects) > 1 or self._path(redirects[0], program) != path):
                return NOT_KNOWN
            if output != NOT_KNOWN:
                is_read = self._config.is_it(effect.target, program.cwd) and program.name != "sponge"
                return ConfigContent(text="") if is_read and self._reads_config(program) else output
            is_copy = program.name == "cat" and bool(program.words.texts)
            if self._times.count(path) == 1 and program.name not in _REWRITERS and not is_copy:
                return ConfigContent(text=self._written[path])
            return NOT_KNOWN
        text = self._contents[path].text if path in self._contents else self._config.text_of(path)
        if text is None or UNKNOWN in path or self._is_spoiled:
            return NOT_KNOWN
        program = self._script_around(program)
        edited = in_place_edits.edited(program, text)
        return ConfigContent(text=scripted_edits.edited(program, text, path) if edited is None else edited)

    def _reads_config(self, program: ProgramRun) -> bool:
        """Whether its pipeline reads the config, which it empties first."""
        pipeline = (run for run in self._reading.runs if run.pipeline == program.pipeline)
        return any(
            self._config.is_it(word, member.cwd)
            for member in pipeline
            for word in (*(word for word in member.argv[1:] if "/" in word or "." in word), *_read(member))
            if UNKNOWN not in word and "\n" not in word
        )

    def _of_script(self, code: python_settings.Script, path: str) -> ConfigContent:
        if path not in {normal(file, self._where) for file in code.written}:
            return NOT_KNOWN
        if code.whole is not None:
            return ConfigContent(text=json5_text.encoded(code.whole))
        source = self._contents.get(normal(code.source, self._where))
        if source is None and self._config.is_it(code.source):
            source = ConfigContent(changes=())
        return self._with(code.changes, source or NOT_KNOWN)

    def _copied(self, program: ProgramRun) -> ConfigContent | None:
        if len(program.readings) != 1:
            return None
        sources = program.readings[0].named("source")
        return self._lying_at(sources[0].text, program) if len(sources) == 1 else None
