"""The path that Node's `fileURLToPath` makes of a `file:` URL, on a system with `/` as separator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from toolguard_engine import lazy_re

_SCHEME = lazy_re.compile(r"file:", re.IGNORECASE)
_DROPPED = lazy_re.compile(r"[\t\n\r]")
_ENDS = "".join(map(chr, range(0x21)))
"""Control characters and blanks, which a URL parser removes from both ends."""

_ONE = lazy_re.compile(r"\.|%2e", re.IGNORECASE)
_TWO = lazy_re.compile(r"(?:\.|%2e){2}", re.IGNORECASE)
_HOST = lazy_re.compile(r"//([^/]*)")
_LOCAL = ("", "localhost")


def paths(text: str) -> Iterator[str]:
    """The path of the URL. If Node would refuse the URL, also the text itself, which is then taken for a name."""
    rest = _DROPPED.sub("", text.strip(_ENDS)).replace("\\", "/")
    match = _SCHEME.match(rest)
    if match is None:
        yield text
        return
    rest = re.split(r"[?#]", rest[match.end() :], maxsplit=1)[0]
    host = _HOST.match(rest)
    rest = rest[host.end() :] if host else rest
    path = _without_dots(rest if rest.startswith("/") else f"/{rest}")
    yield decoded(path)
    if host and host[1].lower() not in _LOCAL:
        yield host[1] + path.rstrip() if path != "/" else host[1]  # 2026.6 takes what follows `file://` for a path
    if (host and host[1].lower() not in _LOCAL) or "%2f" in path.lower() or not _is_decodable(path):
        yield text


def decoded(path: str) -> str:
    """Resolves percent escapes, as far as they are valid."""
    return unquote(path, errors="replace") if "%" in path else path


def _without_dots(path: str) -> str:
    """A path whose dot segments are removed before it is decoded, as in a URL."""
    kept: list[str] = []
    parts = path.split("/")[1:]
    for at, part in enumerate(parts):
        if _TWO.fullmatch(part):
            del kept[-1:]
        elif not _ONE.fullmatch(part):
            kept.append(part)
            continue
        if at == len(parts) - 1:
            kept.append("")
    return "/" + "/".join(kept)


def _is_decodable(path: str) -> bool:
    """Whether `decodeURIComponent` takes it."""
    if re.search(r"%(?![0-9a-f]{2})", path, re.IGNORECASE):
        return False
    try:
        unquote(path, errors="strict")
    except UnicodeDecodeError:
        return False
    return True
