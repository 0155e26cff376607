"""The values of a tool's parameters: texts, words, paths and addresses, and the effects on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import message_texts, web_targets
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.places import Where, marks, place
from toolguard_engine.host.tool_names import split

MAX_PATHS = 40
MAX_ITEMS = 40
MAX_DEPTH = 4
MAX_TEXT = 20_000
_MANY_TARGETS = 3
"""A message to more recipients is a broadcast."""

Params = dict[str, Any]
Acts = tuple[Effect, ...]
Tool = Callable[[Params, Where], Acts]
NONE: frozenset[str] = frozenset()
_PATH_KEYS = split(
    "path file filepath filename relativepath absolutepath fullpath localpath pathname uri fileuri documenturi directory "
    "dir dirpath directorypath folder folderpath from to target targetfile targetpath targetdir targetdirectory source "
    "sourcefile sourcepath sourcedir sourcedirectory src srcpath destination destinationpath destinationfile "
    "destinationdirectory dest destpath dst dstpath oldpath newpath output outputpath outputfile outfile paths files "
    "filepaths filenames uris directories dirs folders sources targets attachment attachments media"
)
"""Names of parameters that may hold a path, in lower case and without `_` and `-`."""

URL = lazy_re.compile(r"\s*(?!file:)[A-Za-z][A-Za-z0-9+.-]{1,20}:(?://|(?<=data:)|(?<=mailto:))")
_LOCAL = lazy_re.compile(
    r"\s*[a-z]{2,6}://(?:[^/@\s]{1,200}@)?(?:localhost|127(?:\.\d{1,3}){3}|\[::1?\]|0\.0\.0\.0|[\w-]{1,200}\.localhost)\.?(?:[:/?#\s]|\Z)",
    re.IGNORECASE,
)
_METADATA = lazy_re.compile(
    r"\s*(?:[a-z]{2,6}://)?(?:169\.254\.169\.254|169\.254\.170\.2|metadata\.google\.internal|100\.100\.100\.200|\[fd00:ec2::254\])",
    re.IGNORECASE,
)
MAX_SCHEME = 20
_LARGE = 400
"""Characters of a query string, or of one part of an address that is not a word (`_BLOB`), that count as carried data."""

_BLOB = lazy_re.compile(r"[/=][A-Za-z0-9+_%-]{200,}+={0,2}(?:$|[&#/?])")


def path_texts(value: Any, depth: int = MAX_DEPTH, most: int = 4 * MAX_ITEMS) -> Iterator[str]:
    """The texts, also nested ones, under a key that names a path. `most`: how many values are searched; those right
    under such a key come first, so that no number of others hides them."""
    waiting: list[tuple[Any, bool, int]] = [(value, False, 0)]
    while waiting and most > 0:
        most -= 1
        item, named_so, level = waiting.pop()
        if isinstance(item, str):
            if item and named_so:
                yield item
        elif level > depth:
            continue
        elif isinstance(item, dict):
            parts = [(part, _is_path_key(key), level + 1) for key, part in item.items()]
            if len(parts) > 1:
                parts.sort(key=_comes_later)
            waiting += reversed(parts[:most])
        elif isinstance(item, list):
            waiting += [(part, named_so, level + 1) for part in reversed(item[:most])]


def _comes_later(part: tuple[Any, bool, int]) -> bool:
    return not (part[1] and isinstance(part[0], str))


def _is_path_key(key: Any) -> bool:
    return isinstance(key, str) and len(key) <= _MAX_KEY and key.lower().replace("_", "").replace("-", "") in _PATH_KEYS


_MAX_KEY = 40


def all_texts(params: Params, names: tuple[str, ...]) -> Iterator[str]:
    """The texts under these names, also in lists."""
    for name in names:
        if name in params:
            value = params[name]
            if isinstance(value, str):
                if value:
                    yield value
            elif isinstance(value, list):
                yield from (item for item in value[:MAX_ITEMS] if isinstance(item, str) and item)


def first_text(params: Params, *names: str) -> str:
    return next(all_texts(params, names), "")


def word(params: Params, name: str, default: str = "") -> str:
    value = params.get(name, default)
    return value.strip().lower() if isinstance(value, str) else ""


def file_effect(kind: str, path: str, where: Where, flags: frozenset[str] = NONE) -> Effect:
    """The effect of `kind` on one path, or on the address if it is one."""
    path = path.removeprefix("@")
    if ":" in path and URL.match(path):
        return _fetch_effect(path) if kind in ("read", "mcp-read") else Effect(kind, path, "remote", flags)
    plain = marks(path, where)
    return Effect(kind, path, place(path, where), flags | plain if flags else plain)


def files_act(kind: str, names: tuple[str, ...], flags: frozenset[str] = NONE) -> Tool:
    def acts(params: Params, where: Where) -> Acts:
        return tuple([file_effect(kind, path, where, flags) for path in all_texts(params, names)])

    return acts


DELETES = frozenset(["deletes"])


def _fetch_effect(address: str, more: frozenset[str] = NONE) -> Effect:
    flags = set(more)
    plain = web_targets.target(address.strip()).url if "://" in address[:MAX_SCHEME] else address
    if _LOCAL.match(plain):
        flags.add("local")
    elif _METADATA.match(plain):
        flags.add("metadata")
    elif len(address) > _LARGE // 2 and (len(address.partition("?")[2]) > _LARGE or _BLOB.search(address[:MAX_TEXT])):
        flags.add("data")
    return Effect("fetch", address, "remote", frozenset(flags) if flags else NONE)


def address_effect(address: str, where: Where) -> Effect:
    """What is fetched, or the local file that a `file:` address names."""
    if address.lstrip()[:5].lower() == "file:":
        return file_effect("read", unquote(address.strip()), where)
    return _fetch_effect(address)


def are_many(targets: tuple[str, ...]) -> bool:
    return len(targets) > _MANY_TARGETS or not message_texts.EVERYBODY.isdisjoint(targets)


def key_values(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, item in list(value.items())[: MAX_ITEMS * 2]:
            yield str(key), item
            if isinstance(item, dict | list):
                yield from key_values(item, depth + 1)
    elif isinstance(value, list):
        for item in value[:MAX_ITEMS]:
            if isinstance(item, dict | list):
                yield from key_values(item, depth + 1)
