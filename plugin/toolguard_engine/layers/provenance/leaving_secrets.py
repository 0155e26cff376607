"""Secrets in what a call sends away, by their form or because a result in the session had them. Pure.

Looked at are requests and messages of programs, addresses that are fetched, messages, what is typed into a page, and all
parameters of tools that nobody describes, unless they write local files or keep secrets. A text is examined as it stands and
as it reads decoded (percent signs, base64, hexadecimal), backwards, and without separators. A key may go to its own service.
The target of the effect is the name of the secret and where it goes; never its value.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from urllib.parse import unquote

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import key_owners
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.program_catalogue import words
from toolguard_engine.effects.tools import tools
from toolguard_engine.host.tool_names import named
from toolguard_engine.host.tool_search import short_name
from toolguard_engine.layers.provenance.known_secrets import SEPARATORS, KnownSecrets, is_key, key_name
from toolguard_engine.model.call import Call
from toolguard_engine.wording import redact

KIND = "leak"
MAX_TEXT = 16_384
MAX_EFFECTS = 20
_MAX_LEAVES = 200
_MAX_DEPTH = 6
_MAX_BLOBS = 40
_MAX_SHOWN = 80
_MAX_ADDRESS = 500
_MAX_SPLIT = 2_000
_LEAVES = frozenset({"send", "http", "fetch", "copy-out", "connect", "message", "exfiltrate", "tunnel"})
_KEEPERS = words("keeps_secrets")
_WORDED = words("worded_parameter")
_MIN_BLOB = 16
_HEX = lazy_re.compile(r"[0-9a-fA-F]{16,}")
_BLOB = lazy_re.compile(r"[A-Za-z0-9+/_-]{16,4096}={0,2}")
_PAGE_SECRETS = lazy_re.compile(
    r"(?:fetch\(|sendBeacon|XMLHttpRequest|new Image|\.src\s?=|location(?:\.href)?\s?=|axios|https?://)[^\n]{0,400}"
    r"(?:document\.cookie|(?:local|session)Storage)"
)
_AUTHORIZED = lazy_re.compile(
    r"(?i)(?:authorization|bearer|token|api[-_]?key|x-[\w-]{1,30}key)\W{1,8}(?:bearer |token |basic )?\Z"
)
_HOST = lazy_re.compile(
    r"(?:[a-z][a-z0-9+.-]{1,20}://)?(?:[^/\s@]{1,200}@)?([\w.-]{3,255}\.[a-z]{2,20})(?=[:/?#\s]|\Z)", re.IGNORECASE
)


def judge(call: Call, tool: str, effects: Sequence[Effect], secrets: KnownSecrets) -> Effect | None:
    """The effect of kind `leak` that a call has, if any; its flag says how the secret is known: `key` or `remembered`.
    `tool`: the name of the tool, as the guard knows it."""
    if tool in tools.DESCRIBED and not any(map(_may_send, effects)):
        return None
    for whole, destination in islice(_outgoing(call, tool, effects), MAX_EFFECTS):
        text = whole if len(whole) <= MAX_TEXT else f"{whole[: MAX_TEXT // 2]}\n{whole[-MAX_TEXT // 2 :]}"
        texts = list(_readings(text))
        if _PAGE_SECRETS.search(text):
            return _leak("the cookies or the storage of a page", destination, "key")
        if name := _keys(texts, destination, call.tool):
            return _leak(name, destination, "key")
        if name := secrets.names_in(call.session or call.run, [*texts, text[::-1], SEPARATORS.sub("", text[:_MAX_SPLIT])]):
            service = key_owners.of_variable(name)
            if service is None or not _is_own(service, destination, call.tool):
                return _leak(name, destination, "remembered")
    return None


def _may_send(effect: Effect) -> bool:
    return effect.kind in _LEAVES or effect.kind == "act"


def _leak(name: str, destination: str, flag: str) -> Effect:
    return Effect(KIND, f"{name} to {_shown(destination)}", "remote", frozenset([flag]))


def _shown(destination: str) -> str:
    """The destination without a query, which may hold the secret."""
    match = _HOST.search(destination, 0, _MAX_ADDRESS)
    plain = match[1] if match else destination.partition("?")[0]
    return redact.redact_text(plain[:_MAX_SHOWN])


def _outgoing(call: Call, tool: str, effects: Sequence[Effect]) -> Iterator[tuple[str, str]]:
    """What leaves, and where to."""
    for effect in effects:
        if effect.kind not in _LEAVES or "local" in effect.flags:
            continue
        if effect.program is not None:
            # What it is fed leaves as its words do: `echo KEY | curl -d @- https://...`.
            given = effect.program.stdin.text if effect.program.stdin is not None and effect.program.stdin.text else ""
            yield "\n".join((*effect.program.argv, given)), effect.target
        elif effect.kind == "fetch":
            yield effect.target, effect.target
        else:
            yield "\n".join(_leaves(call.params, 0)), effect.target or "the conversation"
    if tool in tools.DESCRIBED:
        if any(effect.kind == "act" and effect.flags & {"typed", "evaluate"} for effect in effects):
            yield "\n".join(_leaves(call.params, 0)), "a web page"
    elif not any(effect.kind == "mcp-write" for effect in effects) and named(short_name(call.tool)).whole.isdisjoint(
        _KEEPERS
    ):
        text = "\n".join(_leaves(call.params, 0))
        host = _HOST.search(text, max(0, text.find("://") - 20), _MAX_ADDRESS) if "://" in text[:_MAX_ADDRESS] else None
        yield text, host[1] if host else f"the tool {tool[:_MAX_SHOWN]}"


def _leaves(value: Any, depth: int, name: str = "") -> Iterator[str]:
    if isinstance(value, str):
        yield f"{name}: {value}" if name and len(name) < _MAX_SHOWN else value
    elif isinstance(value, dict) and depth < _MAX_DEPTH:
        for key, item in islice(value.items(), _MAX_LEAVES):
            yield from _leaves(item, depth + 1, str(key))
    elif isinstance(value, list) and depth < _MAX_DEPTH:
        for item in value[:_MAX_LEAVES]:
            yield from _leaves(item, depth + 1)


def _readings(text: str) -> Iterator[str]:
    """A text as it stands and decoded."""
    yield text
    plain = unquote(text) if "%" in text else text
    if plain != text:
        yield plain
    for match in islice(_BLOB.finditer(plain), _MAX_BLOBS):
        yield from _decoded(match[0])


def _decoded(blob: str) -> Iterator[str]:
    bare = blob.rstrip("=").strip("/")
    decodings = [bytes.fromhex(text[: len(text) & ~1]) for text in _HEX.findall(bare)]
    decodings += [_from_base64(part) for part in dict.fromkeys((bare, bare.rpartition("/")[2])) if len(part) >= _MIN_BLOB]
    yield from (data.decode("ascii") for data in decodings if data and data.isascii())


def _from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if "-" in text or "_" in text else None)
    except (binascii.Error, ValueError):
        return b""


def _keys(texts: list[str], destination: str, tool: str) -> str:
    """The name of a key by its form that goes to somebody else than its issuer."""
    for text in texts:
        for match in redact.keys_in(text):
            key = match[0]
            if not is_key(key):
                continue
            service = key_owners.of_value(key)
            if (
                service is not None
                and _is_own(service, destination, tool)
                and not _is_for_people(text, match.start(), destination)
            ):
                continue
            if (
                service is None
                and not key.startswith("-----")
                and _AUTHORIZED.search(text[max(0, match.start() - 40) : match.start()])
            ):
                continue  # how its own service is asked, whichever that is
            return key_name(key)
        for match in redact.assigned_in(text):
            if _STRONG_NAME.search(match["name"]) and _is_random(match["value"]) and not _PLACE.match(destination):
                return f"the value of {match['name'].strip(' :=')[:_MAX_SHOWN]}"
    return ""


_STRONG_NAME = lazy_re.compile(
    r"(?i)(?:secret_access_key|secret_?key|private_?key|api_?key|access_?token|auth_?token|client_?secret)\b"
)
_PLACE = lazy_re.compile(
    r"\s*(?:[a-z][a-z0-9+.-]{1,20}://)?(?:[^/\s@]{1,200}@)?(?:localhost|127\.0\.0\.1)(?=[:/?#\s]|\Z)", re.IGNORECASE
)
"""This machine as the host of an address, not in its path or in a longer name."""


def _is_random(value: str) -> bool:
    plain = value.strip("\"'`,;")
    kinds = (str.isdigit, str.isupper, str.islower)
    return len(plain) >= _MIN_RANDOM and plain.isascii() and all(any(map(kind, plain)) for kind in kinds) and is_key(plain)


_MIN_RANDOM = 28


def _is_for_people(text: str, at: int, destination: str) -> bool:
    """Whether the key stands in a text for people: `body: the token is ghp_...` of a tool of its own service."""
    name = text[text.rfind("\n", 0, at) + 1 : at].partition(":")[0].strip().lower()
    return name in _WORDED and _HOST.search(destination, 0, _MAX_ADDRESS) is None


def _is_own(service: key_owners.KeyService, destination: str, tool: str) -> bool:
    """Whether a key goes to its issuer: to its host, or else to a tool that is named after it."""
    match = _HOST.search(destination, 0, _MAX_ADDRESS)
    return key_owners.is_own(service, match[1]) if match else service.name in named(short_name(tool)).whole
