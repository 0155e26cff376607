"""How a file is written: read off the text, so that what is added looks like what is there.

A style of the whole file is the vote of all its values; `among` narrows it to the neighbours of a new item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from toolguard_cli.json5_edit.spans import Container, Element, Member, Node, ObjectNode, ScalarNode
from toolguard_cli.json5_edit.trivia import has_break, last_break, line_indent, pieces

DEFAULT_UNIT = "  "
_UNIT_VOTERS = 64  # containers looked at for the indentation; more would only cost time


@dataclass(frozen=True, slots=True)
class Style:
    """`unit` is one step of indentation, `colon` is ':' or ': ', `multiline` is false for a document in one line."""

    newline: str
    unit: str
    colon: str
    bare_keys: bool
    key_quote: str
    string_quote: str
    trailing_comma: bool
    multiline: bool


def detect(text: str, root: Node) -> Style:
    """The style of a document; what it does not show is double quotes, two spaces, LF, no trailing commas."""
    votes = _Votes()
    for node in _walk(root):
        votes.count(text, node)
    string_quote = _favourite(votes.string_quotes, _favourite(votes.key_quotes, '"'))
    return Style(
        newline=_newline(text),
        unit=_favourite(Counter(islice(_units(text, root), _UNIT_VOTERS)), DEFAULT_UNIT),
        colon=_favourite(votes.colons, ": "),
        bare_keys=votes.bare > votes.needlessly_quoted,
        key_quote=_favourite(votes.key_quotes, string_quote),
        string_quote=string_quote,
        trailing_comma=votes.trailing_commas > 0,
        multiline=isinstance(root, ScalarNode) or not root.items or has_break(text, root.start, root.end),
    )


def among(style: Style, siblings: Sequence[Member | Element]) -> Style:
    """`style` as the `siblings` have it, for one more of them."""
    members = [item for item in siblings if isinstance(item, Member)]
    if not members:
        return style
    votes = _Votes()
    votes.count_members(members)
    return replace(
        style,
        colon=_favourite(votes.colons, style.colon),
        bare_keys=votes.bare > votes.needlessly_quoted,
        key_quote=_favourite(votes.key_quotes, style.key_quote),
    )


@dataclass(slots=True)
class _Votes:
    key_quotes: Counter[str] = field(default_factory=Counter)
    string_quotes: Counter[str] = field(default_factory=Counter)
    colons: Counter[str] = field(default_factory=Counter)
    bare: int = 0
    needlessly_quoted: int = 0
    trailing_commas: int = 0  # containers over several lines that have one, less those that have none

    def count(self, text: str, node: Node) -> None:
        if isinstance(node, ScalarNode):
            if isinstance(node.value, str):
                self.string_quotes[text[node.start]] += 1
            return
        if node.items:
            last = node.items[-1]
            if has_break(text, last.value.end, node.end):
                self.trailing_commas += -1 if last.comma is None else 1
        if isinstance(node, ObjectNode):
            self.count_members(node.items)

    def count_members(self, members: Sequence[Member]) -> None:
        for member in members:
            self.colons[":" if member.key_end + 1 == member.value.start else ": "] += 1
            if not member.quote:
                self.bare += 1
                continue
            self.key_quotes[member.quote] += 1
            self.needlessly_quoted += member.key.replace("$", "_").isidentifier()


def _walk(root: Node) -> Iterator[Node]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ScalarNode):
            items: Sequence[Member | Element] = node.items
            todo.extend(item.value for item in reversed(items))


def _units(text: str, root: Node) -> Iterator[str]:
    for node in _walk(root):
        if isinstance(node, ScalarNode) or not node.items:
            continue
        first = node.items[0]
        if last_break(pieces(text, node.start + 1, first.start)):
            inner, outer = line_indent(text, first.start), line_indent(text, node.start)
            if inner != outer and inner.startswith(outer):
                yield inner[len(outer) :]


def _newline(text: str) -> str:
    crlf = text.count("\r\n")
    counts = {"\n": text.count("\n") - crlf, "\r\n": crlf, "\r": text.count("\r") - crlf}
    return max(counts, key=lambda newline: counts[newline])


def _favourite(votes: Counter[str], default: str) -> str:
    return max(votes, key=lambda choice: votes[choice]) if votes else default


def item_indent(text: str, container: Container, style: Style) -> str:
    """The indentation of one more line of items: that of the last item with a line of its own, or one unit deeper."""
    items = container.items
    for index in range(len(items) - 1, -1, -1):
        if last_break(pieces(text, left_edge(container, index), items[index].start)):
            return line_indent(text, items[index].start)
    return line_indent(text, container.start) + style.unit


def left_edge(container: Container, index: int) -> int:
    """Where the trivia before an item starts: behind the comma of the item before it, or the opening bracket."""
    before = container.items[index - 1].comma if index else container.start
    if before is None:
        raise ValueError("only the last item can be without a comma")
    return before + 1
