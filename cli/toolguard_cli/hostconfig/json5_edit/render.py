"""Values as JSON5 text in a given style."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

from toolguard_cli.hostconfig.json5_edit.lexer import is_identifier
from toolguard_cli.hostconfig.json5_edit.style import Style
from toolguard_cli.hostconfig.json5_edit.text_spans import JsonValue

# inline: in one line if it fits; spread: an item a line; auto: spread, except for short arrays of scalars.
Layout: TypeAlias = Literal["inline", "spread", "auto"]

INLINE_WIDTH = 60

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\\\\]")
_ESCAPES: Mapping[str, str] = MappingProxyType(
    {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}
)


def render(value: JsonValue, style: Style, indent: str, layout: Layout = "auto") -> str:
    """`value` as text; lines after the first start with `indent`, the indentation of the line it is put into."""
    if not isinstance(value, dict | list) or not value:
        return _scalar(value, style)
    if not style.multiline or _stays_inline(value, style, layout):
        return _inline(value, style)
    inner = indent + style.unit
    lines: list[str] = []
    if isinstance(value, dict):
        for key, child in value.items():
            lines.append(render_key(key, style) + style.colon + render(child, style, inner))
    else:
        for child in value:
            lines.append(render(child, style, inner))  # noqa: PERF401 - a comprehension doubles the frames per level
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    body = f",{style.newline}{inner}".join(lines)
    comma = "," if style.trailing_comma else ""
    return f"{opening}{style.newline}{inner}{body}{comma}{style.newline}{indent}{closing}"


def render_key(key: str, style: Style) -> str:
    if style.bare_keys and is_identifier(key):
        return key
    return _quoted(key, style.key_quote)


def padding(style: Style) -> str:
    """What stands inside the braces of an object in one line."""
    return " " if style.colon == ": " else ""


def gap(style: Style) -> str:
    """What stands behind a comma in one line."""
    return " " if style.colon == ": " else ""


def _stays_inline(value: JsonValue, style: Style, layout: Layout) -> bool:
    if layout == "spread":
        return False
    children: Sequence[JsonValue] = list(value.values()) if isinstance(value, dict) else value  # type: ignore[assignment]
    flat = isinstance(value, list) and not any(isinstance(child, dict | list) and child for child in children)
    return (layout == "inline" or flat) and len(_inline(value, style)) <= INLINE_WIDTH


def _inline(value: JsonValue, style: Style) -> str:
    if not isinstance(value, dict | list) or not value:
        return _scalar(value, style)
    parts: list[str] = []
    if isinstance(value, dict):
        for key, child in value.items():
            parts.append(render_key(key, style) + style.colon + _inline(child, style))
        return "{" + padding(style) + f",{gap(style)}".join(parts) + padding(style) + "}"
    for child in value:
        parts.append(_inline(child, style))  # noqa: PERF401 - a comprehension doubles the frames per level
    return "[" + f",{gap(style)}".join(parts) + "]"


def _scalar(value: JsonValue, style: Style) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return _quoted(value, style.string_quote)
        case float():
            return repr(value).replace("inf", "Infinity").replace("nan", "NaN")
        case dict():
            return "{}"
        case list():
            return "[]"
        case _:
            return str(value)


def _quoted(value: str, quote: str) -> str:
    return quote + _UNSAFE.sub(_escape, value).replace(quote, "\\" + quote) + quote


def _escape(match: re.Match[str]) -> str:
    return _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}"
