"""Whether a command runs code of which nobody can say what it does before it has run: pure.

Known is a program that toolguard has in a list, one that belongs to the system, and a script that was read. Of a script that
was read it is unknown what it does if it puts together when it runs what it calls or changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from toolguard_engine import lazy_re
from toolguard_engine.containment import doors, room_tables
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import normal

MAX_TEXT = 200_000
"""Characters of a script that are looked at."""

_CHANGES = frozenset({"delete", "write", "move", "permissions", "copy", "run-text"})
_PUT_TOGETHER = lazy_re.compile(
    r"\b(?:exec|eval|compile|__import__|import_module|getattr|attrgetter|methodcaller|globals|locals|vars|__builtins__|ctypes"
    r"|cffi|marshal|pickle|runpy|instance_eval|class_eval|public_send|__send__|DynaLoader|dlopen)\b"
    r"|__dict__\s*\[|__getattribute__\b|\w\[\s*[A-Za-z_$][^\]\n]{0,100}\]\s*\(|\.method\s*\(|\.constructor\s*\(|\$\w{1,40}\s*(?:\[[^\]\n]{0,100}\]\s*)?\(|&\s*[{$]"
    r"|\bnew\s+Function\b|\bprocess\.(?:binding|dlopen)\b|\bvm\.|\bsend\s*\(|\b(?:require|import)\s*\(\s*[^'\"`\s)]"
)
"""Calls, in all languages, by a name or with code that is not written in the script."""

_CHANGED_LATER = lazy_re.compile(
    r"\b(?:os|shutil|fs|fsp|fs\.promises|FileUtils|File)\.(?:remove|unlink|rmdir|removedirs|rmtree|rm|rm_r|rm_rf|delete|rename"
    r"|renames|replace|move|mv|chmod|chown|truncate)(?:Sync)?\s*\(\s*(?![rb]?['\"`)\s])"
)
"""What changes a file at a place that is not written there."""

_INTERPRETERS = lazy_re.compile(
    r"(?:python|pypy|node|nodejs|deno|bun|ruby|perl|php|lua|luajit|tclsh|Rscript|osascript)[\d.]{0,10}\Z"
)


def why(reading: CallReading, is_trusted: Callable[[str], bool]) -> str:
    """What is not known, in words; empty if all that the command runs is known."""
    return next(_unknown(reading, is_trusted), "")


def _unknown(reading: CallReading, is_trusted: Callable[[str], bool]) -> Iterator[str]:
    for seen in reading.command_readings:
        if seen.flaws:
            yield "not all of it can be read"
        yield from (f"{each.file} cannot be read: {each.why}" for each in seen.unread)
    read = frozenset(reading.running.judged)
    for run in reading.runs:
        if UNKNOWN in run.argv[0]:
            yield "which program it runs is only found out when it runs"
        elif not _is_known(run, reading, read, is_trusted):
            yield f"{run.argv[0]} is not known"
    yield from _undecided(reading)
    if any(_PUT_TOGETHER.search(text, 0, MAX_TEXT) for text in _codes(reading)):
        yield "its code puts together what it calls when it runs"
    if any(_CHANGED_LATER.search(text, 0, MAX_TEXT) for text in _codes(reading)):
        yield "what it changes is only found out when it runs"


def _is_known(run: ProgramRun, reading: CallReading, read: frozenset[str], is_trusted: Callable[[str], bool]) -> bool:
    called = run.argv[0]
    if "/" in called:
        path = normal(called, reading.command_where, run.cwd)
        return path in read or path.startswith(room_tables.load().system.programs)
    named_file = normal(called, reading.command_where, run.cwd)
    return named_file in read or doors.is_known(run) or is_trusted(run.name)


def _undecided(reading: CallReading) -> Iterator[str]:
    """What a script changes at a place that it finds out when it runs."""
    for found in reading.command_effects:
        for effect in found:
            in_code = effect.program is not None and effect.program.origin is not None
            if effect.kind in _CHANGES and in_code and UNKNOWN in effect.target:
                yield "what it changes is only found out when it runs"


def _codes(reading: CallReading) -> Iterator[str]:
    """The texts of the scripts and of the code in the command, but for those of shells. What an interpreter is given is its
    code, whatever its name or its first line says."""
    given = {
        normal(word, reading.command_where, run.cwd)
        for run in reading.runs
        if _INTERPRETERS.match(run.name)
        for word in run.argv[1:]
    }
    for path, file in reading.running.judged.items():
        is_other = path.endswith((".sh", ".bash", ".toml", ".json", ".cfg", ".ini")) or _is_shell(file.text)
        if path in given or not is_other:
            yield file.text
    for found in reading.command_effects:
        yield from (effect.target for effect in found if effect.kind == "code")


def _is_shell(text: str) -> bool:
    first = text[:200].partition("\n")[0]
    return first.startswith("#!") and first.rstrip().endswith("sh")
