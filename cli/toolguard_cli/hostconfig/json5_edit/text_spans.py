"""The syntax tree: every node knows its place in the text.

Offsets count characters of the text and are half open: `text[node.start:node.end]` is what the file says. The types
are tuples because they are made by the thousand: a frozen dataclass takes several times as long to make.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

JsonValue: TypeAlias = bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"] | None
Path: TypeAlias = Sequence[str | int]


class ScalarNode(NamedTuple):
    """A string, number, true, false or null."""

    start: int
    end: int
    value: bool | int | float | str | None


class Element(NamedTuple):
    """A value in an array; `comma` is the offset of the comma behind it."""

    value: Node
    comma: int | None

    @property
    def start(self) -> int:
        return self.value.start


class Member(NamedTuple):
    """A key and its value; `start` and `key_end` span the key as written, `quote` is its quote character or empty."""

    key: str
    start: int
    key_end: int
    quote: str
    value: Node
    comma: int | None


class ArrayNode(NamedTuple):
    start: int
    end: int
    items: tuple[Element, ...]


class ObjectNode(NamedTuple):
    start: int
    end: int
    items: tuple[Member, ...]


Container: TypeAlias = ObjectNode | ArrayNode
Node: TypeAlias = ScalarNode | ArrayNode | ObjectNode


def child_index(node: Node, step: str | int) -> int | None:
    """Where `step` is among the items of `node`; None if it is not there, or not the kind of step that fits."""
    if isinstance(node, ObjectNode) and isinstance(step, str):
        return next((at for at, member in enumerate(node.items) if member.key == step), None)
    if isinstance(node, ArrayNode) and isinstance(step, int):
        return step if 0 <= step < len(node.items) else None
    return None


def chain(node: Node, path: Path) -> list[Node]:
    """The nodes along `path` as far as they exist, `node` first; complete when it is one longer than the path."""
    if isinstance(path, str):
        raise TypeError("a path is a sequence of keys and indexes, not one string")
    nodes = [node]
    for step in path:
        index = child_index(node, step)
        if index is None or isinstance(node, ScalarNode):
            break
        node = node.items[index].value
        nodes.append(node)
    return nodes


def find(node: Node, path: Path) -> Node | None:
    """The node at `path`, or None."""
    nodes = chain(node, path)
    return nodes[-1] if len(nodes) == len(path) + 1 else None
