"""The arguments of a call as it is shown (`{ command: "a\\nb" }`), each as the text that it means. Pure.

What is shown is one line, in which line ends and quotes are escaped. A person reads code better as it would run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.host import json5_text
from toolguard_engine.host.json5_text import Members

MAX_DEPTH = 40

Argument = tuple[str, str]
"""Its name and its text."""

_PLAIN_KEY = lazy_re.compile(r"[\w$-]+")
_ESCAPE = lazy_re.compile(r'\\(u[0-9a-fA-F]{4}|["\\/bfnrt])')


def arguments(shown: str, tool: str) -> tuple[Argument, ...]:
    """Name and text of each argument, those within others under a name like `edits[0].newText`, and a key that is no plain
    word like `env["a.b"]`: no two have one name unless two keys are the same. A text that is not a whole literal, because a
    part was left out, is one argument without a name, with its escapes resolved."""
    body = shown
    if body.startswith(f"{tool}(") and body.endswith(")"):
        body = body[len(tool) + 1 : -1]
    try:
        value = json5_text.as_written(body)
        pairs = tuple(_flat(value, "", 0)) if isinstance(value, Members) else ()
    except (ValueError, RecursionError):
        pairs = ()
    return pairs or (("", _ESCAPE.sub(lambda match: str(json.loads(f'"{match[0]}"')), shown)),)


def _flat(value: Any, name: str, depth: int) -> Iterator[Argument]:
    """Raises `RecursionError` where it is nested too deeply to be read."""
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, Members):
        inner = [(_within(name, key), item) for key, item in value]
        none = "{}"
    elif isinstance(value, list):
        inner = [(f"{name}[{number}]", item) for number, item in enumerate(value)]
        none = "[]"
    else:
        yield name, value if isinstance(value, str) else json.dumps(value)
        return
    if not inner and name:
        yield name, none
    for within, item in inner:
        yield from _flat(item, within, depth + 1)


def _within(name: str, key: str) -> str:
    if not _PLAIN_KEY.fullmatch(key):
        return f"{name}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{name}.{key}" if name else key
