"""The guard protects itself: no call answers for the person, touches the guard's files and config, or stops it.

No approval lifts this. What is blocked, by tool: commands (`exec` and what else runs one) as `layers/selfcommands.py`
says; other tools by the paths they name; the gateway's own config tool; a chat command written by the agent.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

from toolguard_engine import protectedpaths
from toolguard_engine.layers import selfcommands
from toolguard_engine.model import Call, Host, Verdict
from toolguard_engine.toolsearch import tool_name

CODE = "rule.self-protection"

EXEC_TOOLS = frozenset({"exec", "bash", "shell"})
_TYPING = frozenset({"write", "send-keys", "paste", "submit"})
_READERS = frozenset({"read", "ls", "grep", "find", "glob", "image", "pdf"})
_PATH_KEYS = ("path", "file", "file_path", "filePath", "filename", "target", "dest", "destination")
_PATCHED = re.compile(r"^\s*\*\*\* (?:Update File|Add File|Delete File|Move to):[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_CHAT = re.compile(r"\s*/toolguard\s+(?:approve|deny|grant)\b", re.IGNORECASE)
_KEYS = {"Enter": "\n", "Return": "\n", "Space": " ", "Tab": " ", "C-m": "\n"}

PATH = "This call would change the files or the configuration of the guard itself."
KEY = "This call would read the secret key with which the guard signs approvals."
CONFIG = "This call would change the part of the gateway's configuration that keeps the guard in place."
CHAT = "Only a person may send the guard's own chat commands."


def judge(call: Call, host: Host) -> Verdict | None:
    if not isinstance(call.params, dict):
        return None
    reason = _reason(tool_name(call.tool), call.params, host)
    return Verdict("block", CODE, reason=reason) if reason else None


def _reason(tool: str, params: dict[str, Any], host: Host) -> str:
    if tool in EXEC_TOOLS:
        return _exec(params, host)
    if tool == "apply_patch":
        return _patch(params, host)
    special = _SPECIAL.get(tool)
    return (special(params, host) if special else "") or _paths(tool, params, host)


def _exec(params: dict[str, Any], host: Host) -> str:
    env = params.get("env")
    folder = params.get("workdir") or params.get("cwd")
    command = _command(params.get("command"))
    if isinstance(env, dict) and env:
        command = "".join(f"{k}={shlex.quote(str(v))}\n" for k, v in env.items() if str(k).isidentifier()) + command
    return selfcommands.reason(command, host, folder if isinstance(folder, str) else "")


def _command(value: Any) -> str:
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return value if isinstance(value, str) else ""


def _process(params: dict[str, Any], host: Host) -> str:
    if params.get("action") not in _TYPING:
        return ""
    for text in _typed(params):
        if reason := selfcommands.reason(text, host, ""):
            return reason
    return ""


def _typed(params: dict[str, Any]) -> Iterator[str]:
    for name in ("data", "text", "input", "literal"):
        if isinstance(params.get(name), str):
            yield params[name]
    keys = params.get("keys")
    if isinstance(keys, list):
        yield "".join(_KEYS.get(str(key), str(key)) for key in keys)
    elif isinstance(keys, str):
        yield keys
    codes = params.get("hex")
    if isinstance(codes, list):
        digits = "".join(str(code).lower().removeprefix("0x").zfill(2) for code in codes[:4096])
        yield bytes.fromhex(digits).decode("latin-1") if re.fullmatch(r"(?:[0-9a-f]{2})*", digits) else ""


def _nodes(params: dict[str, Any], host: Host) -> str:
    if params.get("action") not in {"run", "invoke"}:
        return ""
    return next(filter(None, (selfcommands.reason(text, host, "") for text in _commands_in(params, 0))), "")


def _commands_in(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value.translate(str.maketrans('{}[],":', "       ")) if value.lstrip().startswith("{") else value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield shlex.join(value)
    elif isinstance(value, dict | list) and depth < len("nested"):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _commands_in(item, depth + 1)


def _automations(params: dict[str, Any], host: Host) -> str:
    found = _named("command", params, 0)
    return next(filter(None, (selfcommands.reason(_command(text), host, "") for text in found)), "")


def _named(name: str, value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, dict | list) and depth < len("nested"):
        if isinstance(value, dict) and name in value:
            yield value[name]
        for item in value.values() if isinstance(value, dict) else value:
            yield from _named(name, item, depth + 1)


def _gateway(params: dict[str, Any], _host: Host) -> str:
    action = str(params.get("action", ""))
    if not action.startswith("config.") or action.startswith(("config.get", "config.schema")):
        return ""
    text = repr(params).replace("\\", "")
    changed = "toolguard" in text or "plugins" in text
    return CONFIG if changed or action == "config.apply" else ""


def _message(params: dict[str, Any], _host: Host) -> str:
    texts = (params.get(name) for name in ("message", "text", "content", "caption"))
    return CHAT if any(isinstance(text, str) and _CHAT.match(text) for text in texts) else ""


_SPECIAL = {"process": _process, "nodes": _nodes, "automations": _automations, "cron": _automations,
            "gateway": _gateway, "message": _message, "sessions_send": _message}  # fmt: skip


def _patch(params: dict[str, Any], host: Host) -> str:
    text = params.get("input") or params.get("patch")
    paths = _PATCHED.findall(text) if isinstance(text, str) else []
    return next(filter(None, (_path("write", path, host) for path in paths)), "") or _paths("apply_patch", params, host)


def _paths(tool: str, params: dict[str, Any], host: Host) -> str:
    for name in _PATH_KEYS:
        value = params.get(name)
        if value and isinstance(value, str) and (reason := _path(tool, value, host)):
            return reason
    return ""


def _path(tool: str, path: str, host: Host) -> str:
    if not _may_be_ours(path, host):
        return ""
    own = (protectedpaths.of(host).state + "/workspace",)
    found = protectedpaths.kind(path, host) or protectedpaths.kind(path, host, own)
    if found == "key":
        return KEY
    return PATH if found == "guard" and tool not in _READERS else ""


def _may_be_ours(path: str, host: Host) -> bool:
    return (
        "toolguard" in path or "claw" in path or ".." in path or "*" in path
        or any(word in path for word in protectedpaths.of(host).words)
    )  # fmt: skip
