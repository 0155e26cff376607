"""Effects of tools that are not shells, from the tool and its parameters. Never raises; reads no file.

The kinds, with their targets and flags:

- `write` (a path; flag `deletes`), `empty` (a path: written with no content), `read` (a path; `names`: only names are
  listed; `attached`: it is sent along). Also with the flags of `shell.places.marks`, such as `project`.
- `fetch` (an address or a query; `search`, `local`: this machine, `metadata`: a cloud's metadata address, `data`: it carries
  much data), `act` (an action in a browser or on a desktop; `evaluate`, `upload`, `cookies`, `typed`)
- `message` (the recipients; `addressed`, `broadcast`, `attached`, `secret`, `deletes`, `moderates`, `destroys`, `settings`)
- `gateway` (what is done to the gateway itself; flags: the action and the effect, as in `controlplane.toml`)
- `plugin`, `session`, `secret-store`, `skill`, `device`, `schedule`, `spawn`, `expose` (what is done or with what; flags:
  the action and what is special about it)
- `mcp`: an undescribed tool, judged by its name and parameters (its name; flags: `ToolAction`, `small`, `many`, `local`, and
  for statements `statement`, `destroys`); `mcp-write` and `mcp-read` for the local paths that it names
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane import gateway_tools
from toolguard_engine.effects.control_plane.verb_catalogue import UNKNOWN_VERB
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.tools import tool_parameters
from toolguard_engine.effects.tools.gateway_tool_acts import (
    action_act,
    control_act,
    node_effects,
    on_gateway,
    schedule_effects,
    spawn_effects,
    system_agent,
)
from toolguard_engine.effects.tools.message_tools import ATTACHED, message_effects
from toolguard_engine.effects.tools.tool_values import (
    DELETES,
    MAX_DEPTH,
    MAX_ITEMS,
    MAX_PATHS,
    NONE,
    Acts,
    Params,
    Tool,
    address_effect,
    all_texts,
    file_effect,
    files_act,
    first_text,
    word,
)
from toolguard_engine.effects.tools.undescribed_tools import undescribed_effects
from toolguard_engine.host.tool_names import NameMeaning, named, split

_FILE_PATHS = (
    "path",
    "file_path",
    "filePath",
    "file",
    "filename",
    "uri",
    "directory",
    "dir",
    "folder",
    "dest",
    "destination",
)
_PATCHED = lazy_re.compile(r"^[^\S\n]*+\*\*\* (Update File|Add File|Delete File|Move to):(.+)$", re.MULTILINE)


def effects(tool: str, params: Any, where: Where) -> Acts:
    """What this call would do. `tool`: without `openclaw:core:` (`tool_search.short_name`), in any case."""
    if not isinstance(params, dict):
        return ()
    known = _TOOLS.get(tool) or _TOOLS.get(tool.lower())
    if not known:
        return undescribed_effects(tool, params, where)
    more = on_gateway(gateway_tools.on_sessions(tool.lower(), params)) if tool.lower() in _ABOUT_SESSIONS else ()
    return (*known(params, where), *_unknown_action(tool, params), *more)


def _unknown_action(tool: str, params: Params) -> Acts:
    """An action of one of the gateway's own tools that the catalogue lacks."""
    if tool in _CONTROLLING or "action" not in params:
        return ()
    return on_gateway(operation for operation in gateway_tools.operations(tool, params) if operation.effect == UNKNOWN_VERB)


def commands(tool: str, params: Any, interpreters: Mapping[str, str]) -> tuple[str, ...]:
    """The command lines in the parameters of an undescribed tool: `command`, `cmd`, and code for an interpreter.

    `interpreters`: how each is given code, by what tools call its language. It is a parameter because the languages know it,
    and tools are judged without them."""
    if not isinstance(params, dict) or tool.lower() in _TOOLS:
        return ()
    return tuple(dict.fromkeys(text for text in _command_lines(named(tool), params, interpreters) if text))


def _command_lines(name: NameMeaning, params: Params, interpreters: Mapping[str, str]) -> Iterator[str]:
    arguments = params.get("args", params.get("arguments"))
    for key in ("command", "cmd", "argv", "shell_command", "bash_command", "command_line", "commandLine"):
        yield _joined(params.get(key), arguments)
    commands_ = params.get("commands")
    if isinstance(commands_, list):
        yield "\n".join(item for item in commands_[:MAX_ITEMS] if isinstance(item, str))
    yield from tool_parameters.command_lines(name, params, interpreters)


def _joined(value: Any, arguments: Any) -> str:
    if isinstance(value, list):
        return shlex.join(_plain(value))
    if not isinstance(value, str):
        return ""
    if isinstance(arguments, list) and arguments:
        return f"{value} {shlex.join(_plain(arguments))}"
    return value


def _plain(items: list[Any]) -> list[str]:
    return [item if isinstance(item, str) else str(item) for item in items if isinstance(item, str | int | float)]


def _edits(params: Params, where: Where) -> Acts:
    """The files of an edit, wherever this version of the tool puts them."""
    inner = params.get("edits") or params.get("files")
    more = [item for item in inner[:MAX_ITEMS] if isinstance(item, dict)] if isinstance(inner, list) else []
    paths = dict.fromkeys(path for part in (params, *more) for path in all_texts(part, _FILE_PATHS))
    content = params.get("content")
    kind = "empty" if isinstance(content, str) and not content.strip() else "write"
    return tuple(file_effect(kind, path, where) for path in paths)


def _patch(params: Params, where: Where) -> Acts:
    acts = [file_effect("write", path, where) for path in all_texts(params, _FILE_PATHS)]
    for number, (verb, path) in enumerate(_PATCHED.findall(first_text(params, "input", "patch"))):
        if number == MAX_PATHS:
            return (*acts, Effect("write", "more files", "unknown"))
        acts.append(file_effect("write", path.strip(), where, DELETES if verb == "Delete File" else NONE))
    return tuple(acts)


def _web(params: Params, where: Where) -> Acts:
    return tuple(address_effect(address, where) for address in all_texts(params, ("url", "urls", "targetUrl")))


def _search(params: Params, _: Where) -> Acts:
    return tuple(Effect("fetch", query, "remote", _SEARCH) for query in all_texts(params, ("query", "q")))


_SEARCH = frozenset(["search"])
_BROWSER_ACTIONS = split("click clickcoords type press drag select fill upload evaluate dialog importprofile")
_TYPING = frozenset(["type", "fill", "press"])


def _browser_flags(action: str) -> frozenset[str]:
    flags = {action} & {"evaluate", "upload"}
    if action in _TYPING:
        flags |= {"typed"}
    return frozenset(flags | {"cookies"} if action == "importprofile" else flags)


def _browser(params: Params, where: Where, depth: int = 0) -> Acts:
    """An action of the browser. `act` holds its own in `request`, or several in `actions`."""
    action = word(params, "action")
    kind = word(params, "kind") if action in ("", "act") else ""
    done = kind or action
    acts = list(_web(params, where)) if action in ("open", "navigate", "goto", "start") or done == "navigate" else []
    if done in _BROWSER_ACTIONS:
        acts.append(Effect("act", done, "remote", _browser_flags(done)))
    if done == "upload":
        acts += [file_effect("read", path, where, ATTACHED) for path in all_texts(params, ("paths", "path"))]
    inner = [params.get("request"), *(actions[:MAX_ITEMS] if isinstance(actions := params.get("actions"), list) else ())]
    for request in inner if depth < MAX_DEPTH else ():
        if isinstance(request, dict):
            acts += _browser(request, where, depth + 1)
    return tuple(acts)


def _nothing(_: Params, __: Where) -> Acts:
    return ()


_COMPUTER_READS = (
    "screenshot wait list_apps list_windows get_accessibility_tree get_cursor_position get_window_state zoom "
    "get_browser_state get_recording_state observe mouse_move"
)
_READERS = program_catalogue.tools("reads_file")
_WITHOUT_EFFECT = program_catalogue.tools("without_effect")
"""Tools without effects of their own. Those that run commands are judged by the commands (`call_texts`)."""

_CONTROLLING = program_catalogue.tools("controls_gateway")
_ABOUT_SESSIONS = program_catalogue.tools("about_sessions")
"""Tools that may choose a model or change what a session may do."""

_TOOLS: dict[str, Tool] = {
    **dict.fromkeys(_READERS, files_act("read", (*_FILE_PATHS, "paths"))),
    **dict.fromkeys(program_catalogue.tools("lists_files"), files_act("read", _FILE_PATHS, frozenset(["names"]))),
    "dir_fetch": files_act("read", _FILE_PATHS),
    **dict.fromkeys(program_catalogue.tools("writes_file"), _edits),
    **dict.fromkeys(program_catalogue.tools("patches"), _patch),
    **dict.fromkeys(program_catalogue.tools("fetches"), _web),
    **dict.fromkeys(program_catalogue.tools("searches_web"), _search),
    "browser": _browser,
    **dict.fromkeys(program_catalogue.tools("sends"), message_effects),
    "gateway": control_act("gateway"),
    "openclaw": system_agent,
    "nodes": node_effects,
    **dict.fromkeys(program_catalogue.tools("schedules"), schedule_effects),
    "plugins": action_act("plugin", "list inspect search", ("pluginId", "packageName")),
    "sessions": action_act("session", "group_list cloud_profiles patch group_set group_rename", ("sessionKey", "name")),
    "subagents": action_act("session", "list"),
    "secrets": action_act("secret-store", "list request", ("name",)),
    "portal": action_act("expose", "list close"),
    "computer": action_act("act", _COMPUTER_READS, typed="type key hold_key set_value"),
    "mobile_ui": action_act("act", "observe"),
    "canvas": action_act("act", "present hide snapshot a2ui_push a2ui_reset navigate", evaluate="eval evaluate"),
    "skill_workshop": action_act("skill", "read list inspect evaluate history prepare_patch reject quarantine"),
    **dict.fromkeys(program_catalogue.tools("spawns"), spawn_effects),
    **dict.fromkeys(_WITHOUT_EFFECT, _nothing),
}
"""The tools of OpenClaw 2026.6 to 2026.9."""

DESCRIBED = frozenset(_TOOLS)
"""Their names. Every other tool is judged by its name."""
