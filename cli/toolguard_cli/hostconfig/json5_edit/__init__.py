"""Edits of JSON5 text that leave comments, layout and every untouched byte as they were.

Text in, text out; nothing here reads or writes files. `set_value` and `delete` are each other's inverse: deleting what
was inserted gives the text back byte for byte (the forms of `insert` are chosen so that `remove` can recognise them).
`cut` and `paste` move an item with the comments that are its own, between places or documents; `cut` undoes `paste`, save in
a container that held only comments, which become those of its first item.
"""

from __future__ import annotations

from toolguard_cli.hostconfig.json5_edit.clips import Clip
from toolguard_cli.hostconfig.json5_edit.edits import append_unique, delete, is_blank, remove_element, set_value
from toolguard_cli.hostconfig.json5_edit.json_values import loads, value_of
from toolguard_cli.hostconfig.json5_edit.key_places import excerpt
from toolguard_cli.hostconfig.json5_edit.locating import locate
from toolguard_cli.hostconfig.json5_edit.moves import cut, paste, replace_key
from toolguard_cli.hostconfig.json5_edit.scanner import MAX_DEPTH, parse
from toolguard_cli.hostconfig.json5_edit.syntax_errors import EditError, Json5Error, path_name
from toolguard_cli.hostconfig.json5_edit.text_spans import (
    ArrayNode,
    Element,
    JsonValue,
    Member,
    Node,
    ObjectNode,
    Path,
    ScalarNode,
    find,
)

__all__ = [
    "MAX_DEPTH",
    "ArrayNode",
    "Clip",
    "EditError",
    "Element",
    "Json5Error",
    "JsonValue",
    "Member",
    "Node",
    "ObjectNode",
    "Path",
    "ScalarNode",
    "append_unique",
    "cut",
    "delete",
    "excerpt",
    "find",
    "is_blank",
    "loads",
    "locate",
    "parse",
    "paste",
    "path_name",
    "remove_element",
    "replace_key",
    "set_value",
    "value_of",
]
