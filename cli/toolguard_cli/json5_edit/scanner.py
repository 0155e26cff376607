"""Text to syntax tree. A loop with an own stack, so that nesting can never exhaust Python's."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from toolguard_cli.json5_edit.errors import Json5Error, found_at, syntax_error
from toolguard_cli.json5_edit.lexer import (
    PLAIN_ELEMENT,
    PLAIN_MEMBER,
    plain_value,
    read_key,
    read_scalar,
    skip_trivia,
)
from toolguard_cli.json5_edit.places import place
from toolguard_cli.json5_edit.spans import ArrayNode, Element, Member, Node, ObjectNode, ScalarNode

MAX_DEPTH = 200
_REMEMBERED = 1_000_000  # characters; the tree of a longer text is too large to keep


def parse(text: str) -> Node:
    """The tree of a JSON5 document.

    Raises Json5Error for whatever is not JSON5, and for four things that JSON5 allows: duplicate keys, containers
    nested deeper than MAX_DEPTH, raw control characters (but for the tab) in strings, and escapes of one half of a
    surrogate pair.
    """
    return _parsed(text) if len(text) <= _REMEMBERED else _Scanner(text).document()


# Edits come in rows: what one has read again to check it is what the next one starts from. No tree ever changes.
@lru_cache(maxsize=4)
def _parsed(text: str) -> Node:
    return _Scanner(text).document()


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
        while True:
            done = self._value()
            while done is not None:
                if not self.open:
                    return done
                done = self._behind(done)

    def _value(self) -> Node | None:
        """The value at hand if it is complete; None if it is a container whose first item comes next."""
        start = self.at
        char = self.text[start : start + 1]
        if char in {"{", "["}:
            if len(self.open) == MAX_DEPTH:
                raise self._error(f"nested deeper than {MAX_DEPTH} levels")
            self.open.append(_OpenObject(start) if char == "{" else _OpenArray(start))
            self.at += 1
            return self._item()
        value, self.at = read_scalar(self.text, start)
        return ScalarNode(start, self.at, value)

    def _item(self) -> Node | None:
        """The container if it closes here; None if the value of an item follows (its key is then read)."""
        container = self.open[-1]
        if self._members(container) if isinstance(container, _OpenObject) else self._elements(container):
            return None
        self._skip()
        if self.text[self.at : self.at + 1] == container.close:
            return self._close()
        if isinstance(container, _OpenObject):
            self._key(container)
        return None

    def _members(self, container: _OpenObject) -> bool:
        """Reads members as long as they are plain; true if a container is the value of the next one.

        Behind the last member it stops before the bracket, else behind a comma.
        """
        text, at = self.text, self.at
        items, keys = container.items, container.keys
        while found := PLAIN_MEMBER.match(text, at):
            key, raw, comma = found.groups()
            key_start, key_end = found.span(1)
            at = found.end()
            quote = key[0]
            if quote in "\"'":
                key = key[1:-1]
            else:
                quote = ""
            if keys.setdefault(key, key_start) != key_start:
                raise self._duplicate(container, key, key_start)
            if raw is None:
                container.key = (key, key_start, key_end)
                self.at = at
                return True
            start, end = found.span(2)
            value = ScalarNode(start, end, plain_value(raw))
            items.append(Member(key, key_start, key_end, quote, value, at - 1 if comma else None))
            if not comma:
                break
        self.at = at
        return False

    def _elements(self, container: _OpenArray) -> bool:
        """As `_members`."""
        text, at, items = self.text, self.at, container.items
        while found := PLAIN_ELEMENT.match(text, at):
            raw, comma = found.groups()
            at = found.end()
            if raw is None:
                self.at = at
                return True
            start, end = found.span(1)
            items.append(Element(ScalarNode(start, end, plain_value(raw)), at - 1 if comma else None))
            if not comma:
                break
        self.at = at
        return False

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
        problem = f"this key is in the object twice, {found_at(self.text, start)}"
        return syntax_error(self.text, start, f"{problem}; the first one is on line {line}, column {column}")

    def _behind(self, value: Node) -> Node | None:
        """Puts `value` into the innermost container; that container if it closes here, None if an item follows."""
        text, container = self.text, self.open[-1]
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
            return self._close()
        self.at = at + 1
        return self._item()

    def _still_open(self) -> str:
        """For the end of a message where the text ends, or a bracket of the wrong kind stands."""
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
