"""The values of a configuration file with their keys: YAML, JSON (also with comments), TOML, and `key = value` lines.

What a file leaves out of its format is read by lines, so a broken file has values as well.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from toolguard_engine import lazy_re

_MAX_DEPTH = 200
_MAX_DOTS = 100
"""In one line of TOML: `a.a.a.a = 1` takes time by the square of their number."""

Tree: TypeAlias = "dict[str, Tree] | list[Tree] | str | int | float | bool | None"


class Value(NamedTuple):
    """`at`: its position, counted from 1; `keys`: outermost first."""

    at: int
    keys: tuple[str, ...]
    text: str


def of_json(text: str) -> list[Value]:
    try:
        return _placed(text, _walked(msgspec.json.decode(text), (), 0))
    except (msgspec.DecodeError, RecursionError):
        return list(_by_pairs(text))


def of_toml(text: str) -> list[Value]:
    if any(line.count(".") > _MAX_DOTS for line in text.split("\n")):
        return list(_by_pairs(text))
    try:
        return _placed(text, _walked(tomllib.loads(text), (), 0))
    except (ValueError, RecursionError):
        return list(_by_pairs(text))


def _walked(tree: Tree, keys: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], str]]:
    if depth > _MAX_DEPTH:
        raise RecursionError
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _walked(value, (*keys, str(key)), depth + 1)
    elif isinstance(tree, list):
        texts = [leaf for leaf in tree if isinstance(leaf, str)]
        if texts and len(texts) == len(tree):
            yield from ((keys, text) for text in texts)
            if len(texts) > 1:
                yield keys, _joined(texts)
            return
        for member in tree:
            yield from _walked(member, keys, depth + 1)
    elif isinstance(tree, str):
        yield keys, tree


def _joined(words: list[str]) -> str:
    """A list of words as one command line: `["sh", "-c", "ls"]`."""
    return " ".join(word if word.isalnum() else "'" + word.replace("'", "'\\''") + "'" for word in words)


def _placed(text: str, pairs: Iterator[tuple[tuple[str, ...], str]]) -> list[Value]:
    """The values with the position of their first line in the text."""
    placed, before = list[Value](), 0
    for keys, value in pairs:
        sought = value.strip().partition("\n")[0][:40].partition('"')[0]
        at = text.find(sought, before) if sought else -1
        at = at if at >= 0 else text.find(sought) if sought else -1
        before = max(at, before)
        placed.append(Value(max(at, 0) + 1, keys, value))
    return placed


_PAIR = lazy_re.compile(
    r"(?:^|[{,\[\n])\s{0,80}+[\"']?(?P<key>[\w$@.*:/-]{1,80}+)[\"']?\s{0,9}+[:=]\s{0,9}+"
    r"(?P<value>\[|\"(?>(?:[^\"\\]|\\.){0,60000})\"|'[^'\n]{0,60000}+')"
)
_TEXT = lazy_re.compile(r"\"(?P<a>(?>(?:[^\"\\]|\\.){0,60000}))\"|'(?P<b>[^'\n]{0,60000}+)'")


def _by_pairs(text: str) -> Iterator[Value]:
    """`key: "value"` and `key = "value"` anywhere: JSON with comments, HCL, broken TOML."""
    for match in _PAIR.finditer(text):
        value = match["value"]
        if value == "[":
            value = text[match.start("value") : text.find("]", match.end()) + 1]
        texts = [_plain(hit) for hit in _TEXT.finditer(value)]
        for piece in texts:
            yield Value(match.start("value") + 1, (match["key"],), piece)
        if len(texts) > 1:
            yield Value(match.start("value") + 1, (match["key"],), _joined(texts))


_HERE = lazy_re.compile(
    r"([\w-]{1,60}+)\s{0,9}+=\s{0,9}+<<[-~]?\s{0,4}+\"?(\w{1,30}+)\"?\n((?:(?![ \t]{0,60}\2\b)[^\n]{0,60000}\n){0,60})"
)


def of_pairs(text: str) -> list[Value]:
    """HCL and the like; also what stands in a here-document."""
    values = list(_by_pairs(text))
    values += [Value(match.start(3) + 1, (match[1],), match[3]) for match in _HERE.finditer(text)]
    return values


def _plain(match: re.Match[str]) -> str:
    text = next((plain for name in ("a", "b") if (plain := match[name]) is not None), "")
    return text.replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


_YAML = lazy_re.compile(
    r"(?P<indent>[ ]{0,120}+)(?P<dashes>(?:-[ ]{1,20}+){0,4})"
    r"(?:(?P<key>\"[^\"\n]{1,200}\"|'[^'\n]{1,200}'|[^\s:#{}\[\],\"'][^:#\n]{0,200}?)"
    r"[ ]{0,9}:(?:[ ]{1,40}(?P<value>.*))?|(?P<item>.*))"
)
_BLOCK = lazy_re.compile(r"[|>][+-]?\d?[+-]?\s{0,9}(?:#.*)?")


def of_yaml(text: str) -> list[Value]:
    """Reads a text by its indentation: `key: value`, items of lists, blocks of text, and lists in brackets. JSON is YAML as
    well."""
    if text.lstrip()[:1] in ("{", "["):
        return of_json(text)
    return list(_of_lines(text))


def _of_lines(text: str) -> Iterator[Value]:
    open_keys: list[tuple[int, str]] = []
    block: tuple[int, int, tuple[str, ...], list[str]] | None = None
    at, folded = 0, False
    for line in (*text.split("\n"), "\0"):  # the last one is no line of the text: it closes a block that is still open
        start, at = at, at + len(line) + 1
        indent = len(line) - len(line.lstrip(" "))
        if block is not None:
            if not line.strip() or (indent > block[1] and line != "\0"):
                block[3].append(line.strip())
                continue
            yield Value(block[0], block[2], (" " if folded else "\n").join(block[3]))
            block = None
        match = _YAML.fullmatch(line.rstrip())
        if line == "\0" or not line.strip() or line.lstrip()[:1] == "#" or match is None:
            continue
        depth = indent + len(match["dashes"])
        # The items of a list may stand as deep as the key they belong to, so that their dashes do not close it.
        while open_keys and open_keys[-1][0] >= depth and not (match["dashes"] and open_keys[-1][0] == indent):
            open_keys.pop()
        if match["key"] is None:
            keys = tuple(key for _, key in open_keys)
            yield from _scalar(match["item"], keys, start + match.start("item") + 1)
            continue
        open_keys.append((depth, match["key"].strip("\"' ")))
        keys = tuple(key for _, key in open_keys)
        value = match["value"] or ""
        if _BLOCK.fullmatch(value):
            block = (at + 1, indent, keys, [])
            folded = value[:1] == ">"
        elif value:
            yield from _scalar(value, keys, start + match.start("value") + 1)


_FLOW = lazy_re.compile(
    r"[\"']?(?P<key>[\w$.-]{1,80}+)[\"']?\s{0,9}:\s{0,9}(?:\"(?P<a>(?>(?:[^\"\\]|\\.){0,60000}))\"|'(?P<b>[^'\n]{0,60000}+)'"
    r"|(?P<plain>[^,{}\[\]\"'\s][^,{}\[\]]{0,500}+))"
)


def _scalar(value: str, keys: tuple[str, ...], at: int) -> Iterator[Value]:
    value = value.strip()
    if value[:1] == "{":
        for pair in _FLOW.finditer(value):
            text = pair["plain"] if pair["plain"] is not None else _plain(pair)
            yield Value(at + pair.start("key"), (*keys, pair["key"]), text.strip())
    if value[:1] in ("[", "{"):
        quoted = [_plain(hit) for hit in _TEXT.finditer(value)]
        texts = quoted or [part.strip() for part in value.strip("[]{} ").split(",") if part.strip()]
        yield from (Value(at, keys, piece) for piece in texts)
        if len(texts) > 1:
            yield Value(at, keys, _joined(texts))
        return
    if value[:1] in ("'", '"') and (match := _TEXT.match(value)):
        yield Value(at, keys, _plain(match) if value[0] == '"' else match[2].replace("''", "'"))
        return
    yield Value(at, keys, re.sub(r"\s#.*", "", value))


_INI = lazy_re.compile(r"[ \t]{0,40}(?P<key>[\w.@/-]{1,80}+)[ \t]{0,9}[=:][ \t]{0,9}(?P<value>.*)")
_SECTION = lazy_re.compile(r"[ \t]{0,9}\[([^\]\n]{1,200})\](?P<more>.*)")


def of_ini(text: str) -> list[Value]:
    """`key = value`, with the section as the outer key. Lines that are indented more go on with the value before."""
    values: list[Value] = []
    section, at, last = "", 0, -1
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        if not line.strip() or line.lstrip()[:1] in "#;":
            continue
        indent = len(line) - len(line.lstrip())
        if begun := _SECTION.match(line):
            section, last = begun[1], -1
            if pair := _INI.fullmatch(begun["more"]):
                values.append(Value(start + 1, (section, pair["key"]), pair["value"].strip()))
        elif values and 0 <= last < indent:
            values.append(Value(start + indent + 1, values[-1].keys, line.strip()))
        elif pair := _INI.fullmatch(line):
            last = indent
            values.append(Value(start + pair.start("value") + 1, (section, pair["key"]), pair["value"].strip()))
    return values
