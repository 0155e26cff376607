"""Plain values of nodes, their comparison, and what an edit is meant to make of them."""

from __future__ import annotations

from itertools import pairwise

from toolguard_cli.hostconfig.json5_edit.lexer import SURROGATE, join_surrogates
from toolguard_cli.hostconfig.json5_edit.scanner import MAX_DEPTH, parse
from toolguard_cli.hostconfig.json5_edit.text_spans import ArrayNode, JsonValue, Node, Path, ScalarNode
from toolguard_cli.system.errors import UserError


def loads(text: str) -> JsonValue:
    """The value of a JSON5 document. Raises Json5Error as `parse` does."""
    return value_of(parse(text))


def value_of(node: Node) -> JsonValue:
    """The plain value of a node: fresh dicts (in the order of the text) and lists."""
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, ArrayNode):
        elements: list[JsonValue] = []
        for element in node.items:
            elements.append(value_of(element.value))  # noqa: PERF401 - a comprehension doubles the frames per level
        return elements
    members: dict[str, JsonValue] = {}
    for member in node.items:
        members[member.key] = value_of(member.value)
    return members


def same(left: JsonValue, right: JsonValue) -> bool:
    """Equal as JSON: true is not 1, 1 is 1.0, NaN is NaN; the order of keys does not count."""
    todo = [(left, right)]
    while todo:
        one, other = todo.pop()
        if type(one) is type(other) and not isinstance(one, dict | list) and one == other:
            continue
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                one, other = _joined(one), _joined(other)
            if one.keys() != other.keys():
                return False
            todo += [(child, other[key]) for key, child in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            todo += zip(one, other, strict=True)
        elif not _same_scalar(one, other):
            return False
    return True


def check_value(value: JsonValue, above: int) -> None:
    """Raises TypeError for what is not JSON, UserError for half of a surrogate pair, and for what would nest too deep.

    `above`: how many levels down `value` is to be put.
    """
    todo = [(value, above)]
    while todo:
        one, depth = todo.pop()
        if isinstance(one, dict | list):
            if depth >= MAX_DEPTH:
                raise UserError(f"the value would be nested deeper than {MAX_DEPTH} levels")
            inner = one.values() if isinstance(one, dict) else one
            todo.extend((child, depth + 1) for child in inner)
            for key in one if isinstance(one, dict) else ():
                if not isinstance(key, str):
                    raise TypeError("the keys of a JSON object are strings")
                _check_text(key)
        elif one is not None and not isinstance(one, bool | int | float | str):
            raise TypeError(f"not a JSON value: {type(one).__name__}")
        elif isinstance(one, str):
            _check_text(one)


def _check_text(text: str) -> None:
    half = SURROGATE.search(join_surrogates(text))
    if half:
        raise UserError(f"the text holds half of a character (U+{ord(half[0]):04X}), which no file can contain")


def wrapped(steps: Path, value: JsonValue) -> JsonValue:
    """`value` inside the containers that `steps` name, outermost first. An index can only be 0 here."""
    for step in reversed(steps):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def with_value(root: JsonValue, path: Path, value: JsonValue) -> JsonValue:
    """`root` (which this changes) with `value` at `path`; every container on the way is of the kind its step needs."""
    if not path:
        return value
    here = root
    for step, following in pairwise(path):
        missing: JsonValue = {} if isinstance(following, str) else []
        here = _put(here, step, missing, replace=False)
    _put(here, path[-1], value, replace=True)
    return root


def without(root: JsonValue, path: Path) -> JsonValue:
    """`root` (which this changes) without what is at `path`, which exists."""
    here = root
    for step in path[:-1]:
        here = _at(here, step)
    if isinstance(here, dict):
        here.pop(str(path[-1]))
    elif isinstance(here, list):
        here.pop(int(path[-1]))
    return root


def _at(holder: JsonValue, step: str | int) -> JsonValue:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder[step]
    if isinstance(holder, list) and isinstance(step, int):
        return holder[step]
    raise TypeError(f"{step!r} does not fit a {type(holder).__name__}")


def _put(holder: JsonValue, step: str | int, value: JsonValue, *, replace: bool) -> JsonValue:
    """What is at `step` of `holder` afterwards."""
    if isinstance(holder, dict) and isinstance(step, str):
        if replace:
            holder[step] = value
        return holder.setdefault(step, value)
    if isinstance(holder, list) and isinstance(step, int):
        if step == len(holder):
            holder.append(value)
        elif replace:
            holder[step] = value
    return _at(holder, step)


def _joined(members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {join_surrogates(key): value for key, value in members.items()}


def _same_scalar(one: JsonValue, other: JsonValue) -> bool:
    if isinstance(one, str) and isinstance(other, str):
        return join_surrogates(one) == join_surrogates(other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict | list) or isinstance(other, dict | list):
        return False
    return one == other or (one != one and other != other)  # noqa: PLR0124 - only NaN differs from itself
