"""The rules of a room as a profile for `sandbox-exec` of macOS: everything is allowed but what they deny. Pure.

The last line that matches decides, so outer folders come first. A profile names paths, also of what is not there yet, and
the system compares them with the real one: the caller resolves links.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import Final

from toolguard_engine.containment.masked_sockets import BUS
from toolguard_engine.containment.rules import RoomRule

_READS: Final = "file-read-data file-read-xattr"
_CHANGES: Final = "file-write* file-link"
_HEAD: Final = (
    "(version 1)",
    "(allow default)",
    '(allow process-exec (with no-sandbox) (literal "/bin/ps"))',  # set-uid: the system runs none in a sandbox
)
_LOOPBACK_ONLY: Final = (
    "(deny network*)",
    '(allow network-inbound (local ip "localhost:*"))',
    '(allow network* (remote ip "localhost:*"))',
    "(allow network* (remote unix-socket))",
)
_NO_ORDERS: Final = "(deny appleevent-send)"
"""Other programs would do outside what they are asked."""

_MASKS: Final = ("hide", "read-only")


def text(rules: Iterable[RoomRule], real: Callable[[str], str]) -> str:
    """`rules`: those that hold for the command. `real`: a path without links in it."""
    known = list(rules)
    paths: list[tuple[str, str]] = [
        (rule.kind, real(str(rule.path))) for rule in known if rule.kind not in ("own", "offline")
    ]
    lines = list(_HEAD)
    if any(rule.kind == "offline" for rule in known):
        lines += _LOOPBACK_ONLY
    if any(rule.door == BUS for rule in known):
        lines.append(_NO_ORDERS)
    ordered = sorted(dict.fromkeys(paths), key=lambda pair: (_depth(pair[1]), pair[0] in _MASKS))
    lines += [line for kind, path in ordered for line in _lines(kind, path)]
    lines += [f"(deny file-write-unlink (literal {_quoted(path)}))" for path in _above(ordered)]
    return "\n".join(lines) + "\n"


def _lines(kind: str, path: str) -> Iterator[str]:
    place = f"(subpath {_quoted(path)})"
    if kind == "hide":
        yield f"(deny {_READS} {_CHANGES} {place})"
        yield f"(deny network-outbound {place})"
    elif kind == "read-only":
        yield f"(allow {_READS} {place})"
        yield f"(deny {_CHANGES} {place})"
    else:  # shown, or written to
        yield f"(allow {_READS} {_CHANGES} {place})"


def _above(paths: list[tuple[str, str]]) -> list[str]:
    """The folders above a mask: renamed, they would lead past it."""
    folders = {str(parent) for kind, path in paths if kind in _MASKS for parent in PurePath(path).parents}
    return sorted(folders - {"/"} - {path for kind, path in paths if kind in _MASKS})


def _depth(path: str) -> int:
    return len(PurePath(path).parts)


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"'
