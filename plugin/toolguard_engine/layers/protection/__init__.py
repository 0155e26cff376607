"""The guard protects itself: no call answers for the person, touches the guard's files and config, or stops it.

No approval lifts what is certain; what is only possible is held for a person. Judged are, by tool: commands (`exec` and
what else runs one, see `layers/calltexts.py`) as `command` says; other tools by the paths they name; the gateway's own
config tool; a chat command written by the agent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from toolguard_engine import protectedpaths, toolacts, toolnames
from toolguard_engine.controlplane import tools as controlplane
from toolguard_engine.layers import calltexts
from toolguard_engine.layers.protection import command, dashboard, installed
from toolguard_engine.layers.protection.openclaw import CHAT_COMMAND
from toolguard_engine.layers.protection.scene import Finding, base, possible_place, strongest
from toolguard_engine.model import Call, Host, Verdict
from toolguard_engine.shell.places import Where, normal
from toolguard_engine.toolsearch import tool_name

CODE = "rule.self-protection"
POSSIBLE = "rule.self-protection.possible"

_READERS = frozenset({"read", "ls", "grep", "find", "glob", "image", "pdf"})
_MOVES = frozenset({"move", "rename", "mv"})
_MAX_NESTED = 4
_MAX_PATH = 4096
_REMOTE = re.compile(r"\s*(?!file:)[a-z][a-z0-9+.-]{1,20}://", re.IGNORECASE)
_HERE = re.compile(r"^//(?:localhost|127\.0\.0\.1)(?=/)", re.IGNORECASE)
_KEY_LIKE = re.compile(r"key|token|[*?\[%]", re.IGNORECASE)
"""What a spelling of a secret's path has in it."""

_SAYING = frozenset(
    {
        "message",
        "sessions_send",
        "sessions_spawn",
        "conversations_send",
        "conversations_turn",
        "subagents",
        "automations",
        "cron",
    }
)
"""Tools whose texts may come to a session as a message."""

_SAID = ("message", "text", "content", "caption", "body", "task", "prompt", "input")
PATH = "This call would change the files or the configuration of the guard itself."
KEY = "This call would read a secret of the guard, by which it knows a person's word: its key, or the dashboard's token."
CONFIG = "This call would change the part of the gateway's configuration that keeps the guard in place."
CHAT = "Only a person may send the guard's own chat commands."


def judge(call: Call, host: Host) -> Verdict | None:
    """A block where it is certain, a hold where it is only possible."""
    if not isinstance(call.params, dict):
        return None
    found = strongest(_findings(tool_name(call.tool), call.params, host, call.cwd))
    if found is None:
        return None
    return Verdict("block", CODE, reason=found.reason) if found.certain else Verdict("hold", POSSIBLE, reason=found.reason)


def _findings(tool: str, params: dict[str, Any], host: Host, cwd: str) -> Iterator[Finding]:
    executes = tool in calltexts.EXEC_TOOLS
    folder = _folder(params, cwd) if executes else ""
    for text in calltexts.commands(tool, params):
        yield from command.findings(text, host, folder)
    if executes:
        return
    for deed in controlplane.deeds(tool, params):
        if deed.effect == "guard":
            yield Finding(CONFIG, deed.certain)
    if reason := _said(tool, params) or _paths(tool, params, host, cwd):
        yield Finding(reason)
    elif reason := _open_paths(tool, params, host, cwd):
        yield Finding(reason, certain=False)
    yield from _installed(tool, params, host, cwd)


def _folder(params: dict[str, Any], cwd: str) -> str:
    """Where a command starts, as far as the call says; `cwd` is the folder of the agent."""
    given = params.get("workdir") or params.get("cwd")
    folder = given if isinstance(given, str) else ""
    return f"{cwd}/{folder}" if cwd and folder and not folder.startswith(("/", "~", "$")) else folder or cwd


def _said(tool: str, params: dict[str, Any]) -> str:
    """A text that is a chat command of the guard, in a tool that may send it, or in one that nobody described."""
    if tool in _SAYING:
        texts = _strings(params, 0)
    elif tool not in toolacts.DESCRIBED:
        texts = (text for name in _SAID if isinstance(text := params.get(name), str))
    else:
        return ""
    return CHAT if any(CHAT_COMMAND.match(text) for text in texts) else ""


def _installed(tool: str, params: dict[str, Any], host: Host, cwd: str) -> Iterator[Finding]:
    """A file of the gateway's own installation that a tool would change."""
    if _only_reads(tool):
        return
    where = Where(host.home, cwd, cwd, host.state_dir)
    for path in calltexts.paths(tool, params):
        if ("claw" in path.lower() or host.code) and (found := installed.of_path(normal(_of_address(path), where), host)):
            yield found


def _paths(tool: str, params: dict[str, Any], host: Host, cwd: str) -> str:
    for path in calltexts.paths(tool, params):
        if reason := _path(tool, _of_address(path), host, cwd):
            return reason
    texts = list(_strings(params, 0))
    if any(dashboard.visits(text, host) for text in texts):
        return dashboard.CALL
    return KEY if any(_is_key(text, host) for text in texts) else ""


def _open_paths(tool: str, params: dict[str, Any], host: Host, cwd: str) -> str:
    """The same of paths of which a part is not known: `/proc/self/fd/3/key`."""
    own = (protectedpaths.of(host).state + "/workspace", *((cwd,) if cwd.startswith("/") else ()))
    places = (possible_place(_of_address(path), host, own) for path in calltexts.paths(tool, params))
    return next((reason for place in places if (reason := _reason(tool, place))), "")


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _MAX_NESTED:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item, depth + 1)


def _is_key(text: str, host: Host) -> bool:
    """Whether a whole parameter is a path or a `file:` address of a secret."""
    if len(text) > _MAX_PATH or "\n" in text or not _KEY_LIKE.search(text) or _REMOTE.match(text):
        return False
    path = _of_address(text)
    return "/" in path and _path("read", path, host) == KEY


def _of_address(text: str) -> str:
    """The path that a `file:` address means; any other text as it is."""
    if text.lstrip()[:5].lower() != "file:":
        return text
    return "/" + _HERE.sub("", unquote(text.strip()[5:])).lstrip("/")


def _path(tool: str, path: str, host: Host, cwd: str = "") -> str:
    if not _may_be_ours(path, host):
        return ""
    own = (protectedpaths.of(host).state + "/workspace", *((cwd,) if cwd.startswith("/") else ()))
    found = protectedpaths.kind(path, host) or protectedpaths.kind(path, host, own)
    if found and tool == "grep" and "." not in base(path.rstrip("/")).lstrip("."):
        return KEY
    return _reason(tool, found)


def _reason(tool: str, found: str) -> str:
    """Why this tool must not be given a place."""
    if found == "key":
        return KEY
    if found == "root":
        return PATH if _takes_away(tool) else ""
    return PATH if found == "guard" and not _only_reads(tool) else ""


def _only_reads(tool: str) -> bool:
    return tool in _READERS or toolnames.named(tool).deed == "look"


def _takes_away(tool: str) -> bool:
    """Whether a folder that is given to this tool may be gone afterwards."""
    name = toolnames.named(tool)
    return name.deed in ("destroy", "take-away") or not name.words.isdisjoint(_MOVES)


def _may_be_ours(path: str, host: Host) -> bool:
    path = path.lower() if path.isascii() else protectedpaths.plain(path)
    return (
        "toolguard" in path or "claw" in path or ".." in path or "proc/" in path or "*" in path or "?" in path or "[" in path
        or any(word in path for word in protectedpaths.of(host).words)
    )  # fmt: skip
