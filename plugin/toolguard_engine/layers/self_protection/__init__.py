"""The guard protects itself: no call approves in the user's place, changes the guard's files or config, or stops it.

A certain finding is blocked and cannot be approved; a possible one is held. Commands are judged by `command_findings`, other
tools by the paths they name, the gateway's config tool by its action, and messages by the chat commands in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote

from msgspec import structs
from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.config_changes import ASKED
from toolguard_engine.effects.calls.known_config import ConfigChange
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.control_plane import gateway_tools as controlplane
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.command import ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.tools import tools
from toolguard_engine.host import tool_names
from toolguard_engine.layers.self_protection import (
    advice,
    command_findings,
    dashboard_requests,
    installed_gateway,
    landings_on_disk,
    read_lists,
)
from toolguard_engine.layers.self_protection.gateway_command_line import CHAT_COMMAND
from toolguard_engine.layers.self_protection.own_config import CHANGED, NAMES_GUARD
from toolguard_engine.layers.self_protection.scene import (
    COPY,
    MANY,
    Lists,
    ProtectionFinding,
    base,
    possible_place,
    strongest,
)
from toolguard_engine.model.call import Call, Host, Kept, Verdict
from toolguard_engine.model.files import FileText
from toolguard_engine.model.lazy import kept_with
from toolguard_engine.model.work_limit import TooIntricate

CODE = "rule.self-protection"
POSSIBLE = "rule.self-protection.possible"

_READERS = program_catalogue.tools("looks_at_files")
_MOVES = frozenset({"move", "rename", "mv"})
_MAX_NESTED = 12
_MAX_PATH = 4096
_MAX_SHOWN = 200
_REMOTE = lazy_re.compile(r"\s*(?!file:)[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
_HERE = lazy_re.compile(r"^//(?:localhost|127\.0\.0\.1)(?=/)", re.IGNORECASE)
_KEY_LIKE = lazy_re.compile(r"key|token|[*?\[%]", re.IGNORECASE)
"""What every spelling of a secret's path contains."""

_MESSENGERS = program_catalogue.tools("instructs")
"""Tools whose texts may reach a session as a message."""

_MESSAGE_PARAMS = ("message", "text", "content", "caption", "body", "task", "prompt", "input")
PATH = "This call would change the files or the configuration of the guard itself."
KEY = "This call would read a secret that authenticates approvals: the guard's key or the dashboard's token."
CONFIG = "This call would change the part of the gateway's configuration that keeps the guard in place."
BROKEN = (
    "The gateway would not start with the configuration that this call writes. Check it with `openclaw config validate`."
)
CHAT = "Only a person may send the guard's chat commands."


MAX_FOLLOWED = 200
"""Paths of a call that are followed through links; a call with more of them waits for a person."""

STEPS_OF_PATH = 120
"""Steps for finding out whether a text names one of the secrets."""


def judge(call: Call, host: Host) -> Verdict | None:
    """Block on a certain finding, hold on a possible one."""
    return of_reading(CallReading(call, host))


def of_reading(reading: CallReading) -> Verdict | None:
    """The same for a call that was read already."""
    if not reading.has_params:
        return None
    finding = _strongest(reading)
    if finding is None:
        return None
    reason = advice.explained(finding, reading)
    return Verdict("block", CODE, reason=reason) if finding.certain else Verdict("hold", POSSIBLE, reason=reason)


def is_harmless(reading: CallReading, kept: Kept) -> bool:
    """Whether nothing comes of all that there is to find in a call, if the kernel keeps this from it."""
    return all(finding.harmless in kept for finding in _findings(reading, reading.command_readings))


def _strongest(reading: CallReading) -> ProtectionFinding | None:
    runs = reading.runs
    for run in runs:
        if run.origin is not None:
            return _strongest_with_files(reading, runs)
    return strongest(_findings(reading, reading.command_readings))


def _strongest_with_files(reading: CallReading, runs: tuple[ProgramRun, ...]) -> ProtectionFinding | None:
    """What files that the call runs would do is certain only for shell commands that an agent wrote; what files of others
    may do besides is no finding."""
    known: dict[tuple[int, ...], ProtectionFinding | None] = {}

    def strongest_of(chosen: list[ProgramRun]) -> ProtectionFinding | None:
        key = tuple(map(id, chosen))  # often the same programs again
        if key not in known:
            known[key] = strongest(_findings(reading, _only(reading, chosen)))
        return known[key]

    likely = [run for run in runs if run.origin is None or run.origin.made or not _is_code(run)]
    of_all = strongest_of(likely)
    if of_all is not None and not of_all.certain:
        likely = [run for run in likely if run.origin is None or run.origin.made]
        of_all = strongest_of(likely)
    if of_all is None:
        return None
    plain = [run for run in runs if run.origin is None]
    sure = [run for run in runs if run.origin is None or (run.origin.made and not _is_code(run))]
    finding = strongest_of(plain)
    if finding is not None and finding.certain:
        return finding
    of_files = strongest_of(sure)
    if of_files is None or not of_files.certain:
        of_files = replace(of_all, certain=False)
    if finding is not None or of_files is None:
        return finding if of_files is None or not of_files.certain else of_files
    files = ", ".join(dict.fromkeys(run.origin.file for run in likely if run.origin is not None))
    return replace(of_files, reason=f"{of_files.reason} (in {files[:_MAX_SHOWN]})")


def _is_code(run: ProgramRun) -> bool:
    return run.origin is not None and run.stdin is not None and run.stdin.text == run.origin.text


def _only(reading: CallReading, runs: list[ProgramRun]) -> tuple[Reading, ...]:
    kept = set(map(id, runs))
    readings = reading.command_readings
    return tuple(
        [
            structs.replace(reading_of, runs=tuple([run for run in reading_of.runs if id(run) in kept]))
            for reading_of in readings
        ]
    )


def _findings(reading: CallReading, commands: tuple[Reading, ...]) -> Iterator[ProtectionFinding]:
    tool, params, host = reading.tool, reading.params, reading.host
    change = _config_change(reading)
    if change is not None:
        yield from _of_config(change, reading.host.release)
    lists = Lists(partial(_list, reading), is_worked_out=change is not None and change.settings is not None)
    folder = reading.command_where.cwd if reading.executes else ""
    if reading.commands:
        for text, command in zip(reading.commands, commands, strict=True):
            yield from command_findings.findings(text, command, host, folder, reading.work, lists)
        yield from landings_on_disk.findings(commands, host, folder, reading.files)
        yield from read_lists.findings(commands, host, folder, partial(_texts, reading))
    if reading.executes:
        return
    for operation in () if change is not None and change.asked else controlplane.operations(tool, params):
        if operation.effect == "guard":
            yield ProtectionFinding(CONFIG, operation.certain, operation.target)
    if reason := _chat_command(tool, params) or _paths(reading):
        yield ProtectionFinding(reason, certain=reason not in (CHANGED, COPY))
    elif reason := _open_paths(reading):
        yield ProtectionFinding(reason, certain=False)
    elif len(reading.paths) > MAX_FOLLOWED:
        yield ProtectionFinding(MANY, certain=False)
    yield from _installed(reading)


def _config_change(reading: CallReading) -> ConfigChange | None:
    """What becomes of the gateway's config, unless that is too much to find out."""
    if reading.tool in ASKED:
        return reading.config_change
    own = base(reading.host.config_path).lower() or "claw"
    for text in reading.commands or (*reading.paths, *_followed(reading)):
        lower = text.lower()
        if "claw" in lower or own in lower:
            try:
                return reading.config_change
            except TooIntricate:
                return None
    return None


def _of_config(change: ConfigChange, release: str) -> Iterator[ProtectionFinding]:
    """What a change of the config would do to the guard."""
    if change.broken:
        yield ProtectionFinding(BROKEN, cause=change.broken)
    for setting in change.settings or ():
        if setting.effect.effect == "guard":
            yield ProtectionFinding(CONFIG, cause=setting.shown)
        elif refusal := setting.refusal(release):
            yield ProtectionFinding(BROKEN, cause=refusal)


def _list(reading: CallReading, path: str) -> str | None:
    """The text of a file with patterns as it is when the call runs; None if it is not known."""
    texts = _texts(reading, path)
    return texts[0] if len(texts) == 1 and not _expected(reading, path) else None


def _texts(reading: CallReading, path: str) -> list[str]:
    """What a file contains, and what calls of the same message write to it."""
    file = reading.files.read(path)
    return [*([file.text] if isinstance(file, FileText) else []), *_expected(reading, path)]


def _expected(reading: CallReading, path: str) -> list[str]:
    paths = dict.fromkeys((path, reading.files.resolve(path)))
    return [expected.text for file in paths if (expected := reading.made.expected(file)) is not None]


def _chat_command(tool: str, params: dict[str, Any]) -> str:
    """Whether a tool that sends messages, or an unknown tool, is given one of the guard's chat commands."""
    if tool in _MESSENGERS:
        texts = _strings(params, 0)
    elif tool not in tools.DESCRIBED:
        texts = (text for name in _MESSAGE_PARAMS if isinstance(text := params.get(name), str))
    else:
        return ""
    return CHAT if any(CHAT_COMMAND.match(text) for text in texts) else ""


def _installed(reading: CallReading) -> Iterator[ProtectionFinding]:
    """Files of the installed gateway that a tool would change."""
    if _only_reads(reading.tool):
        return
    for path, named in zip(reading.paths, _absolute(reading), strict=True):
        if "claw" in path.lower() or reading.host.code:
            text = "\n".join(_strings(reading.params, 0))
            yield from filter(None, [installed_gateway.of_path(named, reading.host, text)])


def _paths(reading: CallReading) -> str:
    host = reading.host
    texts = list(_strings(reading.params, 0))
    for path in dict.fromkeys((*reading.paths, *_followed(reading))):
        if reason := _path(reading.tool, _of_address(path), host, reading.call.cwd):
            if reason != CHANGED:
                return reason
            if (change := reading.config_change) is None or change.settings is None:
                named = any(map(NAMES_GUARD.search, texts)) or any(
                    "deletes" in effect.flags for effect in reading.tool_effects
                )
                return PATH if named else CHANGED
    if any(dashboard_requests.visits(text, host) for text in texts):
        return dashboard_requests.CALL
    return KEY if any(_is_key(text, reading) for text in dict.fromkeys(texts)) else ""


@kept_with
def _followed(reading: CallReading) -> tuple[str, ...]:
    """Where the paths of a file tool lead through links on disk. The tool follows them in the gateway itself, so it does not
    matter which program made them, nor that the kernel keeps the place from that program."""
    named = (path for path in _absolute(reading)[:MAX_FOLLOWED] if path[:1] == "/")
    return tuple(real for path in named if (real := reading.files.resolve(path)) != path)


@kept_with
def _absolute(reading: CallReading) -> tuple[str, ...]:
    """The paths of a call, seen from the agent's folder."""
    host, cwd = reading.host, reading.call.cwd
    where = Where(host.home, cwd, cwd, host.state_dir)
    return tuple(normal(_of_address(path), where) for path in reading.paths)


def _open_paths(reading: CallReading) -> str:
    """What `_paths` says, for paths with an unknown part: `/proc/self/fd/3/key`."""
    host = reading.host
    folders = _own_folders(host, reading.call.cwd)
    places = (possible_place(_of_address(path), host, folders) for path in reading.paths)
    return next((reason for place in places if (reason := _reason(reading.tool, place))), "")


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _MAX_NESTED:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item, depth + 1)


def _is_key(text: str, reading: CallReading) -> bool:
    """Whether the whole parameter is a path or a `file:` URL of a secret."""
    if len(text) > _MAX_PATH or "\n" in text or not _KEY_LIKE.search(text) or _REMOTE.match(text):
        return False
    path = _of_address(text)
    if "/" not in path or not _may_be_ours(path, reading.host):
        return False
    reading.work.spend(STEPS_OF_PATH)
    return _path("read", path, reading.host) == KEY


def _of_address(text: str) -> str:
    """The path of a `file:` URL; any other text unchanged."""
    if text.lstrip()[:5].lower() != "file:":
        return text
    return "/" + _HERE.sub("", unquote(text.strip()[5:])).lstrip("/")


def _path(tool: str, path: str, host: Host, cwd: str = "") -> str:
    if not _may_be_ours(path, host):
        return ""
    place = protected_paths.kind(path, host) or protected_paths.kind(path, host, _own_folders(host, cwd))
    if place and place != "config" and tool == "grep" and "." not in base(path.rstrip("/")).lstrip("."):
        return COPY if place == "root" else KEY
    return _reason(tool, place)


def _own_folders(host: Host, cwd: str) -> tuple[str, ...]:
    """The folders that the agent's relative paths may start from."""
    return (protected_paths.protected_on(host).state + "/workspace", *((cwd,) if cwd.startswith("/") else ()))


def _reason(tool: str, name: str) -> str:
    """Why this tool must not be given this kind of place; empty if it may."""
    if name == "key":
        return KEY
    if name == "config":
        return "" if _only_reads(tool) else PATH if _takes_away(tool) else CHANGED
    if name == "root":
        return PATH if _takes_away(tool) else ""
    return PATH if name == "guard" and not _only_reads(tool) else ""


def _only_reads(tool: str) -> bool:
    return tool in _READERS or tool_names.named(tool).action == "look"


def _takes_away(tool: str) -> bool:
    """Whether this tool may delete or move a folder."""
    name = tool_names.named(tool)
    return name.action in ("destroy", "take-away") or not name.words.isdisjoint(_MOVES)


def _may_be_ours(path: str, host: Host) -> bool:
    path = path.lower() if path.isascii() else protected_paths.plain(path)
    return (
        "toolguard" in path or "claw" in path or ".." in path or "proc/" in path or "*" in path or "?" in path or "[" in path
        or any(word in path for word in protected_paths.protected_on(host).words)
    )  # fmt: skip
