"""The edits: find the span, splice, then read the result again and compare it with the value that was meant."""

from __future__ import annotations

from toolguard_cli.errors import UserError
from toolguard_cli.json5_edit.errors import EditError, Json5Error, path_name
from toolguard_cli.json5_edit.insert import NewItem, insert
from toolguard_cli.json5_edit.remove import remove
from toolguard_cli.json5_edit.render import Layout, render
from toolguard_cli.json5_edit.scanner import parse
from toolguard_cli.json5_edit.spans import (
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
from toolguard_cli.json5_edit.style import detect
from toolguard_cli.json5_edit.trivia import has_break, line_indent
from toolguard_cli.json5_edit.values import check_value, loads, same, value_of, with_value, without, wrapped

JUDGED_BY_JSON5 = 20_000  # characters; json5 takes some 0.2 ms a line, too long for longer texts


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
        result = _add(text, nodes, path, value)
    return _checked(text, result, with_value(value_of(root), path, value))


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
    return _checked(text, remove(text, container, index), without(value_of(root), path))


def append_unique(text: str, path: Path, value: JsonValue) -> str:
    """`text` with `value` in the array at `path`, which is created if missing; unchanged if an equal element is there.

    Raises UserError if something else than an array is at `path`.
    """
    found = find(parse(text), path)
    if found is None:
        return set_value(text, path, [value])
    elements = _array(found, path).items
    if any(same(value_of(element.value), value) for element in elements):
        return text
    return set_value(text, [*path, len(elements)], value)


def remove_element(text: str, path: Path, value: JsonValue) -> str:
    """`text` without the elements of the array at `path` that equal `value`; unchanged if there is none, or no array.

    An array that becomes empty stays. Raises UserError if something else than an array is at `path`.
    """
    found = find(parse(text), path)
    if found is None:
        return text
    elements = _array(found, path).items
    for index in range(len(elements) - 1, -1, -1):
        if same(value_of(elements[index].value), value):
            text = delete(text, [*path, index])
    return text


def _replace(text: str, nodes: list[Node], path: Path, value: JsonValue) -> str:
    old = nodes[-1]
    style = detect(text, nodes[0])
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
    """As the old value was laid out; a scalar says nothing about that, then as its container is."""
    old = nodes[-1]
    if not isinstance(old, ScalarNode) and old.items:
        return "spread" if has_break(text, old.start, old.end) else "inline"
    return "inline" if _in_one_line(text, nodes[:-1]) else "auto"


def _in_one_line(text: str, nodes: list[Node]) -> bool:
    return bool(nodes) and not has_break(text, nodes[-1].start, nodes[-1].end)


def _add(text: str, nodes: list[Node], path: Path, value: JsonValue) -> str:
    container, depth = nodes[-1], len(nodes) - 1
    step, deeper = path[depth], path[depth + 1 :]
    for at, index in enumerate(path):
        if at > depth and isinstance(index, int) and index != 0:
            raise UserError(f"{path_name(tuple(path[: at + 1]))} cannot be set: there is no array yet, so only [0] can")
    if isinstance(container, ObjectNode) and isinstance(step, str):
        item = NewItem(step, wrapped(deeper, value))
    elif isinstance(container, ArrayNode) and isinstance(step, int):
        item = NewItem(None, wrapped(deeper, value))
        if step != len(container.items):
            raise UserError(f"{path_name(tuple(path[: depth + 1]))} cannot be set: {_described(container)}")
    else:
        wanted = "an object" if isinstance(step, str) else "an array"
        raise UserError(f"{path_name(tuple(path[:depth]))} is not {wanted}: {_described(container)}")
    style = detect(text, nodes[0])
    return insert(text, container, item, style, crowded=_in_one_line(text, nodes[:-1]))


def _array(node: Node, path: Path) -> ArrayNode:
    if not isinstance(node, ArrayNode):
        raise UserError(f"{path_name(tuple(path))} is not an array: {_described(node)}")
    return node


def _described(node: Node) -> str:
    """What is there, without showing it: it may be a secret."""
    if isinstance(node, ObjectNode):
        return "there is an object"
    if isinstance(node, ArrayNode):
        count = len(node.items)
        return f"there is an array of {count} element{'' if count == 1 else 's'}"
    if node.value is None or isinstance(node.value, bool):
        return f"there is {'null' if node.value is None else str(node.value).lower()}"
    return f"there is a {'string' if isinstance(node.value, str) else 'number'}"


def _checked(before: str, after: str, intended: JsonValue) -> str:
    """`after`, once it was read again: by this package, and by json5 as long as that is quick."""
    try:
        value = loads(after)
    except Json5Error as error:
        raise EditError(f"the edited text is not JSON5: {error}") from error
    if not same(value, intended):
        raise EditError("the edited text does not hold the intended value")
    if len(after) <= JUDGED_BY_JSON5 and not _judged_right(before, after, intended):
        raise EditError("the edited text does not hold the intended value, as json5 reads it")
    return after


def _judged_right(before: str, after: str, intended: JsonValue) -> bool:
    import json5  # noqa: PLC0415 - 20 ms that only an edit should pay

    try:
        return same(json5.loads(after, allow_duplicate_keys=False), intended)
    except RecursionError:
        return True  # json5 gives up below 100 levels, and is no judge of deeper texts
    except ValueError:
        return not _readable(before)


def _readable(text: str) -> bool:
    """Whether json5 reads `text` at all; integers of more than 4300 digits are beyond it."""
    import json5  # noqa: PLC0415 - as above

    try:
        json5.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
