"""The laws of all edits over documents as people write them: 3 to 40 lines, and some of 50 to 300.

Each document is edited in a row, every edit is held to its laws, and the json5 package judges the value in the end.
TOOLGUARD_FUZZ sets the number of documents.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections import Counter
from random import Random
from typing import Any

import json5
import pytest
from json5_documents import Document, document

from effort import some
from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.json5_edit.json_values import same
from toolguard_cli.system.errors import UserError

DOCUMENTS = int(os.environ.get("TOOLGUARD_FUZZ", "480"))
BATCHES = 8
LARGE_ONE_IN = 50
VALUES: list[json5_edit.JsonValue] = [
    0,
    -1.5,
    True,
    None,
    "",
    "it's",
    "${PORT}",
    "\u2028\n",
    [],
    {},
    [1, "a"],
    {"x y": {"z": [None]}},
    {"on": False},
]

NEW_KEYS = ["new", "new-1", "ünew", "a new one", "$new", *(f"new{number}" for number in range(40))]
_TOKEN = re.compile(
    r"""(?P<string>"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')"""
    r"|(?P<comment>//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/)"
)
_BEHIND = re.compile(r"(?:[^\S\n\r]|,|/\*[\s\S]*?\*/|//[^\n\r]*)*")
Place = tuple[str | int, ...]


pytestmark = pytest.mark.usefixtures("judged_once")


def tokens(text: str, kind: str) -> Counter[str]:
    """All strings or comments as they are written; the blanks within comments do not count."""
    found = [match[0] for match in _TOKEN.finditer(text) if match.lastgroup == kind]
    return Counter(" ".join(token.split()) if kind == "comment" else token for token in found)


def breaks(text: str) -> set[str]:
    """The kinds of line breaks outside of strings."""
    return set(re.findall(r"\r\n|\n|\r", _TOKEN.sub(lambda token: "" if token["string"] else token[0], text)))


def ordered(value: Any) -> str:
    """The value with the order of its keys."""
    return json.dumps(value)


def places(value: Any, path: Place = ()) -> list[tuple[Place, Any]]:
    """All that is in a document, with its path, the document first."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value), *(place for step, inner in steps for place in places(inner, (*path, step)))]


def changed(root: Any, path: Place, *value: Any) -> Any:
    """A copy of `root` with `value` at `path` (in new objects where there is none yet), or without what is there."""
    if not path:
        return value[0]
    root, step, last = copy.copy(root), path[0], len(path) == 1
    if last and not value:
        del root[step]
    elif isinstance(root, list):
        root[step:] = [changed(root[step] if step < len(root) else {}, path[1:], *value), *root[step + 1 :]]
    else:
        root[step] = changed(root.get(step, {}), path[1:], *value)
    return root


def item_at(text: str, path: Place) -> tuple[Any, int]:
    """The container that the item at `path` is in, and its index there."""
    container = json5_edit.find(json5_edit.parse(text), path[:-1])
    assert isinstance(container, json5_edit.ObjectNode | json5_edit.ArrayNode)
    steps = [item.key if isinstance(item, json5_edit.Member) else at for at, item in enumerate(container.items)]
    return container, steps.index(path[-1])


class Edited:
    """A document under edits, and the value that they are meant to give."""

    def __init__(self, made: Document, chance: Random) -> None:
        self.text, self.value = made.text, made.value
        self.chance = chance

    def some_item(self) -> Place | None:
        found = [path for path, _ in places(self.value) if path]
        return self.chance.choice(found) if found else None

    def some_gap(self) -> Place:
        """Behind the last item of some container."""
        path, inside = self.chance.choice([place for place in places(self.value) if isinstance(place[1], dict | list)])
        if isinstance(inside, list):
            return (*path, len(inside))
        return (*path, self.chance.choice([key for key in NEW_KEYS if key not in inside]))

    def take(self, after: str, intended: Any) -> None:
        assert ordered(json5_edit.loads(after)) == ordered(intended)
        assert after.startswith("\ufeff") == self.text.startswith("\ufeff")
        assert breaks(after) <= (breaks(self.text) or {"\n"})
        self.text, self.value = after, intended

    def check_only_last_grew(self, before: str, path: Place) -> None:
        """The text up to the last item and from the bracket on is the same, and so is the comma behind the last item."""
        container = json5_edit.find(json5_edit.parse(before), path[:-1])
        assert isinstance(container, json5_edit.ObjectNode | json5_edit.ArrayNode)
        count = len(container.items)
        assert self.text.startswith(before[: container.items[-1].value.end if count else container.start + 1])
        assert self.text.endswith(before[container.end - 1 :])
        if count:
            grown, index = item_at(self.text, path)
            assert index == count
            assert (grown.items[-1].comma is None) == (container.items[-1].comma is None)

    def reads(self) -> None:
        assert ordered(json5_edit.loads(self.text)) == ordered(self.value)

    def replaces(self) -> None:
        path = self.some_item()
        if path is None:
            return
        before, value = self.text, self.chance.choice(VALUES)
        node = json5_edit.find(json5_edit.parse(before), path)
        assert node is not None
        self.take(json5_edit.set_value(before, path, value), changed(self.value, path, value))
        assert self.text.startswith(before[: node.start])
        assert self.text.endswith(before[node.end :])

    def adds_and_deletes(self) -> None:
        path, before, held = self.some_gap(), self.text, self.value
        value = self.chance.choice(VALUES)
        self.take(json5_edit.set_value(before, path, value), changed(held, path, value))
        self.check_only_last_grew(before, path)
        self.take(json5_edit.delete(self.text, path), held)
        assert self.text == before

    def deletes(self) -> None:
        path = self.some_item()
        if path is None:
            return
        before = self.text
        self.take(json5_edit.delete(before, path), changed(self.value, path))
        check_lines(before, self.text, path, ())

    def renames(self) -> None:
        path = self.some_item()
        if path is None or not isinstance(path[-1], str):
            return
        before, new = self.text, self.chance.choice(["renamed", "re-named", "it's new"])
        container, index = item_at(before, path)
        member = container.items[index]
        renamed = {new if one.key == path[-1] else one.key: json5_edit.value_of(one.value) for one in container.items}
        root = changed({"": self.value}, ("", *path[:-1]), renamed)[""]
        self.take(json5_edit.replace_key(before, path, new), root)
        assert self.text.startswith(before[: member.start])
        assert self.text.endswith(before[member.key_end :])

    def moves(self, other: Edited) -> None:
        """Cuts something; pastes it elsewhere, under new parents, and into another document; each is undone by a cut."""
        path = self.some_item()
        if path is None:
            return
        before = self.text
        container, index = item_at(before, path)
        item = container.items[index]
        key = before[item.start : item.key_end] if isinstance(item, json5_edit.Member) else ""
        after, clip = json5_edit.cut(before, path)
        self.take(after, changed(self.value, path))
        commented = "\n".join([own_comments(clip), clip.source])
        assert tokens(before, "comment") == tokens(after, "comment") + tokens(commented, "comment")
        assert tokens(before, "string") == tokens(after, "string") + tokens(clip.source, "string") + tokens(key, "string")
        check_lines(before, after, path, clip.above)
        for target in (self, other):
            target.receives(clip, commented)

    def receives(self, clip: json5_edit.Clip, commented: str) -> None:
        gap, before, held = self.some_gap(), self.text, self.value
        with pytest.raises(UserError, match="already exists"):
            json5_edit.paste(before, gap[:-1], clip)
        deeper = (*gap, "made", "here") if self.chance.random() < 0.3 else gap
        self.take(json5_edit.paste(before, deeper, clip), changed(held, deeper, clip.value))
        self.check_only_last_grew(before, gap)
        assert tokens(self.text, "comment") == tokens(before, "comment") + tokens(commented, "comment")
        if deeper != gap:
            assert json5_edit.delete(self.text, gap) == before
            return
        pasted_key = tokens(self.text, "string") - tokens(before, "string") - tokens(clip.source, "string")
        assert all(token[1:-1] == gap[-1] for token in pasted_key)
        container = json5_edit.find(json5_edit.parse(before), gap[:-1])
        assert isinstance(container, json5_edit.ObjectNode | json5_edit.ArrayNode)
        if container.items or not tokens(before[container.start : container.end], "comment"):
            again, back = json5_edit.cut(self.text, gap)
            assert again == before
            assert (back.value, tokens(own_comments(back), "comment")) == (
                clip.value,
                tokens(own_comments(clip), "comment"),
            )


def own_comments(clip: json5_edit.Clip) -> str:
    return "\n".join([*clip.above, clip.before, *clip.behind])


def check_lines(before: str, after: str, path: Place, above: tuple[str, ...]) -> None:
    """All lines but those of the item at `path` and its comments are in `after`, save a comma behind the item before it."""
    container, index = item_at(before, path)
    item = container.items[index]
    if len(container.items) == 1:
        assert after.startswith(before[: container.start + 1])
        assert after.endswith(before[container.end - 1 :])
        return
    behind = _BEHIND.match(before, item.value.end)
    start, end = item.start, behind.end() if behind else item.value.end
    if item.comma is None:
        comma = container.items[index - 1].comma
        before = before[:comma] + before[comma + 1 :]
        start, end = start - 1, end - 1
    first = before.count("\n", 0, start) - sum(comment.count("\n") + 1 for comment in above)
    rest = before.split("\n")[before.count("\n", 0, end) + 1 :]
    left = after.split("\n")
    assert left[:first] == before.split("\n")[:first]
    assert left[len(left) - len(rest) :] == rest


LAWS = [Edited.replaces, Edited.adds_and_deletes, Edited.deletes, Edited.renames]


@pytest.mark.parametrize("batch", some(range(BATCHES)))
def test_edits_keep_their_properties(batch: int) -> None:
    spare = None
    for seed in range(batch, DOCUMENTS, BATCHES):
        chance = Random(seed)  # noqa: S311 - the same documents in every run
        large = seed // BATCHES % LARGE_ONE_IN == 0
        made = document(chance, chance.randint(50, 300) if large else chance.randint(1, 8))
        edited = Edited(made, chance)
        assert breaks(edited.text) <= {made.newline}
        edited.reads()
        for law in chance.sample(LAWS, len(LAWS)):
            law(edited)
        edited.moves(spare or edited)
        assert same(json5.loads(edited.text, allow_duplicate_keys=False), edited.value)
        spare = edited
