"""Text to syntax tree. A loop with an own stack, so that nesting can never exhaust Python's."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from functools import lru_cache

from toolguard_cli.hostconfig.json5_edit.key_places import place
from toolguard_cli.hostconfig.json5_edit.lexer import (
    PLAIN_ELEMENT,
    PLAIN_MEMBER,
    plain_value,
    read_key,
    read_scalar,
    skip_trivia,
)
from toolguard_cli.hostconfig.json5_edit.syntax_errors import Json5Error, found_at, syntax_error
from toolguard_cli.hostconfig.json5_edit.text_spans import ArrayNode, Element, Member, Node, ObjectNode, ScalarNode

MAX_DEPTH = 200
_REMEMBERED = 1_000_000  # characters; the tree of a longer text is too large to keep


def parse(text: str) -> Node:
    """The tree of a JSON5 document.

    Raises Json5Error for whatever is not JSON5, and for four things that JSON5 allows: duplicate keys, containers
    nested deeper than MAX_DEPTH, raw control characters (but for the tab) in strings, and escapes of one half of a
    surrogate pair.
    """
    return _parsed(text) if len(text) <= _REMEMBERED else _read(text)


# Edits come in rows: what one has read again to check it is what the next one starts from. No tree ever changes.
@lru_cache(maxsize=4)
def _parsed(text: str) -> Node:
    return _read(text)


def _read(text: str) -> Node:
    """Reads without garbage collections, which take a fifth of the time: a tree has no cycles, and nothing else is made."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return _Scanner(text).document()
    finally:
        if collecting:
            gc.enable()


@dataclass(slots=True)
class _OpenArray:
    start: int
    items: list[Element] = field(default_factory=list)
    close: str = "]"
    kind: str = "an element"


@dataclass(slots=True)
class _OpenObject:
    start: int
    items: list[Member] = field(default_factory=list)
    close: str = "}"
    kind: str = "a member"
    keys: dict[str, int] = field(default_factory=dict)  # and where each starts
    key: tuple[str, int, int] = ("", 0, 0)  # of the member whose value is being read: name, start, end


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[_OpenArray | _OpenObject] = []

    def document(self) -> Node:
        root = self._root()
        self._skip()
        if self.at < len(self.text):
            raise self._error(f"expected the end of the file, {found_at(self.text, self.at)}")
        return root

    def _root(self) -> Node:
        self._skip()
        if self.at >= len(self.text):
            raise self._error("there is no value in this file")
        done = self._value()
        while self.open:
            container = self.open[-1]
            if done is not None and not self._put(container, done):
                done = self._close()
            else:
                done = self._members(container) if isinstance(container, _OpenObject) else self._elements(container)
        if done is None:
            raise AssertionError("nothing is open, and there is no value")
        return done

    def _value(self) -> Node | None:
        """The value at hand if it is a scalar; None if it is a container, which is then open."""
        start = self.at
        if self.text[start : start + 1] in {"{", "["}:
            self._open(start)
            return None
        value, self.at = read_scalar(self.text, start)
        return ScalarNode(start, self.at, value)

    def _open(self, at: int) -> None:
        if len(self.open) == MAX_DEPTH:
            raise syntax_error(self.text, at, f"nested deeper than {MAX_DEPTH} levels")
        self.open.append(_OpenObject(at) if self.text[at] == "{" else _OpenArray(at))
        self.at = at + 1

    def _put(self, container: _OpenArray | _OpenObject, value: Node) -> bool:
        """Puts `value` into its container; whether a comma follows, and not the end of the container."""
        text = self.text
        self.at = at = skip_trivia(text, self.at)
        char = text[at : at + 1]
        if char not in {",", container.close}:
            wanted = f"expected ',' or '{container.close}' after {container.kind}"
            raise self._error(f"{wanted}, {found_at(text, at)}{self._still_open()}")
        comma = at if char == "," else None
        if isinstance(container, _OpenObject):
            key, start, end = container.key
            quote = text[start] if text[start] in "\"'" else ""
            container.items.append(Member(key, start, end, quote, value, comma))
        else:
            container.items.append(Element(value, comma))
        if comma is None:
            return False
        self.at = at + 1
        return True

    def _members(self, container: _OpenObject) -> Node | None:
        """Reads on in an object: the object if it ends, a value that is not put into it yet, or None if one is opened."""
        text, at = self.text, self.at
        items, keys = container.items, container.keys
        while match := PLAIN_MEMBER.match(text, at):
            key, raw, comma = match.groups()
            key_start, key_end = match.span(1)
            at = match.end()
            quote = key[0]
            if quote in "\"'":
                key = key[1:-1]
            else:
                quote = ""
            if keys.setdefault(key, key_start) != key_start:
                raise self._duplicate(container, key, key_start)
            if raw is None:
                container.key = (key, key_start, key_end)
                self._open(at)
                return None
            start, end = match.span(2)
            value = ScalarNode(start, end, plain_value(raw))
            items.append(Member(key, key_start, key_end, quote, value, at - 1 if comma else None))
            if not comma:
                self.at = at
                return self._close()
        self.at = at
        self._skip()
        if self.text.startswith("}", self.at):
            return self._close()
        self._key(container)
        return self._value()

    def _elements(self, container: _OpenArray) -> Node | None:
        """The same as `_members`."""
        text, at, items = self.text, self.at, container.items
        while match := PLAIN_ELEMENT.match(text, at):
            raw, comma = match.groups()
            at = match.end()
            if raw is None:
                self._open(at)
                return None
            start, end = match.span(1)
            items.append(Element(ScalarNode(start, end, plain_value(raw)), at - 1 if comma else None))
            if not comma:
                self.at = at
                return self._close()
        self.at = at
        self._skip()
        return self._close() if self.text.startswith("]", self.at) else self._value()

    def _key(self, container: _OpenObject) -> None:
        start = self.at
        key, end = read_key(self.text, start)
        if container.keys.setdefault(key, start) != start:
            raise self._duplicate(container, key, start)
        container.key = (key, start, end)
        self.at = end
        self._skip()
        if self.text[self.at : self.at + 1] != ":":
            raise self._error(f"expected ':' after a key, {found_at(self.text, self.at)}")
        self.at += 1
        self._skip()

    def _duplicate(self, container: _OpenObject, key: str, start: int) -> Json5Error:
        line, column = place(self.text, container.keys[key])
        problem = f"this key occurs twice in the object, {found_at(self.text, start)}"
        return syntax_error(self.text, start, f"{problem}; the first one is on line {line}, column {column}")

    def _still_open(self) -> str:
        """Name the open bracket, to end a message where the text ends or a bracket of the wrong kind stands."""
        if self.text[self.at : self.at + 1] not in {"", "}", "]"}:
            return ""
        line, column = place(self.text, self.open[-1].start)
        return f"; the '{self.text[self.open[-1].start]}' on line {line}, column {column} is still open"

    def _close(self) -> Node:
        self.at += 1
        container = self.open.pop()
        if isinstance(container, _OpenObject):
            return ObjectNode(container.start, self.at, tuple(container.items))
        return ArrayNode(container.start, self.at, tuple(container.items))

    def _skip(self) -> None:
        self.at = skip_trivia(self.text, self.at)

    def _error(self, problem: str) -> Json5Error:
        return syntax_error(self.text, self.at, problem)
