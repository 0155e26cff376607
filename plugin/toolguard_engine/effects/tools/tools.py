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
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote

from toolguard_engine import lazy_re
from toolguard_engine.effects.control_plane import gateway_tools
from toolguard_engine.effects.control_plane.command_line import Operation
from toolguard_engine.effects.control_plane.verb_catalogue import UNKNOWN_VERB
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.places import Where, marks, place
from toolguard_engine.effects.programs import sql, web_targets
from toolguard_engine.effects.tools import tool_parameters
from toolguard_engine.host.tool_names import NameMeaning, named, words

MAX_PATHS = 40
MAX_ITEMS = 40
MAX_DEPTH = 4
MAX_TEXT = 20_000
_MANY_TARGETS = 3
"""A message to more recipients is a broadcast."""

Params = dict[str, Any]
Acts = tuple[Effect, ...]
Tool = Callable[[Params, Where], Acts]

_NONE: frozenset[str] = frozenset()
_PATH_KEYS = words(
    "path file filepath filename relativepath absolutepath fullpath localpath pathname uri fileuri documenturi directory "
    "dir dirpath directorypath folder folderpath from to target targetfile targetpath targetdir targetdirectory source "
    "sourcefile sourcepath sourcedir sourcedirectory src srcpath destination destinationpath destinationfile "
    "destinationdirectory dest destpath dst dstpath oldpath newpath output outputpath outputfile outfile paths files "
    "filepaths filenames uris directories dirs folders sources targets attachment attachments media"
)
"""Names of parameters that may hold a path, in lower case and without `_` and `-`."""
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
_URL = lazy_re.compile(r"\s*(?!file:)[A-Za-z][A-Za-z0-9+.-]{1,20}:(?://|(?<=data:)|(?<=mailto:))")
_LOCAL = lazy_re.compile(
    r"\s*[a-z]{2,6}://(?:[^/@\s]{1,200}@)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1?\]|0\.0\.0\.0|[\w-]{1,200}\.localhost)\.?(?:[:/?#\s]|\Z)",
    re.IGNORECASE,
)
_METADATA = lazy_re.compile(
    r"\s*(?:[a-z]{2,6}://)?(?:169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal|100\.100\.100\.200|\[fd00:ec2::254\])",
    re.IGNORECASE,
)
MAX_SCHEME = 20
_LARGE = 400
"""Characters of a query string, or of one part of an address that is not a word (`_BLOB`), that count as carried data."""
_BLOB = lazy_re.compile(r"[/=][A-Za-z0-9+_%-]{200,}+={0,2}(?:$|[&#/?])")
_KEY = lazy_re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"
    r"|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{10,}|\bsk-(?:proj-|ant-|or-)?[A-Za-z0-9_-]{20,}|\bAIza[\w-]{30,}"
    r"|\bnpm_[A-Za-z0-9]{30,}|\bhf_[A-Za-z0-9]{20,}|\beyJ[\w-]{10,600}+\.eyJ[\w-]{10,600}"
    r"|\b[A-Z0-9_]{0,30}(?:SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|PASSWORD)(?:_KEY|_ID)?\s{0,2}[=:]\s{0,2}['\"]?"
    r"(?=[A-Za-z0-9+/_-]{0,60}\d)(?!(?i:your|example|xxx|test|change|<))[A-Za-z0-9+/_-]{20,}"  # by the name of its variable
)
_EVERYBODY = lazy_re.compile(r"(?:^|[\s>])@(?:everyone|here|channel|all)\b|<!(?:everyone|here|channel)>")


def effects(tool: str, params: Any, where: Where) -> Acts:
    """What this call would do. `tool`: without `openclaw:core:` (`tool_search.short_name`), in any case."""
    if not isinstance(params, dict):
        return ()
    known = _TOOLS.get(tool) or _TOOLS.get(tool.lower())
    if not known:
        return _undescribed(tool, params, where)
    more = _on_gateway(gateway_tools.on_sessions(tool.lower(), params)) if tool.lower() in _ABOUT_SESSIONS else ()
    return (*known(params, where), *_unknown_action(tool, params), *more)


def _unknown_action(tool: str, params: Params) -> Acts:
    """An action of one of the gateway's own tools that the catalogue lacks."""
    if tool in _CONTROLLING or "action" not in params:
        return ()
    return _on_gateway(operation for operation in gateway_tools.operations(tool, params) if operation.effect == UNKNOWN_VERB)


def commands(tool: str, params: Any) -> tuple[str, ...]:
    """The command lines in the parameters of an undescribed tool: `command`, `cmd`, and code for an interpreter."""
    if not isinstance(params, dict) or tool.lower() in _TOOLS:
        return ()
    return tuple(dict.fromkeys(text for text in _command_lines(named(tool), params) if text))


def path_texts(value: Any, depth: int = MAX_DEPTH, most: int = 4 * MAX_ITEMS) -> Iterator[str]:
    """The texts, also nested ones, under a key that names a path. `most`: the number of values that are searched."""
    waiting: list[tuple[Any, bool, int]] = [(value, False, 0)]
    while waiting and most > 0:
        most -= 1
        item, named_so, level = waiting.pop()
        if isinstance(item, str):
            if item and named_so:
                yield item
        elif level > depth:
            continue
        elif isinstance(item, dict):
            parts = [(part, _is_path_key(key), level + 1) for key, part in islice(item.items(), most)]
            waiting += reversed(parts)
        elif isinstance(item, list):
            waiting += [(part, named_so, level + 1) for part in reversed(item[:most])]


def _is_path_key(key: Any) -> bool:
    return isinstance(key, str) and len(key) <= _MAX_KEY and key.lower().replace("_", "").replace("-", "") in _PATH_KEYS


_MAX_KEY = 40


def _command_lines(name: NameMeaning, params: Params) -> Iterator[str]:
    arguments = params.get("args", params.get("arguments"))
    for key in ("command", "cmd", "argv", "shell_command", "bash_command", "command_line", "commandLine"):
        yield _joined(params.get(key), arguments)
    commands_ = params.get("commands")
    if isinstance(commands_, list):
        yield "\n".join(item for item in commands_[:MAX_ITEMS] if isinstance(item, str))
    yield from tool_parameters.command_lines(name, params)


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


def _texts(params: Params, names: tuple[str, ...]) -> Iterator[str]:
    """The texts under these names, also in lists."""
    for name in names:
        if name in params:
            value = params[name]
            if isinstance(value, str):
                if value:
                    yield value
            elif isinstance(value, list):
                yield from (item for item in value[:MAX_ITEMS] if isinstance(item, str) and item)


def _text(params: Params, *names: str) -> str:
    return next(_texts(params, names), "")


def _word(params: Params, name: str, default: str = "") -> str:
    value = params.get(name, default)
    return value.strip().lower() if isinstance(value, str) else ""


def _file(kind: str, path: str, where: Where, flags: frozenset[str] = _NONE) -> Effect:
    """The effect of `kind` on one path, or on the address if it is one."""
    path = path.removeprefix("@")
    if ":" in path and _URL.match(path):
        return _fetch(path) if kind in ("read", "mcp-read") else Effect(kind, path, "remote", flags)
    plain = marks(path, where)
    return Effect(kind, path, place(path, where), flags | plain if flags else plain)


def _files(kind: str, names: tuple[str, ...], flags: frozenset[str] = _NONE) -> Tool:
    def acts(params: Params, where: Where) -> Acts:
        return tuple([_file(kind, path, where, flags) for path in _texts(params, names)])

    return acts


def _edits(params: Params, where: Where) -> Acts:
    """The files of an edit, wherever this version of the tool puts them."""
    inner = params.get("edits") or params.get("files")
    more = [item for item in inner[:MAX_ITEMS] if isinstance(item, dict)] if isinstance(inner, list) else []
    found = dict.fromkeys(path for part in (params, *more) for path in _texts(part, _FILE_PATHS))
    content = params.get("content")
    kind = "empty" if isinstance(content, str) and not content.strip() else "write"
    return tuple(_file(kind, path, where) for path in found)


def _patch(params: Params, where: Where) -> Acts:
    found = [_file("write", path, where) for path in _texts(params, _FILE_PATHS)]
    for number, (verb, path) in enumerate(_PATCHED.findall(_text(params, "input", "patch"))):
        if number == MAX_PATHS:
            return (*found, Effect("write", "more files", "unknown"))
        found.append(_file("write", path.strip(), where, _DELETES if verb == "Delete File" else _NONE))
    return tuple(found)


_DELETES = frozenset(["deletes"])


def _fetch(address: str, more: frozenset[str] = _NONE) -> Effect:
    flags = set(more)
    plain = web_targets.target(address.strip()).url if "://" in address[:MAX_SCHEME] else address
    if _LOCAL.match(plain):
        flags.add("local")
    elif _METADATA.match(plain):
        flags.add("metadata")
    elif len(address) > _LARGE // 2 and (len(address.partition("?")[2]) > _LARGE or _BLOB.search(address[:MAX_TEXT])):
        flags.add("data")
    return Effect("fetch", address, "remote", frozenset(flags) if flags else _NONE)


def _address(address: str, where: Where) -> Effect:
    """What is fetched, or the local file that a `file:` address names."""
    if address.lstrip()[:5].lower() == "file:":
        return _file("read", unquote(address.strip()), where)
    return _fetch(address)


def _web(params: Params, where: Where) -> Acts:
    return tuple(_address(address, where) for address in _texts(params, ("url", "urls", "targetUrl")))


def _search(params: Params, _: Where) -> Acts:
    return tuple(Effect("fetch", query, "remote", _SEARCH) for query in _texts(params, ("query", "q")))


_SEARCH = frozenset(["search"])
_BROWSER_ACTIONS = words("click clickcoords type press drag select fill upload evaluate dialog importprofile")
_TYPING = frozenset(["type", "fill", "press"])


def _browser(params: Params, where: Where, depth: int = 0) -> Acts:
    """An action of the browser. `act` holds its own in `request`, or several in `actions`."""
    action = _word(params, "action")
    kind = _word(params, "kind") if action in ("", "act") else ""
    done = kind or action
    found = list(_web(params, where)) if action in ("open", "navigate", "goto", "start") or done == "navigate" else []
    if done in _BROWSER_ACTIONS:
        flags: set[str] = {done} & {"evaluate", "upload"}
        flags |= {"typed"} if done in _TYPING else set()
        flags |= {"cookies"} if done == "importprofile" else set()
        found.append(Effect("act", done, "remote", frozenset(flags)))
    if done == "upload":
        found += [_file("read", path, where, _ATTACHED) for path in _texts(params, ("paths", "path"))]
    inner = [params.get("request"), *(actions[:MAX_ITEMS] if isinstance(actions := params.get("actions"), list) else ())]
    for request in inner if depth < MAX_DEPTH else ():
        if isinstance(request, dict):
            found += _browser(request, where, depth + 1)
    return tuple(found)


_ATTACHED = frozenset(["attached"])
_MESSAGE_READS = words(
    "read reactions list-pins permissions thread-list search sticker-search member-info role-info emoji-list channel-info "
    "channel-list voice-status event-list download-file"
)
_MESSAGE_FLAGS = {
    "delete": "deletes",
    **dict.fromkeys(("ban", "kick", "timeout", "removeparticipant", "role-add", "role-remove"), "moderates"),
    **dict.fromkeys(("channel-delete", "category-delete", "leavegroup"), "destroys"),
    **dict.fromkeys(
        ("channel-edit", "channel-move", "category-edit", "renamegroup", "setgroupicon", "addparticipant", "set-profile"),
        "settings",
    ),
}
_TARGETS = (
    "target",
    "targets",
    "to",
    "recipient",
    "recipients",
    "channelId",
    "userId",
    "conversation",
    "address",
    "sessionKey",
)
_BODIES = ("message", "text", "content", "body", "caption", "voiceText", "html", "subject")


def _message(params: Params, where: Where) -> Acts:
    action = _word(params, "action", "send")
    if action in _MESSAGE_READS or params.get("dryRun") is True:
        return ()
    targets = tuple(_texts(params, _TARGETS))
    attached = [_file("read", path, where, _ATTACHED) for path in _attachments(params)]
    flags = {_MESSAGE_FLAGS[action]} if action in _MESSAGE_FLAGS else set()
    flags |= _content_flags(params, "addressed" if targets else "", action == "broadcast" or _are_many(targets))
    flags |= {"attached"} if attached or "buffer" in params else set()
    flags.discard("")
    return (Effect("message", ", ".join(targets)[:MAX_TEXT], "remote", frozenset(flags)), *attached)


def _content_flags(params: Params, addressed: str, many: bool) -> set[str]:  # noqa: FBT001 - a value, not an option
    """Flags for the content and the recipients of a message."""
    found = {addressed, "broadcast" if many else ""}
    for text in _texts(params, _BODIES):
        if _KEY.search(text, 0, MAX_TEXT):
            found.add("secret")
        if "@" in text or "<!" in text:
            found |= {"broadcast"} if _EVERYBODY.search(text, 0, MAX_TEXT) else set()
    return found


def _are_many(targets: tuple[str, ...]) -> bool:
    return len(targets) > _MANY_TARGETS or any(target in ("*", "all", "everyone", "@all", "@everyone") for target in targets)


def _attachments(params: Params) -> Iterator[str]:
    items = params.get("attachments")
    parts = [item for item in items[:MAX_ITEMS] if isinstance(item, dict)] if isinstance(items, list) else []
    for part in (params, *parts):
        for path in _texts(part, ("media", "mediaUrl", "path", "filePath", "file", "files", "mediaUrls")):
            if not path.startswith(("http:", "https:", "data:")):
                yield path
    if isinstance(items, list):
        yield from (item for item in items[:MAX_ITEMS] if isinstance(item, str))


def _action(kind: str, harmless: str = "", target: tuple[str, ...] = (), **special: str) -> Tool:
    """A tool whose effect depends only on its action. `harmless`: read-only actions; `special`: flag -> the actions that
    have it."""
    harmless_actions = frozenset(harmless.split())
    flags: dict[str, frozenset[str]] = {}
    for flag, actions in special.items():
        for action in actions.split():
            flags[action] = flags.get(action, _NONE) | {flag}

    def acts(params: Params, _: Where) -> Acts:
        action = _word(params, "action")
        if action in harmless_actions:
            return ()
        return (
            Effect(kind, _text(params, *target)[:MAX_TEXT] or action, "", flags.get(action, _NONE) | {action or "none"}),
        )

    return acts


def _control(tool: str) -> Tool:
    """A tool that changes the gateway itself."""

    def acts(params: Params, _: Where) -> Acts:
        return _on_gateway(gateway_tools.operations(tool, params), _word(params, "action").partition(".")[0])

    return acts


def _on_gateway(operations: Iterable[Operation], action: str = "") -> Acts:
    """Effects on the gateway. `layers.self_protection` handles operations that disable the guard."""
    named = frozenset([action]) - {""}
    return tuple(
        Effect("gateway", operation.target, "", named | {operation.effect})
        for operation in operations
        if operation.effect != "guard"
    )


def _system_agent(params: Params, where: Where) -> Acts:
    """A question to the gateway's system agent, or an action of that agent."""
    asked = () if "action" in params else _spawn(params, where)
    return (*asked, *_control("openclaw")(params, where))


_SENSORS = {
    "camera": "camera",
    "screen": "screen",
    "location": "location",
    "photos": "photos",
    "notifications": "notifications",
}
_NODE_READS = words(
    "status describe pending camera_list device_status device_info device_permissions device_health which notify list reject"
)


def _nodes(params: Params, _: Where) -> Acts:
    action = _word(params, "action")
    if action in _NODE_READS:
        return ()
    what = _word(params, "invokeCommand") if action == "invoke" else action
    first = re.split(r"[._]", what, maxsplit=1)[0]
    flag = _SENSORS.get(first, "pairs" if action == "approve" else "runs" if "run" in what else "invokes")
    flags = {flag} | ({"records"} if what.endswith(("record", "clip")) else set())
    return (Effect("device", what, "remote", frozenset(flags)),)


_SCHEDULE_READS = words("status list get runs next_check")


def _schedule(params: Params, _: Where) -> Acts:
    action = _word(params, "action")
    if action in _SCHEDULE_READS:
        return ()
    flags = {action or "none"}
    for key, value in _pairs(params, 0):
        if key in ("command", "argv", "script") and value:
            flags.add("runs")
        elif key == "allowUnsafeExternalContent" and value is True:
            flags.add("unsafe")
        elif key == "mode" and value == "webhook":
            flags.add("webhook")
        elif key in ("message", "text", "prompt") and isinstance(value, str) and _follows_address(value[:MAX_TEXT]):
            flags.add("follows")
    return (Effect("schedule", _text(params, "jobId", "id", "name")[:MAX_TEXT] or action, "", frozenset(flags)),)


_ORDERS = lazy_re.compile(
    r"\b(?:do|follow|execute|run|obey|apply|perform|carry out|act on)\b[^.\n]{0,40}?\b"
    r"(?:what(?:ever)?\b[^.\n]{0,20}\b(?:says?|tells?|asks?|returns?|contains?|wants?)"
    r"|it says|instructions?|commands?|orders|steps|script)\b",
    re.IGNORECASE,
)


def _follows_address(text: str) -> bool:
    """Whether a text tells the agent to do what another machine will say: `fetch https://x and do what it says`."""
    return "://" in text and _ORDERS.search(text) is not None


def _pairs(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in list(value.items())[: MAX_ITEMS * 2]:
            yield str(key), item
            if isinstance(item, dict | list):
                yield from _pairs(item, depth + 1)
    elif isinstance(value, list):
        for item in value[:MAX_ITEMS]:
            if isinstance(item, dict | list):
                yield from _pairs(item, depth + 1)


def _spawn(params: Params, _: Where) -> Acts:
    return (Effect("spawn", _text(params, "agentId", "label")[:MAX_TEXT]),)


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
    **dict.fromkeys(_READERS, _files("read", (*_FILE_PATHS, "paths"))),
    **dict.fromkeys(program_catalogue.tools("lists_files"), _files("read", _FILE_PATHS, frozenset(["names"]))),
    "dir_fetch": _files("read", _FILE_PATHS),
    **dict.fromkeys(program_catalogue.tools("writes_file"), _edits),
    **dict.fromkeys(program_catalogue.tools("patches"), _patch),
    **dict.fromkeys(program_catalogue.tools("fetches"), _web),
    **dict.fromkeys(program_catalogue.tools("searches_web"), _search),
    "browser": _browser,
    **dict.fromkeys(program_catalogue.tools("sends"), _message),
    "gateway": _control("gateway"),
    "openclaw": _system_agent,
    "nodes": _nodes,
    **dict.fromkeys(program_catalogue.tools("schedules"), _schedule),
    "plugins": _action("plugin", "list inspect search", ("pluginId", "packageName")),
    "sessions": _action("session", "group_list cloud_profiles patch group_set group_rename", ("sessionKey", "name")),
    "subagents": _action("session", "list"),
    "secrets": _action("secret-store", "list request", ("name",)),
    "portal": _action("expose", "list close"),
    "computer": _action("act", _COMPUTER_READS, typed="type key hold_key set_value"),
    "mobile_ui": _action("act", "observe"),
    "canvas": _action("act", "present hide snapshot a2ui_push a2ui_reset navigate", evaluate="eval evaluate"),
    "skill_workshop": _action("skill", "read list inspect evaluate history prepare_patch reject quarantine"),
    **dict.fromkeys(program_catalogue.tools("spawns"), _spawn),
    **dict.fromkeys(_WITHOUT_EFFECT, _nothing),
}
"""The tools of OpenClaw 2026.6 to 2026.9."""

DESCRIBED = frozenset(_TOOLS)
"""Their names. Every other tool is judged by its name."""

_REMOTE_KEYS = words(
    "owner repo repository bucket project projectid project_id site drive_id branch org workspace_id container pod "
    "namespace host server cluster table database collection"
)
"""Parameters of tools whose paths are not on this machine."""

_WRITES = frozenset(["write", "destroy", "take-away", "change"])
_STATEMENTS = ("sql", "query", "statement", "statements", "queries", "command", "script")
_REPORTED = frozenset(["destroy", "take-away", "let-in", "pay", "send", "publish", "run", "query"])


def _undescribed(tool: str, params: Params, where: Where) -> Acts:
    name = tool_parameters.meaning(tool, params)
    found = _paths_of(name, params, where)
    flags: set[str] = {name.action} if name.action in _REPORTED else set()
    flags.update(tool_parameters.flags(name, params))
    statements = tuple(key for key in _STATEMENTS if key in params and tool_parameters.asks_database(name, key))
    if any(_is_destructive(text) or _MUTATION.match(text) for text in _texts(params, statements)):
        flags |= {"statement", "destroys"}
    if not flags:
        return found
    flags |= {flag for flag, on in (("small", name.small), ("many", name.many), ("local", bool(found))) if on}
    if name.action in ("send", "publish"):
        flags |= _content_flags(params, "", _are_many(tuple(_texts(params, (*_TARGETS, "cc", "bcc"))))) - {""}
    return (Effect("mcp", tool[:MAX_TEXT], "", frozenset(flags)), *found)


def _paths_of(name: NameMeaning, params: Params, where: Where) -> Acts:
    """The local files that a call names."""
    if not _REMOTE_KEYS.isdisjoint(params):
        return ()
    kind = "mcp-write" if name.action in _WRITES else "mcp-read"
    flags = _DELETES if name.action in ("destroy", "take-away") else _NONE
    paths = tuple(islice(dict.fromkeys(path for path in path_texts(params) if _is_path(path)), MAX_PATHS))
    if "move" in name.words and len(paths) > 1 and place(paths[-1], where) in ("temp", "null"):
        return tuple(_file(kind, path, where, _DELETES if path != paths[-1] else flags) for path in paths)
    return tuple(_file(kind, path, where, flags) for path in paths)


def _is_path(text: str) -> bool:
    """Whether the text is likely a local file: `to` and `from` may be people, and `source` a word."""
    return (
        ("/" in text or "." in text or text.startswith("~"))
        and "@" not in text
        and "\n" not in text
        and not _URL.match(text)
    )


def _is_destructive(text: str) -> bool:
    """Whether a statement destroys more than the rows that it names."""
    head = text[:MAX_TEXT]
    return any(not sql.flags(statement).isdisjoint(_DESTRUCTIVE) for statement in sql.statements(head))


_MUTATION = lazy_re.compile(
    r"\s{0,9}mutation\b[^{]{0,200}\{\s{0,9}(?:\w{1,60}:\s{0,9})?(?:delete|remove|destroy|purge|revoke|transfer)\w",
    re.IGNORECASE,
)
"""A request in GraphQL that takes something away."""
_DESTRUCTIVE = words("drop database truncate unfiltered alter grant user program")
