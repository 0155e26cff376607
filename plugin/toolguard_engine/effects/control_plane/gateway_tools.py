"""The operations of a call to one of the gateway's own tools, by its action."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane import gateway_settings
from toolguard_engine.effects.control_plane.command_line import SHOWING, Operation
from toolguard_engine.effects.control_plane.verb_catalogue import PASSING, UNKNOWN_VERB, load

_MAX_TEXT = 20_000
_MAX_SPLITS = 20
_BLANK_IN_SCRIPT = "\ufeff"
"""White space in the gateway's language but not in Python."""

_GUARD = "toolguard"
_SET = lazy_re.compile(
    r"(?:config\s+set|set\s+config|config\s+set-ref|set\s+secretref|set\s+secret\s+ref)\s+(.+)", re.IGNORECASE | re.DOTALL
)
_STOP = lazy_re.compile(r"(?:gateway\s+stop|stop\s+(?:the\s+)?gateway)", re.IGNORECASE)
_UNINSTALL = lazy_re.compile(r"(?:plugins?\s+(?:uninstall|remove)|(?:uninstall|remove)\s+plugins?)\s+(\S+)", re.IGNORECASE)
_MODEL_KEYS = ("model", "fallbacks")
_RIGHTS = lazy_re.compile(r"permission|elevated|exec|sandbox|policy|runtime|tools", re.IGNORECASE)
"""In the name of a session field: changing it may give the agent more rights."""

_ABOUT_PLUGINS = ("pluginId", "packageName", "spec", "path")


def operations(tool: str, params: Any) -> tuple[Operation, ...]:
    """The operations of a call; none if it only shows something or does ordinary work. `tool`: see
    `tool_search.tool_name`."""
    actions = load().tools.get(tool)
    if actions is None or not isinstance(params, dict):
        return ()
    return tuple(operation for operation in _of(tool, actions, params) if operation.effect not in PASSING)


def _of(tool: str, actions: dict[str, str], params: dict[str, Any]) -> Iterator[Operation]:
    action = params.get("action")
    if action is None:
        yield from _in_message(params.get("message")) if tool == "openclaw" else ()
        return
    name = action.strip().lower() if isinstance(action, str) else ""
    effect = actions.get(name, "read" if name.rpartition(".")[2] in SHOWING else UNKNOWN_VERB)
    target = f"{tool} {name}"[:_MAX_TEXT]
    plugin = " ".join(str(params[key]) for key in _ABOUT_PLUGINS if key in params)[:_MAX_TEXT]
    if effect in ("run", "destroy", "interrupt") and tool in ("openclaw", "plugins") and _GUARD in plugin.lower():
        yield Operation("guard", target)
    if effect == "setting":
        yield from _changes(name, params, target)
    elif effect == "shown":
        path = params.get("path")
        shown = gateway_settings.names(path) if isinstance(path, str) else ()
        yield Operation("secret" if gateway_settings.is_shown_secret(shown) else "read", target)
    else:
        yield Operation(effect, target)


def on_sessions(tool: str, params: dict[str, Any]) -> Iterator[Operation]:
    """Operations on a session or a scheduled turn: giving its agent more rights, or choosing a model whose own program runs
    the tools."""
    if tool == "sessions" and any(_RIGHTS.search(key) for key in params):
        yield Operation("access", tool)
    inner = [params, *(part for part in params.values() if isinstance(part, dict))]
    inner += [part for outer in inner[1:] for part in outer.values() if isinstance(part, dict)]
    if any(gateway_settings.chooses_unguarded_model(part[key]) for part in inner for key in _MODEL_KEYS if key in part):
        yield Operation("agent", f"{tool} model")


def _changes(name: str, params: dict[str, Any], target: str) -> Iterator[Operation]:
    if name == "set_default_model":
        chosen = gateway_settings.names_unguarded_model(str(params.get("model", ""))[:_MAX_TEXT])
        yield Operation("agent" if chosen else "use", target)
        return
    if name == "config.apply":
        yield Operation("guard", target)
        return
    for effect in _changed(params):
        yield Operation(effect.effect, f"{target} {effect.path}".strip(), effect.certain)
    if gateway_settings.chooses_unguarded_model(params.get("value")):
        yield Operation("agent", target)


def _changed(params: dict[str, Any]) -> Iterator[gateway_settings.SettingEffect]:
    """The settings that a call names, by path or in a patch."""
    path, raw = params.get("path"), next((params[key] for key in ("raw", "patch", "config") if key in params), None)
    if isinstance(path, str) and path.strip():
        yield gateway_settings.change_to(gateway_settings.names(path), params.get("value"))
    elif path is not None:
        yield gateway_settings.SettingEffect(UNKNOWN_VERB, "")
    if isinstance(raw, str):
        yield gateway_settings.of_patch(raw)
    elif isinstance(raw, dict):
        yield gateway_settings.of_value(raw)
    elif raw is not None:
        yield gateway_settings.SettingEffect(UNKNOWN_VERB, "")
    replaced = params.get("replacePaths")
    for part in replaced[:_MAX_SPLITS] if isinstance(replaced, list) else ():
        yield gateway_settings.change(gateway_settings.names(str(part)))
    if path is None and raw is None:
        yield gateway_settings.SettingEffect("guard", "", certain=False)


def set_in_message(message: Any) -> tuple[str, str] | None:
    """The path and the value that a message to the gateway's system agent sets without a model."""
    match = _SET.fullmatch(_plain_text(message))
    if match is None or not match[0].lower().startswith(("config set ", "set config ")):
        return None
    (path,) = _first_parts(match[1])
    return path, match[1][len(path) :].strip()


def _plain_text(message: Any) -> str:
    return message.replace(_BLANK_IN_SCRIPT, " ").strip()[:_MAX_TEXT] if isinstance(message, str) else ""


def _in_message(message: Any) -> Iterator[Operation]:
    """Commands in a message to the gateway's system agent that it executes without a model."""
    text = _plain_text(message)
    target = "openclaw message"
    if match := _SET.fullmatch(text):
        for path in _first_parts(match[1]):
            effect = gateway_settings.change_to(gateway_settings.names(path), match[1][len(path) :])
            yield Operation(effect.effect, f"{target} config set {effect.path}", effect.certain)
        if gateway_settings.names_unguarded_model(match[1]):
            yield Operation("agent", target)
    elif _STOP.fullmatch(text) or ((match := _UNINSTALL.fullmatch(text)) and _GUARD in match[1].lower()):
        yield Operation("guard", target)


def _first_parts(text: str) -> Iterator[str]:
    """All candidates for the path in `config set PATH VALUE`, which may contain quoted spaces."""
    words = text.split()
    closed = [end for end in range(1, min(len(words), _MAX_SPLITS) + 1) if _is_closed(" ".join(words[:end]))]
    yield " ".join(words[: closed[0] if closed else 1])


def _is_closed(text: str) -> bool:
    return text.count('"') % 2 == 0 and text.count("'") % 2 == 0 and text.count("[") == text.count("]")
