"""The commands that a call would run and the files it would write, taken from its parameters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands import code_sources
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.tools import tool_values, tools

EXEC_TOOLS = program_catalogue.tools("command_line")
_TYPING = frozenset({"write", "send-keys", "paste", "submit"})
_KEYS = {"Enter": "\n", "Return": "\n", "Space": " ", "Tab": " ", "C-m": "\n"}
_MAX_NESTED = 6
_MAX_KEYS = 16_384
_MAX_VALUES = 10_000
_FUNCTION = lazy_re.compile(r"BASH_FUNC_([\w.:+-]{1,100})(?:%%|\(\))", re.ASCII)
_SOURCED = ("BASH_ENV", "ENV")
_EXPANDED = ("PS0", "PS1", "PS2", "PS4")
_PATCHED_FILE = lazy_re.compile(r"^[^\S\n]*+\*\*\* (?:Update File|Add File|Delete File|Move to):(.+)$", re.MULTILINE)


def commands(tool: str, params: Any) -> tuple[str, ...]:
    """The texts that this call may run in a shell, as far as its parameters show."""
    if not isinstance(params, dict):
        return ()
    if tool in EXEC_TOOLS:
        return (_executed(params), *_in_environment(params)) if params.get("env") else (_executed(params),)
    extract = _EXTRACTORS.get(tool)
    if extract is None:
        return tools.commands(tool, params, code_sources.COMMANDS)
    return tuple(dict.fromkeys(text for text in extract(params) if text))


def paths(tool: str, params: dict[str, Any]) -> tuple[str, ...]:
    """The files that a file tool names."""
    files = list(tool_values.path_texts(params, _MAX_NESTED, _MAX_VALUES))
    if tool == "apply_patch":
        text = params.get("input") or params.get("patch")
        files += [path.strip() for path in _PATCHED_FILE.findall(text)] if isinstance(text, str) else []
    return tuple(dict.fromkeys(files))


def _executed(params: dict[str, Any]) -> str:
    command, env = _command(params.get("command")), params.get("env")
    if command and isinstance(env, dict) and env:
        return "".join(f"{k}={shlex.quote(str(v))}\n" for k, v in env.items() if str(k).isidentifier()) + command
    return command


def _in_environment(params: dict[str, Any]) -> Iterator[str]:
    """What a shell runs because of variables that a call sets: functions, startup files, prompts.

    Each is a separate text, so that an open quote in one cannot hide any part of the command.
    """
    env = params.get("env")
    if not isinstance(env, dict):
        return
    functions = ""
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str) or not value:
            continue
        if name.startswith("BASH_FUNC_"):
            match = _FUNCTION.fullmatch(name)
            called = match[1] if match else "f"
            functions += f"{called} {value}\n"
            yield f"{called} {value}\n{called}"
        elif text := _run_because_of(name, value):
            yield text
    if functions:
        yield functions + _command(params.get("command"))


def _run_because_of(name: str, value: str) -> str:
    """What a shell runs because this variable is set; empty if it runs nothing."""
    if name == "PROMPT_COMMAND":
        return value
    if (name in _SOURCED or name in _EXPANDED) and ("$(" in value or "`" in value):
        return f": {value}"
    return f". {shlex.quote(value)}" if name in _SOURCED else ""


def _command(value: Any) -> str:
    if isinstance(value, list):
        return shlex.join(map(str, value))
    return value if isinstance(value, str) else ""


def _typed(params: dict[str, Any]) -> Iterator[str]:
    if str(params.get("action")) not in _TYPING:
        return
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
        digits = "".join(str(code).lower().removeprefix("0x").zfill(2) for code in codes[: _MAX_KEYS + 1])
        yield bytes.fromhex(digits).decode("latin-1") if re.fullmatch(r"(?:[0-9a-f]{2})*", digits) else ""


def _on_nodes(params: dict[str, Any]) -> Iterator[str]:
    if str(params.get("action")) in {"run", "invoke"}:
        yield from _all_texts(params, 0)


def _all_texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value.translate(str.maketrans('{}[],":', "       ")) if value.lstrip().startswith("{") else value
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield shlex.join(value)
    elif isinstance(value, dict | list) and depth < _MAX_NESTED:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _all_texts(item, depth + 1)


def _scheduled(params: dict[str, Any]) -> Iterator[str]:
    for name in ("command", "argv"):
        yield from map(_command, _named(name, params, 0))


def _named(name: str, value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, dict | list) and depth < _MAX_NESTED:
        if isinstance(value, dict) and name in value:
            yield value[name]
        for item in value.values() if isinstance(value, dict) else value:
            yield from _named(name, item, depth + 1)


def _terminal(params: dict[str, Any]) -> Iterator[str]:
    """Text typed into a terminal on the gateway's own page, under any of the parameter names in use."""
    for name in ("command", "input", "text", "data", "keys"):
        yield _command(params.get(name))


def _code_execution(params: dict[str, Any]) -> Iterator[str]:
    yield f"python3 -c {shlex.quote(str(params.get('code', '')))}"


_EXTRACTORS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "process": _typed, "nodes": _on_nodes, "automations": _scheduled, "cron": _scheduled, "terminal": _terminal,
    "code_execution": _code_execution,
}  # fmt: skip
