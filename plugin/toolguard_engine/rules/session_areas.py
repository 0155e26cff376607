"""The area in which a change by an administrator can be repeated after one answer: a service's folder, or the same unit.

A call has one if all that it does is to change a single file of it, by a file tool or one program, with `sudo` before it at
most. What runs, gives access or configures the login has none, and neither has a folder of `/etc` that is no service's. The
names that say so are strict: a file must look like settings.
"""

from __future__ import annotations

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands import in_place_edits
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.rules.judgement import Judgement

_RULES = frozenset({
    "filesystem.write-system", "openclaw.write-system", "openclaw.write-startup", "persistence.startup", "persistence.units",
    "persistence.services", "users.as-administrator",
})  # fmt: skip
"""Rules that say of such a change no more than that it is one."""

_NO_SERVICES = program_catalogue.words("etc_without_service")
"""Folders of `/etc` that configure the login, access, programs and their sources, what is started, or the network."""

_SETTINGS = lazy_re.compile(
    r"/etc/(?P<service>[^/]+)/(?:[^/]+/)*"
    r"(?:[^/]+\.(?:conf|cfg|cnf|ini|ya?ml|toml|json|xml|list|properties)|(?:sites|conf|vhosts|streams)-(?:available|enabled)/[^/]+)"
)
_PRIVATE = lazy_re.compile(
    r"(?i)passw|shadow|auth|access|hba|user|group|role|allow|deny|secret|key|cert|pem\b|token|sudo|login|getty|ssh|pam"
    r"|/ssl/|/tls/|hook|script|module|mods-|plugin|action|/s?bin/|cgi|cron|exec|command"
)
"""In a path: what may be about access, or be run."""

_PROGRAM = lazy_re.compile(r"/usr/local/bin/[^/]+")
_UNIT = lazy_re.compile(
    r"(?:/etc/systemd/system|/etc/systemd/user|/.+/\.config/systemd/user)/[\w@:.-]+\.(?:service|timer|socket|path)"
)

_WRITERS = program_catalogue.programs("one_file_writer")
_PRINTERS = program_catalogue.programs("safe_reader")
_ELEVATORS = program_catalogue.programs("elevator")
_FILE_TOOLS = frozenset({"write", "edit"})
_WRITES = frozenset({"truncates", "append", "in-place", "copied"})
"""What an effect may say of how a single file is written."""

_BESIDE = frozenset({"agent-made", "unchanged", "small"})
"""What it may say of the file."""


def find(judgement: Judgement, reading: CallReading) -> str:
    """The folder (ending in a slash) or file; empty where the call does anything else as well."""
    changes = [effect for effect in judgement.effects if effect.kind != "elevate"]
    rules = {match.rule for match in judgement.matches}
    if len(changes) != 1 or judgement.severe or judgement.partial or not rules <= _RULES:
        return ""
    (change,) = changes
    path = normal(change.target, reading.command_where, change.program.cwd if change.program else "")
    area = _area(path, change)
    return area if area and _does_no_more(change, area, reading) else ""


def _area(path: str, change: Effect) -> str:
    is_unit, is_program = _UNIT.fullmatch(path) is not None, _PROGRAM.fullmatch(path) is not None
    named = path.rpartition("/")[2] if is_unit or is_program else path
    if not set(change.flags) <= _WRITES | _BESIDE or _PRIVATE.search(named):
        return ""
    if change.kind == "enable" or (change.kind == "write" and change.place == "startup"):
        return path if is_unit else ""
    if change.place != "system" or change.kind not in ("write", "link"):
        return ""
    if is_program:
        return path if change.kind == "write" else ""
    settings = _SETTINGS.fullmatch(path)
    service = settings["service"] if settings else ""
    is_service = bool(service) and not service.endswith(".d") and service not in _NO_SERVICES
    return f"/etc/{service}/" if is_service else ""


def _does_no_more(change: Effect, area: str, reading: CallReading) -> bool:
    run = change.program
    if run is None:
        return reading.tool in _FILE_TOOLS
    others = [
        other for other in reading.runs if other is not run and other.name not in _PRINTERS and not _reloads(other, run)
    ]
    if not reading.commands or run.assigns or run.given or run.unset or run.origin is not None:
        return False
    return all(_is_before(other, run) for other in others) and len(others) == len(run.via) and _is_plain(run, change, area)


def _reloads(other: ProgramRun, run: ProgramRun) -> bool:
    """Whether it only has the program that enables a unit read all units again, which nobody is asked about."""
    argv = other.argv[1:] if other.name in _ELEVATORS else other.argv
    is_plain = (
        not (other.assigns or other.given or other.unset) and other.origin is None and _ELEVATORS.issuperset(other.via)
    )
    return is_plain and argv[:1] == run.argv[:1] and [word for word in argv[1:] if word != "--user"] == ["daemon-reload"]


def _is_before(other: ProgramRun, run: ProgramRun) -> bool:
    """Whether it is a `sudo` without options that runs just this program."""
    return other.name in _ELEVATORS and other.argv[1:] == run.argv and run.via == (other.name,) and not other.via


def _is_plain(run: ProgramRun, change: Effect, area: str) -> bool:
    """Whether no word of the program makes it do more than the one change."""
    words = run.words
    if "/" in run.argv[0]:  # it may be another program of this name
        return False
    if words.unknown or words.doubtful or len(run.readings) > 1:
        return False
    if change.kind == "enable":
        return len(words.given) == words.has("--now") + words.has("--user")
    if run.name in _PRINTERS and not run.via:
        return True
    if run.name not in _WRITERS:
        return False
    if change.kind == "link":
        return all(_is_inside(word, area) for word in words.arguments)
    if "in-place" in change.flags:
        return in_place_edits.is_understood(run)
    return not _WRITES.isdisjoint(change.flags) and not ("copied" in change.flags and words.given)


def _is_inside(word: str, area: str) -> bool:
    return word.startswith(area) and ".." not in word.split("/") and not _PRIVATE.search(word)
