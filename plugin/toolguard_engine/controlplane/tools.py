"""What a call of one of the gateway's own tools does to the gateway, by its action."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from toolguard_engine.controlplane import settings
from toolguard_engine.controlplane.catalogue import PASSING, UNKNOWN_VERB, load
from toolguard_engine.controlplane.commandline import Deed

_MAX_TEXT = 20_000
_MAX_SPLITS = 20
_BLANK_IN_SCRIPT = "\ufeff"
"""White space to the gateway, and none to Python."""

_GUARD = "toolguard"
_SET = re.compile(
    r"(?:config\s+set|set\s+config|config\s+set-ref|set\s+secretref|set\s+secret\s+ref)\s+(.+)", re.IGNORECASE | re.DOTALL
)
_STOP = re.compile(r"(?:gateway\s+stop|stop\s+(?:the\s+)?gateway)", re.IGNORECASE)
_UNINSTALL = re.compile(r"(?:plugins?\s+(?:uninstall|remove)|(?:uninstall|remove)\s+plugins?)\s+(\S+)", re.IGNORECASE)
_MODEL_KEYS = ("model", "fallbacks")
_RIGHTS = re.compile(r"permission|elevated|exec|sandbox|policy|runtime|tools", re.IGNORECASE)
"""In the name of a session's field: a change of it may let its agent do more."""

_ABOUT_PLUGINS = ("pluginId", "packageName", "spec", "path")


def deeds(tool: str, params: Any) -> tuple[Deed, ...]:
    """What it does; nothing where it only shows something or does ordinary work. `tool`: `toolsearch.tool_name`."""
    actions = load().tools.get(tool)
    if actions is None or not isinstance(params, dict):
        return ()
    return tuple(deed for deed in _of(tool, actions, params) if deed.effect not in PASSING)


def _of(tool: str, actions: dict[str, str], params: dict[str, Any]) -> Iterator[Deed]:
    action = params.get("action")
    if action is None:
        yield from _said(params.get("message")) if tool == "openclaw" else ()
        return
    name = action.strip().lower() if isinstance(action, str) else ""
    effect = actions.get(name, UNKNOWN_VERB)
    target = f"{tool} {name}"[:_MAX_TEXT]
    plugin = " ".join(str(params[key]) for key in _ABOUT_PLUGINS if key in params)[:_MAX_TEXT]
    if effect in ("run", "destroy", "interrupt") and tool in ("openclaw", "plugins") and _GUARD in plugin.lower():
        yield Deed("guard", target)
    if effect == "setting":
        yield from _changes(name, params, target)
    elif effect == "shown":
        path = params.get("path")
        shown = settings.names(path) if isinstance(path, str) else ()
        yield Deed("secret" if settings.is_shown_secret(shown) else "read", target)
    else:
        yield Deed(effect, target)


def on_sessions(tool: str, params: dict[str, Any]) -> Iterator[Deed]:
    """What a call does to a session or a scheduled turn: lets its agent do more, or takes a model whose own program runs the
    tools."""
    if tool == "sessions" and any(_RIGHTS.search(key) for key in params):
        yield Deed("access", tool)
    inner = [params, *(part for part in params.values() if isinstance(part, dict))]
    inner += [part for outer in inner[1:] for part in outer.values() if isinstance(part, dict)]
    if any(settings.chooses_unguarded_model(part[key]) for part in inner for key in _MODEL_KEYS if key in part):
        yield Deed("agent", f"{tool} model")


def _changes(name: str, params: dict[str, Any], target: str) -> Iterator[Deed]:
    if name == "set_default_model":
        chosen = settings.names_unguarded_model(str(params.get("model", ""))[:_MAX_TEXT])
        yield Deed("agent" if chosen else "use", target)
        return
    if name == "config.apply":
        yield Deed("guard", target)
        return
    for found in _changed(params):
        yield Deed(found.effect, f"{target} {found.path}".strip(), found.certain)
    if settings.chooses_unguarded_model(params.get("value")):
        yield Deed("agent", target)


def _changed(params: dict[str, Any]) -> Iterator[settings.Change]:
    """The settings that a call names, by path or in a patch."""
    path, raw = params.get("path"), next((params[key] for key in ("raw", "patch", "config") if key in params), None)
    if isinstance(path, str) and path.strip():
        yield settings.change(settings.names(path))
    elif path is not None:
        yield settings.Change(UNKNOWN_VERB, "")
    if isinstance(raw, str):
        yield settings.of_patch(raw)
    elif isinstance(raw, dict):
        yield settings.of_value(raw)
    elif raw is not None:
        yield settings.Change(UNKNOWN_VERB, "")
    replaced = params.get("replacePaths")
    for each in replaced[:_MAX_SPLITS] if isinstance(replaced, list) else ():
        yield settings.change(settings.names(str(each)))
    if path is None and raw is None:
        yield settings.Change("guard", "", certain=False)


def _said(message: Any) -> Iterator[Deed]:
    """What a message to the gateway's system agent does without a model: the few commands that are read word by word."""
    text = message.replace(_BLANK_IN_SCRIPT, " ").strip()[:_MAX_TEXT] if isinstance(message, str) else ""
    target = "openclaw message"
    if match := _SET.fullmatch(text):
        for path in _first_parts(match[1]):
            found = settings.change(settings.names(path))
            yield Deed(found.effect, f"{target} config set {found.path}", found.certain)
        if settings.names_unguarded_model(match[1]):
            yield Deed("agent", target)
    elif _STOP.fullmatch(text) or ((match := _UNINSTALL.fullmatch(text)) and _GUARD in match[1].lower()):
        yield Deed("guard", target)


def _first_parts(text: str) -> Iterator[str]:
    """All that may be the path in `config set PATH VALUE`: it may have blanks in quotes."""
    words = text.split()
    closed = [end for end in range(1, min(len(words), _MAX_SPLITS) + 1) if _is_closed(" ".join(words[:end]))]
    yield " ".join(words[: closed[0] if closed else 1])


def _is_closed(text: str) -> bool:
    return text.count('"') % 2 == 0 and text.count("'") % 2 == 0 and text.count("[") == text.count("]")
