"""How a file is written: read off the text, so that what is added looks like what is there.

A style of the whole file is the vote of all its values; `among` narrows it to the neighbours of a new item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from toolguard_cli.hostconfig.json5_edit.text_spans import Container, Element, Member, Node, ObjectNode, ScalarNode
from toolguard_cli.hostconfig.json5_edit.trivia import has_break, last_break, line_indent, pieces

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
    if isinstance(root, ScalarNode):
        votes.count_strings(text, [root])
    for container in _containers(root):
        votes.count(text, container)
    string_quote = _favourite(votes.string_quotes, _favourite(votes.key_quotes, '"'))
    return Style(
        newline=_newline(text),
        unit=indent_unit(text, root),
        colon=_favourite(votes.colons, ": "),
        bare_keys=votes.bare > votes.needlessly_quoted,
        key_quote=_favourite(votes.key_quotes, string_quote),
        string_quote=string_quote,
        trailing_comma=votes.trailing_commas > 0,
        multiline=isinstance(root, ScalarNode) or not root.items or has_break(text, root.start, root.end),
    )


def indent_unit(text: str, root: Node) -> str:
    """One step of indentation."""
    return _favourite(islice(_units(text, root), _UNIT_VOTERS), DEFAULT_UNIT)


def among(style: Style, siblings: Sequence[Member | Element]) -> Style:
    """`style` as the `siblings` have it, for one more of them."""
    members = [item for item in siblings if isinstance(item, Member)]
    if not members:
        return style
    votes = _Votes()
    votes.count_members(members)
    undecided = not votes.bare and not votes.needlessly_quoted
    return replace(
        style,
        colon=_favourite(votes.colons, style.colon),
        bare_keys=style.bare_keys if undecided else votes.bare > votes.needlessly_quoted,
        key_quote=_favourite(votes.key_quotes, style.key_quote),
    )


@dataclass(slots=True)
class _Votes:
    key_quotes: list[str] = field(default_factory=list)
    string_quotes: list[str] = field(default_factory=list)
    colons: list[str] = field(default_factory=list)
    bare: int = 0
    needlessly_quoted: int = 0
    trailing_commas: int = 0  # containers over several lines that have one, less those that have none

    def count(self, text: str, container: Container) -> None:
        self.count_strings(text, [item.value for item in container.items])
        if container.items:
            last = container.items[-1]
            if has_break(text, last.value.end, container.end):
                self.trailing_commas += -1 if last.comma is None else 1
        if isinstance(container, ObjectNode):
            self.count_members(container.items)

    def count_strings(self, text: str, nodes: Sequence[Node]) -> None:
        self.string_quotes += [
            text[node.start] for node in nodes if isinstance(node, ScalarNode) and isinstance(node.value, str)
        ]

    def count_members(self, members: Sequence[Member]) -> None:
        self.colons += [":" if member.key_end + 1 == member.value.start else ": " for member in members]
        quoted = [member for member in members if member.quote]
        self.bare += len(members) - len(quoted)
        self.key_quotes += [member.quote for member in quoted]
        self.needlessly_quoted += sum([member.key.replace("$", "_").isidentifier() for member in quoted])


def _containers(root: Node) -> Iterator[Container]:
    todo = [root]
    while todo:
        node = todo.pop()
        if not isinstance(node, ScalarNode):
            yield node
            items: Sequence[Member | Element] = node.items
            todo += [item.value for item in reversed(items) if not isinstance(item.value, ScalarNode)]


def _units(text: str, root: Node) -> Iterator[str]:
    for node in _containers(root):
        if not node.items:
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


def _favourite(votes: Iterable[str], default: str) -> str:
    """The one with the most votes, of several the first."""
    return next((choice for choice, _ in Counter(votes).most_common(1)), default)


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
