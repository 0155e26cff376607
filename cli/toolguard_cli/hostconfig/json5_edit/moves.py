"""Moves an item, with its comments, between places of one document or of two; renames a key where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolguard_cli.hostconfig.json5_edit.adding import add
from toolguard_cli.hostconfig.json5_edit.checked import checked
from toolguard_cli.hostconfig.json5_edit.clips import Clip, Span, clip_of, owned_comments
from toolguard_cli.hostconfig.json5_edit.json_values import check_value, value_of, with_value, without
from toolguard_cli.hostconfig.json5_edit.remove import remove
from toolguard_cli.hostconfig.json5_edit.render import render_key
from toolguard_cli.hostconfig.json5_edit.scanner import parse
from toolguard_cli.hostconfig.json5_edit.style import among, detect, indent_unit
from toolguard_cli.hostconfig.json5_edit.syntax_errors import EditError, path_name
from toolguard_cli.hostconfig.json5_edit.text_spans import (
    Container,
    Element,
    Member,
    Node,
    Path,
    ScalarNode,
    chain,
    child_index,
)
from toolguard_cli.system.errors import UserError


def cut(text: str, path: Path) -> tuple[str, Clip]:
    """`text` without the item at `path` and without its comments, and the two as a Clip.

    Raises UserError if nothing is there, and for the empty path.
    """
    root = parse(text)
    container, index = _item(root, path)
    owned = owned_comments(text, container, index)
    taken = clip_of(text, container, index, value_of(container.items[index].value), indent_unit(text, root), owned)
    return checked(text, _without(text, container, index, owned.spans), without(value_of(root), path)), taken


def paste(text: str, path: Path, clip: Clip) -> str:
    """`text` with what was cut as the last item at `path`, comments included; missing parents are created.

    The last step may be another key than the clip had, or an index: the length of the array there. Raises UserError if
    something is at `path` already, or if it runs into something that is no container of the right kind.
    """
    root = parse(text)
    nodes = chain(root, path)
    if len(nodes) > len(path):
        raise UserError(f"{path_name(tuple(path))} already exists", "choose another place, or remove it first")
    check_value(clip.value, len(path))
    return checked(text, add(text, nodes, path, clip), with_value(value_of(root), path, clip.value))


def replace_key(text: str, path: Path, new_key: str) -> str:
    """`text` with the key at `path` renamed in place, quoted as it was where the new key allows that.

    Raises UserError if no key is there, or if the object has the new one already.
    """
    root = parse(text)
    container, index = _item(root, path)
    item = container.items[index]
    if not isinstance(item, Member):
        raise UserError(f"{path_name(tuple(path))} has no key: it is in an array")
    if item.key == new_key:
        return text
    if child_index(container, new_key) is not None:
        raise UserError(f"{path_name((*path[:-1], new_key))} already exists", "choose another key, or remove it first")
    style = among(detect(text, root), [item])
    changed = text[: item.start] + render_key(new_key, style) + text[item.key_end :]
    value = value_of(item.value)
    return checked(text, changed, with_value(without(value_of(root), path), [*path[:-1], new_key], value))


def _item(root: Node, path: Path) -> tuple[Container, int]:
    """The container of the item at `path`, and where the item is in it."""
    if not path:
        raise UserError("the whole document cannot be moved or renamed, only what is in it")
    nodes = chain(root, path)
    if len(nodes) <= len(path):
        raise UserError(f"{path_name(tuple(path[: len(nodes)]))} is not there")
    container, index = nodes[-2], child_index(nodes[-2], path[-1])
    if isinstance(container, ScalarNode) or index is None:
        raise EditError(f"{path_name(tuple(path))} is in no container")
    return container, index


def _without(text: str, container: Container, index: int, comments: Sequence[Span]) -> str:
    near = _near(container, index, comments)
    for start, end in sorted(comments, reverse=True):
        text = text[:start] + text[end:]
    return remove(text, near, min(index, 1))


def _near(container: Container, index: int, gone: Sequence[Span]) -> Container:
    """The container with only the item and its neighbours, as they stand when the spans that are `gone` are taken out."""

    def moved(at: int) -> int:
        return at - sum(end - start for start, end in gone if end <= at)

    def item(old: Member | Element) -> Member | Element:
        value = ScalarNode(moved(old.value.start), moved(old.value.end), None)
        comma = None if old.comma is None else moved(old.comma)
        if isinstance(old, Element):
            return Element(value, comma)
        return Member(old.key, moved(old.start), moved(old.key_end), old.quote, value, comma)

    items: Any = tuple(item(old) for old in container.items[max(0, index - 1) : index + 2])
    return type(container)(moved(container.start), moved(container.end), items)
