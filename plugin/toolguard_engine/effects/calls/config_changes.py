"""What a call makes of the gateway's config, setting by setting, for every way of changing the file.

A change is known if the text that results is known, or if the program changes named settings and nothing else (`jq`, a
Python script). Of a text, the settings count that differ from those in the file that is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from msgspec import structs

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import in_place_edits, interpreters, scripted_edits
from toolguard_engine.effects.control_plane import jq_programs, python_settings
from toolguard_engine.effects.control_plane.setting_changes import ChangedSetting, differences
from toolguard_engine.effects.control_plane.verb_catalogue import PASSING
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.programs.wrappers import WRAPPERS
from toolguard_engine.host import json5_text
from toolguard_engine.model.call import Host
from toolguard_engine.model.files import FileSource, FileText

MAX_TEXT = 262_144
MAX_EDITS = 50
MAX_PROGRAMS = 300
"""Programs of a command; what one with more of them makes of the config is not worked out."""

_CHANGING = frozenset({"write", "delete", "empty", "move", "link", "owner", "permissions", "encrypt", "append", "discard"})
_COPIERS = frozenset({"cp", "gcp", "mv", "gmv", "install", "ginstall"})
_FEEDERS = frozenset({"cat", "tee", "sponge"})
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
_AWAY = frozenset(name for name, wrapper in WRAPPERS.items() if wrapper.away)
_PATCHES = program_catalogue.tools("patches")
_WRITERS = program_catalogue.tools("writes_file")
_WRITTEN = frozenset({"path", "file_path", "filePath", "content"})
_REPLACED = (("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str"))


Expected = Callable[[str], bool]
"""Whether another call of the same message may be writing a file."""


class ConfigChange(NamedTuple):
    """`settings`: those that get another value; None if that cannot be worked out. `broken`: why the gateway would not start
    with the result."""

    settings: tuple[ChangedSetting, ...] | None
    broken: str = ""


NOT_WORKED_OUT = ConfigChange(None)


class _Content(NamedTuple):
    """What a file contains: the config with these changes, or a text; nothing that is known without either."""

    changes: tuple[ChangedSetting, ...] | None = None
    text: str | None = None


_NOT_KNOWN = _Content()


class _Config:
    """The config of a host, and what is in it."""

    def __init__(self, host: Host, where: Where, files: FileSource, expected: Expected) -> None:
        protected = protected_paths.of(host)
        self.path = protected.config
        self._where = where
        self._host = host
        self._files = files
        self._expected = expected

    def is_it(self, path: str, cwd: str = "") -> bool:
        full = normal(path, self._where, cwd)
        return full.lower() == self.path.lower() or (
            full.lower().endswith(protected_paths.CONFIG_NAMES)
            and self._files.resolve(full) == self._files.resolve(self.path)
        )

    def text(self) -> str | None:
        return self.text_of(self.path)

    def text_of(self, path: str) -> str | None:
        if self._expected(path):
            return None
        found = self._files.read(path)
        return found.text if isinstance(found, FileText) else None

    def judged(self, content: _Content) -> ConfigChange:
        """What differs if this becomes the config."""
        if content.changes is not None:
            return ConfigChange(content.changes)
        if content.text is None:
            return NOT_WORKED_OUT
        try:
            new = json5_text.decoded(content.text.encode())
        except (ValueError, RecursionError):
            return ConfigChange(None, "it would not be JSON5")
        if not isinstance(new, dict):
            return ConfigChange(None, "it would not be an object")
        old = self._current()
        if old is not None:
            return ConfigChange(differences(old, new))
        if not _loads_guard(new):
            return ConfigChange((ChangedSetting(("plugins", "entries", "toolguard", "enabled")),))
        return NOT_WORKED_OUT

    def _current(self) -> Any:
        text = self.text()
        if text is None:
            return None
        try:
            found = json5_text.decoded(text.encode())
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None


def _loads_guard(config: dict[str, Any]) -> bool:
    """Whether the guard may still be loaded with it. An include may name it."""
    entry: Any = config
    for name in ("plugins", "entries", "toolguard"):
        if "$include" in entry:
            return True
        entry = entry.get(name)
        if not isinstance(entry, dict):
            return False
    return entry.get("enabled", True) is not False


def of_tool(
    tool: str,
    params: dict[str, Any],
    effects: Iterable[Effect],
    host: Host,
    where: Where,
    files: FileSource,
    expected: Expected,
) -> ConfigChange | None:
    """Of a tool that writes files. None if it does not change the config."""
    found = [each for each in effects if each.kind in _CHANGING and _may_be(each.target, host)]
    if not found:
        return None
    config = _Config(host, where, files, expected)
    ours = [each for each in found if config.is_it(each.target)]
    if not ours:
        return None
    if len(ours) > 1 or ours[0].kind != "write" or "deletes" in ours[0].flags:
        return NOT_WORKED_OUT
    return config.judged(_Content(text=_text_of_tool(tool, params, ours[0].target, config)))


def _may_be(path: str, host: Host) -> bool:
    """A quick look."""
    lower = path.lower()
    return lower.endswith(protected_paths.CONFIG_NAMES) or (
        bool(host.config_path) and lower.endswith(host.config_path.lower().rpartition("/")[2])
    )


def _text_of_tool(tool: str, params: dict[str, Any], path: str, config: _Config) -> str | None:
    if tool in _PATCHES:
        return _patched(str(params.get("input") or params.get("patch") or "")[:MAX_TEXT], path, config.text())
    content = params.get("content")
    edits = list(_edits(params))
    if isinstance(content, str) and not edits:
        return content if tool in _WRITERS and _WRITTEN.issuperset(params) else None
    text = config.text()
    for old, new in edits:
        if text is None or text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text if edits else None


def _edits(params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    given = params.get("edits")
    for edit in given[:MAX_EDITS] if isinstance(given, list) else (params,):
        for old, new in _REPLACED:
            if isinstance(edit, dict) and isinstance(edit.get(old), str) and isinstance(edit.get(new), str) and edit[old]:
                yield edit[old], edit[new]


def _patched(patch: str, path: str, text: str | None) -> str | None:
    """The text of a file after a patch in OpenClaw's format; each hunk must fit in one place."""
    lines = patch.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("*** ") and line.rstrip().endswith(f": {path}")]
    if len(starts) != 1:
        return None
    end = next((at for at in range(starts[0] + 1, len(lines)) if lines[at].startswith("*** ")), len(lines))
    body = lines[starts[0] + 1 : end]
    if lines[starts[0]].startswith("*** Add File"):
        return "\n".join(line[1:] for line in body if line.startswith("+")) + "\n"
    if not lines[starts[0]].startswith("*** Update File") or (end < len(lines) and lines[end].startswith("*** Move")):
        return None
    for old, new in _hunks(body):
        if text is None or not old or f"\n{text}".count(f"\n{old}\n") != 1:
            return None
        text = f"\n{text}".replace(f"\n{old}\n", f"\n{new}\n" if new else "\n")[1:]
    return text


def _hunks(body: list[str]) -> Iterator[tuple[str, str]]:
    hunks: list[list[str]] = [[]]
    for line in body:
        if line.startswith("@@"):
            hunks.append([])
        elif line:
            hunks[-1].append(line)
    for hunk in hunks:
        if hunk:
            yield (
                "\n".join(line[1:] for line in hunk if line[0] in " -"),
                "\n".join(line[1:] for line in hunk if line[0] in " +"),
            )


def of_commands(
    readings: tuple[Reading, ...],
    effects: tuple[tuple[Effect, ...], ...],
    host: Host,
    where: Where,
    files: FileSource,
    expected: Expected,
    commands: tuple[str, ...],
) -> ConfigChange | None:
    """Of `commands`. None if they do not change the config."""
    if not any(each.kind in _CHANGING and _may_be(each.target, host) for found in effects for each in found):
        return None
    if sum(len(reading.runs) for reading in readings) > MAX_PROGRAMS:
        return NOT_WORKED_OUT
    config = _Config(host, where, files, expected)
    found: list[ConfigChange] = []
    for reading, done in zip(readings, effects, strict=True):
        found += _Trace(reading, done, config, where).results()
    if not found:
        return None
    if broken := next((each for each in found if each.broken), None):
        return broken
    if any(each.settings is None for each in found) or not _is_plain(readings, commands):
        guards = [change for each in found for change in each.settings or () if change.effect.effect == "guard"]
        return ConfigChange(tuple(guards)) if guards else NOT_WORKED_OUT
    return ConfigChange(tuple(change for each in found for change in each.settings or ()))


_STEPS = frozenset({"jq", "mv", "cp", "cat", "sponge", "mktemp", "cd"})
_SYSTEM = lazy_re.compile(r"(?:(?:/usr(?:/local)?|/opt/homebrew)?/bin/)?[\w.-]+")
_QUOTED = lazy_re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_REDEFINED = lazy_re.compile(r"\bPATH\b|\balias\b|\bhash\b|\(\s*\)|\bfunction\b|\benable\b|\bLD_|\bset\b|\btrap\b")
"""What may have a name of a program, or the end of a command, mean something else."""


def _is_plain(readings: tuple[Reading, ...], commands: tuple[str, ...]) -> bool:
    """Whether nothing but the programs that are listed can have come between a text that is known and the config.

    One program that writes the text itself; or a few that hand it on, each only if the one before it has not failed. What a
    script makes of the config is shown, and not taken for certain: its names may stand for one another, and it may fail
    when it has emptied the file.
    """
    runs = [run for reading in readings for run in reading.runs if not _only_assigns(run)]
    if len(readings) != 1 or any(run.origin is not None or interpreters.language(run.name) == "python" for run in runs):
        return False
    if not all(_SYSTEM.fullmatch(run.argv[0]) for run in runs) or _REDEFINED.search(_QUOTED.sub("", commands[0])):
        return False
    names = [run.name for run in runs]
    return len(runs) == 1 or (
        _STEPS.issuperset(names)
        and sum(name in _COPIERS for name in names) <= 1
        and not any(run.assigns for run in runs)
        and _is_chained(readings[0])
    )


def _is_chained(reading: Reading) -> bool:
    """Whether, behind the first program that writes a file, each runs only if the one before it has not failed."""
    first = next((run.pipeline for run in reading.runs if _redirected(run)), None)
    return first is None or reading.loose.isdisjoint(range(first + 1, max(run.pipeline for run in reading.runs) + 1))


def _only_assigns(run: ProgramRun) -> bool:
    """Whether it is no program, but `T=$(mktemp)`."""
    return run.argv == (":",) and bool(run.assigns) and not run.redirects and all(name != "PATH" for name, *_ in run.assigns)


def _redirected(run: ProgramRun) -> list[str]:
    """The files that its output and its errors go to."""
    return [
        each.target for each in run.redirects if each.kind in ("write", "append") and not _NOWHERE.fullmatch(each.target)
    ]


def _read(run: ProgramRun) -> list[str]:
    return [each.target for each in run.redirects if each.kind == "read" and each.fd in ("", "0")]


_NOWHERE = lazy_re.compile(r"/dev/(?:null|stderr|stdout)|&?[12]|")


class _Trace:
    """What a command puts into files, program by program."""

    def __init__(self, reading: Reading, effects: tuple[Effect, ...], config: _Config, where: Where) -> None:
        self._reading = reading
        self._config = config
        self._where = where
        self._written = {normal(path, where): text for path, text in reading.written}
        self._times = [normal(path, where) for path, _ in reading.written]
        self._of_run: dict[int, list[Effect]] = {}
        for effect in effects:
            if effect.run is not None and effect.kind in _CHANGING and _AWAY.isdisjoint(effect.run.via):
                self._of_run.setdefault(id(effect.run), []).append(effect)
        self._contents: dict[str, _Content] = {}
        self._piped: dict[int, _Content] = {}
        """What goes through a pipe, by pipeline."""
        self._is_spoiled = False
        """Whether a program has run that may have changed any file."""

    def results(self) -> list[ConfigChange]:
        found: list[ConfigChange] = []
        for run in self._reading.runs:
            code = self._script(run)
            output = self._output(run)
            contents: list[_Content] = []
            for effect in self._of_run.get(id(run), ()):
                path = self._path(effect.target, run)
                content = self._content(run, effect, path, output, code)
                contents.append(content)
                if self._config.is_it(effect.target, run.cwd):
                    found.append(self._config.judged(content) if run.origin is None else NOT_WORKED_OUT)
                elif effect.kind == "write":
                    self._contents[path] = _NOT_KNOWN if path in self._contents else content
            self._piped[run.pipeline] = output if not _redirected(run) else _NOT_KNOWN
            is_quiet = run.name in _QUIET or run.argv == ("cat",) or code is not None
            is_known = bool(contents) and _NOT_KNOWN not in contents and interpreters.source(run) is not None
            self._is_spoiled = self._is_spoiled or not (is_quiet or is_known)
        return found

    def _path(self, target: str, run: ProgramRun) -> str:
        return normal(target, self._where, run.cwd)

    def _script(self, run: ProgramRun) -> python_settings.Script | None:
        """What the Python script does that this program is, or that runs it."""
        found = interpreters.source(self._script_around(run))
        if found is None or found[0] != "python" or UNKNOWN in found[1]:
            return None
        return python_settings.read(found[1])

    def _script_around(self, run: ProgramRun) -> ProgramRun:
        """The program that changes a file: what code writes is shown as a `cat` that the interpreter starts."""
        if run.argv != ("cat",) or not run.via:
            return run
        return next((each for each in reversed(self._before(run)) if each.name == run.via[-1]), run)

    def _before(self, run: ProgramRun) -> tuple[ProgramRun, ...]:
        at = next(at for at, each in enumerate(self._reading.runs) if each is run)
        return self._reading.runs[:at]

    def _output(self, run: ProgramRun) -> _Content:
        """What a program prints."""
        if run.name in jq_programs.PROGRAMS and (found := jq_programs.changes(run)) is not None:
            changes, files = found
            return self._with(changes, self._inputs(run, files))
        if run.name in ("cat", "tee", "sponge") or (run.argv[1:3] == ("-m", "json.tool")):
            named = tuple(word for word in run.argv[1 if run.name == "cat" else 3 :] if word[:1] != "-")
            return self._inputs(run, named if run.name not in ("tee", "sponge") else ())
        return _NOT_KNOWN

    def _inputs(self, run: ProgramRun, files: tuple[str, ...]) -> _Content:
        """What a program reads: a file, or its input."""
        if len(files) > 1:
            return _NOT_KNOWN
        read = _read(run)
        if files or read:
            return self._lying_at((files or tuple(read))[0], run)
        return self._piped.get(run.pipeline, _NOT_KNOWN) if run.stdin is not None else _NOT_KNOWN

    def _lying_at(self, path: str, run: ProgramRun) -> _Content:
        full = self._path(path, run)
        if self._is_spoiled:
            return _NOT_KNOWN
        if full in self._contents:
            return self._contents[full]
        if self._config.is_it(path, run.cwd):
            return _Content(changes=(), text=self._config.text())
        return _Content(text=self._config.text_of(full)) if UNKNOWN not in full else _NOT_KNOWN

    @staticmethod
    def _with(changes: tuple[ChangedSetting, ...], content: _Content) -> _Content:
        return _Content(changes=(*content.changes, *changes)) if content.changes is not None else _NOT_KNOWN

    def _content(
        self, run: ProgramRun, effect: Effect, path: str, output: _Content, code: python_settings.Script | None
    ) -> _Content:
        """What a file contains when this program has written it."""
        if effect.kind != "write" or "append" in effect.flags or run.via[-1:] in (("xargs",), ("find",), ("parallel",)):
            return _NOT_KNOWN
        if code is not None:
            return self._of_script(code, path)
        if (run.name in _COPIERS) and (source := self._copied(run)) is not None:
            return source
        is_shell = run.argv != ("cat",) or not run.via
        if is_shell and ("truncates" in effect.flags or run.name in _FEEDERS):
            redirects = _redirected(run)
            if redirects and (len(redirects) > 1 or self._path(redirects[0], run) != path):
                return _NOT_KNOWN
            if output != _NOT_KNOWN:
                is_read = self._config.is_it(effect.target, run.cwd) and run.name != "sponge"
                return _Content(text="") if is_read and self._reads_config(run) else output
            if self._times.count(path) == 1:
                return _Content(text=self._written[path])
            return _NOT_KNOWN
        text = self._contents[path].text if path in self._contents else self._config.text_of(path)
        if text is None or UNKNOWN in path or self._is_spoiled:
            return _NOT_KNOWN
        run = self._script_around(run)
        edited = in_place_edits.edited(run, text)
        return _Content(text=scripted_edits.edited(run, text, path) if edited is None else edited)

    def _reads_config(self, run: ProgramRun) -> bool:
        """Whether its pipeline reads the config, which it empties first."""
        pipeline = (each for each in self._reading.runs if each.pipeline == run.pipeline)
        return any(
            self._config.is_it(word, each.cwd)
            for each in pipeline
            for word in (*(word for word in each.argv[1:] if "/" in word or "." in word), *_read(each))
            if UNKNOWN not in word and "\n" not in word
        )

    def _of_script(self, code: python_settings.Script, path: str) -> _Content:
        if path not in {normal(each, self._where) for each in code.written}:
            return _NOT_KNOWN
        if code.whole is not None:
            return _Content(text=json5_text.encoded(code.whole))
        source = self._contents.get(normal(code.source, self._where))
        if source is None and self._config.is_it(code.source):
            source = _Content(changes=())
        return self._with(code.changes, source or _NOT_KNOWN)

    def _copied(self, run: ProgramRun) -> _Content | None:
        if len(run.readings) != 1:
            return None
        sources = run.readings[0].named("source")
        return self._lying_at(sources[0].text, run) if len(sources) == 1 else None


MAX_SHOWN = 40


def as_settings(
    found: tuple[tuple[Effect, ...], ...],
    settings: tuple[ChangedSetting, ...],
    host: Host,
    where: Where,
    files: FileSource,
) -> tuple[tuple[Effect, ...], ...]:
    """Effects in which a change of the config is one of its settings, as if the gateway's command line had made it."""
    config = _Config(host, where, files, lambda _: False)
    more: list[Effect] = []
    changed: list[tuple[Effect, ...]] = []
    for effects in found:
        kept: list[Effect] = []
        for effect in effects:
            cwd = effect.run.cwd if effect.run else ""
            is_it = effect.kind == "write" and _may_be(effect.target, host) and config.is_it(effect.target, cwd)
            kept.append(structs.replace(effect, flags=effect.flags - {"gateway-file"}) if is_it else effect)
            if is_it and not more:
                more = [
                    Effect("gateway", f"openclaw.json {each.shown}", "", frozenset([each.effect.effect]), effect.run)
                    for each in settings[:MAX_SHOWN]
                    if each.effect.effect not in (*PASSING, "guard")
                ]
                kept += more
        changed.append(tuple(kept))
    return tuple(changed)
