"""Adds what is missing at a path: its parents too, in the container where the path ends so far."""

from __future__ import annotations

from collections.abc import Sequence

from toolguard_cli.hostconfig.json5_edit.clips import Clip
from toolguard_cli.hostconfig.json5_edit.insert import Nest, NewItem, insert
from toolguard_cli.hostconfig.json5_edit.json_values import wrapped
from toolguard_cli.hostconfig.json5_edit.style import detect
from toolguard_cli.hostconfig.json5_edit.syntax_errors import path_name
from toolguard_cli.hostconfig.json5_edit.text_spans import ArrayNode, JsonValue, Node, ObjectNode, Path
from toolguard_cli.hostconfig.json5_edit.trivia import has_break
from toolguard_cli.system.errors import UserError


def add(text: str, nodes: Sequence[Node], path: Path, value: JsonValue | Clip) -> str:
    """`text` with `value` at `path`, of which the `nodes` exist.

    Raises UserError for a path that runs into something that is no container of the right kind.
    """
    container, depth = nodes[-1], len(nodes) - 1
    step, deeper = path[depth], path[depth + 1 :]
    for at, index in enumerate(path):
        if at > depth and isinstance(index, int) and index != 0:
            raise UserError(f"{path_name(tuple(path[: at + 1]))} cannot be set: there is no array yet, so only [0] can")
    item = NewItem(str(step), _nested(deeper, value) if isinstance(value, Clip) else wrapped(deeper, value))
    if isinstance(container, ArrayNode) and isinstance(step, int):
        item = NewItem.element(item.value)
        if step != len(container.items):
            raise UserError(f"{path_name(tuple(path[: depth + 1]))} cannot be set: {described(container)}")
    elif not isinstance(container, ObjectNode) or isinstance(step, int):
        wanted = "an object" if isinstance(step, str) else "an array"
        raise UserError(f"{path_name(tuple(path[:depth]))} is not {wanted}: {described(container)}")
    return insert(text, container, item, detect(text, nodes[0]), crowded=in_one_line(text, nodes[:-1]))


def _nested(steps: Path, clip: Clip) -> Clip | Nest:
    nested: Clip | Nest = clip
    for step in reversed(steps):
        nested = Nest(step, nested)
    return nested


def in_one_line(text: str, nodes: Sequence[Node]) -> bool:
    """Whether the last of the `nodes` has no line break within it."""
    return bool(nodes) and not has_break(text, nodes[-1].start, nodes[-1].end)


def described(node: Node) -> str:
    """What is there, without showing it: it may be a secret."""
    if isinstance(node, ObjectNode):
        return "there is an object"
    if isinstance(node, ArrayNode):
        count = len(node.items)
        return f"there is an array of {count} element{'' if count == 1 else 's'}"
    if node.value is None or isinstance(node.value, bool):
        return f"there is {'null' if node.value is None else str(node.value).lower()}"
    return f"there is a {'string' if isinstance(node.value, str) else 'number'}"
