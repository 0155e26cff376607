"""The arguments of a call as it is shown (`{ command: "a\\nb" }`), each as the text that it means. Pure.

What is shown is one line, in which line ends and quotes are escaped. A person reads code better as it would run.
"""

from __future__ import annotations

import json

from toolguard_engine import lazy_re

MAX_DEPTH = 40

Argument = tuple[str, str]
"""Its name and its text."""

_NAME = lazy_re.compile(r"[A-Za-z_$][\w$]*")
_PLAIN_KEY = lazy_re.compile(r"[\w$-]+")
_PLAIN = lazy_re.compile(r"[^\s,\]}]+")
_BLANK = lazy_re.compile(r"\s*")
_ESCAPE = lazy_re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')
_DECODER = json.JSONDecoder(strict=False)


class _UnreadableError(Exception):
    """The text is no such literal, or not all of one."""


def arguments(shown: str, tool: str) -> tuple[Argument, ...]:
    """Name and text of each argument, those within others under a name like `edits[0].newText`, and a key that is no plain
    word like `env["a.b"]`: no two have one name unless two keys are the same. A text that is not a whole literal, because a
    part was left out, is one argument without a name, with its escapes resolved."""
    body = shown
    if body.startswith(f"{tool}(") and body.endswith(")"):
        body = body[len(tool) + 1 : -1]
    try:
        pairs, end = _value(body, 0, "", 0)
    except (_UnreadableError, ValueError, IndexError, RecursionError):
        pairs, end = [], 0
    if pairs and body.startswith("{") and not body[end:].strip():
        return tuple(pairs)
    return (("", _ESCAPE.sub(lambda match: str(json.loads(f'"{match[0]}"')), shown)),)


def _value(text: str, at: int, name: str, depth: int) -> tuple[list[Argument], int]:
    """The value that begins here, and where it ends. Raises `_UnreadableError`, `ValueError` and `IndexError`."""
    at = _past_blank(text, at)
    if depth > MAX_DEPTH:
        raise _UnreadableError
    if text[at] == "{":
        return _members(text, at + 1, name, depth)
    if text[at] == "[":
        return _items(text, at + 1, name, depth)
    if text[at] == '"':
        value, end = _DECODER.raw_decode(text, at)
        return [(name, str(value))], end
    plain = _PLAIN.match(text, at)
    if plain is None:
        raise _UnreadableError
    return [(name, plain[0])], plain.end()


def _members(text: str, at: int, name: str, depth: int) -> tuple[list[Argument], int]:
    members: list[Argument] = []
    while text[at := _past_blank(text, at)] != "}":
        key, at = _key(text, at)
        at = _past_blank(text, at)
        if text[at] != ":":
            raise _UnreadableError
        inner, at = _value(text, at + 1, _within(name, key), depth + 1)
        members += inner
        at = _past_comma(text, at, "}")
    return members or [(name, "{}")][: bool(name)], at + 1


def _within(name: str, key: str) -> str:
    if not _PLAIN_KEY.fullmatch(key):
        return f"{name}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{name}.{key}" if name else key


def _items(text: str, at: int, name: str, depth: int) -> tuple[list[Argument], int]:
    items: list[Argument] = []
    number = 0
    while text[at := _past_blank(text, at)] != "]":
        inner, at = _value(text, at, f"{name}[{number}]", depth + 1)
        items += inner
        number += 1
        at = _past_comma(text, at, "]")
    return items or [(name, "[]")], at + 1


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at] == '"':
        name, end = _DECODER.raw_decode(text, at)
        return str(name), end
    match = _NAME.match(text, at)
    if match is None:
        raise _UnreadableError
    return match[0], match.end()


def _past_comma(text: str, at: int, end: str) -> int:
    at = _past_blank(text, at)
    if text[at] == ",":
        return at + 1
    if text[at] != end:
        raise _UnreadableError
    return at


def _past_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
