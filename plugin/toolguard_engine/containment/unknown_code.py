"""Whether a command runs code of which nobody can say what it does before it has run: pure.

Known is a program that toolguard has in a list, one that belongs to the system, and a script that was read. Of a script that
was read it is unknown what it does if it puts together when it runs what it calls or changes: the reading of its language
tells, as far as there is one, and a search of its text the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.containment import room_tables
from toolguard_engine.containment.known_programs import is_known
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands import code_sources, interpreters
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.effects.languages import code_deeds
from toolguard_engine.effects.languages.code_deeds import CodeReading

MAX_TEXT = 200_000
"""Characters of a script that are looked at."""

PUT_TOGETHER = "its code puts together what it calls when it runs"
CHANGED_LATER = "what it changes is only found out when it runs"
_CHANGES = frozenset({"delete", "write", "move", "permissions", "copy", "run-text"})
_CALLED_BY_VALUE = (
    r"\b(?:__import__|attrgetter|methodcaller|globals|locals|vars|__builtins__|cffi|runpy|instance_eval|class_eval|public_send"
    r"|__send__|DynaLoader|dlopen)\b"
    r"|__dict__\s*\[|__getattribute__\b|\w\[\s*[A-Za-z_$][^\]\n]{0,100}\]\s*\(|\.method\s*\(|\.constructor\s*\("
    r"|\$\w{1,40}\s*(?:\[[^\]\n]{0,100}\]\s*)?\(|&\s*[{$]"
    r"|\bnew\s+Function\b|\bprocess\.(?:binding|dlopen)\b|\bvm\."
)
_BY_VALUE = lazy_re.compile(_CALLED_BY_VALUE)
"""Calls, in all languages, by a value that no reading follows."""

_SEND = r"\bsend\s*\("
_SENT = lazy_re.compile(_SEND)
"""A call by name in Ruby; in other languages, something is sent."""

_PUT_TOGETHER = lazy_re.compile(
    rf"{_CALLED_BY_VALUE}|{_SEND}|\b(?:exec|eval|compile|import_module|getattr|ctypes|marshal|pickle)\b"
    r"|\b(?:require|import)\s*\(\s*[^'\"`\s)]"
)
"""Calls by a name or with code that is not written in the script, where it was not read."""

_CHANGED_LATER = lazy_re.compile(
    r"\b(?:os|shutil|fs|fsp|fs\.promises|FileUtils|File)\.(?:remove|unlink|rmdir|removedirs|rmtree|rm|rm_r|rm_rf|delete|rename"
    r"|renames|replace|move|mv|chmod|chown|truncate)(?:Sync)?\s*\(\s*(?![rb]?['\"`)\s])"
)
"""What changes a file at a place that is not written there, where it was not read."""


def why(reading: CallReading, is_trusted: Callable[[str], bool]) -> str:
    """What is not known, in words; empty if all that the command runs is known."""
    return next(_unknown(reading, is_trusted), "")


def _unknown(reading: CallReading, is_trusted: Callable[[str], bool]) -> Iterator[str]:
    for seen in reading.command_readings:
        if seen.flaws:
            yield "not all of it can be read"
        yield from (f"{file.file} cannot be read: {file.why}" for file in seen.unread)
    read = frozenset(reading.running.judged)
    for run in reading.runs:
        if UNKNOWN in run.argv[0]:
            yield "which program it runs is only found out when it runs"
        elif not _is_known(run, reading, read, is_trusted):
            yield f"{run.argv[0]} is not known"
    yield from _undecided(reading)
    parsed = dict(_parsed(reading))
    for text in _codes(reading):
        yield from _of_code(text, parsed.get(text))


def _parsed(reading: CallReading) -> Iterator[tuple[str, tuple[str, CodeReading]]]:
    """The codes that were read to their end, each with its language and what it does."""
    for run in reading.runs:
        if (source := code_sources.source(run)) and (read := interpreters.reading(source[1], source[0])) and read.whole:
            yield source[1], (source[0], read)


def _of_code(text: str, parsed: tuple[str, CodeReading] | None) -> Iterator[str]:
    if parsed is None:
        puts_together, changes = (bool(pattern.search(text, 0, MAX_TEXT)) for pattern in (_PUT_TOGETHER, _CHANGED_LATER))
    else:
        language, read = parsed
        by_value = (_BY_VALUE, _SENT) if language == "ruby" else (_BY_VALUE,)
        puts_together = read.opaque or any(pattern.search(text, 0, MAX_TEXT) for pattern in by_value)
        changes = any(map(code_deeds.changes_unknown, read.deeds))
    if puts_together:
        yield PUT_TOGETHER
    if changes:
        yield CHANGED_LATER


def _is_known(run: ProgramRun, reading: CallReading, read: frozenset[str], is_trusted: Callable[[str], bool]) -> bool:
    called = run.argv[0]
    if "/" in called:
        path = normal(called, reading.command_where, run.cwd)
        return path in read or path.startswith(room_tables.load().system.programs)
    named_file = normal(called, reading.command_where, run.cwd)
    return named_file in read or is_known(run) or is_trusted(run.name)


def _undecided(reading: CallReading) -> Iterator[str]:
    """What a script changes at a place that it finds out when it runs."""
    for effects in reading.command_effects:
        for effect in effects:
            in_code = effect.program is not None and effect.program.origin is not None
            is_open = UNKNOWN in effect.target and not effect.target.startswith(code_deeds.TEMPORARY)
            if effect.kind in _CHANGES and in_code and is_open:
                yield CHANGED_LATER


def _codes(reading: CallReading) -> Iterator[str]:
    """The texts of the scripts and of the code in the command, but for those of shells. What an interpreter is given is its
    code, whatever its name or its first line says."""
    given = {
        normal(word, reading.command_where, run.cwd)
        for run in reading.runs
        if code_sources.language(run.name)
        for word in run.argv[1:]
    }
    for path, file in reading.running.judged.items():
        is_other = path.endswith((".sh", ".bash", ".toml", ".json", ".cfg", ".ini")) or _is_shell(file.text)
        if path in given or not is_other:
            yield file.text
    for effects in reading.command_effects:
        yield from (effect.target for effect in effects if effect.kind == "code")


def _is_shell(text: str) -> bool:
    first = text[:200].partition("\n")[0]
    return first.startswith("#!") and first.rstrip().endswith("sh")
