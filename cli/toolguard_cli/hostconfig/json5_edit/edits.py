"""The edits: find the span, splice, then read the result again and compare it with the value that was meant."""

from __future__ import annotations

from dataclasses import replace

from toolguard_cli.hostconfig.json5_edit.adding import add, described, in_one_line
from toolguard_cli.hostconfig.json5_edit.checked import checked
from toolguard_cli.hostconfig.json5_edit.json_values import check_value, same, value_of, with_value, without
from toolguard_cli.hostconfig.json5_edit.remove import remove
from toolguard_cli.hostconfig.json5_edit.render import Layout, render
from toolguard_cli.hostconfig.json5_edit.scanner import parse
from toolguard_cli.hostconfig.json5_edit.style import detect
from toolguard_cli.hostconfig.json5_edit.syntax_errors import EditError, path_name
from toolguard_cli.hostconfig.json5_edit.text_spans import (
    ArrayNode,
    JsonValue,
    Node,
    ObjectNode,
    Path,
    ScalarNode,
    chain,
    child_index,
    find,
)
from toolguard_cli.hostconfig.json5_edit.trivia import has_break, line_indent
from toolguard_cli.system.errors import UserError


def set_value(text: str, path: Path, value: JsonValue) -> str:
    """`text` with `value` at `path`, replaced or new; missing parents are created, an index may be the array's length.

    The text comes back as it is if an equal value is there already. Raises Json5Error for a text that is not JSON5,
    and UserError for a path that runs into something that is no container of the right kind.
    """
    root = parse(text)
    nodes = chain(root, path)
    check_value(value, len(path))
    if len(nodes) > len(path):
        if same(value_of(nodes[-1]), value):
            return text
        result = _replace(text, nodes, path, value)
    else:
        result = add(text, nodes, path, value)
    return checked(text, result, with_value(value_of(root), path, value))


def delete(text: str, path: Path) -> str:
    """`text` without what is at `path`; unchanged if nothing is there. Raises UserError for the empty path."""
    root = parse(text)
    nodes = chain(root, path)
    if not path:
        raise UserError("the whole document cannot be deleted, only what is in it")
    if len(nodes) <= len(path):
        return text
    container, index = nodes[-2], child_index(nodes[-2], path[-1])
    if isinstance(container, ScalarNode) or index is None:
        raise EditError(f"{path_name(tuple(path))} is in no container")
    return checked(text, remove(text, container, index), without(value_of(root), path))


def is_blank(text: str, path: Path) -> bool:
    """Whether an object at `path` holds nothing, not even a comment."""
    nodes = chain(parse(text), path)
    node = nodes[-1]
    if len(nodes) <= len(path) or not isinstance(node, ObjectNode):
        return False
    return not node.items and not text[node.start + 1 : node.end - 1].strip()


def append_unique(text: str, path: Path, value: JsonValue) -> str:
    """`text` with `value` in the array at `path`, which is created if missing; unchanged if an equal element is there.

    Raises UserError if something else than an array is at `path`.
    """
    node = find(parse(text), path)
    if node is None:
        return set_value(text, path, [value])
    elements = _array(node, path).items
    if any(same(value_of(element.value), value) for element in elements):
        return text
    return set_value(text, [*path, len(elements)], value)


def remove_element(text: str, path: Path, value: JsonValue) -> str:
    """`text` without the elements of the array at `path` that equal `value`; unchanged if there is none, or no array.

    An array that becomes empty stays. Raises UserError if something else than an array is at `path`.
    """
    node = find(parse(text), path)
    if node is None:
        return text
    elements = _array(node, path).items
    for index in range(len(elements) - 1, -1, -1):
        if same(value_of(elements[index].value), value):
            text = delete(text, [*path, index])
    return text


def _replace(text: str, nodes: list[Node], path: Path, value: JsonValue) -> str:
    old = nodes[-1]
    style = detect(text, nodes[0])
    if isinstance(old, ScalarNode) and isinstance(old.value, str):
        style = replace(style, string_quote=text[old.start])
    shown = render(value, style, _line_of(text, nodes, path), _layout(text, nodes))
    return text[: old.start] + shown + text[old.end :]


def _line_of(text: str, nodes: list[Node], path: Path) -> str:
    """The indentation of the line where the item at `path` starts, with its key if it has one."""
    if len(nodes) > 1:
        container, index = nodes[-2], child_index(nodes[-2], path[-1])
        if not isinstance(container, ScalarNode) and index is not None:
            return line_indent(text, container.items[index].start)
    return ""


def _layout(text: str, nodes: list[Node]) -> Layout:
    """Lays it out as the old value was laid out; a scalar says nothing about that, then as its container is."""
    old = nodes[-1]
    if not isinstance(old, ScalarNode) and old.items:
        return "spread" if has_break(text, old.start, old.end) else "inline"
    return "inline" if in_one_line(text, nodes[:-1]) else "auto"


def _array(node: Node, path: Path) -> ArrayNode:
    if not isinstance(node, ArrayNode):
        raise UserError(f"{path_name(tuple(path))} is not an array: {described(node)}")
    return node
