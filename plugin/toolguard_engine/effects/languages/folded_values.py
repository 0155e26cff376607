"""Works out operations on known values of Python code: strings, paths, numbers, encodings. Bounded; never raises."""

from __future__ import annotations

import base64
import binascii
import bz2
import codecs
import json
import lzma
import posixpath
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.languages.code_values import (
    DECODED,
    MAX_ITEMS,
    MAX_TEXT,
    NOTHING,
    Either,
    Unknown,
    Value,
    choices,
    either,
    is_known,
    sourced,
    sources,
    text,
)

FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, LookupError, OverflowError, ArithmeticError)
MAX_NUMBER = 1 << 64
MAX_BASE, MAX_POWER = 1_024, 64
MAX_MEMORY = 1 << 24
"""Bytes for unpacking: an archive may ask for gigabytes."""


MAX_COMBINED = 64


def each_choice(fold: Callable[..., Value], *values: Value) -> Value:
    """Applies an operation to each of the values that its operands may be, if they are few."""
    open_ = [at for at, value in enumerate(values) if isinstance(value, Either)]
    if not open_:
        return fold(*values)
    rest = [value.values[0] if at in open_[2:] else value for at, value in enumerate(values)]
    made = []
    for one in choices(values[open_[0]]):
        rest[open_[0]] = one
        for other in choices(values[open_[1]]) if len(open_) > 1 else [None]:
            if len(open_) > 1:
                rest[open_[1]] = other
            made.append(fold(*rest))
            if len(made) >= MAX_COMBINED:
                return either(made)
    return either(made)


def joined(parts: list[Value]) -> Value:
    """The parts of an f-string, or what `+` puts together."""
    together = "".join([text(part) for part in parts])[:MAX_TEXT]
    return sourced(together, sources(*parts))


MAX_JSON_PARTS = 300


def as_json(value: Value) -> Value:
    """What `json.dumps` and `JSON.stringify` make of a value; unknown parts are `UNKNOWN` in it."""
    if not isinstance(value, dict | list | tuple):
        return Unknown(sources=sources(value))
    plain = _plain(value, (), iter(range(MAX_JSON_PARTS)))
    return sourced(json.dumps(plain, ensure_ascii=False)[:MAX_TEXT], sources(value))


def _plain(value: Value, around: tuple[int, ...], room: Iterator[int]) -> Any:
    """`around`: the objects that this one is in, which it may contain again. `room`: yields once for each part that there is
    still room for."""
    if not isinstance(value, dict | list | tuple):
        return value if value is None or isinstance(value, bool | int | float) else text(value)
    if id(value) in around or len(around) > MAX_JSON_DEPTH:
        return UNKNOWN
    inner = (*around, id(value))
    if isinstance(value, dict):
        return {text(key): _plain(part, inner, room) for (key, part), _ in zip(value.items(), room, strict=False)}
    return [_plain(part, inner, room) for part, _ in zip(value, room, strict=False)]


MAX_JSON_DEPTH = 20


def added(left: Value, right: Value) -> Value:
    if isinstance(left, bytes) and isinstance(right, bytes):
        return (left + right)[:MAX_TEXT]
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return [*left, *right][:MAX_ITEMS]
    if isinstance(left, str) or isinstance(right, str):
        return joined([left, right])
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left + right if abs(left) < MAX_NUMBER and abs(right) < MAX_NUMBER else NOTHING
    return Unknown(sources=sources(left, right))


def repeated(left: Value, right: Value) -> Value:
    if isinstance(left, int) and not isinstance(right, int | float):
        left, right = right, left
    if isinstance(left, str | bytes | list) and isinstance(right, int):
        return left * max(right, 0) if len(left) * right <= (MAX_ITEMS if isinstance(left, list) else MAX_TEXT) else NOTHING
    return _numbers(left, right, lambda a, b: a * b)


def _numbers(left: Value, right: Value, fold: Callable[[Any, Any], Any]) -> Value:
    if isinstance(left, int) and isinstance(right, int) and max(abs(left), abs(right)) < MAX_NUMBER:
        try:
            return fold(left, right)
        except FAULTS:
            return NOTHING
    return Unknown(sources=sources(left, right))


def _small(left: Value, right: Value, fold: Callable[[int, int], int]) -> Value:
    known = isinstance(left, int) and isinstance(right, int) and abs(left) <= MAX_BASE and 0 <= right <= MAX_POWER
    return fold(left, right) if known else NOTHING


def divided(left: Value, right: Value) -> Value:
    """`/` between paths."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return NOTHING
    return path_join([left, right])


def formatted(left: Value, right: Value) -> Value:
    """`%` with a text on its left."""
    if not isinstance(left, str):
        return _numbers(left, right, lambda a, b: a % b)
    values = list(right) if isinstance(right, tuple | list) else [right]
    if isinstance(right, dict):
        filled = _NAMED.sub(lambda match: text(right.get(match[1], NOTHING)), left)
    else:
        given = iter(values)
        filled = _PLACE.sub(lambda match: "%" if match[0] == "%%" else text(next(given, NOTHING)), left)
    return sourced(filled[:MAX_TEXT], sources(left, *values))


_NAMED = lazy_re.compile(r"%\((\w{1,60})\)[sdr]")
_PLACE = lazy_re.compile(r"%(?:%|[-+0# ]{0,3}\d{0,4}(?:\.\d{1,4})?[a-zA-Z])")


def operation(name: str, left: Value, right: Value) -> Value:
    fold = OPERATIONS.get(name)
    return each_choice(fold, left, right) if fold else Unknown(sources=sources(left, right))


OPERATIONS: dict[str, Callable[[Value, Value], Value]] = {
    "Add": added, "Mult": repeated, "Div": divided, "Mod": formatted,
    "Sub": lambda a, b: _numbers(a, b, lambda x, y: x - y), "BitXor": lambda a, b: _numbers(a, b, lambda x, y: x ^ y),
    "BitOr": lambda a, b: {**a, **b} if isinstance(a, dict) and isinstance(b, dict) else _numbers(a, b, lambda x, y: x | y),
    "BitAnd": lambda a, b: _numbers(a, b, lambda x, y: x & y), "FloorDiv": lambda a, b: _numbers(a, b, lambda x, y: x // y),
    "Pow": lambda a, b: _small(a, b, lambda x, y: x**y), "LShift": lambda a, b: _small(a, b, lambda x, y: x << y),
}  # fmt: skip


def item(value: Value, key: Value) -> Value:
    """`value[key]`; `key` may be a slice."""
    try:
        if isinstance(value, dict):
            return value[key] if isinstance(key, str | int) and key in value else Unknown(sources=sources(value))
        if isinstance(value, str | bytes | list | tuple) and isinstance(key, int | slice):
            if isinstance(value, str) and UNKNOWN in value:
                return Unknown(sources=sources(value))
            member = value[key]
            return sourced(member, sources(value)) if isinstance(member, str) else member
    except FAULTS:
        return NOTHING
    return Unknown(sources=sources(value))


# --- paths ----------------------------------------------------------------------------------------------------------------


def path_join(parts: list[Value]) -> Value:
    joined_ = ""
    for part in parts:
        word = text(part)
        joined_ = word if word[:1] in ("/", "~") or not joined_ else f"{joined_.rstrip('/')}/{word}"
    return sourced(joined_[:MAX_TEXT], sources(*parts))


def parent(value: Value) -> Value:
    path = text(value)
    above, slash, last = path.rstrip("/").rpartition("/")
    if slash:
        return above or "/"
    return f"{path}/.." if last in ("~", ".", "..") else UNKNOWN if UNKNOWN in last else "."


def base(value: Value) -> Value:
    return text(value).rstrip("/").rpartition("/")[2]


def stem(value: Value) -> Value:
    return posixpath.splitext(base(value))[0]


def suffix(value: Value) -> Value:
    return posixpath.splitext(base(value))[1]


def without_suffix(value: Value) -> Value:
    return posixpath.splitext(text(value))[0]


def with_name(value: Value, name: Value) -> Value:
    return path_join([parent(value), name])


# --- strings --------------------------------------------------------------------------------------------------------------

_PLAIN = word_set(
    "strip lstrip rstrip lower upper title capitalize swapcase casefold removeprefix removesuffix split rsplit splitlines"
    " partition rpartition zfill encode decode hex startswith endswith replace find index count translate center ljust rjust"
    " isdigit isalpha expandtabs"
)
_PADS = frozenset({"zfill", "center", "ljust", "rjust", "expandtabs"})


def string_method(value: str | bytes, name: str, args: list[Value], named: dict[str, Value]) -> Value:
    """A method of a string; None if strings have no such method."""
    if name == "join" and args:
        return _join(value, args[0])
    if name == "format" and isinstance(value, str):
        return _format(value, args, named)
    if name not in _PLAIN:
        return None
    if name == "encode" and isinstance(value, str) and (UNKNOWN in value or sources(value)):
        return value
    if name == "decode" and isinstance(value, str):
        return value
    if not all(isinstance(arg, str | bytes | int | tuple | dict) for arg in args) or len(value) > MAX_TEXT:
        return Unknown(sources=sources(value, *args))
    return _applied(value, name, args)


def _applied(value: str | bytes, name: str, args: list[Value]) -> Value:
    if name in _PADS and any(isinstance(arg, int) and arg > MAX_ITEMS for arg in args):
        return NOTHING
    if name == "replace" and len(args) > 1 and len(text(args[1])) * len(value) > MAX_TEXT * 16:
        return NOTHING
    if name == "decode" and isinstance(value, bytes) and args and isinstance(args[0], str):
        return decoded_by(args[0], value)
    try:
        result = getattr(value, name)(*args)
    except FAULTS:
        return Unknown(sources=sources(value))
    if isinstance(result, str):
        return sourced(result[:MAX_TEXT], sources(value, *args))
    return list(result)[:MAX_ITEMS] if isinstance(result, list | tuple) else result


def _join(value: str | bytes, parts: Value) -> Value:
    if not isinstance(parts, list | tuple):
        return Unknown(sources=sources(value, parts)) if not isinstance(parts, str) else parts
    if parts and all(isinstance(part, bytes) for part in parts):
        return b"".join(parts)[:MAX_TEXT]
    return sourced(text(value).join([text(part) for part in parts])[:MAX_TEXT], sources(value, *parts))


_FIELD = lazy_re.compile(r"\{\{|\}\}|\{(\w{0,40})(?:![rsa])?(?::[^{}]{0,20})?\}")


def _format(value: str, args: list[Value], named: dict[str, Value]) -> Value:
    count = iter(range(MAX_ITEMS))

    def filled(match: re.Match[str]) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        name = match[1]
        if name and not name.isdecimal():
            return text(named.get(name, NOTHING))
        at = int(name[:4]) if name else next(count, MAX_ITEMS)
        return text(args[at]) if at < len(args) else UNKNOWN

    return sourced(_FIELD.sub(filled, value)[:MAX_TEXT], sources(value, *args, *named.values()))


# --- encodings ------------------------------------------------------------------------------------------------------------


def _inflated(data: bytes, window: int = zlib.MAX_WBITS | 32) -> bytes:
    return zlib.decompressobj(window).decompress(data, MAX_TEXT)


_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    "base64": lambda data: base64.b64decode(data + b"=" * (-len(data) % 4)),
    "base64.urlsafe": lambda data: base64.urlsafe_b64decode(data + b"=" * (-len(data) % 4)),
    "base32": base64.b32decode, "base16": lambda data: base64.b16decode(data, casefold=True), "base85": base64.b85decode,
    "ascii85": base64.a85decode, "hex": lambda data: binascii.unhexlify(b"".join(data.split())), "zlib": _inflated,
    "gzip": _inflated, "bz2": lambda data: bz2.BZ2Decompressor().decompress(data, MAX_TEXT),
    "lzma": lambda data: lzma.LZMADecompressor(memlimit=MAX_MEMORY).decompress(data, MAX_TEXT),
    "rot13": lambda data: codecs.encode(data.decode("latin-1"), "rot13").encode(),
}  # fmt: skip


def decoded(form: str, value: Value) -> Value:
    """What an encoded text stands for: bytes where that can be worked out, else something unknown that was decoded."""
    if isinstance(value, Either):
        return either(decoded(form, option) for option in value.values)
    if is_known(value) and len(value) <= MAX_TEXT:
        data = value if isinstance(value, bytes) else str(value).encode("latin-1", "replace")
        try:
            plain = _DECODERS[form](data)[:MAX_TEXT]
        except (*FAULTS, binascii.Error, zlib.error, EOFError, OSError, lzma.LZMAError):
            return Unknown(sources=(*sources(value), DECODED))
        return sourced(plain.decode("utf-8", "replace"), (*sources(value), DECODED))
    return Unknown(sources=(*sources(value), DECODED))


def decoded_by(codec: str, value: Value) -> Value:
    """`codecs.decode(value, codec)` and `value.decode(codec)`."""
    name = codec.lower().replace("_", "").replace("-", "").removesuffix("codec")
    if name in _DECODERS:
        return decoded(name, value)
    plain = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    return plain if isinstance(plain, str) else Unknown(sources=sources(value))
