"""Properties of the package, over generated documents: comments and line breaks anywhere, every spelling of values.

The json5 package is the judge of values. TOOLGUARD_FUZZ is a number of documents; a tenth of it goes to each property.
"""

from __future__ import annotations

import copy
import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import json5
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.json5_edit.json_values import same

_FILL = ["", "", "", " ", "  ", "\t", "\n", "\n  ", "\r\n", "\r", "\u2028", "\xa0", "\n\n    ", " \n"]
_COMMENTS = ["// c\n", " // }, {\r\n", "/* c */", "/* a\n b */", "/*,*/ ", "//\u2029", "\n  // own line\n  ", "/***/"]
_KEYS = ["a", "b", "$include", "_x1", "ünï", "class", "\\u0061b", "'a b'", '"a-b"', '"q\\"q"', "'\\x41'", '""', "null"]
_KEY_VALUES = ["a", "b", "$include", "_x1", "ünï", "class", "ab", "a b", "a-b", 'q"q', "A", "", "null"]
_SCALARS = [
    *("null", "true", "false", "0", "-0", "+1", ".5", "5.", "-.5e-1", "0x1F", "-0xaB", "1E+5", "12.25"),
    *("Infinity", "-Infinity", "NaN", "+NaN", '""', "'it'", '"${VAR}"', "'\\\n'", '"a\\\r\nb"', "'\\'\"'"),
    *('"\\u0041\\x42\\0"', '"// no"', "'/* no */'", '"\u2028"', '"😀 ü"', '"\\q\\v"', "12345678901234567890"),
]

fill = st.one_of(
    st.sampled_from(_FILL),
    st.lists(st.sampled_from(_FILL + _COMMENTS), max_size=3).map("".join),
)
scalars = st.sampled_from(_SCALARS)
new_keys = st.sampled_from([*_KEY_VALUES, "new", "new key", "\U0001d4b3", "\u017f", "\n", "\\"])
values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-9, 10**20), st.floats(), st.text(max_size=6), st.sampled_from(["'", '"'])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=6,
)


@st.composite
def _object(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    indexes = draw(st.lists(st.sampled_from(range(len(_KEYS))), max_size=4, unique=True))
    members = [f"{draw(fill)}{_KEYS[at]}{draw(fill)}:{draw(fill)}{draw(inner)}{draw(fill)}" for at in indexes]
    return "{" + _joined(draw, members) + "}"


@st.composite
def _array(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    elements = [f"{draw(fill)}{draw(inner)}{draw(fill)}" for _ in range(draw(st.integers(0, 4)))]
    return "[" + _joined(draw, elements) + "]"


def _joined(draw: st.DrawFn, items: list[str]) -> str:
    trailing = "," if items and draw(st.booleans()) else ""
    return ",".join(items) + trailing + draw(fill)


_containers = st.recursive(
    st.one_of(_object(scalars), _array(scalars)),
    lambda inner: st.one_of(_object(st.one_of(scalars, inner)), _array(st.one_of(scalars, inner))),
    max_leaves=5,
)
documents = st.tuples(st.sampled_from(["", "\ufeff"]), fill, _containers, fill).map("".join)
any_documents = st.one_of(documents, st.tuples(fill, scalars, fill).map("".join))


pytestmark = pytest.mark.usefixtures("judged_once")
EXAMPLES = int(os.environ.get("TOOLGUARD_FUZZ", "700")) // 10
laws = settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
picks = st.integers(0, 10**6)
_ENDS = "\r\n\u2028\u2029"
Place = tuple[str | int, ...]


def _places(node: json5_edit.Node, path: Place = ()) -> Iterator[tuple[Place, json5_edit.Node]]:
    """Every node with its path, the root first."""
    yield path, node
    if isinstance(node, json5_edit.ObjectNode):
        for member in node.items:
            yield from _places(member.value, (*path, member.key))
    elif isinstance(node, json5_edit.ArrayNode):
        for index, element in enumerate(node.items):
            yield from _places(element.value, (*path, index))


def _free_place(text: str, pick: int, key: str) -> Place | None:
    """A path that does not exist, in a container that does."""
    nodes = [place for place in _places(json5_edit.parse(text)) if not isinstance(place[1], json5_edit.ScalarNode)]
    path, node = nodes[pick % len(nodes)]
    if isinstance(node, json5_edit.ArrayNode):
        return (*path, len(node.items))
    return None if any(member.key == key for member in node.items) else (*path, key)


def _taken_place(text: str, pick: int) -> Place | None:
    paths = [path for path, _ in _places(json5_edit.parse(text)) if path]
    return paths[pick % len(paths)] if paths else None


def _intended(text: str, path: Place, *change: Any) -> Any:
    """What json5 reads in `text`, with the last value of `change` at `path`, or without what is there."""
    root = copy.deepcopy(json5.loads(text))
    here = root
    for step in path[:-1]:
        here = here[step]
    if not change:
        del here[path[-1]]
    elif isinstance(here, list) and path[-1] == len(here):
        here.append(change[0])
    else:
        here[path[-1]] = change[0]
    return root


def _lines(text: str) -> list[str]:
    return re.split("(?<=\n)|(?<=\r)(?!\n)|(?<=[\u2028\u2029])", text)


def _untouched(text: str, path: Place) -> list[str]:
    """The lines that hold nothing of the item at `path`, of its commas, or of a comment on its last line."""
    nodes = json5_edit.parse(text)
    parent = json5_edit.find(nodes, path[:-1])
    assert isinstance(parent, json5_edit.ObjectNode | json5_edit.ArrayNode)
    at = next(i for i, item in enumerate(parent.items) if path[-1] in {i, getattr(item, "key", None)})
    item = parent.items[at]
    following = parent.items[at + 1].start if at + 1 < len(parent.items) else parent.end - 1
    behind = re.compile(r"(?:[^\S\n\r\u2028\u2029]|/\*(?s:.*?)\*/|//[^\n\r\u2028\u2029]*)*")
    tail = behind.match(text, item.value.end if item.comma is None else item.comma + 1, following)
    spans = [(item.start, tail.end() if tail else following)]
    if at and parent.items[at - 1].comma is not None:
        spans.append((parent.items[at - 1].comma, parent.items[at - 1].comma + 1))
    if len(parent.items) == 1:
        spans.append((parent.start, parent.end))
    starts = [0]
    for line in _lines(text):
        starts.append(starts[-1] + len(line))
    lines = zip(pairwise(starts), _lines(text), strict=True)
    return [line for (start, end), line in lines if not any(start < stop and first < end for first, stop in spans)]


def _is_subsequence(wanted: list[str], lines: list[str]) -> bool:
    # Without their ends: a delete takes the line break before the line, and the file may have them of several kinds.
    remaining = iter([line.rstrip(_ENDS) for line in lines])
    return all(line.rstrip(_ENDS) in remaining for line in wanted if line.strip())


@laws
@given(any_documents)
def test_reads_what_json5_reads(text: str) -> None:
    assert same(json5_edit.loads(text), json5.loads(text, allow_duplicate_keys=False))


@laws
@given(documents)
def test_spans_hold_their_values(text: str) -> None:
    for _, node in _places(json5_edit.parse(text)):
        assert same(json5_edit.loads(text[node.start : node.end]), json5_edit.value_of(node))


@laws
@given(documents, picks, new_keys, values)
def test_insert_then_delete_gives_the_text_back(text: str, pick: int, key: str, value: json5_edit.JsonValue) -> None:
    path = _free_place(text, pick, key)
    if path is None:
        return
    added = json5_edit.set_value(text, path, value)
    assert same(json5.loads(added, allow_duplicate_keys=False), _intended(text, path, value))
    container = json5_edit.find(json5_edit.parse(text), path[:-1])
    assert isinstance(container, json5_edit.ObjectNode | json5_edit.ArrayNode)
    assert added.startswith(text[: container.items[-1].value.end if container.items else container.start + 1])
    assert added.endswith(text[container.end - 1 :])
    assert json5_edit.delete(added, path) == text


@laws
@given(documents, picks, new_keys, st.lists(new_keys, min_size=1, max_size=3), values)
def test_deleting_created_parents_gives_the_text_back(
    text: str, pick: int, key: str, deeper: list[str], value: json5_edit.JsonValue
) -> None:
    path = _free_place(text, pick, key)
    if path is None:
        return
    added = json5_edit.set_value(text, [*path, *deeper], value)
    assert same(json5_edit.value_of(json5_edit.find(json5_edit.parse(added), [*path, *deeper]) or _missing()), value)
    assert json5_edit.delete(added, path) == text


@laws
@given(documents, st.lists(st.tuples(picks, new_keys, values), min_size=2, max_size=4))
def test_several_inserts_are_undone_in_reverse(text: str, edits: list[tuple[int, str, json5_edit.JsonValue]]) -> None:
    history: list[tuple[str, Place]] = []
    now = text
    for pick, key, value in edits:
        path = _free_place(now, pick, key)
        if path is not None:
            history.append((now, path))
            now = json5_edit.set_value(now, path, value)
    for before, path in reversed(history):
        now = json5_edit.delete(now, path)
        assert now == before


@pytest.mark.thorough
@laws
@given(documents, picks, values)
def test_replace_changes_only_the_value(text: str, pick: int, value: json5_edit.JsonValue) -> None:
    path = _taken_place(text, pick)
    if path is None:
        return
    old = json5_edit.find(json5_edit.parse(text), path) or _missing()
    changed = json5_edit.set_value(text, path, value)
    assert same(json5.loads(changed, allow_duplicate_keys=False), _intended(text, path, value))
    assert changed.startswith(text[: old.start])
    assert changed.endswith(text[old.end :])


@laws
@given(documents, picks)
def test_delete_takes_its_own_lines_only(text: str, pick: int) -> None:
    path = _taken_place(text, pick)
    if path is None:
        return
    changed = json5_edit.delete(text, path)
    assert same(json5.loads(changed, allow_duplicate_keys=False), _intended(text, path))
    assert _is_subsequence(_untouched(text, path), _lines(changed))


_COMMENT = re.compile(r"""("(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')|//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/""")


def _comments(*texts: str) -> Counter[str]:
    """All comments of the texts; the blanks within them do not count."""
    found = [match[0] for text in texts for match in _COMMENT.finditer(text) if not match[1]]
    return Counter(" ".join(comment.split()) for comment in found)


def _own(clip: json5_edit.Clip) -> list[str]:
    return [*clip.above, clip.before, clip.source, *clip.behind]


@laws
@given(documents, picks)
def test_cut_takes_the_item_and_its_comments(text: str, pick: int) -> None:
    path = _taken_place(text, pick)
    if path is None:
        return
    after, clip = json5_edit.cut(text, path)
    assert same(json5.loads(after, allow_duplicate_keys=False), _intended(text, path))
    assert same(json5.loads(clip.source), clip.value)
    assert _comments(text) == _comments(after, *_own(clip))


@laws
@given(documents, documents, picks, picks, new_keys, st.lists(new_keys, max_size=2))
@pytest.mark.thorough
def test_paste_brings_the_item_and_its_comments(
    source: str, text: str, pick: int, gap: int, key: str, deeper: list[str]
) -> None:
    taken, free = _taken_place(source, pick), _free_place(text, gap, key)
    if taken is None or free is None:
        return
    _, clip = json5_edit.cut(source, taken)
    pasted = json5_edit.paste(text, [*free, *deeper], clip)
    value = clip.value
    for step in reversed(deeper):
        value = {step: value}
    assert same(json5.loads(pasted, allow_duplicate_keys=False), _intended(text, free, value))
    assert _comments(pasted) == _comments(text) + _comments(*_own(clip))
    if deeper:
        assert json5_edit.delete(pasted, free) == text


@laws
@given(documents, documents, picks, picks, new_keys)
def test_cut_undoes_paste(source: str, text: str, pick: int, gap: int, key: str) -> None:
    taken, free = _taken_place(source, pick), _free_place(text, gap, key)
    if taken is None or free is None:
        return
    container = json5_edit.find(json5_edit.parse(text), free[:-1])
    assert isinstance(container, json5_edit.ObjectNode | json5_edit.ArrayNode)
    if not container.items and _comments(text[container.start : container.end]):
        return  # comments that were alone become those of the first item
    _, clip = json5_edit.cut(source, taken)
    again, back = json5_edit.cut(json5_edit.paste(text, free, clip), free)
    assert again == text
    assert _comments(*_own(back)) == _comments(*_own(clip))


def _missing() -> json5_edit.Node:
    raise AssertionError("there is no such node")
