"""Tools of which nothing is known but their name and the names of their parameters."""

from __future__ import annotations

from itertools import islice

from toolguard_engine.effects.facts import graphql_requests, sql_statements
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.tools import listed_items, tool_parameters
from toolguard_engine.effects.tools.message_tools import TARGETS, content_flags
from toolguard_engine.effects.tools.tool_values import (
    DELETES,
    MAX_PATHS,
    MAX_TEXT,
    NONE,
    URL,
    Acts,
    Params,
    all_texts,
    are_many,
    file_effect,
    path_texts,
)
from toolguard_engine.host.tool_names import NameMeaning, split

_REMOTE_KEYS = split(
    "owner repo repository bucket project projectid project_id site drive_id branch org workspace_id container pod "
    "namespace host server cluster table database collection"
)
"""Parameters of tools whose paths are not on this machine."""

_WRITES = frozenset(["write", "destroy", "take-away", "change"])
_CHANGES = _WRITES | {"let-in", "pay", "send", "publish"}
_STATEMENTS = ("sql", "query", "statement", "statements", "queries", "command", "script")
_REPORTED = frozenset(["destroy", "take-away", "let-in", "pay", "send", "publish", "run", "query"])


def undescribed_effects(tool: str, params: Params, where: Where) -> Acts:
    name = tool_parameters.meaning(tool, params)
    effects = _paths_of(name, params, where)
    flags: set[str] = {name.action} if name.action in _REPORTED else set()
    flags.update(tool_parameters.flags(name, params))
    statements = tuple(key for key in _STATEMENTS if key in params and tool_parameters.asks_database(name, key))
    if any(_is_destructive(text) or graphql_requests.takes_away(text) for text in all_texts(params, statements)):
        flags |= {"statement", "destroys"}
    listed = listed_items.many(params) if name.action in _CHANGES and not name.small else ""
    if listed:
        flags.add("bulk")
    if not flags:
        return effects
    flags |= {flag for flag, on in (("small", name.small), ("many", name.many), ("local", bool(effects))) if on}
    if name.action in ("send", "publish"):
        flags |= content_flags(params, "", are_many(tuple(all_texts(params, (*TARGETS, "cc", "bcc"))))) - {""}
    target = f"{tool}: {listed}" if listed else tool
    return (Effect("mcp", target[:MAX_TEXT], "", frozenset(flags)), *effects)


def _paths_of(name: NameMeaning, params: Params, where: Where) -> Acts:
    """The local files that a call names."""
    if not _REMOTE_KEYS.isdisjoint(params):
        return ()
    kind = "mcp-write" if name.action in _WRITES else "mcp-read"
    flags = DELETES if name.action in ("destroy", "take-away") else NONE
    paths = tuple(islice(dict.fromkeys(path for path in path_texts(params) if _is_path(path)), MAX_PATHS))
    if "move" in name.words and len(paths) > 1 and place(paths[-1], where) in ("temp", "null"):
        return tuple(file_effect(kind, path, where, DELETES if path != paths[-1] else flags) for path in paths)
    return tuple(file_effect(kind, path, where, flags) for path in paths)


def _is_path(text: str) -> bool:
    """Whether the text is likely a local file: `to` and `from` may be people, and `source` a word."""
    return (
        ("/" in text or "." in text or text.startswith("~")) and "@" not in text and "\n" not in text and not URL.match(text)
    )


def _is_destructive(text: str) -> bool:
    """Whether a statement destroys more than the rows that it names."""
    head = text[:MAX_TEXT]
    return any(not sql_statements.flags(statement).isdisjoint(_DESTRUCTIVE) for statement in sql_statements.statements(head))


_DESTRUCTIVE = split("drop database truncate unfiltered alter grant user program")
